// The combinations of grouping fields that rollups count by, each known by a small number. Bounds
// how many a day has, because a client can name any model and any user. Runs inside transactions.

import { hash as digest } from 'node:crypto'
import { canonicalize } from '../../audit/canonical.ts'
import type { KeyLabels } from '../../core/key-terms.ts'
import { joinKey, readJson, u32 } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { DAYS_KEPT } from './rollup-periods.ts'

/** What calls are grouped by. */
export type Combination = {
  readonly key: string
  readonly key_name: string
  readonly model: string
  readonly api: string
  readonly upstream: string | null
  readonly labels: KeyLabels
  /** As `readUser` shows it; null without one. */
  readonly user: string | null
  /** In hex, to find the rows of a user; null for OTHER and ERASED. */
  readonly user_hash: string | null
}

/** Model, or user, of the calls beyond the bounds of a day. */
const OTHER = 'other'
/** User of calls whose user was erased. */
export const ERASED = 'erased'

/** Maximum users of a UTC day with rows of their own. */
const MAXIMUM_USERS_OF_DAY = 10_000
/**
 * Maximum combinations of a UTC day, and so of an hour. Beyond it model and user are OTHER; keys,
 * APIs and upstreams are as many as the operator has.
 */
export const MAXIMUM_COMBINATIONS_OF_DAY = 12_000

export interface DayBounds {
  readonly users: number
  readonly combinations: number
}

const DAY_BOUNDS: DayBounds = { users: MAXIMUM_USERS_OF_DAY, combinations: MAXIMUM_COMBINATIONS_OF_DAY }

const U32_BYTES = 4
const USER_MARK = Buffer.from('u')
const COMBINATION_MARK = Buffer.from('c')
const NO_VALUE = Buffer.from([0])

/** What a day has so far, up to the bounds. */
interface DayMembers {
  readonly users: number
  readonly combinations: number
}

const hashOf = (json: string): Buffer => digest('sha256', json, 'buffer')
const userKeyOf = (day: number, hash: string): Buffer =>
  joinKey(u32(day), USER_MARK, Buffer.from(hash, 'hex'))
const userIndexKey = (hash: string, number: number): Buffer => joinKey(Buffer.from(hash, 'hex'), u32(number))

function readMembers({ combinationdays }: StoreTables, day: number): DayMembers {
  const row = combinationdays.get(u32(day))
  return row === undefined ? { users: 0, combinations: 0 } : readJson<DayMembers>(row)
}

/** Returns the number of a combination; null if it has none. */
export function findCombination({ combinationids }: StoreTables, json: string): number | null {
  return combinationids.get(hashOf(json))?.readUInt32BE() ?? null
}

/**
 * Returns the number under which calls of a day are counted: that of the combination, or beyond the
 * bounds of one with OTHER.
 */
export function admitCombination(
  tables: StoreTables,
  combination: Combination,
  day: number,
  bounds: DayBounds = DAY_BOUNDS,
): number {
  const members = readMembers(tables, day)
  const { user_hash: hash } = combination
  const isNewUser = hash !== null && tables.combinationdays.get(userKeyOf(day, hash)) === undefined
  if (isNewUser && members.users >= bounds.users)
    return admitCombination(tables, { ...combination, user: OTHER, user_hash: null }, day, bounds)
  const json = canonicalize(combination)
  const known = findCombination(tables, json)
  if (known !== null && tables.combinationdays.get(memberKey(day, known)) !== undefined) return known
  const isRest = combination.model === OTHER && hash === null
  if (!isRest && members.combinations >= bounds.combinations) {
    const user = combination.user === null ? null : OTHER
    return admitCombination(tables, { ...combination, model: OTHER, user, user_hash: null }, day, bounds)
  }
  const number = known ?? writeCombination(tables, combination, json)
  touch(tables, number, day)
  tables.combinationdays.put(memberKey(day, number), NO_VALUE)
  if (isNewUser) tables.combinationdays.put(userKeyOf(day, hash), NO_VALUE)
  const users = members.users + Number(isNewUser)
  const more: DayMembers = { users, combinations: members.combinations + 1 }
  tables.combinationdays.put(u32(day), Buffer.from(canonicalize(more)))
  return number
}

const memberKey = (day: number, number: number): Buffer => joinKey(u32(day), COMBINATION_MARK, u32(number))

function writeCombination(tables: StoreTables, combination: Combination, json: string): number {
  const [newest] = tables.combinations.keys({ reverse: true, limit: 1 })
  const number = newest === undefined ? 0 : newest.readUInt32BE() + 1
  tables.combinations.put(u32(number), joinKey(u32(0), Buffer.from(json)))
  tables.combinationids.put(hashOf(json), u32(number))
  if (combination.user_hash !== null)
    tables.combinationusers.put(userIndexKey(combination.user_hash, number), NO_VALUE)
  return number
}

/** Remembers the newest day of a combination, after which it is removed one day. */
function touch({ combinations }: StoreTables, number: number, day: number): void {
  const row = combinations.get(u32(number))
  if (row === undefined || row.readUInt32BE() >= day) return
  combinations.put(u32(number), joinKey(u32(day), row.subarray(U32_BYTES)))
}

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
    tables.combinationids.remove(hashOf(canonicalize(combination)))
    tables.combinationusers.remove(joinKey(hash, u32(number)))
    const json = canonicalize({ ...combination, user: ERASED, user_hash: null })
    tables.combinations.put(u32(number), joinKey(lastDay, Buffer.from(json)))
    // Two combinations may be the same now; new calls count under the first.
    if (findCombination(tables, json) === null) tables.combinationids.put(hashOf(json), u32(number))
  }
  const [oldest] = tables.combinationdays.keys({ limit: 1 })
  const [newest] = tables.combinationdays.keys({ reverse: true, limit: 1 })
  if (oldest === undefined || newest === undefined) return
  const last = newest.readUInt32BE()
  for (let day = Math.max(oldest.readUInt32BE(), last - DAYS_KEPT); day <= last; day++)
    tables.combinationdays.remove(userKeyOf(day, hash.toString('hex')))
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
    const combination = readCombination(tables, number)
    const json = canonicalize(combination)
    if (findCombination(tables, json) === number) tables.combinationids.remove(hashOf(json))
    if (combination.user_hash !== null)
      tables.combinationusers.remove(userIndexKey(combination.user_hash, number))
    tables.combinations.remove(u32(number))
  }
}
