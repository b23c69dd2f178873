// Format of API keys: `sgate_live_`, 256 random bits in base62, a CRC-32 in base62.
// Does not store keys; the caller passes the random bytes.

import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Prefix of every key, by which secret scanners and people recognise one. */
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
/** Random characters that lists show: enough to distinguish keys, and 24 bits less to guess. */
const SHOWN_LENGTH = 4

/** Id and name of a key, as the log records them. */
export interface KeyIdentity {
  readonly id: string
  readonly name: string
}

/**
 * Returns a new key.
 * @param random32 32 bytes of a CSPRNG
 * @throws RangeError for any other number of bytes
 */
export function createApiKey(random32: Uint8Array): string {
  if (random32.length !== RANDOM_BYTES)
    throw new RangeError(`an API key takes ${RANDOM_BYTES} random bytes, not ${random32.length}`)
  const body = toBase62(BigInt(`0x${Buffer.from(random32).toString('hex')}`), BODY_LENGTH)
  return withChecksum(API_KEY_PREFIX + body)
}

/**
 * Reports whether the text has the format of a key and a correct checksum. Takes constant time, so
 * that callers can test any text before a lookup: typos and noise never reach the store.
 */
export function parseApiKey(text: string): boolean {
  if (text.length !== KEY_LENGTH || !FORM.test(text)) return false
  let checksum = 0
  for (let at = CHECKSUM_START; at < KEY_LENGTH; at++)
    checksum = checksum * RADIX + ALPHABET.indexOf(text[at]!)
  return checksum === crc32(text.slice(0, CHECKSUM_START))
}

/** Returns the SHA-256 of the key, lower-case hex, as the store and the configuration hold it. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex')
}

/**
 * Returns what stands for the hash of a key that is a client certificate. No key has it: the text
 * has another form.
 */
export const hashClientName = (name: string): string => hash('sha256', `client certificate ${name}`, 'hex')

/** Returns what lists show of a key: the prefix and the four characters before the checksum. */
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
