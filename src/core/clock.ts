// Time as a value that is handed in, so that tests can turn the clock. Nothing else in src/ calls Date.now().

/** A point in time or a span, in whole or fractional milliseconds. */
export type Milliseconds = number

/** Wall time for what people read, monotonic time for what is measured. */
export interface Clock {
  /** Milliseconds since the Unix epoch; may jump when the machine's clock is set. */
  now(): Milliseconds
  /** Milliseconds since an arbitrary start; never runs backwards. */
  monotonic(): Milliseconds
}

/** As a global it is a getter, which takes as long as the clock itself. */
const { performance: timer } = globalThis

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => timer.now(),
}
