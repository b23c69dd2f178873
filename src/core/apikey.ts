// The form of an API key: `sgate_live_`, 256 random bits in base62, a CRC-32 in base62.
// Knows nothing of where keys are kept; the randomness is handed in.

import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Every key begins with it, so that secret scanners and people recognise one. */
const API_KEY_PREFIX = 'sgate_live_'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RADIX = 62
const BIG_RADIX = BigInt(RADIX)
/** 62^43 is just above 2^256. */
const BODY_LENGTH = 43
const RANDOM_BYTES = 32
/** 62^6 is above 2^32. */
const CHECKSUM_LENGTH = 6
const CHECKSUM_START = API_KEY_PREFIX.length + BODY_LENGTH
const KEY_LENGTH = CHECKSUM_START + CHECKSUM_LENGTH
const FORM = new RegExp(`^${API_KEY_PREFIX}[0-9A-Za-z]{${BODY_LENGTH + CHECKSUM_LENGTH}}$`)
/** Characters of the random part that a list shows: enough to tell keys apart, 24 bits less to guess. */
const SHOWN_LENGTH = 4

/** Whose key it is. */
export interface KeyIdentity {
  readonly id: string
  readonly name: string
}

/**
 * Makes a key from 32 bytes of the CSPRNG.
 * @throws RangeError when there are not exactly 32 bytes
 */
export function createApiKey(random32: Uint8Array): string {
  if (random32.length !== RANDOM_BYTES) throw new RangeError(`an API key takes ${RANDOM_BYTES} random bytes`)
  const body = toBase62(BigInt(`0x${Buffer.from(random32).toString('hex')}`), BODY_LENGTH)
  return withChecksum(API_KEY_PREFIX + body)
}

/**
 * Whether the text has the form of a key and its checksum fits. Constant work whatever the text:
 * to be asked before any lookup, so that typos and noise never reach the store.
 */
export function parseApiKey(text: string): boolean {
  if (text.length !== KEY_LENGTH || !FORM.test(text)) return false
  let checksum = 0
  for (let at = CHECKSUM_START; at < KEY_LENGTH; at++)
    checksum = checksum * RADIX + ALPHABET.indexOf(text[at]!)
  return checksum === crc32(text.slice(0, CHECKSUM_START))
}

/** SHA-256 of the whole key, lower-case hex: what is stored, and what the configuration file declares. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex')
}

/** What lists show of a key: the fixed prefix and the four characters before the checksum. */
export function keyPrefix(key: string): string {
  return `${API_KEY_PREFIX}…${key.slice(CHECKSUM_START - SHOWN_LENGTH, CHECKSUM_START)}`
}

function withChecksum(stem: string): string {
  return stem + toBase62(BigInt(crc32(stem)), CHECKSUM_LENGTH)
}

function toBase62(value: bigint, length: number): string {
  let text = ''
  let rest = value
  for (let index = 0; index < length; index++) {
    text = ALPHABET[Number(rest % BIG_RADIX)] + text
    rest /= BIG_RADIX
  }
  return text
}
