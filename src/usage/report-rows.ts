// The rows of a usage report while it is read: sums by the values of the grouping fields. Bounds
// the rows. Knows nothing of what is stored.

import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { toUsd } from '../core/money.ts'
import { CallSums, type ExactSums, SHOWN_SUMS, SUM_HALVES } from './call-sums.ts'
import { type Combination, partOfReport } from './combination.ts'
import { type GroupField, isTimeField, labelOf, type NamedField } from './report-query.ts'

/** Maximum rows of a report. */
export const MAXIMUM_REPORT_ROWS = 50_000
/** Sums in one allocation. */
const SUMS_OF_CHUNK = 256
const DAY_CHARACTERS = 'YYYY-MM-DD'.length
const MONTH_CHARACTERS = 'YYYY-MM'.length

/** A value of each grouping field, in the order of the query; empty for a time. */
export type GroupValues = readonly (string | null)[]

/** The values of some rows, which differ in their time alone. */
export interface SharedValues {
  readonly values: GroupValues
}

/** A row while it is summed. */
interface ReportGroup extends SharedValues {
  readonly sums: ExactSums
}

/** A row of a report, or its total: the grouping fields and the sums. */
type UsageRow = JsonObject

export type ReportResult = {
  /** Most expensive first, then by the grouping fields. */
  readonly rows: UsageRow[]
  readonly total: UsageRow
}

/** Characters of a date that tell the periods of a report apart. */
export const dateCharacters = (groupBy: readonly GroupField[]): number =>
  groupBy.includes('day') ? DAY_CHARACTERS : groupBy.includes('month') ? MONTH_CHARACTERS : 0

export class ReportRows {
  readonly #groupBy: readonly GroupField[]
  /** Sums of whole calls, where the rows are of another part. */
  readonly calls = new CallSums()
  readonly #shared = new Map<string, SharedValues>()
  readonly #keyNames = new Map<string, { readonly name: string; readonly combination: number }>()
  /** By the part of the date that tells periods apart. */
  readonly #periods = new Map<string, Map<SharedValues, CallSums>>()
  #period = new Map<SharedValues, CallSums>()
  #rows = 0
  #chunk = new Float64Array(0)

  constructor(groupBy: readonly GroupField[]) {
    this.#groupBy = groupBy
  }

  /** Sets the time of the sums that follow: the first `dateCharacters` of a date. */
  setDate(date: string): void {
    this.#period = this.#periods.get(date) ?? new Map()
    this.#periods.set(date, this.#period)
  }

  /** Returns the same object for the same values. */
  share(values: GroupValues): SharedValues {
    const text = JSON.stringify(values)
    const shared = this.#shared.get(text) ?? { values }
    this.#shared.set(text, shared)
    return shared
  }

  /**
   * Returns the sums of a row.
   * @throws GatewayError `invalid_parameter` when the report would have too many rows
   */
  sumsOf(shared: SharedValues): CallSums {
    let sums = this.#period.get(shared)
    if (sums === undefined) {
      if (++this.#rows > MAXIMUM_REPORT_ROWS) throw tooLong()
      sums = this.#newSums()
      this.#period.set(shared, sums)
    }
    return sums
  }

  /** Notes the name of a key. One that was renamed has that of its newest combination. */
  nameKey(key: string, name: string, combination: number): void {
    if ((this.#keyNames.get(key)?.combination ?? -1) < combination)
      this.#keyNames.set(key, { name, combination })
  }

  #newSums(): CallSums {
    if (this.#chunk.length === 0) this.#chunk = new Float64Array(SUMS_OF_CHUNK * SUM_HALVES)
    const halves = this.#chunk.subarray(0, SUM_HALVES)
    this.#chunk = this.#chunk.subarray(SUM_HALVES)
    return new CallSums(halves)
  }

  /** Returns the rows, most expensive first, and the sum of all calls. */
  finish(): ReportResult {
    const total = this.calls
    const isOfCalls = partOfReport(this.#groupBy) === 'call'
    const groups: ReportGroup[] = []
    for (const [date, period] of this.#periods) {
      for (const [{ values }, sums] of period) {
        if (isOfCalls) total.add(sums)
        groups.push({ values: this.#withTime(values, date), sums: sums.values() })
      }
    }
    groups.sort(
      (one, other) => compare(one.sums.cost, other.sums.cost) || compareAll(one.values, other.values),
    )
    const rows = groups.map(({ values, sums }) => this.#rowOf(values, sums))
    return { rows, total: shownSums({}, total.values()) }
  }

  #withTime(values: GroupValues, date: string): GroupValues {
    if (dateCharacters(this.#groupBy) === 0) return values
    return this.#groupBy.map((field, index) =>
      field === 'day' ? date : field === 'month' ? date.slice(0, MONTH_CHARACTERS) : values[index]!,
    )
  }

  #rowOf(values: GroupValues, sums: ExactSums): UsageRow {
    const row: UsageRow = {}
    for (const [index, field] of this.#groupBy.entries()) {
      const value = values[index]!
      row[field] = value
      if (field === 'key' && value !== null) row['key_name'] = this.#keyNames.get(value)!.name
    }
    return shownSums(row, sums)
  }
}

/** Returns the value of a combination for a grouping field; empty for a time. */
export function combinedValue(field: GroupField, combination: Combination): string | null {
  const label = labelOf(field)
  if (label !== null) return Object.hasOwn(combination.labels, label) ? combination.labels[label]! : null
  if (isTimeField(field)) return ''
  return combination[field as Exclude<NamedField, 'day' | 'month'>] ?? null
}

/** Larger first. */
const compare = (one: number | bigint, other: number | bigint): number =>
  one > other ? -1 : one < other ? 1 : 0

/** In the order of code units, null first. */
function compareAll(one: GroupValues, other: GroupValues): number {
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
