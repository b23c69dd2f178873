// The rows of a usage report while it is read: sums by the grouping fields of the query. Bounds the
// rows and what it remembers.

import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { toUsd } from '../../core/money.ts'
import { isoTime } from '../../core/time.ts'
import { startOfDay } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { CallSums, type ExactSums, SHOWN_SUMS, SUM_HALVES } from './call-sums.ts'
import { type Combination, isForgotten, OTHER, readCombination } from './combinations.ts'
import { type CountedPart, partOf, partOfReport } from './counted-parts.ts'
import { type GroupField, labelOf } from './report-query.ts'

/** Maximum rows of a report. */
const MAXIMUM_REPORT_ROWS = 50_000
/** Maximum combinations whose values, and sums, are remembered. */
const MAXIMUM_REMEMBERED_COMBINATIONS = 50_000
/** Sums in one allocation. */
const SUMS_OF_CHUNK = 256
const DAY_CHARACTERS = 'YYYY-MM-DD'.length
const MONTH_CHARACTERS = 'YYYY-MM'.length

/** The values of some combinations: the key, the labels and so on that they share. */
interface SharedValues {
  /** In the order of the query; empty for a time. */
  readonly values: readonly (string | null)[]
}

/** A row while it is summed. */
interface ReportGroup extends SharedValues {
  readonly sums: ExactSums
}

/** A row of a report, or its total: the grouping fields and the sums. */
export type UsageRow = JsonObject

export class ReportGroups {
  readonly #tables: StoreTables
  readonly #groupBy: readonly GroupField[]
  readonly #keyId: string | null
  /** The part of calls that the rows sum. */
  readonly #part: CountedPart
  /** Sums of whole calls, where the rows are of another part. */
  readonly #calls = new CallSums()
  /** Takes the sums that the report does not show. */
  readonly #unused = new CallSums()
  /** Characters of a date that tell periods apart. */
  readonly #dateCharacters: number
  readonly #shared = new Map<string, SharedValues>()
  /** Values by combination, for MAXIMUM_REMEMBERED_COMBINATIONS of them. */
  readonly #valuesOf = new Map<number, SharedValues>()
  readonly #keyNames = new Map<string, { readonly name: string; readonly combination: number }>()
  /** By the part of the date that tells periods apart. */
  readonly #periods = new Map<string, Map<SharedValues, CallSums>>()
  #period = new Map<SharedValues, CallSums>()
  #date: string | null = null
  /** Sums of the current period by combination, for MAXIMUM_REMEMBERED_COMBINATIONS of them. */
  readonly #sumsOf = new Map<number, CallSums>()
  #rows = 0
  #chunk = new Float64Array(0)

  /** @param keyId sums only the calls of this key; null for those of all */
  constructor(tables: StoreTables, groupBy: readonly GroupField[], keyId: string | null = null) {
    this.#tables = tables
    this.#keyId = keyId
    this.#groupBy = groupBy
    this.#part = partOfReport(groupBy)
    this.#dateCharacters = groupBy.includes('day')
      ? DAY_CHARACTERS
      : groupBy.includes('month')
        ? MONTH_CHARACTERS
        : 0
  }

  /** Sets the UTC day of the sums that follow. */
  setDay(day: number): void {
    if (this.#date !== null && this.#dateCharacters === 0) return
    const date = isoTime(startOfDay(day)).slice(0, this.#dateCharacters)
    if (date === this.#date) return
    this.#date = date
    this.#sumsOf.clear()
    this.#period = this.#periods.get(date) ?? new Map()
    this.#periods.set(date, this.#period)
  }

  /**
   * Returns the sums to which a combination adds.
   * @throws GatewayError `invalid_parameter` when the report would have too many rows
   */
  sumsOf(combination: number): CallSums {
    const part = partOf(combination)
    if (part !== this.#part && (part !== 'call' || this.#keyId === null))
      return part === 'call' ? this.#calls : this.#unused
    const remembered = this.#sumsOf.get(combination)
    if (remembered !== undefined) return remembered
    const sums = !this.#concerns(combination)
      ? this.#unused
      : part === this.#part
        ? this.#rowSums(combination)
        : this.#calls
    if (this.#sumsOf.size >= MAXIMUM_REMEMBERED_COMBINATIONS) this.#sumsOf.clear()
    this.#sumsOf.set(combination, sums)
    return sums
  }

  #rowSums(combination: number): CallSums {
    const shared = this.#read(combination)
    let sums = this.#period.get(shared)
    if (sums === undefined) {
      if (++this.#rows > MAXIMUM_REPORT_ROWS) throw tooLong()
      sums = this.#newSums()
      this.#period.set(shared, sums)
    }
    return sums
  }

  #concerns(combination: number): boolean {
    if (this.#keyId === null) return true
    const isKnown = !isForgotten(this.#tables, combination)
    return isKnown && readCombination(this.#tables, combination).key === this.#keyId
  }

  #newSums(): CallSums {
    if (this.#chunk.length === 0) this.#chunk = new Float64Array(SUMS_OF_CHUNK * SUM_HALVES)
    const halves = this.#chunk.subarray(0, SUM_HALVES)
    this.#chunk = this.#chunk.subarray(SUM_HALVES)
    return new CallSums(halves)
  }

  /** Returns the rows, most expensive first, and the sum of all calls. */
  finish(): { readonly rows: UsageRow[]; readonly total: UsageRow } {
    const total = this.#calls
    const groups: ReportGroup[] = []
    for (const [date, period] of this.#periods) {
      for (const [{ values }, sums] of period) {
        if (this.#part === 'call') total.add(sums)
        groups.push({ values: this.#withTime(values, date), sums: sums.values() })
      }
    }
    groups.sort(
      (one, other) => compare(one.sums.cost, other.sums.cost) || compareAll(one.values, other.values),
    )
    const rows = groups.map(({ values, sums }) => this.#rowOf(values, sums))
    return { rows, total: shownSums({}, total.values()) }
  }

  /** Returns the values of a combination; the same object for the same values. */
  #read(number: number): SharedValues {
    const remembered = this.#valuesOf.get(number)
    if (remembered !== undefined) return remembered
    const values = isForgotten(this.#tables, number) ? this.#forgotten() : this.#valuesIn(number)
    const text = JSON.stringify(values)
    const shared = this.#shared.get(text) ?? { values }
    this.#shared.set(text, shared)
    if (this.#valuesOf.size >= MAXIMUM_REMEMBERED_COMBINATIONS) this.#valuesOf.clear()
    this.#valuesOf.set(number, shared)
    return shared
  }

  #valuesIn(number: number): (string | null)[] {
    const combination = readCombination(this.#tables, number)
    const { key, key_name: name } = combination
    // A key that the configuration renamed has the name of its newest combination.
    if ((this.#keyNames.get(key)?.combination ?? -1) < number)
      this.#keyNames.set(key, { name, combination: number })
    return this.#groupBy.map((field) => combinedValue(field, combination))
  }

  #forgotten(): (string | null)[] {
    return this.#groupBy.map((field) => (field === 'run' ? OTHER : isTime(field) ? '' : null))
  }

  #withTime(values: readonly (string | null)[], date: string): readonly (string | null)[] {
    if (this.#dateCharacters === 0) return values
    return this.#groupBy.map((field, index) =>
      field === 'day' ? date : field === 'month' ? date.slice(0, MONTH_CHARACTERS) : values[index]!,
    )
  }

  #rowOf(values: readonly (string | null)[], sums: ExactSums): UsageRow {
    const row: UsageRow = {}
    for (const [index, field] of this.#groupBy.entries()) {
      const value = values[index]!
      row[field] = value
      if (field === 'key' && value !== null) row['key_name'] = this.#keyNames.get(value)!.name
    }
    return shownSums(row, sums)
  }
}

/** Empty for a time, which is not of a combination. */
function combinedValue(field: GroupField, combination: Combination): string | null {
  const label = labelOf(field)
  if (label !== null) return Object.hasOwn(combination.labels, label) ? combination.labels[label]! : null
  if (isTime(field)) return ''
  return combination[field as 'key' | 'model' | 'api' | 'upstream' | 'user' | 'tool' | 'run'] ?? null
}

const isTime = (field: GroupField): boolean => field === 'day' || field === 'month'

/** Larger first. */
const compare = (one: number | bigint, other: number | bigint): number =>
  one > other ? -1 : one < other ? 1 : 0

/** In the order of code units, null first. */
function compareAll(one: readonly (string | null)[], other: readonly (string | null)[]): number {
  for (const [index, value] of one.entries()) {
    const against = other[index]!
    if (value === against) continue
    return value === null || (against !== null && value < against) ? -1 : 1
  }
  return 0
}

/** A refused or blocked call costs nothing, so it takes no share. */
export const COST_PER_REQUEST = 'cost_per_request'

const costEach = (cost: number | bigint, calls: number): number => toUsd(Math.round(Number(cost) / calls))

/** Adds the sums, as people read them, to a row. */
function shownSums(row: UsageRow, sums: ExactSums): UsageRow {
  for (const field of SHOWN_SUMS) row[field] = Number(sums[field])
  const isUnknown = sums.priced_requests === 0 && sums.unpriced_requests > 0
  const cost = isUnknown ? null : toUsd(sums.cost)
  row['cost'] = cost
  const answered = Number(sums.answered)
  row[COST_PER_REQUEST] = cost === null || answered === 0 ? null : costEach(sums.cost, answered)
  return row
}

const tooLong = (): GatewayError =>
  new GatewayError(
    'invalid_parameter',
    `group_by and the period make more than ${MAXIMUM_REPORT_ROWS} rows; give fewer fields or a shorter period.`,
    { param: 'group_by' },
  )
