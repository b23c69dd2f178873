// Timers as a parameter, so that tests can fire them.

import type { Milliseconds } from './clock.ts'

export interface Timers {
  /** Calls back once, after the delay. @returns the timer, for `clear` */
  set(callback: () => void, delayMs: Milliseconds): unknown
  /** Accepts null for a timer that was never set. */
  clear(timer: unknown): void
}

/** Node's timers, which do not keep the process alive. */
export const systemTimers: Timers = {
  set: (callback, delayMs) => setTimeout(callback, delayMs).unref(),
  clear: (timer) => clearTimeout((timer ?? undefined) as NodeJS.Timeout | undefined),
}
