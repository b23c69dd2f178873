// Timers as a value that is handed in, so that tests can turn them by hand.

import type { Milliseconds } from './clock.ts'

export interface Timers {
  /** Calls back once, after the delay; answers what `clear` takes. */
  set(callback: () => void, delayMs: Milliseconds): unknown
  /** Takes null for a timer that was never set. */
  clear(timer: unknown): void
}

/** Node's own; they do not keep a process alive. */
export const systemTimers: Timers = {
  set: (callback, delayMs) => setTimeout(callback, delayMs).unref(),
  clear: (timer) => clearTimeout((timer ?? undefined) as NodeJS.Timeout | undefined),
}
