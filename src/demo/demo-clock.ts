// Clock of the demo: begins an hour late, leaps forward as the calls of that hour are made, and
// ends as the system's clock.

import { type Clock, type Milliseconds, systemClock } from '../core/clock.ts'

export class DemoClock implements Clock {
  readonly #system: Clock
  #leaptMs: Milliseconds = 0
  #behindMs: Milliseconds

  /** @param behindMs how late the clock begins */
  constructor(behindMs: Milliseconds, system = systemClock) {
    this.#system = system
    this.#behindMs = behindMs
  }

  now(): Milliseconds {
    return this.#system.now() - this.#behindMs
  }

  monotonic(): Milliseconds {
    return this.#system.monotonic() + this.#leaptMs
  }

  /** Leaps forward, at most to the time of the system. */
  leap(ms: Milliseconds): void {
    const leapMs = Math.min(Math.max(0, ms), this.#behindMs)
    this.#leaptMs += leapMs
    this.#behindMs -= leapMs
  }

  /** Leaps to the time of the system. */
  catchUp(): void {
    this.leap(this.#behindMs)
  }
}
