// The UTC hours and days of rollups, counted from the epoch: how long each is kept, and the keys of
// their rows.

import type { Milliseconds } from '../../core/clock.ts'
import { joinKey, u32 } from '../tables/layout.ts'

const U32_BYTES = 4

export const HOUR_MS: Milliseconds = 3_600_000
export const HOURS_OF_DAY = 24

/** Days whose hours are kept, today included: two months, for parts of a day in any time zone. */
const HOUR_DAYS_KEPT = 62
/** Days that are kept, today included: three years. */
export const DAYS_KEPT = 1096

export const hourOf = (timeMs: Milliseconds): number => Math.floor(timeMs / HOUR_MS)
export const dayOfHour = (hour: number): number => Math.floor(hour / HOURS_OF_DAY)

/** The oldest day whose hours are kept. */
export const firstHourDay = (nowMs: Milliseconds): number =>
  Math.max(0, dayOfHour(hourOf(nowMs)) - HOUR_DAYS_KEPT + 1)
/** The oldest day that is kept. */
export const firstKeptDay = (nowMs: Milliseconds): number =>
  Math.max(0, dayOfHour(hourOf(nowMs)) - DAYS_KEPT + 1)

/** Key of the sums of a combination in an hour that is not packed. */
export const openKey = (hour: number, combination: number): Buffer => joinKey(u32(hour), u32(combination))

/** Returns the combination of such a key. */
export const combinationOfKey = (key: Buffer): number => key.readUInt32BE(U32_BYTES)

export type PeriodKind = 'hour' | 'day'

const MARKS = { hour: Buffer.from('h'), day: Buffer.from('d') } as const

/** Key of a packed hour or day. */
export const periodKey = (kind: PeriodKind, number: number): Buffer => joinKey(MARKS[kind], u32(number))

/** Returns the hour or day of a key. */
export const periodOfKey = (key: Buffer): number => key.readUInt32BE(MARKS.hour.length)
