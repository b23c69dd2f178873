// Clock as a parameter, so that tests can set the time. No other file in src/ calls Date.now().

/** A point in time or a duration, in whole or fractional milliseconds. */
export type Milliseconds = number

/** Wall time for people, monotonic time for durations. */
export interface Clock {
  /** Milliseconds since the Unix epoch; may jump when the machine's clock is set. */
  now(): Milliseconds
  /** Milliseconds since an arbitrary start; never runs backwards. */
  monotonic(): Milliseconds
}

/** A local name: the global is a getter, which takes as long as reading the clock. */
const { performance: timer } = globalThis

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => timer.now(),
}
