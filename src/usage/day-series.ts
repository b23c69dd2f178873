// The steps of a series of the last days: hour by hour, or day by day for longer periods.

import type { Milliseconds } from '../core/clock.ts'
import { type UsageSeries, type UsageStep, usageSeries } from '../core/usage-series.ts'
import { CallSums } from './call-sums.ts'
import { dayOfHour, HOUR_MS, HOURS_OF_DAY, hourOf, type PeriodKind, type PeriodRange } from './periods.ts'

/** Maximum days that are reported hour by hour. */
const MAXIMUM_HOURLY_DAYS = 7
const HOUR_SECONDS = HOUR_MS / 1000
const HOURS_OF: Readonly<Record<PeriodKind, number>> = { hour: 1, day: HOURS_OF_DAY }

/**
 * The last `days` × 24 hours, or above MAXIMUM_HOURLY_DAYS the last UTC days, the current one
 * included.
 */
export class DaySeries {
  readonly range: PeriodRange
  readonly #sums: readonly CallSums[]

  constructor(days: number, nowMs: Milliseconds) {
    const kind: PeriodKind = days <= MAXIMUM_HOURLY_DAYS ? 'hour' : 'day'
    const nowHour = hourOf(nowMs)
    const end = (kind === 'hour' ? nowHour : dayOfHour(nowHour)) + 1
    const first = Math.max(0, end - (days * HOURS_OF_DAY) / HOURS_OF[kind])
    this.range = { kind, first, end }
    this.#sums = Array.from({ length: end - first }, () => new CallSums())
  }

  /** Returns the sums of an hour or day of the range. */
  sumsOf(period: number): CallSums {
    return this.#sums[period - this.range.first]!
  }

  /**
   * Returns the series. A step from before calls were counted is null. What gateways added and
   * streams are not known.
   * @param begin the first hour of which all calls are counted
   */
  finish(begin: number): UsageSeries {
    const { kind, first } = this.range
    const hours = HOURS_OF[kind]
    const steps = this.#sums.map((sum, index) => {
      const isCounted = (first + index + 1) * hours > begin
      return isCounted || !sum.isZero ? stepOf(sum) : null
    })
    return usageSeries(hours * HOUR_SECONDS, first, steps)
  }
}

export function stepOf(sum: CallSums): UsageStep {
  const { requests, blocked, refused, total_tokens, cost } = sum.values()
  return {
    requests: Number(requests),
    blocked: Number(blocked),
    refused: Number(refused),
    tokens: Number(total_tokens),
    cost,
    addedMs: null,
    streams: null,
  }
}
