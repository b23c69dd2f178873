// Counts calls into the sums of usage, inside the transaction that stores their entries: one row
// for the calls of a combination in an hour. Transactions at a time write to different rows.

import type { Milliseconds } from '../core/clock.ts'
import {
  type CallGroup,
  CallGroups,
  type CountedCall,
  type CountedUser,
  groupHash,
  valuesOf,
} from '../usage/call-groups.ts'
import { CallSums, SUM_COUNT } from '../usage/call-sums.ts'
import { dayOfHour, firstKeptDay, hourOf } from '../usage/periods.ts'
import { admitCombinations, KnownCombinations, memberText } from './combination-rows.ts'
import { onlyRow, type Queries } from './database.ts'

/** Slots of transactions; one that finds none free waits for the rows of the first. */
const MAXIMUM_SLOTS = 16
/** Number of the advisory lock before that of the first slot. */
const SLOT_LOCKS = 7_310_100
const MINUTE_MS: Milliseconds = 60_000
/** Minutes that are kept, for series of the last hours. */
export const MINUTES_KEPT = 1441
const MAXIMUM_BIGINT = 2n ** 63n - 1n

/**
 * The sums of a row `u` and those of a new one, at most the largest number, and after them those
 * that a later release has added. As `add_sums`, in a fifth of its time.
 */
const ADDED_SUMS = `array[${Array.from({ length: SUM_COUNT }, (_, index) => {
  const before = `coalesce(u.sums[${index + 1}], 0)`
  return `${before} + least(excluded.sums[${index + 1}], ${MAXIMUM_BIGINT} - ${before})`
}).join(', ')}] || u.sums[${SUM_COUNT + 1}:]`

/** A call to count. */
export interface ShippedCall {
  readonly call: CountedCall
  /** When it was sealed. */
  readonly sealedMs: Milliseconds
  readonly user: CountedUser | null
  /** Name of its sidecar. */
  readonly sidecar: string
}

/** Where a transaction counts. */
interface CountingPlace {
  readonly slot: number
  readonly generation: number
  readonly now_ms: Milliseconds
  /** Names the tables and the start of their server: another one after a restore from a backup. */
  readonly source: string
}

/** Calls of one combination in one hour. */
interface HourGroup {
  readonly hour: number
  readonly group: CallGroup
}

/** Counts calls that arrive. @param known combinations that the same database had before */
export async function countCalls(
  queries: Queries,
  calls: readonly ShippedCall[],
  known: KnownCombinations,
): Promise<void> {
  if (calls.length === 0) return
  const place = await placeOf(queries)
  known.setSource(place.source)
  await writeHours(queries, calls, place, known)
  await writeMinutes(queries, calls, place)
}

/** Counts calls of the stored log again, into another generation. */
export async function countAgain(
  queries: Queries,
  calls: readonly ShippedCall[],
  generation: number,
): Promise<void> {
  if (calls.length === 0) return
  await writeHours(queries, calls, { ...(await placeOf(queries)), generation }, new KnownCombinations())
}

const placeOf = (queries: Queries): Promise<CountingPlace> =>
  onlyRow(
    queries.rows<CountingPlace>(
      `select current as generation, floor(extract(epoch from now()) * 1000)::bigint as now_ms,
         concat(pg_postmaster_start_time(), 'combination'::regclass::oid, (select epoch from fleet_head)) as source,
         coalesce((select slot from generate_series(1, ${MAXIMUM_SLOTS}) slot
           where pg_try_advisory_xact_lock(${SLOT_LOCKS} + slot) limit 1), 1) as slot
       from rollup_state`,
    ),
  )

async function writeHours(
  queries: Queries,
  calls: readonly ShippedCall[],
  { slot, generation, now_ms: nowMs }: CountingPlace,
  known: KnownCombinations,
): Promise<void> {
  const groups = groupsOf(calls, firstKeptDay(nowMs))
  const wanted = groups.map(({ hour, group }) => ({
    day: dayOfHour(hour),
    hash: groupHash(group),
    hasUser: group.hasUser,
    combination: () => group.combination(),
  }))
  const admitted = await admitCombinations(queries, wanted, known)
  // Beyond the bounds several combinations count as one.
  const rows = new Map<string, { hour: number; combination: number; sums: CallSums }>()
  for (const [index, { hour, group }] of groups.entries()) {
    const { day, hash } = wanted[index]!
    const combination = admitted.get(memberText(day, hash))!
    const name = `${hour}/${combination}`
    const row = rows.get(name)
    if (row === undefined) rows.set(name, { hour, combination, sums: group.sums })
    else row.sums.add(group.sums)
  }
  // In one order: a transaction may share a slot with others.
  const sorted = [...rows.values()].sort((a, b) => a.hour - b.hour || a.combination - b.combination)
  await queries.rows(
    `insert into usage_hour as u (hour, slot, generation, combination, sums)
     select n.hour, $1, $2, n.combination, n.sums::bigint[]
     from unnest($3::integer[], $4::bigint[], $5::text[]) as n(hour, combination, sums)
     on conflict (hour, slot, generation, combination) do update set sums = ${ADDED_SUMS}`,
    [
      ...[slot, generation],
      sorted.map(({ hour }) => hour),
      sorted.map(({ combination }) => combination),
      sorted.map(({ sums }) => sumsText(sums)),
    ],
  )
}

/** Groups calls by hour and combination. Those of days that are not kept are not counted. */
function groupsOf(calls: readonly ShippedCall[], firstDay: number): HourGroup[] {
  const bySidecar = new Map<string, { hour: number; sidecar: string; groups: CallGroups }>()
  for (const { call, sealedMs, user, sidecar } of calls) {
    const hour = hourOf(sealedMs)
    if (dayOfHour(hour) < firstDay) continue
    const name = `${hour}/${sidecar}`
    let own = bySidecar.get(name)
    if (own === undefined) {
      own = { hour, sidecar, groups: new CallGroups() }
      bySidecar.set(name, own)
    }
    own.groups.add(call, user)
  }
  const hours = new Map<number, CallGroups>()
  for (const { hour, sidecar, groups } of bySidecar.values()) {
    const all = hours.get(hour) ?? new CallGroups()
    hours.set(hour, all)
    all.addSidecar(groups, sidecar)
  }
  return [...hours].flatMap(([hour, groups]) => Array.from(groups.values(), (group) => ({ hour, group })))
}

async function writeMinutes(
  queries: Queries,
  calls: readonly ShippedCall[],
  { slot, now_ms: nowMs }: CountingPlace,
): Promise<void> {
  const oldest = Math.floor(nowMs / MINUTE_MS) - MINUTES_KEPT
  const minutes = new Map<number, CallSums>()
  for (const { call, sealedMs } of calls) {
    const minute = Math.floor(sealedMs / MINUTE_MS)
    if (minute <= oldest) continue
    const sums = minutes.get(minute) ?? new CallSums()
    minutes.set(minute, sums)
    sums.addCall(valuesOf(call))
  }
  if (minutes.size === 0) return
  const sorted = [...minutes].sort(([a], [b]) => a - b)
  await queries.rows(
    `insert into usage_minute as u (minute, slot, sums)
     select n.minute, $1, n.sums::bigint[] from unnest($2::integer[], $3::text[]) as n(minute, sums)
     on conflict (minute, slot) do update set sums = ${ADDED_SUMS}`,
    [slot, sorted.map(([minute]) => minute), sorted.map(([, sums]) => sumsText(sums))],
  )
}

/** Returns the text of an array of the sums: `unnest` takes no arrays of arrays. */
const sumsText = (sums: CallSums): string => `{${sums.list().map(storableSum).join(',')}}`

const storableSum = (sum: number | bigint): number | bigint =>
  typeof sum === 'bigint' && sum > MAXIMUM_BIGINT ? MAXIMUM_BIGINT : sum
