// What a usage report reads and answers: whole UTC days from their sums, the rest from hours.

import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { isoTime } from '../core/time.ts'
import { firstHourDay, firstKeptDay, HOUR_MS, HOURS_OF_DAY, hourOf, type PeriodRange } from './periods.ts'
import type { UsageReportQuery } from './report-query.ts'
import type { ReportResult } from './report-rows.ts'

export type UsageReport = ReportResult & {
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
export interface ReportPlan {
  readonly ranges: readonly PeriodRange[]
  /** What the report says of its period. */
  readonly period: Omit<UsageReport, keyof ReportResult>
}

/** The first hours of which everything is counted, and refused and answered calls. */
export interface CountedFrom {
  readonly all: number
  readonly refused: number
}

/**
 * @throws GatewayError `invalid_parameter` for an empty period
 */
export function planReport(
  { sinceMs, untilMs }: Pick<UsageReportQuery, 'sinceMs' | 'untilMs'>,
  begin: CountedFrom,
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
  return {
    ranges: asked
      .map(({ kind, first, end }) => ({ kind, first: Math.max(first, kept[kind]), end }))
      .filter(({ first, end }) => first < end),
    period: {
      since: isoTime(firstHour * HOUR_MS),
      until: isoTime(endHour * HOUR_MS),
      complete: firstHour >= begin.all && asked.every(({ kind, first }) => first >= kept[kind]),
      ...(begin.refused > firstHour && { refused_since: isoTime(begin.refused * HOUR_MS) }),
    },
  }
}
