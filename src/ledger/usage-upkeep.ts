// Keeps the sums of usage small: adds past hours to their days, and removes what is too old. Any
// number of hubs may run it.

import type { Clock } from '../core/clock.ts'
import { dayOfHour, firstHourDay, firstKeptDay, HOURS_OF_DAY, hourOf } from '../usage/periods.ts'
import { forgetRuns } from './combination-rows.ts'
import { type Database, onlyRow, type Queries } from './database.ts'
import { MINUTES_KEPT } from './usage-counting.ts'

/** Rows that one statement moves or removes. */
const SLICE_ROWS = 5000
/** Days before today of which new combinations are known. Entries may arrive so late. */
const MEMBER_DAYS = 7
const HOUR_MINUTES = 60
/** Number of the advisory lock of the hub that packs. */
const PACK_LOCK = 7_310_005

export class UsageUpkeep {
  readonly #database: Database
  readonly #clock: Pick<Clock, 'now'>

  constructor(database: Database, clock: Pick<Clock, 'now'>) {
    this.#database = database
    this.#clock = clock
  }

  /** @throws GatewayError (rejects) `fleet_unavailable`; the rest is done by the next call */
  async run(): Promise<void> {
    const hour = hourOf(this.#clock.now())
    await inSlices(() => this.#database.transaction((queries) => packHours(queries, hour)))
    for (const [statement, value] of removals(hour, this.#clock.now()))
      await inSlices(async () => (await this.#database.rows(statement, [value, SLICE_ROWS])).length)
    await inSlices(() => this.#database.transaction((queries) => forgetRuns(queries, SLICE_ROWS)))
  }
}

async function inSlices(work: () => Promise<number>): Promise<void> {
  while ((await work()) >= SLICE_ROWS);
}

/**
 * Moves sums of hours before one to slot 0, and adds them to their days. A row that an ingest
 * writes is left to the next call. Runs inside a transaction. @returns how many rows it moved; none
 * while another hub does it
 */
export async function packHours(queries: Queries, hour: number): Promise<number> {
  const { isOnly } = await onlyRow(
    queries.rows<{ isOnly: boolean }>('select pg_try_advisory_xact_lock($1) as "isOnly"', [PACK_LOCK]),
  )
  if (!isOnly) return 0
  const { moved } = await onlyRow(
    queries.rows<{ moved: number }>(
      `with open as (
         select hour, slot, generation, combination from usage_hour where slot > 0 and hour < $1
         order by hour limit ${SLICE_ROWS} for update skip locked),
       moved as (
         delete from usage_hour u using open o
         where u.hour = o.hour and u.slot = o.slot and u.generation = o.generation
           and u.combination = o.combination
         returning u.hour, u.generation, u.combination, u.sums),
       hours as (
         insert into usage_hour as u (hour, slot, generation, combination, sums)
         select hour, 0, generation, combination, sum_sums(sums) from moved group by 1, 3, 4 order by 1, 3, 4
         on conflict (hour, slot, generation, combination)
           do update set sums = add_sums(u.sums, excluded.sums)),
       days as (
         insert into usage_day as u (day, generation, combination, sums)
         select hour / ${HOURS_OF_DAY}, generation, combination, sum_sums(sums) from moved
         group by 1, 2, 3 order by 1, 2, 3
         on conflict (day, generation, combination)
           do update set sums = add_sums(u.sums, excluded.sums))
       select count(*) as moved from moved`,
      [hour],
    ),
  )
  return moved
}

/** Statements that remove rows below a number, a slice at a time. */
function removals(hour: number, nowMs: number): readonly (readonly [statement: string, value: number])[] {
  const remove = (table: string, column: string) =>
    `delete from ${table} where ctid = any (array(select ctid from ${table} where ${column} < $1 limit $2))
     returning 1`
  const memberDay = dayOfHour(hour) - MEMBER_DAYS
  return [
    [remove('usage_hour', 'slot = 0 and hour'), firstHourDay(nowMs) * HOURS_OF_DAY],
    [remove('usage_day', 'day'), firstKeptDay(nowMs)],
    [remove('usage_minute', 'minute'), hour * HOUR_MINUTES - MINUTES_KEPT],
    [remove('rollup_member', 'day'), memberDay],
    [remove('rollup_day', 'day'), memberDay],
    // A day after its sums, so that no ingest counts under it.
    [remove('combination', 'last_day'), firstKeptDay(nowMs) - 1],
  ]
}
