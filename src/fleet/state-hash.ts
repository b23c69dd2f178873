// A hash over what a sidecar holds, by which hub and sidecar find that they differ.

import { createHash } from 'node:crypto'

const HASH_BYTES = 32
const DOMAIN = 'sidegate-fleet/v1/key\n'

/** A key or another item, and the revision of its newest change. */
export interface HeldVersion {
  readonly id: string
  readonly rev: number
}

/**
 * The exclusive or of the SHA-256 of each item: a change costs two hashes, with any number of
 * items. It finds errors; against a forger the feed has TLS.
 */
export class StateHash {
  readonly #sum = Buffer.alloc(HASH_BYTES)

  /** Adds an item, or removes one that was added. */
  toggle({ id, rev }: HeldVersion): void {
    const hash = createHash('sha256').update(`${DOMAIN}${id}\n${rev}`).digest()
    for (let at = 0; at < HASH_BYTES; at++) this.#sum[at]! ^= hash[at]!
  }

  /** Returns the hash over the items of two. */
  with(other: StateHash): StateHash {
    const both = new StateHash()
    for (let at = 0; at < HASH_BYTES; at++) both.#sum[at] = this.#sum[at]! ^ other.#sum[at]!
    return both
  }

  /** Lower-case hexadecimal. */
  toString(): string {
    return this.#sum.toString('hex')
  }
}
