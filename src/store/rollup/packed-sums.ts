// The rows of rollups: sums by combination, of an hour that is not packed one row for each, of a
// packed hour and of a day all in one. A call is counted once in its hour, and once in its day. The
// writing functions run inside transactions.

import { CallSums } from '../../usage/call-sums.ts'
import { dayOfHour, HOURS_OF_DAY, type PeriodKind } from '../../usage/periods.ts'
import { u32 } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { combinationOfKey, openKey, periodKey } from './rollup-periods.ts'

/** Sums by the number of their combination. */
export type CombinationSums = Map<number, CallSums>

const U32_BYTES = 4

/** Calls `take` with each combination of a packed value and the offset of its sums, in order. */
export function eachPacked(packed: Buffer, take: (combination: number, offset: number) => number): void {
  for (let at = 0; at < packed.length; ) at = take(packed.readUInt32BE(at), at + U32_BYTES)
}

/** Returns the sums of a combination, zero at first. */
export function sumsOf(sums: CombinationSums, combination: number): CallSums {
  let found = sums.get(combination)
  if (found === undefined) {
    found = new CallSums()
    sums.set(combination, found)
  }
  return found
}

/** Adds a packed hour or day, if there is a row, to the sums. */
function addPackedTo(
  sums: CombinationSums,
  { rollups }: StoreTables,
  kind: PeriodKind,
  number: number,
): void {
  const packed = rollups.get(periodKey(kind, number))
  if (packed !== undefined)
    eachPacked(packed, (combination, at) => sumsOf(sums, combination).addPacked(packed, at))
}

function writePacked(
  { rollups }: StoreTables,
  kind: PeriodKind,
  number: number,
  sums: CombinationSums,
): void {
  const parts: Buffer[] = []
  for (const [combination, one] of [...sums].sort(([a], [b]) => a - b)) {
    if (one.isZero) continue
    parts.push(u32(combination), one.packed())
  }
  if (parts.length === 0) rollups.remove(periodKey(kind, number))
  else rollups.put(periodKey(kind, number), Buffer.concat(parts))
}

/** Adds to a packed hour or day. */
export function addToPacked(
  tables: StoreTables,
  kind: PeriodKind,
  number: number,
  more: CombinationSums,
): void {
  const sums: CombinationSums = new Map()
  addPackedTo(sums, tables, kind, number)
  for (const [combination, one] of more) sumsOf(sums, combination).add(one)
  writePacked(tables, kind, number, sums)
}

/** Writes the sums of a day, all of whose packed hours are kept. */
export function sumDay(tables: StoreTables, day: number): void {
  const sums: CombinationSums = new Map()
  for (let hour = day * HOURS_OF_DAY; hour < (day + 1) * HOURS_OF_DAY; hour++)
    addPackedTo(sums, tables, 'hour', hour)
  writePacked(tables, 'day', day, sums)
}

/** Removes the rows that are not packed of hours from `first` on, before `end`. */
export function dropOpen({ openhours }: StoreTables, first: number, end: number): void {
  for (const key of openhours.keys({ start: openKey(first, 0), end: openKey(end, 0) })) openhours.remove(key)
}

/**
 * Adds to the row of an hour that is not packed.
 * @returns false when there is no row; nothing is added then
 */
export function addToOpen(
  { openhours }: StoreTables,
  hour: number,
  combination: number,
  more: CallSums,
): boolean {
  const key = openKey(hour, combination)
  const row = openhours.get(key)
  if (row === undefined) return false
  more.addPacked(row, 0)
  openhours.put(key, more.packed())
  return true
}

/** Writes the first row of a combination in an hour that is not packed. */
export const beginOpen = (
  { openhours }: StoreTables,
  hour: number,
  combination: number,
  sums: CallSums,
): void => openhours.put(openKey(hour, combination), sums.packed())

/** The first hours and days whose rows are kept. */
export interface KeptPeriods {
  readonly hourDay: number
  readonly day: number
}

/**
 * Moves rows of an hour into its packed row and its day, each where it is kept.
 * @param limit maximum rows
 * @returns how many rows it moved
 */
export function packHour(tables: StoreTables, hour: number, kept: KeptPeriods, limit: number): number {
  const rows = tables.openhours.rows({ start: openKey(hour, 0), end: openKey(hour + 1, 0), limit })
  const sums: CombinationSums = new Map()
  for (const { key, value } of rows) {
    sumsOf(sums, combinationOfKey(key)).addPacked(value, 0)
    tables.openhours.remove(key)
  }
  const day = dayOfHour(hour)
  if (day >= kept.hourDay) addToPacked(tables, 'hour', hour, sums)
  if (day >= kept.day) addToPacked(tables, 'day', day, sums)
  return rows.length
}
