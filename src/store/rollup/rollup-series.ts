// Reports usage over the last days from rollups: hour by hour, or day by day for longer periods.

import type { Milliseconds } from '../../core/clock.ts'
import { type UsageSeries, type UsageStep, usageSeries } from '../../core/usage-series.ts'
import type { Environment } from '../environment/journaled.ts'
import { readFirstHour } from './call-rollup.ts'
import { CallSums } from './call-sums.ts'
import { partOf } from './counted-parts.ts'
import { readPeriods } from './period-reading.ts'
import { dayOfHour, HOUR_MS, HOURS_OF_DAY, hourOf, type PeriodKind } from './rollup-periods.ts'

/** Maximum days that are reported hour by hour. */
const MAXIMUM_HOURLY_DAYS = 7
const HOUR_SECONDS = HOUR_MS / 1000
const HOURS_OF: Readonly<Record<PeriodKind, number>> = { hour: 1, day: HOURS_OF_DAY }

/**
 * Returns the last `days` × 24 hours, or above MAXIMUM_HOURLY_DAYS the last UTC days, the current
 * one included. A step from before the log counted calls is null. What the gateway added and
 * streams are not known.
 */
export async function seriesOfDays(
  environment: Environment,
  days: number,
  nowMs: Milliseconds,
): Promise<UsageSeries> {
  environment.refresh()
  const kind: PeriodKind = days <= MAXIMUM_HOURLY_DAYS ? 'hour' : 'day'
  const hours = HOURS_OF[kind]
  const nowHour = hourOf(nowMs)
  const end = (kind === 'hour' ? nowHour : dayOfHour(nowHour)) + 1
  const first = Math.max(0, end - (days * HOURS_OF_DAY) / hours)
  const begin = readFirstHour(environment.tables, 'call') ?? Number.POSITIVE_INFINITY
  const sums = Array.from({ length: end - first }, () => new CallSums())
  const unused = new CallSums()
  let current = 0
  await readPeriods(environment, [{ kind, first, end }], {
    setPeriod: (_, period) => {
      current = period - first
    },
    sumsOf: (combination) => (partOf(combination) === 'call' ? sums[current]! : unused),
  })
  const steps = sums.map((sum, index) => {
    const isCounted = (first + index + 1) * hours > begin
    return isCounted || !sum.isZero ? stepOf(sum) : null
  })
  return usageSeries(hours * HOUR_SECONDS, first, steps)
}

function stepOf(sum: CallSums): UsageStep {
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
