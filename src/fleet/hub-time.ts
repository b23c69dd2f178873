// The time of the hub as a sidecar knows it: between two bounds, from the times at which requests
// left and their answers came, by the monotonic clock. Never runs backwards.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { HubTime } from '../policy/leased-limit.ts'

export class HubClock {
  readonly #clock: Clock
  /** Added to the monotonic time; null before the first answer. */
  #offsets: { readonly earliestMs: Milliseconds; readonly latestMs: Milliseconds } | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes the time of an answer. */
  take(hubMs: Milliseconds, sentMs: Milliseconds, receivedMs: Milliseconds): void {
    const earliestMs = Math.max(this.#offsets?.earliestMs ?? Number.NEGATIVE_INFINITY, hubMs - receivedMs)
    this.#offsets = { earliestMs, latestMs: Math.max(earliestMs, hubMs - sentMs) }
  }

  /** The time of the hub; by the clock of this machine before the first answer. */
  now(): HubTime {
    const { monotonic, now } = { monotonic: this.#clock.monotonic(), now: this.#clock.now() }
    if (this.#offsets === null) return { earliestMs: now, latestMs: now }
    const { earliestMs, latestMs } = this.#offsets
    return { earliestMs: monotonic + earliestMs, latestMs: monotonic + latestMs }
  }
}
