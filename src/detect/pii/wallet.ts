// Detects addresses of crypto wallets: Base58Check (Bitcoin, Litecoin, Dogecoin, Tron, Dash),
// bech32 and bech32m (BIP 173, BIP 350), and Ethereum's forty hexadecimal digits.

import { createHash } from 'node:crypto'
import type { Segment } from './engine/segment.ts'

/** Bounds of the length of an address. */
export const MIN_WALLET = 26
const MAXIMUM_WALLET = 110

const ETHEREUM = /^0x[0-9a-f]{40}$/i
/** Addresses with fewer distinct digits are in use by no one: `0x0000…`, `0x…dEaD`. */
const MIN_DISTINCT = 6
const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** First characters that result from the version bytes in use. */
const BASE58_SHAPE = /^[123AD79LMTXmn][1-9A-HJ-NP-Za-km-z]{25,34}$/
const ADDRESS_BYTES = 25
const CHECKSUM_BYTES = 4
const BECH32_SHAPE =
  /^(?:bc|tb|ltc|bcrt|addr|stake|cosmos|osmo|celestia|inj|terra|juno|zil|one|nano)1[02-9ac-hj-np-z]{20,100}$/
const BECH32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
/** Required results of the checksum (BIP 173, BIP 350). */
const BECH32_CONSTANT = 1
const BECH32M_CONSTANT = 0x2bc830a3
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]

/**
 * @param word start of a word of letters and digits
 * @param end end of the word
 * @returns `end` if it is an address, otherwise 0
 */
export function scanWallet(segment: Segment, word: number, end: number): number {
  if (end - word > MAXIMUM_WALLET) return 0
  const text = segment.text.slice(word, end)
  if (!isEthereum(text) && !isBech32(text) && !isBase58Check(text)) return 0
  return segment.add('crypto_wallet', word, end) ? end : 0
}

const isEthereum = (text: string): boolean =>
  ETHEREUM.test(text) && new Set(text.slice(2).toLowerCase()).size >= MIN_DISTINCT

/** The checksum is the first four bytes of the double SHA-256 of the rest. */
function isBase58Check(text: string): boolean {
  if (!BASE58_SHAPE.test(text)) return false
  const bytes = decodeBase58(text)
  if (bytes === null) return false
  const payload = bytes.subarray(0, ADDRESS_BYTES - CHECKSUM_BYTES)
  const check = sha256(sha256(payload)).subarray(0, CHECKSUM_BYTES)
  return check.equals(bytes.subarray(ADDRESS_BYTES - CHECKSUM_BYTES))
}

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/** Returns 25 bytes; null if the number needs more. */
function decodeBase58(text: string): Uint8Array | null {
  const bytes = new Uint8Array(ADDRESS_BYTES)
  for (const character of text) {
    let carry = BASE58.indexOf(character)
    for (let i = ADDRESS_BYTES - 1; i >= 0; i--) {
      carry += (bytes[i] ?? 0) * 58
      bytes[i] = carry & 0xff
      carry >>= 8
    }
    if (carry > 0) return null
  }
  return bytes
}

function isBech32(mixed: string): boolean {
  const text = mixed.toLowerCase()
  if (!BECH32_SHAPE.test(text) || (mixed !== text && mixed !== mixed.toUpperCase())) return false
  const separator = text.indexOf('1')
  const values: number[] = []
  for (let i = 0; i < separator; i++) values.push(text.charCodeAt(i) >> 5)
  values.push(0)
  for (let i = 0; i < separator; i++) values.push(text.charCodeAt(i) & 31)
  for (let i = separator + 1; i < text.length; i++) values.push(BECH32.indexOf(text.charAt(i)))
  let sum = 1
  for (const value of values) {
    const top = sum >>> 25
    sum = ((sum & 0x1ffffff) << 5) ^ value
    for (const [bit, generator] of GENERATOR.entries()) if ((top >> bit) & 1) sum ^= generator
  }
  return sum === BECH32_CONSTANT || sum === BECH32M_CONSTANT
}
