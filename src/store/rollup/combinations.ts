// The combinations of grouping fields that rollups count by, each known by a small number. Bounds
// how many a day has, because a client can name any model, user, tool and run. Runs inside
// transactions.

import {
  type BoundedCount,
  boundedValue,
  type Combination,
  combinationHash,
  combinationText,
  ERASED,
  hashOfText,
  OTHER,
  partOf,
  ROLLUP_BOUNDS,
  type RollupBounds,
  restOf,
} from '../../usage/combination.ts'
import { DAYS_KEPT } from '../../usage/periods.ts'
import { joinKey, readJson, u32, writeJson } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { numbersOf, partOfNumber, type StoredPart } from './counted-parts.ts'
import { dropOfRun, forgetOldestRun, isRunFull, takeRunNumber, touchRun } from './kept-runs.ts'

const U32_BYTES = 4
const VALUE_MARKS = { users: Buffer.from('u'), tools: Buffer.from('t') } as const satisfies Record<
  BoundedCount,
  Buffer
>
const COMBINATION_MARK = Buffer.from('c')
const NO_VALUE = Buffer.from([0])

/** What a day has so far, up to the bounds. */
interface DayMembers {
  readonly users: number
  readonly tools: number
  readonly combinations: number
  readonly toolCombinations: number
  readonly runCombinations: number
}

const NO_MEMBERS: DayMembers = {
  ...{ users: 0, tools: 0, combinations: 0, toolCombinations: 0, runCombinations: 0 },
}
const COMBINATIONS_OF = {
  call: 'combinations',
  tool: 'toolCombinations',
  run: 'runCombinations',
} as const satisfies Record<StoredPart, keyof DayMembers>

/** Key of a bounded value among the members of a day. */
const valueKey = (day: number, count: BoundedCount, name: Buffer): Buffer =>
  joinKey(u32(day), VALUE_MARKS[count], name)
const userIndexKey = (hash: string, number: number): Buffer => joinKey(Buffer.from(hash, 'hex'), u32(number))

function readMembers({ combinationdays }: StoreTables, day: number): DayMembers {
  const row = combinationdays.get(u32(day))
  // The row of an older release counts no tools and no runs.
  return row === undefined ? NO_MEMBERS : { ...NO_MEMBERS, ...readJson<Partial<DayMembers>>(row) }
}

/** A gateway has no combinations of sidecars. */
const storedPart = (combination: Combination): StoredPart => partOf(combination) as StoredPart

/** Returns the number of the combination with this hash; null if it has none. */
export function findCombination({ combinationids }: StoreTables, hash: Buffer): number | null {
  return combinationids.get(hash)?.readUInt32BE() ?? null
}

/**
 * Returns the number under which calls of a day are counted: that of the combination, or beyond the
 * bounds of one with OTHER.
 */
export function admitCombination(
  tables: StoreTables,
  combination: Combination,
  day: number,
  bounds: RollupBounds = ROLLUP_BOUNDS,
): number {
  const members = readMembers(tables, day)
  const value = boundedValue(combination)
  const key = value === null ? null : valueKey(day, value.count, value.name)
  const isNewValue = key !== null && tables.combinationdays.get(key) === undefined
  if (isNewValue && members[value!.count] >= bounds[value!.count])
    return admitCombination(tables, value!.rest, day, bounds)
  const json = combinationText(combination)
  const known = findCombination(tables, hashOfText(json))
  if (known !== null && tables.combinationdays.get(memberKey(day, known)) !== undefined) return known
  const part = storedPart(combination)
  const combinations = COMBINATIONS_OF[part]
  const rest = restOf(combination)
  if (members[combinations] >= bounds.combinations[part] && combinationText(rest) !== json)
    return admitCombination(tables, rest, day, bounds)
  const { model, run } = combination
  if (run !== undefined && run !== OTHER && known === null && model !== OTHER && isRunFull(tables, run))
    return admitCombination(tables, { ...combination, model: OTHER }, day, bounds)
  const number = known ?? writeCombination(tables, combination, json)
  touch(tables, number, day)
  tables.combinationdays.put(memberKey(day, number), NO_VALUE)
  if (isNewValue) tables.combinationdays.put(key, NO_VALUE)
  const more: DayMembers = {
    ...members,
    [combinations]: members[combinations] + 1,
    ...(isNewValue && { [value!.count]: members[value!.count] + 1 }),
  }
  tables.combinationdays.put(u32(day), writeJson(more))
  if (run !== undefined && run !== OTHER && touchRun(tables, run, day) > bounds.runs)
    for (const old of forgetOldestRun(tables)) removeCombination(tables, old)
  return number
}

const memberKey = (day: number, number: number): Buffer => joinKey(u32(day), COMBINATION_MARK, u32(number))

function writeCombination(tables: StoreTables, combination: Combination, json: string): number {
  const number = newNumber(tables, combination)
  tables.combinations.put(u32(number), joinKey(u32(0), Buffer.from(json)))
  tables.combinationids.put(hashOfText(json), u32(number))
  if (combination.user_hash !== null)
    tables.combinationusers.put(userIndexKey(combination.user_hash, number), NO_VALUE)
  return number
}

function newNumber(tables: StoreTables, combination: Combination): number {
  const { run } = combination
  if (run !== undefined) return takeRunNumber(tables, run)
  const { first, end } = numbersOf(storedPart(combination))
  const [newest] = tables.combinations.keys({ start: u32(end - 1), reverse: true, limit: 1 })
  return Math.max(first, (newest?.readUInt32BE() ?? -1) + 1)
}

/** Remembers the newest day of a combination, after which it is removed one day. */
function touch({ combinations }: StoreTables, number: number, day: number): void {
  const row = combinations.get(u32(number))
  if (row === undefined || row.readUInt32BE() >= day) return
  combinations.put(u32(number), joinKey(u32(day), row.subarray(U32_BYTES)))
}

/** Reports whether a number is of a run that was forgotten. Its sums count as OTHER. */
export const isForgotten = ({ combinations }: StoreTables, number: number): boolean =>
  partOfNumber(number) === 'run' && combinations.get(u32(number)) === undefined

/** @throws Error for a number that no combination has: the rollups are damaged */
export function readCombination({ combinations }: StoreTables, number: number): Combination {
  const row = combinations.get(u32(number))
  if (row !== undefined) return readJson<Combination>(row.subarray(U32_BYTES))
  throw new Error(
    `combination ${number} of the rollups is missing; run sidegate audit rollup --rebuild to count the log again`,
  )
}

/** Returns numbers of the combinations that name a user, at most `limit`. */
export const combinationsOfUser = (
  { combinationusers }: StoreTables,
  hash: Buffer,
  limit: number,
): number[] =>
  combinationusers
    .keys({ start: joinKey(hash, u32(0)), end: joinKey(hash, Buffer.alloc(U32_BYTES + 1, 0xff)), limit })
    .map((key) => key.readUInt32BE(hash.length))

/** Renames the user of these combinations to ERASED. */
export function eraseUserOf(tables: StoreTables, hash: Buffer, numbers: readonly number[]): void {
  for (const number of numbers) {
    const combination = readCombination(tables, number)
    const lastDay = tables.combinations.get(u32(number))!.subarray(0, U32_BYTES)
    tables.combinationids.remove(combinationHash(combination))
    tables.combinationusers.remove(joinKey(hash, u32(number)))
    const json = combinationText({ ...combination, user: ERASED, user_hash: null })
    tables.combinations.put(u32(number), joinKey(lastDay, Buffer.from(json)))
    // Two combinations may be the same now; new calls count under the first.
    if (findCombination(tables, hashOfText(json)) === null)
      tables.combinationids.put(hashOfText(json), u32(number))
  }
  const [oldest] = tables.combinationdays.keys({ limit: 1 })
  const [newest] = tables.combinationdays.keys({ reverse: true, limit: 1 })
  if (oldest === undefined || newest === undefined) return
  const last = newest.readUInt32BE()
  for (let day = Math.max(oldest.readUInt32BE(), last - DAYS_KEPT); day <= last; day++)
    tables.combinationdays.remove(valueKey(day, 'users', hash))
}

/** Returns the numbers among some combinations, from one on, whose last day is before `day`. */
export function combinationsBefore(
  { combinations }: StoreTables,
  day: number,
  from: number,
  limit: number,
): { readonly old: number[]; readonly next: number | null } {
  const rows = combinations.rows({ start: u32(from), limit })
  const old = rows.filter(({ value }) => value.readUInt32BE() < day).map(({ key }) => key.readUInt32BE())
  const last = rows.at(-1)?.key.readUInt32BE()
  return { old, next: rows.length < limit || last === undefined ? null : last + 1 }
}

/** Removes combinations whose last day is still before `day`. */
export function dropCombinations(tables: StoreTables, numbers: readonly number[], day: number): void {
  for (const number of numbers) {
    const row = tables.combinations.get(u32(number))
    if (row === undefined || row.readUInt32BE() >= day) continue
    const { run } = removeCombination(tables, number)
    if (run !== undefined) dropOfRun(tables, run, number, day)
  }
}

function removeCombination(tables: StoreTables, number: number): Combination {
  const combination = readCombination(tables, number)
  const json = combinationText(combination)
  if (findCombination(tables, hashOfText(json)) === number) tables.combinationids.remove(hashOfText(json))
  if (combination.user_hash !== null)
    tables.combinationusers.remove(userIndexKey(combination.user_hash, number))
  tables.combinations.remove(u32(number))
  return combination
}
