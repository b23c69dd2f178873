// Commitments to captured exchanges. Salt and content are stored apart from the chain: after both
// are erased, the hash confirms no guess and the chain still verifies.

import { createHash, hash } from 'node:crypto'
import type { Steps } from '../core/steps.ts'

/** Separates content hashes from entry hashes. */
const CONTENT_DOMAIN = 'sidegate-audit/v1/content\n'

/**
 * Length of the salt, bytes. With 256 random bits even a one-word prompt cannot be guessed from its
 * hash.
 */
export const SALT_BYTES = 32

/** Bytes that one step copies or hashes: about a millisecond. */
const BYTES_OF_STEP = 1024 * 1024

const DOMAIN_BYTES = Buffer.from(CONTENT_DOMAIN)

/** Hashed bytes before the content. */
const PREFIX_BYTES = DOMAIN_BYTES.length + SALT_BYTES

/** The salt followed by the exchange, as stored, and the hash that the entry holds. */
export interface Commitment {
  readonly salted: Buffer
  readonly hash: string
}

/** JSON of an exchange, whole or in consecutive parts; bytes are UTF-8. */
export type Content = string | readonly (string | Uint8Array)[]

const OPENING = 0x7b
const CLOSING = 0x7d
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** Reports whether JSON is an object on one line, so that an export can copy it. */
export const isOneLine = (json: Buffer): boolean =>
  json[0] === OPENING &&
  json.at(-1) === CLOSING &&
  !json.includes(LINE_FEED) &&
  !json.includes(CARRIAGE_RETURN)

const partsOf = (content: Content) => (typeof content === 'string' ? [content] : content)

export const contentBytes = (content: Content): number =>
  partsOf(content).reduce((sum, part) => sum + Buffer.byteLength(part), 0)

/**
 * Commits to an exchange. The stored bytes are the tail of the hashed bytes, written once.
 * @throws RangeError for a salt of another length
 */
export function commit(salt: Uint8Array, content: Content): Commitment {
  const bytes = startOfBytes(salt, content)
  let at = PREFIX_BYTES
  for (const part of partsOf(content)) at += writePart(bytes, part, at)
  return { salted: bytes.subarray(DOMAIN_BYTES.length), hash: `sha256:${hash('sha256', bytes)}` }
}

/** As `commit`, in steps. A part that is a string is one step. */
export function* commitSteps(salt: Uint8Array, content: Content): Steps<Commitment> {
  const bytes = startOfBytes(salt, content)
  let at = PREFIX_BYTES
  for (const part of partsOf(content)) {
    for (const piece of typeof part === 'string' ? [part] : stepsOf(part)) {
      at += writePart(bytes, piece, at)
      yield
    }
  }
  const digest = createHash('sha256')
  for (const piece of stepsOf(bytes)) {
    digest.update(piece)
    yield
  }
  return { salted: bytes.subarray(DOMAIN_BYTES.length), hash: `sha256:${digest.digest('hex')}` }
}

function* stepsOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += BYTES_OF_STEP) yield bytes.subarray(at, at + BYTES_OF_STEP)
}

/** @returns bytes written */
function writePart(bytes: Buffer, part: string | Uint8Array, at: number): number {
  if (typeof part === 'string') return bytes.write(part, at)
  bytes.set(part, at)
  return part.length
}

/** The bytes to hash, of which the domain and the salt are written. @throws as `commit` */
function startOfBytes(salt: Uint8Array, content: Content): Buffer {
  if (salt.length !== SALT_BYTES) throw new RangeError(`the salt must have ${SALT_BYTES} bytes`)
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + contentBytes(content))
  bytes.set(DOMAIN_BYTES)
  bytes.set(salt, DOMAIN_BYTES.length)
  return bytes
}

/**
 * Returns `sha256:` and the hexadecimal SHA-256 of the domain, the 32-byte salt and the content.
 */
export const hashContent = (salt: Uint8Array, content: Uint8Array): string => commit(salt, [content]).hash
