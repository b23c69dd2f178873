// The runs that rollups name, each by its newest day. Says which to forget first. Runs inside
// transactions.

import { hash as digest } from 'node:crypto'
import { joinKey, readJson, u32, writeJson } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { numbersOf } from './counted-parts.ts'

/** Maximum combinations of one run, whose models a client can name as it likes. */
const MAXIMUM_COMBINATIONS_OF_RUN = 64

const STATE_KEY = Buffer.from('s')
const RUN_MARK = Buffer.from('r')
const DAY_MARK = Buffer.from('d')
const AFTER_DAYS = Buffer.from('e')
const COMBINATION_MARK = Buffer.from('c')
const U32_BYTES = 4
const NO_VALUE = Buffer.from([0])

interface RunsState {
  readonly runs: number
  /** Numbers are not used again, because sums of a forgotten run keep its numbers. */
  readonly next: number
}

const hashOf = (run: string): Buffer => digest('sha256', run, 'buffer')
const runKey = (hash: Buffer): Buffer => joinKey(RUN_MARK, hash)
const dayKey = (day: Buffer, hash: Buffer): Buffer => joinKey(DAY_MARK, day, hash)
const combinationKey = (hash: Buffer, number: number): Buffer => joinKey(COMBINATION_MARK, hash, u32(number))

function readState({ combinationruns }: StoreTables): RunsState {
  const row = combinationruns.get(STATE_KEY)
  return row === undefined ? { runs: 0, next: numbersOf('run').first } : readJson<RunsState>(row)
}

const writeState = ({ combinationruns }: StoreTables, state: RunsState): void =>
  combinationruns.put(STATE_KEY, writeJson(state))

/** Returns the number of a new combination of a run. */
export function takeRunNumber(tables: StoreTables, run: string): number {
  const { runs, next } = readState(tables)
  writeState(tables, { runs, next: next + 1 })
  tables.combinationruns.put(combinationKey(hashOf(run), next), NO_VALUE)
  return next
}

/** Reports whether a run has as many combinations as one can have. */
export const isRunFull = (tables: StoreTables, run: string): boolean =>
  combinationsOf(tables, hashOf(run)).length >= MAXIMUM_COMBINATIONS_OF_RUN

const combinationsOf = ({ combinationruns }: StoreTables, hash: Buffer): number[] =>
  combinationruns
    .keys({ start: combinationKey(hash, 0), end: combinationKey(hash, numbersOf('run').end) })
    .map((key) => key.readUInt32BE(key.length - U32_BYTES))

/** Remembers the newest day of a run. @returns how many runs there are */
export function touchRun(tables: StoreTables, run: string, day: number): number {
  const { combinationruns } = tables
  const hash = hashOf(run)
  const known = combinationruns.get(runKey(hash))
  const state = readState(tables)
  const runs = state.runs + Number(known === undefined)
  if (known !== undefined && known.readUInt32BE() >= day) return runs
  if (known === undefined) writeState(tables, { ...state, runs })
  else combinationruns.remove(dayKey(known, hash))
  combinationruns.put(runKey(hash), u32(day))
  combinationruns.put(dayKey(u32(day), hash), NO_VALUE)
  return runs
}

/** Forgets the run that was idle for the most days. @returns the numbers of its combinations */
export function forgetOldestRun(tables: StoreTables): number[] {
  const [oldest] = tables.combinationruns.keys({ start: DAY_MARK, end: AFTER_DAYS, limit: 1 })
  if (oldest === undefined) return []
  const hash = oldest.subarray(DAY_MARK.length + U32_BYTES)
  const numbers = combinationsOf(tables, hash)
  for (const number of numbers) tables.combinationruns.remove(combinationKey(hash, number))
  forget(tables, hash)
  return numbers
}

/** Forgets a combination of a run, and the run if its newest day is before `day`. */
export function dropOfRun(tables: StoreTables, run: string, number: number, day: number): void {
  const hash = hashOf(run)
  tables.combinationruns.remove(combinationKey(hash, number))
  const newest = tables.combinationruns.get(runKey(hash))
  if (newest !== undefined && newest.readUInt32BE() < day) forget(tables, hash)
}

function forget(tables: StoreTables, hash: Buffer): void {
  const { combinationruns } = tables
  const day = combinationruns.get(runKey(hash))
  if (day === undefined) return
  combinationruns.remove(runKey(hash))
  combinationruns.remove(dayKey(day, hash))
  const { runs, next } = readState(tables)
  writeState(tables, { runs: runs - 1, next })
}
