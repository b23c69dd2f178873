// The clock of the database, by which all hubs of a fleet agree: its time at the newest reading,
// and the monotonic clock since.

import type { Clock, Milliseconds } from '../core/clock.ts'

export class DatabaseClock implements Clock {
  readonly #own: Clock
  /** The time of the database minus the monotonic clock; null before the first reading. */
  #aheadMs: Milliseconds | null = null

  constructor(own: Clock) {
    this.#own = own
  }

  /** Takes the time of a reading that has just arrived. */
  take(atMs: Milliseconds): void {
    this.#aheadMs = atMs - this.#own.monotonic()
  }

  /** Whole milliseconds; by the own clock before the first reading. */
  now(): Milliseconds {
    return this.#aheadMs === null ? this.#own.now() : Math.floor(this.#own.monotonic() + this.#aheadMs)
  }

  monotonic(): Milliseconds {
    return this.#own.monotonic()
  }
}
