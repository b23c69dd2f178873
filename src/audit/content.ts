// The commitment to a captured exchange. Salt and content are kept apart from the chain: erasing both
// leaves a hash nobody can test guesses against, and a chain that still verifies.

import { hash } from 'node:crypto'

/** Keeps a content hash from ever being taken for the hash of an entry. */
const CONTENT_DOMAIN = 'sidegate-audit/v1/content\n'

/** Length of the salt: with 256 bits even a one-word prompt cannot be guessed from its hash. */
export const SALT_BYTES = 32

const DOMAIN_BYTES = Buffer.from(CONTENT_DOMAIN)

/** What is hashed: the domain, the 32-byte salt, the content. @throws RangeError for a salt of another length */
function hashed(salt: Uint8Array, content: Uint8Array): Buffer {
  if (salt.length !== SALT_BYTES) throw new RangeError(`the salt takes ${SALT_BYTES} bytes`)
  return Buffer.concat([DOMAIN_BYTES, salt, content])
}

/** `sha256:` and the hex SHA-256 of the domain, the 32-byte salt and the content. */
export const hashContent = (salt: Uint8Array, content: Uint8Array): string =>
  `sha256:${hash('sha256', hashed(salt, content))}`

/** An exchange with the salt before it, as it is kept, and what an entry commits to it with. */
export interface Commitment {
  readonly salted: Buffer
  readonly hash: string
}

/** Commits to an exchange. What is kept is the tail of what was hashed: it is copied once. */
export function commit(salt: Uint8Array, content: Uint8Array): Commitment {
  const bytes = hashed(salt, content)
  return { salted: bytes.subarray(DOMAIN_BYTES.length), hash: `sha256:${hash('sha256', bytes)}` }
}
