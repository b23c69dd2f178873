// When a sidecar asks the hub for its share again: soon after it changed, then ever less often. The
// others may have come or gone, and what one gives up is there for another only after both asked.

import type { Milliseconds } from '../core/clock.ts'

/** Time without use after which the share is given up. */
export const UNUSED_MS: Milliseconds = 600_000
/** Time after a change of the share until it is asked for again; twice that after each answer. */
const FIRST_MS: Milliseconds = 1000
const MAXIMUM_MS: Milliseconds = 60_000
/** Beyond it a limit without calls is looked at only now and then. */
const SOON_MS: Milliseconds = 10_000

export class ShareRounds {
  #betweenMs: Milliseconds = Number.POSITIVE_INFINITY
  #heardMs: Milliseconds = Number.NEGATIVE_INFINITY

  /** Whether it is to be asked for in the next seconds. */
  get isSoon(): boolean {
    return this.#betweenMs <= SOON_MS
  }

  isDue(nowMs: Milliseconds): boolean {
    return nowMs - this.#heardMs >= this.#betweenMs
  }

  /** The hub has said what the share is. */
  heard(isChanged: boolean, nowMs: Milliseconds): void {
    if (isChanged || this.#betweenMs === Number.POSITIVE_INFINITY) this.#betweenMs = FIRST_MS
    else if (this.isDue(nowMs)) this.#betweenMs = Math.min(MAXIMUM_MS, 2 * this.#betweenMs)
    this.#heardMs = nowMs
  }

  /** There is no share to ask for until a call comes. */
  end(): void {
    this.#betweenMs = Number.POSITIVE_INFINITY
  }
}
