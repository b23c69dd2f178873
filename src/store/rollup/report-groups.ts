// Reads the rows of a usage report from combinations of the rollups. Bounds what it remembers.

import { isoTime } from '../../core/time.ts'
import { CallSums } from '../../usage/call-sums.ts'
import { type CountedPart, OTHER, partOfReport } from '../../usage/combination.ts'
import { DAY_MS } from '../../usage/periods.ts'
import { type GroupField, isTimeField } from '../../usage/report-query.ts'
import {
  combinedValue,
  dateCharacters,
  type GroupValues,
  type ReportResult,
  ReportRows,
  type SharedValues,
} from '../../usage/report-rows.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { isForgotten, readCombination } from './combinations.ts'
import { partOfNumber } from './counted-parts.ts'

/** Maximum combinations whose values, and sums, are remembered. */
const MAXIMUM_REMEMBERED_COMBINATIONS = 50_000

export class ReportGroups {
  readonly #tables: StoreTables
  readonly #groupBy: readonly GroupField[]
  readonly #keyId: string | null
  readonly #rows: ReportRows
  /** The part of calls that the rows sum. */
  readonly #part: CountedPart
  /** Takes the sums that the report does not show. */
  readonly #unused = new CallSums()
  readonly #dateCharacters: number
  /** Values by combination, for MAXIMUM_REMEMBERED_COMBINATIONS of them. */
  readonly #valuesOf = new Map<number, SharedValues>()
  #date: string | null = null
  /** Sums of the current period by combination, for MAXIMUM_REMEMBERED_COMBINATIONS of them. */
  readonly #sumsOf = new Map<number, CallSums>()

  /** @param keyId sums only the calls of this key; null for those of all */
  constructor(tables: StoreTables, groupBy: readonly GroupField[], keyId: string | null = null) {
    this.#tables = tables
    this.#keyId = keyId
    this.#groupBy = groupBy
    this.#rows = new ReportRows(groupBy)
    this.#part = partOfReport(groupBy)
    this.#dateCharacters = dateCharacters(groupBy)
  }

  /** Sets the UTC day of the sums that follow. */
  setDay(day: number): void {
    if (this.#date !== null && this.#dateCharacters === 0) return
    const date = isoTime(day * DAY_MS).slice(0, this.#dateCharacters)
    if (date === this.#date) return
    this.#date = date
    this.#sumsOf.clear()
    this.#rows.setDate(date)
  }

  /**
   * Returns the sums to which a combination adds.
   * @throws GatewayError `invalid_parameter` when the report would have too many rows
   */
  sumsOf(combination: number): CallSums {
    const part = partOfNumber(combination)
    if (part !== this.#part && (part !== 'call' || this.#keyId === null))
      return part === 'call' ? this.#rows.calls : this.#unused
    const remembered = this.#sumsOf.get(combination)
    if (remembered !== undefined) return remembered
    const sums = !this.#concerns(combination)
      ? this.#unused
      : part === this.#part
        ? this.#rows.sumsOf(this.#read(combination))
        : this.#rows.calls
    if (this.#sumsOf.size >= MAXIMUM_REMEMBERED_COMBINATIONS) this.#sumsOf.clear()
    this.#sumsOf.set(combination, sums)
    return sums
  }

  #concerns(combination: number): boolean {
    if (this.#keyId === null) return true
    const isKnown = !isForgotten(this.#tables, combination)
    return isKnown && readCombination(this.#tables, combination).key === this.#keyId
  }

  /** Works like `ReportRows.finish`. */
  finish(): ReportResult {
    return this.#rows.finish()
  }

  /** Returns the values of a combination; the same object for the same values. */
  #read(number: number): SharedValues {
    const remembered = this.#valuesOf.get(number)
    if (remembered !== undefined) return remembered
    const shared = this.#rows.share(
      isForgotten(this.#tables, number) ? this.#forgotten() : this.#valuesIn(number),
    )
    if (this.#valuesOf.size >= MAXIMUM_REMEMBERED_COMBINATIONS) this.#valuesOf.clear()
    this.#valuesOf.set(number, shared)
    return shared
  }

  #valuesIn(number: number): GroupValues {
    const combination = readCombination(this.#tables, number)
    this.#rows.nameKey(combination.key, combination.key_name, number)
    return this.#groupBy.map((field) => combinedValue(field, combination))
  }

  #forgotten(): GroupValues {
    return this.#groupBy.map((field) => (field === 'run' ? OTHER : isTimeField(field) ? '' : null))
  }
}
