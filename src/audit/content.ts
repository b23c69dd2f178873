// The commitment to a captured exchange. Salt and content are kept apart from the chain: erasing both
// leaves a hash nobody can test guesses against, and a chain that still verifies.

import { createHash } from 'node:crypto'

/** Keeps a content hash from ever being taken for the hash of an entry. */
const CONTENT_DOMAIN = 'sidegate-audit/v1/content\n'

/** Length of the salt: with 256 bits even a one-word prompt cannot be guessed from its hash. */
export const SALT_BYTES = 32

/** `sha256:` and the hex SHA-256 of the domain, the 32-byte salt and the content. */
export function hashContent(salt: Uint8Array, content: Uint8Array): string {
  if (salt.length !== SALT_BYTES) throw new RangeError(`the salt takes ${SALT_BYTES} bytes`)
  return `sha256:${createHash('sha256').update(CONTENT_DOMAIN).update(salt).update(content).digest('hex')}`
}
