// Reads the sums of hours and days from rollups. Counts each call once, also while rows are packed.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CallSums } from '../../usage/call-sums.ts'
import { dayOfHour, HOURS_OF_DAY, type PeriodKind, type PeriodRange } from '../../usage/periods.ts'
import type { Environment } from '../environment/journaled.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { eachPacked } from './packed-sums.ts'
import { combinationOfKey, openKey, periodKey, periodOfKey } from './rollup-periods.ts'

/** Maximum packed hours or days read at a time. */
const PAGE_PERIODS = 32
/** Sums read before the event loop gets its turn: a few milliseconds. */
const SUMS_OF_TURN = 40_000

/** Takes the sums that are read. */
export interface PeriodSums {
  /** The sums that follow are of this hour or day. */
  setPeriod(kind: PeriodKind, period: number): void
  /** Returns the sums to which a combination adds. */
  sumsOf(combination: number): CallSums
}

/**
 * Reads disjoint ranges. A call that is sealed meanwhile may be left out.
 * @throws what `sums` throws (rejects)
 */
export async function readPeriods(
  environment: Environment,
  ranges: readonly PeriodRange[],
  sums: PeriodSums,
): Promise<void> {
  const reading = new PeriodReading(environment.tables, sums)
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
}

class PeriodReading {
  readonly #sums: PeriodSums
  readonly #tables: StoreTables
  /** Keys of the packed rows that were read with the rows that move into them. */
  readonly #read = new Set<string>()
  #sumsOfTurn = 0

  constructor(tables: StoreTables, sums: PeriodSums) {
    this.#tables = tables
    this.#sums = sums
  }

  /** Reads the rows of a range that are not packed, and the packed rows that they belong to. */
  readOpen({ kind, first, end }: PeriodRange): void {
    const hours = kind === 'day' ? HOURS_OF_DAY : 1
    const range = { start: openKey(first * hours, 0), end: openKey(end * hours, 0) }
    const periods = new Set<number>()
    for (const { key, value } of this.#tables.openhours.rows(range)) {
      const hour = key.readUInt32BE()
      const period = kind === 'day' ? dayOfHour(hour) : hour
      this.#sums.setPeriod(kind, period)
      this.#sums.sumsOf(combinationOfKey(key)).addPacked(value, 0)
      periods.add(period)
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
    if (this.#sumsOfTurn < SUMS_OF_TURN) return false
    this.#sumsOfTurn = 0
    return true
  }

  #addPacked(kind: PeriodKind, period: number, packed: Buffer): void {
    this.#sums.setPeriod(kind, period)
    eachPacked(packed, (combination, at) => {
      this.#sumsOfTurn++
      return this.#sums.sumsOf(combination).addPacked(packed, at)
    })
  }
}
