// Reports the usage of a period by grouping fields: whole UTC days from their sums, the rest from
// hours.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { isoTime } from '../../core/time.ts'
import type { Environment } from '../journaled.ts'
import type { StoreTables } from '../lmdb.ts'
import { readFirstHour } from './call-rollup.ts'
import { eachPacked } from './packed-sums.ts'
import { ReportGroups, type UsageRow } from './report-groups.ts'
import type { UsageReportQuery } from './report-query.ts'
import {
  combinationOfKey,
  dayOfHour,
  firstHourDay,
  firstKeptDay,
  HOUR_MS,
  HOURS_OF_DAY,
  hourOf,
  openKey,
  type PeriodKind,
  periodKey,
  periodOfKey,
} from './rollup-periods.ts'

/** Most packed hours or days read at a time. */
const PAGE_PERIODS = 32
/** Sums read before the event loop gets its turn: a few milliseconds. */
const SUMS_OF_TURN = 40_000

export type UsageReport = {
  /** Most expensive first, then by the grouping fields. */
  readonly rows: UsageRow[]
  readonly total: UsageRow
  /** The period in whole UTC hours. */
  readonly since: string
  readonly until: string
  /** False when a part of the period is older than what is counted. */
  readonly complete: boolean
}

/** Hours or days from `first` on, before `end`. */
interface PeriodRange {
  readonly kind: PeriodKind
  readonly first: number
  readonly end: number
}

/** How a period is read: disjoint ranges, and what is missing. */
interface ReportPlan {
  readonly firstHour: number
  readonly endHour: number
  readonly ranges: readonly PeriodRange[]
  readonly complete: boolean
}

/**
 * Counts each call once, also while rows are packed. A call that is sealed meanwhile may be left
 * out.
 * @throws GatewayError `invalid_parameter` (rejects) for an empty period, or more rows than
 * MAX_REPORT_ROWS
 */
export async function reportUsage(
  environment: Environment,
  { groupBy, sinceMs, untilMs }: UsageReportQuery,
  nowMs: Milliseconds,
): Promise<UsageReport> {
  environment.refresh()
  const { tables } = environment
  const { firstHour, endHour, ranges, complete } = planReport(tables, sinceMs, untilMs, nowMs)
  const reading = new ReportReading(tables, new ReportGroups(tables, groupBy))
  // Only these rows can move into packed ones. Both are read before anything else can happen.
  for (const range of ranges) reading.readOpen(range)
  for (const range of ranges) {
    for (let from: number | null = range.first; from !== null; ) {
      from = reading.readPage({ ...range, first: from })
      if (!reading.isTurnOver()) continue
      await nextTurn()
      environment.refresh()
    }
  }
  return {
    ...reading.groups.finish(),
    since: isoTime(firstHour * HOUR_MS),
    until: isoTime(endHour * HOUR_MS),
    complete,
  }
}

function planReport(
  tables: StoreTables,
  sinceMs: Milliseconds,
  untilMs: Milliseconds,
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
  const begin = readFirstHour(tables) ?? hourOf(nowMs) + 1
  return {
    firstHour,
    endHour,
    ranges: asked
      .map(({ kind, first, end }) => ({ kind, first: Math.max(first, kept[kind]), end }))
      .filter(({ first, end }) => first < end),
    complete: firstHour >= begin && asked.every(({ kind, first }) => first >= kept[kind]),
  }
}

class ReportReading {
  readonly groups: ReportGroups
  readonly #tables: StoreTables
  /** Keys of the packed rows that were read with the rows that move into them. */
  readonly #read = new Set<string>()
  #sums = 0

  constructor(tables: StoreTables, groups: ReportGroups) {
    this.#tables = tables
    this.groups = groups
  }

  /** Reads the rows of a range that are not packed, and the packed rows that they belong to. */
  readOpen({ kind, first, end }: PeriodRange): void {
    const hours = kind === 'day' ? HOURS_OF_DAY : 1
    const range = { start: openKey(first * hours, 0), end: openKey(end * hours, 0) }
    const periods = new Set<number>()
    for (const { key, value } of this.#tables.openhours.rows(range)) {
      const hour = key.readUInt32BE()
      this.groups.setDay(dayOfHour(hour))
      this.groups.sumsOf(combinationOfKey(key)).addPacked(value, 0)
      periods.add(kind === 'day' ? dayOfHour(hour) : hour)
    }
    for (const period of periods) {
      const key = periodKey(kind, period)
      this.#read.add(key.toString('latin1'))
      const packed = this.#tables.rollups.get(key)
      if (packed !== undefined) this.#addPacked(kind, period, packed)
    }
  }

  /** Reads some packed rows of a range. @returns where the rest begins; null at its end */
  readPage({ kind, first, end }: PeriodRange): number | null {
    const range = { start: periodKey(kind, first), end: periodKey(kind, end), limit: PAGE_PERIODS }
    const rows = this.#tables.rollups.rows(range)
    for (const { key, value } of rows)
      if (!this.#read.has(key.toString('latin1'))) this.#addPacked(kind, periodOfKey(key), value)
    return rows.length < PAGE_PERIODS ? null : periodOfKey(rows.at(-1)!.key) + 1
  }

  /** Reports whether much was read since the last turn of the event loop. */
  isTurnOver(): boolean {
    if (this.#sums < SUMS_OF_TURN) return false
    this.#sums = 0
    return true
  }

  #addPacked(kind: PeriodKind, period: number, packed: Buffer): void {
    this.groups.setDay(kind === 'day' ? period : dayOfHour(period))
    eachPacked(packed, (combination, at) => {
      this.#sums++
      return this.groups.sumsOf(combination).addPacked(packed, at)
    })
  }
}
