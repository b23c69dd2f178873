// The combinations of grouping fields that rollups count by, each known by a small number. Bounds
// how many a day has, because a client can name any model, user, tool and run. Runs inside
// transactions.

import { hash as digest } from 'node:crypto'
import { canonicalize } from '../../audit/canonical.ts'
import type { KeyLabels } from '../../core/key-terms.ts'
import { joinKey, readJson, u32 } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { type CountedPart, numbersOf, partOf } from './counted-parts.ts'
import { dropOfRun, forgetOldestRun, isRunFull, takeRunNumber, touchRun } from './kept-runs.ts'
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
  /** Only where the sums are of the part of calls with one tool, which have no user. */
  readonly tool?: string
  /** Only where the sums are of the calls of one run, which have no user. */
  readonly run?: string
}

/** Model, user, tool or run of the calls beyond the bounds. */
export const OTHER = 'other'
/** User of calls whose user was erased. */
export const ERASED = 'erased'

/** Maximum users of a UTC day with rows of their own. */
const MAXIMUM_USERS_OF_DAY = 10_000
/** Maximum tools of a UTC day with rows of their own. */
const MAXIMUM_TOOLS_OF_DAY = 200
/**
 * Maximum combinations of a UTC day, and so of an hour. Beyond it model and user are OTHER; keys,
 * APIs and upstreams are as many as the operator has.
 */
export const MAXIMUM_COMBINATIONS_OF_DAY = 12_000
/** The same for combinations with a tool, and with a run. */
const MAXIMUM_TOOL_COMBINATIONS_OF_DAY = 2000
const MAXIMUM_RUN_COMBINATIONS_OF_DAY = 6000
/** Maximum runs that are named; the one that was idle for the most days is forgotten first. */
const MAXIMUM_KEPT_RUNS = 40_000

export interface RollupBounds {
  readonly users: number
  readonly tools: number
  readonly combinations: Readonly<Record<CountedPart, number>>
  readonly runs: number
}

const ROLLUP_BOUNDS: RollupBounds = {
  users: MAXIMUM_USERS_OF_DAY,
  tools: MAXIMUM_TOOLS_OF_DAY,
  combinations: {
    call: MAXIMUM_COMBINATIONS_OF_DAY,
    tool: MAXIMUM_TOOL_COMBINATIONS_OF_DAY,
    run: MAXIMUM_RUN_COMBINATIONS_OF_DAY,
  },
  runs: MAXIMUM_KEPT_RUNS,
}

const U32_BYTES = 4
const USER_MARK = Buffer.from('u')
const TOOL_MARK = Buffer.from('t')
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
} as const satisfies Record<CountedPart, keyof DayMembers>

/** A value of a combination of which a day has only so many. */
interface BoundedValue {
  readonly count: 'users' | 'tools'
  /** Key of the value among the members of the day. */
  readonly key: Buffer
  /** The combination beyond the bound. */
  readonly rest: Combination
}

const hashOf = (json: string): Buffer => digest('sha256', json, 'buffer')
const userKeyOf = (day: number, hash: string): Buffer =>
  joinKey(u32(day), USER_MARK, Buffer.from(hash, 'hex'))
const userIndexKey = (hash: string, number: number): Buffer => joinKey(Buffer.from(hash, 'hex'), u32(number))

function readMembers({ combinationdays }: StoreTables, day: number): DayMembers {
  const row = combinationdays.get(u32(day))
  // The row of an older release counts no tools and no runs.
  return row === undefined ? NO_MEMBERS : { ...NO_MEMBERS, ...readJson<Partial<DayMembers>>(row) }
}

const countedPart = ({ tool, run }: Combination): CountedPart =>
  tool !== undefined ? 'tool' : run !== undefined ? 'run' : 'call'

/** Returns null for a combination whose values are not bounded, or are OTHER. */
function boundedValue(combination: Combination, day: number): BoundedValue | null {
  const { user_hash: hash, tool } = combination
  if (hash !== null) {
    const rest = { ...combination, user: OTHER, user_hash: null }
    return { count: 'users', key: userKeyOf(day, hash), rest }
  }
  if (tool === undefined || tool === OTHER) return null
  const key = joinKey(u32(day), TOOL_MARK, hashOf(tool))
  return { count: 'tools', key, rest: { ...combination, tool: OTHER } }
}

/** The combination that counts what is beyond the combinations of a day. */
const restOf = (combination: Combination): Combination => ({
  ...combination,
  model: OTHER,
  user: combination.user === null ? null : OTHER,
  user_hash: null,
  ...(combination.tool !== undefined && { tool: OTHER }),
  ...(combination.run !== undefined && { run: OTHER }),
})

export const combinationHash = (combination: Combination): Buffer => hashOf(canonicalize(combination))

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
  const value = boundedValue(combination, day)
  const isNewValue = value !== null && tables.combinationdays.get(value.key) === undefined
  if (isNewValue && members[value.count] >= bounds[value.count])
    return admitCombination(tables, value.rest, day, bounds)
  const json = canonicalize(combination)
  const known = findCombination(tables, hashOf(json))
  if (known !== null && tables.combinationdays.get(memberKey(day, known)) !== undefined) return known
  const part = countedPart(combination)
  const combinations = COMBINATIONS_OF[part]
  const rest = restOf(combination)
  if (members[combinations] >= bounds.combinations[part] && canonicalize(rest) !== json)
    return admitCombination(tables, rest, day, bounds)
  const { model, run } = combination
  if (run !== undefined && run !== OTHER && known === null && model !== OTHER && isRunFull(tables, run))
    return admitCombination(tables, { ...combination, model: OTHER }, day, bounds)
  const number = known ?? writeCombination(tables, combination, json)
  touch(tables, number, day)
  tables.combinationdays.put(memberKey(day, number), NO_VALUE)
  if (isNewValue) tables.combinationdays.put(value.key, NO_VALUE)
  const more: DayMembers = {
    ...members,
    [combinations]: members[combinations] + 1,
    ...(isNewValue && { [value.count]: members[value.count] + 1 }),
  }
  tables.combinationdays.put(u32(day), Buffer.from(canonicalize({ ...more })))
  if (run !== undefined && run !== OTHER && touchRun(tables, run, day) > bounds.runs)
    for (const old of forgetOldestRun(tables)) removeCombination(tables, old)
  return number
}

const memberKey = (day: number, number: number): Buffer => joinKey(u32(day), COMBINATION_MARK, u32(number))

function writeCombination(tables: StoreTables, combination: Combination, json: string): number {
  const number = newNumber(tables, combination)
  tables.combinations.put(u32(number), joinKey(u32(0), Buffer.from(json)))
  tables.combinationids.put(hashOf(json), u32(number))
  if (combination.user_hash !== null)
    tables.combinationusers.put(userIndexKey(combination.user_hash, number), NO_VALUE)
  return number
}

function newNumber(tables: StoreTables, combination: Combination): number {
  const { run } = combination
  if (run !== undefined) return takeRunNumber(tables, run)
  const { first, end } = numbersOf(countedPart(combination))
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
  partOf(number) === 'run' && combinations.get(u32(number)) === undefined

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
    if (findCombination(tables, hashOf(json)) === null) tables.combinationids.put(hashOf(json), u32(number))
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
    const { run } = removeCombination(tables, number)
    if (run !== undefined) dropOfRun(tables, run, number, day)
  }
}

function removeCombination(tables: StoreTables, number: number): Combination {
  const combination = readCombination(tables, number)
  const json = canonicalize(combination)
  if (findCombination(tables, hashOf(json)) === number) tables.combinationids.remove(hashOf(json))
  if (combination.user_hash !== null)
    tables.combinationusers.remove(userIndexKey(combination.user_hash, number))
  tables.combinations.remove(u32(number))
  return combination
}
