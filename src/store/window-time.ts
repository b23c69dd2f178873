// The time that token windows slide on. Follows the wall clock forwards and never runs backwards: a
// clock that is set back must not empty a window.

import type { Clock, Milliseconds } from '../core/clock.ts'

export class WindowTime {
  readonly #clock: Clock
  #latestMs: Milliseconds
  #readAtMs: Milliseconds

  /** @param countedMs the newest time that tokens were counted at, by any run; -Infinity if none */
  constructor(clock: Clock, countedMs: Milliseconds) {
    this.#clock = clock
    this.#latestMs = Math.max(clock.now(), countedMs)
    this.#readAtMs = clock.monotonic()
  }

  /**
   * Returns the wall time, or, while that is behind an earlier answer, that answer and the time
   * passed since.
   */
  at(wallMs: Milliseconds): Milliseconds {
    const monotonicMs = this.#clock.monotonic()
    const passedMs = Math.max(0, monotonicMs - this.#readAtMs)
    this.#readAtMs = monotonicMs
    this.#latestMs = Math.max(wallMs, this.#latestMs + passedMs)
    return this.#latestMs
  }

  now(): Milliseconds {
    return this.at(this.#clock.now())
  }

  /** Returns the time of an event whose wall time is known; never later than now. */
  ofEvent(wallMs: Milliseconds): Milliseconds {
    return this.now() - Math.max(0, this.#clock.now() - wallMs)
  }
}
