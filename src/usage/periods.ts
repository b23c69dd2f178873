// The UTC hours and days by which usage is counted, numbered from the epoch, and how long the sums
// of each are kept.

import type { Milliseconds } from '../core/clock.ts'

export const HOUR_MS: Milliseconds = 3_600_000
export const HOURS_OF_DAY = 24
export const DAY_MS: Milliseconds = HOURS_OF_DAY * HOUR_MS

/** Days whose hours are kept, today included: two months, for parts of a day in any time zone. */
const HOUR_DAYS_KEPT = 62
/** Days that are kept, today included: three years. */
export const DAYS_KEPT = 1096

export type PeriodKind = 'hour' | 'day'

/** Hours or days from `first` on, before `end`. */
export interface PeriodRange {
  readonly kind: PeriodKind
  readonly first: number
  readonly end: number
}

export const hourOf = (timeMs: Milliseconds): number => Math.floor(timeMs / HOUR_MS)
export const dayOfHour = (hour: number): number => Math.floor(hour / HOURS_OF_DAY)

/** The oldest day whose hours are kept. */
export const firstHourDay = (nowMs: Milliseconds): number =>
  Math.max(0, dayOfHour(hourOf(nowMs)) - HOUR_DAYS_KEPT + 1)
/** The oldest day that is kept. */
export const firstKeptDay = (nowMs: Milliseconds): number =>
  Math.max(0, dayOfHour(hourOf(nowMs)) - DAYS_KEPT + 1)
