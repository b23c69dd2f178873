// How long to wait before the next attempt: full jitter, so that sidecars do not come together.

import type { Milliseconds } from '../core/clock.ts'

const FIRST_MS: Milliseconds = 50
const LONGEST_MS: Milliseconds = 2000

export class Backoff {
  readonly #random: () => number
  #attempts = 0

  /** @param random returns a number from 0, inclusive, to 1, exclusive */
  constructor(random: () => number) {
    this.#random = random
  }

  /** Returns a random time up to 50 ms doubled with each attempt, at most 2 s. */
  next(): Milliseconds {
    return this.#random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** this.#attempts++)
  }

  reset(): void {
    this.#attempts = 0
  }
}
