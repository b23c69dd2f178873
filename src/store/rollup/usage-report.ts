// Reports the usage of a period by grouping fields: whole UTC days from their sums, the rest from
// hours.

import type { Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { isoTime } from '../../core/time.ts'
import type { Environment } from '../environment/journaled.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { readFirstHour } from './call-rollup.ts'
import { type CountedPart, partOfReport } from './counted-parts.ts'
import { type PeriodRange, readPeriods } from './period-reading.ts'
import { ReportGroups, type UsageRow } from './report-groups.ts'
import type { UsageReportQuery } from './report-query.ts'
import { dayOfHour, firstHourDay, firstKeptDay, HOUR_MS, HOURS_OF_DAY, hourOf } from './rollup-periods.ts'

export type UsageReport = {
  /** Most expensive first, then by the grouping fields. */
  readonly rows: UsageRow[]
  readonly total: UsageRow
  /** The period in whole UTC hours. */
  readonly since: string
  readonly until: string
  /** False when a part of the period is older than what is counted. */
  readonly complete: boolean
  /**
   * Start of the first hour in which refused and answered calls are counted, where the period
   * begins earlier; absent otherwise.
   */
  readonly refused_since?: string
}

/** How a period is read: disjoint ranges, and what is missing. */
interface ReportPlan {
  readonly firstHour: number
  readonly endHour: number
  readonly ranges: readonly PeriodRange[]
  readonly complete: boolean
}

/**
 * A call that is sealed meanwhile may be left out.
 * @throws GatewayError `invalid_parameter` (rejects) for an empty period, or more rows than
 * MAXIMUM_REPORT_ROWS
 */
export async function reportUsage(
  environment: Environment,
  { groupBy, keyId = null, sinceMs, untilMs }: UsageReportQuery,
  nowMs: Milliseconds,
): Promise<UsageReport> {
  environment.refresh()
  const { tables } = environment
  const { firstHour, endHour, ranges, complete } = planReport(
    tables,
    partOfReport(groupBy),
    { sinceMs, untilMs },
    nowMs,
  )
  const refusedHour = readFirstHour(tables, 'refused') ?? hourOf(nowMs) + 1
  const groups = new ReportGroups(tables, groupBy, keyId)
  await readPeriods(environment, ranges, {
    setPeriod: (kind, period) => groups.setDay(kind === 'day' ? period : dayOfHour(period)),
    sumsOf: (combination) => groups.sumsOf(combination),
  })
  return {
    ...groups.finish(),
    since: isoTime(firstHour * HOUR_MS),
    until: isoTime(endHour * HOUR_MS),
    complete,
    ...(refusedHour > firstHour && { refused_since: isoTime(refusedHour * HOUR_MS) }),
  }
}

function planReport(
  tables: StoreTables,
  part: CountedPart,
  { sinceMs, untilMs }: Pick<UsageReportQuery, 'sinceMs' | 'untilMs'>,
  nowMs: Milliseconds,
): ReportPlan {
  const firstHour = hourOf(sinceMs)
  const endHour = Math.ceil(untilMs / HOUR_MS)
  if (firstHour >= endHour)
    throw new GatewayError('invalid_parameter', 'until must be later than since.', { param: 'until' })
  const firstDay = Math.ceil(firstHour / HOURS_OF_DAY)
  const endDay = Math.max(firstDay, Math.floor(endHour / HOURS_OF_DAY))
  const hasDays = firstDay < endDay
  const wanted: PeriodRange[] = hasDays
    ? [
        { kind: 'hour', first: firstHour, end: firstDay * HOURS_OF_DAY },
        { kind: 'day', first: firstDay, end: endDay },
        { kind: 'hour', first: endDay * HOURS_OF_DAY, end: endHour },
      ]
    : [{ kind: 'hour', first: firstHour, end: endHour }]
  const kept = { hour: firstHourDay(nowMs) * HOURS_OF_DAY, day: firstKeptDay(nowMs) }
  const asked = wanted.filter(({ first, end }) => first < end)
  const begin = readFirstHour(tables, part) ?? hourOf(nowMs) + 1
  return {
    firstHour,
    endHour,
    ranges: asked
      .map(({ kind, first, end }) => ({ kind, first: Math.max(first, kept[kind]), end }))
      .filter(({ first, end }) => first < end),
    complete: firstHour >= begin && asked.every(({ kind, first }) => first >= kept[kind]),
  }
}
