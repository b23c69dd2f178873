// The rows of a usage report while it is read: sums by the grouping fields of the query. Bounds the
// rows and what it remembers.

import { GatewayError } from '../../core/errors.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { toUsd } from '../../core/money.ts'
import { isoTime } from '../../core/time.ts'
import { startOfDay } from '../layout.ts'
import type { StoreTables } from '../lmdb.ts'
import { CallSums, type ExactSums } from './call-sums.ts'
import { type Combination, readCombination } from './combinations.ts'
import { type GroupField, labelOf } from './report-query.ts'

/** Most rows of a report. */
export const MAX_REPORT_ROWS = 50_000
/** Most combinations whose group is remembered. */
const MAX_REMEMBERED = 50_000
const DAY_CHARACTERS = 'YYYY-MM-DD'.length
const MONTH_CHARACTERS = 'YYYY-MM'.length
const NANO_DIGITS = 9

interface ReportGroup {
  /** In the order of the query. */
  readonly values: readonly (string | null)[]
  readonly sums: CallSums
}

/** A row of a report, or its total: the grouping fields and the sums. */
export type UsageRow = JsonObject

export class ReportGroups {
  readonly #tables: StoreTables
  readonly #groupBy: readonly GroupField[]
  readonly #groups = new Map<string, ReportGroup>()
  /** Sums of the group of a combination on `#day`. */
  readonly #remembered = new Map<number, CallSums>()
  readonly #keyNames = new Map<string, { readonly name: string; readonly combination: number }>()
  readonly #isByTime: boolean
  #day = -1
  #date = ''

  constructor(tables: StoreTables, groupBy: readonly GroupField[]) {
    this.#tables = tables
    this.#groupBy = groupBy
    this.#isByTime = groupBy.includes('day') || groupBy.includes('month')
  }

  /** Sets the UTC day of the sums that follow. */
  setDay(day: number): void {
    if (!this.#isByTime || day === this.#day) return
    this.#day = day
    this.#date = isoTime(startOfDay(day)).slice(0, DAY_CHARACTERS)
    this.#remembered.clear()
  }

  /**
   * Returns the sums to which a combination adds.
   * @throws GatewayError `invalid_parameter` when the report would have too many rows
   */
  sumsOf(combination: number): CallSums {
    const remembered = this.#remembered.get(combination)
    if (remembered !== undefined) return remembered
    const values = this.#valuesOf(combination)
    const name = JSON.stringify(values)
    let group = this.#groups.get(name)
    if (group === undefined) {
      if (this.#groups.size >= MAX_REPORT_ROWS) throw tooLong()
      group = { values, sums: new CallSums() }
      this.#groups.set(name, group)
    }
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(combination, group.sums)
    return group.sums
  }

  /** Returns the rows, most expensive first, and their sum. */
  finish(): { readonly rows: UsageRow[]; readonly total: UsageRow } {
    const total = new CallSums()
    const groups = [...this.#groups.values()].map(({ values, sums }) => {
      total.add(sums)
      return { values, sums: sums.values() }
    })
    groups.sort(
      (one, other) => compare(one.sums.cost, other.sums.cost) || compareAll(one.values, other.values),
    )
    const rows = groups.map(({ values, sums }) => ({ ...this.#fieldsOf(values), ...shownSums(sums) }))
    return { rows, total: shownSums(total.values()) }
  }

  #valuesOf(number: number): (string | null)[] {
    const combination = readCombination(this.#tables, number)
    const { key, key_name: name } = combination
    // A key that the configuration renamed has the name of its newest combination.
    if ((this.#keyNames.get(key)?.combination ?? -1) < number)
      this.#keyNames.set(key, { name, combination: number })
    return this.#groupBy.map((field) => this.#valueOf(field, combination))
  }

  #valueOf(field: GroupField, combination: Combination): string | null {
    const label = labelOf(field)
    if (label !== null) return Object.hasOwn(combination.labels, label) ? combination.labels[label]! : null
    switch (field) {
      case 'day':
        return this.#date
      case 'month':
        return this.#date.slice(0, MONTH_CHARACTERS)
      default:
        return combination[field as 'key' | 'model' | 'api' | 'upstream' | 'user']
    }
  }

  #fieldsOf(values: readonly (string | null)[]): JsonObject {
    const fields: Record<string, JsonValue> = {}
    for (const [index, field] of this.#groupBy.entries()) {
      const value = values[index]!
      fields[field] = value
      if (field === 'key' && value !== null) fields['key_name'] = this.#keyNames.get(value)!.name
    }
    return fields
  }
}

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

function shownSums({ cost, priced_requests, ...sums }: ExactSums): JsonObject {
  const isUnknown = priced_requests === 0 && sums.unpriced_requests > 0
  return {
    requests: Number(sums.requests),
    blocked: Number(sums.blocked),
    prompt_tokens: Number(sums.prompt_tokens),
    completion_tokens: Number(sums.completion_tokens),
    total_tokens: Number(sums.total_tokens),
    cost: isUnknown ? null : usdOfSum(cost),
    unpriced_requests: Number(sums.unpriced_requests),
  }
}

/** The number of USD nearest to a sum. */
function usdOfSum(cost: number | bigint): number {
  if (typeof cost === 'number') return toUsd(cost)
  const digits = String(cost)
  return Number(`${digits.slice(0, -NANO_DIGITS)}.${digits.slice(-NANO_DIGITS)}`)
}

const tooLong = (): GatewayError =>
  new GatewayError(
    'invalid_parameter',
    `group_by and the period make more than ${MAX_REPORT_ROWS} rows; give fewer fields or a shorter period.`,
    { param: 'group_by' },
  )
