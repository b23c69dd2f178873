// Reports usage over the last days from the rollups of a store.

import type { Milliseconds } from '../../core/clock.ts'
import type { UsageSeries } from '../../core/usage-series.ts'
import { CallSums } from '../../usage/call-sums.ts'
import { DaySeries } from '../../usage/day-series.ts'
import type { Environment } from '../environment/journaled.ts'
import { readFirstHour } from './call-rollup.ts'
import { partOfNumber } from './counted-parts.ts'
import { readPeriods } from './period-reading.ts'

/** Works like DaySeries, from what the log has counted. */
export async function seriesOfDays(
  environment: Environment,
  days: number,
  nowMs: Milliseconds,
): Promise<UsageSeries> {
  environment.refresh()
  const series = new DaySeries(days, nowMs)
  const begin = readFirstHour(environment.tables, 'call') ?? Number.POSITIVE_INFINITY
  const unused = new CallSums()
  let current = unused
  await readPeriods(environment, [series.range], {
    setPeriod: (_, period) => {
      current = series.sumsOf(period)
    },
    sumsOf: (combination) => (partOfNumber(combination) === 'call' ? current : unused),
  })
  return series.finish(begin)
}
