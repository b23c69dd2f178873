// A hash over the keys that a sidecar holds, by which hub and sidecar find that they differ.

import { createHash } from 'node:crypto'

const HASH_BYTES = 32
const DOMAIN = 'sidegate-fleet/v1/key\n'

/** A key and the revision of its newest change. */
export interface KeyVersion {
  readonly id: string
  readonly rev: number
}

/**
 * The exclusive or of the SHA-256 of each key: a change costs two hashes, with any number of
 * keys. It finds errors; against a forger the feed has TLS.
 */
export class StateHash {
  readonly #sum = Buffer.alloc(HASH_BYTES)

  /** Adds a key, or removes one that was added. */
  toggle({ id, rev }: KeyVersion): void {
    const hash = createHash('sha256').update(`${DOMAIN}${id}\n${rev}`).digest()
    for (let at = 0; at < HASH_BYTES; at++) this.#sum[at]! ^= hash[at]!
  }

  /** Lower-case hexadecimal. */
  toString(): string {
    return this.#sum.toString('hex')
  }
}
