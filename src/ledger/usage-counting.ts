// Counts calls into the sums of usage, inside the transaction that stores their entries: one row
// for the calls of a combination in an hour. Transactions at a time write to different rows.

import type { Milliseconds } from '../core/clock.ts'
import {
  type CallGroup,
  CallGroups,
  type CountedCall,
  type CountedUser,
  groupHash,
} from '../usage/call-groups.ts'
import { CallSums, SUM_COUNT } from '../usage/call-sums.ts'
import type { Combination } from '../usage/combination.ts'
import { dayOfHour, firstKeptDay, hourOf } from '../usage/periods.ts'
import { admitCombinations, KnownCombinations, type WantedCombination } from './combination-rows.ts'
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
  const sums = sumsOf(calls, place.now_ms)
  await writeSums(queries, place, await hourRowsOf(queries, sums.hours, known), sums.minutes)
}

/** Counts calls of the stored log again, into another generation. */
export async function countAgain(
  queries: Queries,
  calls: readonly ShippedCall[],
  generation: number,
): Promise<void> {
  if (calls.length === 0) return
  const place = { ...(await placeOf(queries)), generation }
  const { hours } = sumsOf(calls, place.now_ms)
  await writeSums(queries, place, await hourRowsOf(queries, hours, new KnownCombinations()), new Map())
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

/** Finds or makes the combinations of groups. @returns what their rows are to be increased by */
async function hourRowsOf(
  queries: Queries,
  groups: readonly HourGroup[],
  known: KnownCombinations,
): Promise<readonly HourRow[]> {
  const ids = await admitCombinations(
    queries,
    groups.map((one) => new WantedGroup(one)),
    known,
  )
  // Beyond the bounds several combinations count as one.
  const hours = new Map<number, Map<number, HourRow>>()
  for (const [index, { hour, group }] of groups.entries()) {
    const combination = ids[index]!
    const rows = hours.get(hour) ?? new Map<number, HourRow>()
    hours.set(hour, rows)
    const row = rows.get(combination)
    if (row === undefined) rows.set(combination, { hour, combination, sums: group.sums })
    else row.sums.add(group.sums)
  }
  return [...hours.values()].flatMap((rows) => [...rows.values()])
}

/** Adds to the sums of hours and minutes, in one statement. */
async function writeSums(
  queries: Queries,
  { slot, generation }: CountingPlace,
  hours: readonly HourRow[],
  minutes: ReadonlyMap<number, CallSums>,
): Promise<void> {
  // In one order: a transaction may share a slot with others.
  const byHour = hours.toSorted((a, b) => a.hour - b.hour || a.combination - b.combination)
  const byMinute = [...minutes].sort(([a], [b]) => a - b)
  await queries.rows(
    `with minutes as (
       insert into usage_minute as u (minute, slot, sums)
       select n.minute, $1, n.sums::bigint[] from unnest($6::integer[], $7::text[]) as n(minute, sums)
       on conflict (minute, slot) do update set sums = ${ADDED_SUMS})
     insert into usage_hour as u (hour, slot, generation, combination, sums)
     select n.hour, $1, $2, n.combination, n.sums::bigint[]
     from unnest($3::integer[], $4::bigint[], $5::text[]) as n(hour, combination, sums)
     on conflict (hour, slot, generation, combination) do update set sums = ${ADDED_SUMS}`,
    [
      ...[slot, generation],
      numbersText(byHour.map(({ hour }) => hour)),
      numbersText(byHour.map(({ combination }) => combination)),
      allSumsText(byHour.map(({ sums }) => sums)),
      numbersText(byMinute.map(([minute]) => minute)),
      allSumsText(byMinute.map(([, sums]) => sums)),
    ],
  )
}

/** Sums of one combination in one hour. */
interface HourRow {
  readonly hour: number
  readonly combination: number
  readonly sums: CallSums
}

class WantedGroup implements WantedCombination {
  readonly day: number
  readonly #group: CallGroup

  constructor({ hour, group }: HourGroup) {
    this.day = dayOfHour(hour)
    this.#group = group
  }

  get name(): string {
    return this.#group.name
  }

  get hash(): Buffer {
    return groupHash(this.#group)
  }

  get hasUser(): boolean {
    return this.#group.hasUser
  }

  combination(): Combination {
    return this.#group.combination()
  }
}

/** Calls of one sidecar in one hour. */
interface SidecarHour {
  readonly hour: number
  readonly sidecar: string
  readonly groups: CallGroups
}

/** Sums of calls by hour and combination, and by minute. */
interface GroupedCalls {
  readonly hours: readonly HourGroup[]
  readonly minutes: ReadonlyMap<number, CallSums>
}

/** Sums calls. Those of days and minutes that are not kept are not counted. */
function sumsOf(calls: readonly ShippedCall[], nowMs: Milliseconds): GroupedCalls {
  const firstDay = firstKeptDay(nowMs)
  const firstMinute = Math.floor(nowMs / MINUTE_MS) - MINUTES_KEPT + 1
  const minutes = new Map<number, CallSums>()
  const bySidecar = new Map<string, SidecarHour>()
  // Calls of a sidecar come one after the other.
  let own: SidecarHour | undefined
  for (const { call, sealedMs, user, sidecar } of calls) {
    const hour = hourOf(sealedMs)
    if (dayOfHour(hour) < firstDay) continue
    if (own?.hour !== hour || own.sidecar !== sidecar) {
      const name = `${hour}/${sidecar}`
      own = bySidecar.get(name) ?? { hour, sidecar, groups: new CallGroups() }
      bySidecar.set(name, own)
    }
    const values = own.groups.add(call, user)
    const minute = Math.floor(sealedMs / MINUTE_MS)
    if (minute < firstMinute) continue
    const sums = minutes.get(minute) ?? new CallSums()
    minutes.set(minute, sums)
    sums.addCall(values)
  }
  return { hours: groupsOf(bySidecar.values()), minutes }
}

function groupsOf(bySidecar: Iterable<SidecarHour>): HourGroup[] {
  const hours = new Map<number, CallGroups>()
  for (const { hour, sidecar, groups } of bySidecar) {
    const all = hours.get(hour) ?? new CallGroups()
    hours.set(hour, all)
    all.addSidecar(groups, sidecar)
  }
  return [...hours].flatMap(([hour, groups]) => Array.from(groups.values(), (group) => ({ hour, group })))
}

// The client writes an array of numbers ten times slower.
const numbersText = (numbers: readonly number[]): string => `{${numbers.join(',')}}`

/** Returns the text of an array of texts of arrays: `unnest` takes no arrays of arrays. */
const allSumsText = (all: readonly CallSums[]): string =>
  `{${all.map((sums) => `"{${sums.list().map(storableSum).join(',')}}"`).join(',')}}`

const storableSum = (sum: number | bigint): number | bigint =>
  typeof sum === 'bigint' && sum > MAXIMUM_BIGINT ? MAXIMUM_BIGINT : sum
