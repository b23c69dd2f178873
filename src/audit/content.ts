// The commitment to a captured exchange. Salt and content are kept apart from the chain: erasing both
// leaves a hash nobody can test guesses against, and a chain that still verifies.

import { hash } from 'node:crypto'

/** Keeps a content hash from ever being taken for the hash of an entry. */
const CONTENT_DOMAIN = 'sidegate-audit/v1/content\n'

/** Length of the salt: with 256 bits even a one-word prompt cannot be guessed from its hash. */
export const SALT_BYTES = 32

const DOMAIN_BYTES = Buffer.from(CONTENT_DOMAIN)

/** What comes before the content in what is hashed. */
const PREFIX_BYTES = DOMAIN_BYTES.length + SALT_BYTES

/** An exchange with the salt before it, as it is kept, and what an entry commits to it with. */
export interface Commitment {
  readonly salted: Buffer
  readonly hash: string
}

/** JSON of an exchange, whole or in pieces that stand one behind the other; bytes are UTF-8. */
export type Content = string | readonly (string | Uint8Array)[]

const partsOf = (content: Content) => (typeof content === 'string' ? [content] : content)

export const contentBytes = (content: Content): number =>
  partsOf(content).reduce((sum, part) => sum + Buffer.byteLength(part), 0)

/**
 * Commits to an exchange, kept in UTF-8. What is kept is the tail of what was hashed: it is written once.
 * @throws RangeError for a salt of another length
 */
export function commit(salt: Uint8Array, content: Content): Commitment {
  if (salt.length !== SALT_BYTES) throw new RangeError(`the salt takes ${SALT_BYTES} bytes`)
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + contentBytes(content))
  bytes.set(DOMAIN_BYTES)
  bytes.set(salt, DOMAIN_BYTES.length)
  let at = PREFIX_BYTES
  for (const part of partsOf(content)) {
    if (typeof part === 'string') at += bytes.write(part, at)
    else {
      bytes.set(part, at)
      at += part.length
    }
  }
  return { salted: bytes.subarray(DOMAIN_BYTES.length), hash: `sha256:${hash('sha256', bytes)}` }
}

/** `sha256:` and the hex SHA-256 of the domain, the 32-byte salt and the content. */
export const hashContent = (salt: Uint8Array, content: Uint8Array): string => commit(salt, [content]).hash
