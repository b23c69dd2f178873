// Remembers verified tokens by their hash, so that a request costs one hash. Holds no token.

import { hash } from 'node:crypto'
import type { Milliseconds } from '../core/clock.ts'

/** Maximum tokens that are remembered. */
export const MAXIMUM_REMEMBERED = 10_000

/** Returns the hash that identifies a token here; it reveals nothing of the token. */
export const hashToken = (token: string): string => hash('sha256', token, 'base64')

export class TokenMemory<Verified> {
  /** The one verified longest ago first. */
  readonly #known = new Map<string, { readonly verified: Verified; readonly endMs: Milliseconds }>()

  get size(): number {
    return this.#known.size
  }

  /** Returns the result for a token; undefined for one that is unknown, or over. */
  find(hashed: string, nowMs: Milliseconds): Verified | undefined {
    const known = this.#known.get(hashed)
    if (known === undefined || known.endMs > nowMs) return known?.verified
    this.#known.delete(hashed)
    return undefined
  }

  /** Forgets the one verified longest ago when there is no room. */
  keep(hashed: string, verified: Verified, endMs: Milliseconds): void {
    this.#known.delete(hashed)
    if (this.#known.size >= MAXIMUM_REMEMBERED) this.#known.delete(this.#known.keys().next().value!)
    this.#known.set(hashed, { verified, endMs })
  }

  forget(hashed: string): void {
    this.#known.delete(hashed)
  }

  clear(): void {
    this.#known.clear()
  }
}
