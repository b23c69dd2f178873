// Counts the stored log into the sums of usage again, while calls arrive: into a generation of its
// own, which reports show once it is whole. Calls that arrive meanwhile are counted once, as they
// are stored.

import { userName } from '../audit/user-hash.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { KeptUser } from '../core/retention-section.ts'
import type { CountedUser } from '../usage/call-groups.ts'
import { ERASED } from '../usage/combination.ts'
import { DAY_MS, HOUR_MS } from '../usage/periods.ts'
import { type Database, onlyRow, type Queries } from './database.ts'
import { type ArrivedCall, COLUMN_READER } from './entry-columns.ts'
import { lockOrders, shareOrders } from './erase-orders.ts'
import { countAgain, type ShippedCall } from './usage-counting.ts'

/** Entries read and counted at once. */
const PAGE_ROWS = 2000
/** Rows removed at once. */
const SLICE_ROWS = 5000
/** Number of the advisory lock of the one count that runs. */
const REBUILD_LOCK = 7_310_004

export interface RebuiltSums {
  /** Number of calls counted. */
  readonly calls: number
  /** Start of the first hour of which the log has all calls; null for the whole log. */
  readonly sinceMs: Milliseconds | null
}

/** A log up to its newest entry at the beginning. */
interface CountedLog {
  readonly log_id: string
  readonly name: string
  readonly first_seq: number
  readonly seq: number
}

interface Begun {
  /** The generation to count into, and the one that takes the calls that arrive. */
  readonly generation: number
  readonly current: number
  readonly before: readonly number[]
  readonly droppedMs: number | null
  readonly logs: readonly CountedLog[]
}

/**
 * Counts again. Sums of months that were dropped stay as they are.
 * @param keptUser what hubs store of the end users of calls
 * @param database with one connection
 * @param progress receives the share of the log that is counted
 * @throws GatewayError (rejects) `conflict` while another count runs, `fleet_unavailable`: reports
 * then show what they showed before
 */
export async function rebuildSums(
  database: Database,
  keptUser: KeptUser,
  progress: (done: number) => void,
): Promise<RebuiltSums> {
  const { isFirst } = await onlyRow(
    database.rows<{ isFirst: boolean }>('select pg_try_advisory_lock($1) as "isFirst"', [REBUILD_LOCK]),
  )
  if (!isFirst)
    throw new GatewayError('conflict', 'The log is being counted already; wait until that has ended.')
  const begun = await database.transaction(begin)
  await removeHidden(database, begun.current)
  const size = begun.logs.reduce((sum, log) => sum + log.seq + 1 - log.first_seq, 0)
  let calls = 0
  let read = 0
  for (const log of begun.logs) {
    for (let from = log.first_seq; from <= log.seq; ) {
      const page = await database.transaction((queries) => countPage(queries, log, from, begun, keptUser))
      calls += page.calls
      read += page.next - from
      from = page.next
      progress(Math.min(1, read / size))
    }
  }
  await keepDropped(database, begun)
  await database.rows('update rollup_state set visible = $1', [[begun.current, begun.generation]])
  await removeHidden(database, begun.current)
  return { calls, sinceMs: begun.droppedMs }
}

/** Lets calls that arrive count into a new generation. @returns what is stored at that moment */
async function begin(queries: Queries): Promise<Begun> {
  // No ingest is under way then: each is before the heads, or counts into the new generation.
  await lockOrders(queries)
  const state = await onlyRow(
    queries.rows<{ newest: number; visible: number[]; dropped: number | null }>(
      `select visible, dropped_before as dropped, greatest(current,
         coalesce((select max(generation) from usage_hour), 0),
         coalesce((select max(generation) from usage_day), 0)) as newest
       from rollup_state for update`,
    ),
  )
  const logs = await queries.rows<CountedLog>(
    `select h.log_id, coalesce(s.name, h.sidecar_name, h.sidecar) as name, h.first_seq, h.seq
     from log_head h left join sidecar s on s.id = h.sidecar
     where h.sidecar is not null order by h.log_id`,
  )
  const current = state.newest + 1
  await queries.rows('update rollup_state set current = $1, visible = $2', [
    current,
    [...state.visible, current],
  ])
  return { current, generation: current + 1, before: state.visible, droppedMs: state.dropped, logs }
}

interface CallRow {
  readonly seq: number
  readonly body: Buffer
  readonly user_hash: Buffer | null
  readonly user_clear: string | null
}

/** @returns the calls counted, and the sequence number after the page */
async function countPage(
  queries: Queries,
  log: CountedLog,
  from: number,
  { generation, droppedMs }: Begun,
  keptUser: KeptUser,
): Promise<{ readonly calls: number; readonly next: number }> {
  // No user is erased between the reading and the counting.
  await shareOrders(queries)
  const next = Math.min(log.seq + 1, from + PAGE_ROWS)
  const rows = await queries.rows<CallRow>(
    `select e.seq, e.body, u.hash as user_hash, u.clear as user_clear
     from entry e left join entry_user u on u.log_id = e.log_id and u.seq = e.seq
     where e.log_id = $1 and e.seq >= $2 and e.seq < $3 and e.call_id is not null`,
    [log.log_id, from, next],
  )
  const calls = rows.flatMap((row): ShippedCall[] => {
    const members: Record<string, unknown> = JSON.parse(row.body.toString())
    const sealedMs = Date.parse(String(members['ts']))
    if (sealedMs < (droppedMs ?? 0)) return []
    const read = COLUMN_READER(new Map(Object.entries(members)))
    if (typeof read === 'string' || read.call === null) return []
    const { call } = read
    return [{ call, sealedMs, user: userOf(call, row, keptUser), sidecar: log.name }]
  })
  await countAgain(queries, calls, generation)
  return { calls: calls.length, next }
}

function userOf(
  { has_user: hasUser }: ArrivedCall,
  { user_hash: hash, user_clear: clear }: CallRow,
  keptUser: KeptUser,
): CountedUser | null {
  if (hasUser !== true || keptUser === 'off') return null
  if (hash === null) return { user: ERASED, hash: null }
  return { user: userName(hash, clear), hash: hash.toString('hex') }
}

/** Keeps the sums from before the end of the newest month that was dropped, which begins a day. */
async function keepDropped(database: Database, { before, generation, droppedMs }: Begun): Promise<void> {
  if (droppedMs === null) return
  // One statement: hours may be added to their days meanwhile.
  await database.rows(
    `with hours as (
       insert into usage_hour as u (hour, slot, generation, combination, sums)
       select hour, slot, $2, combination, sum_sums(sums) from usage_hour
       where generation = any($1) and hour < $3 group by 1, 2, 4
       on conflict (hour, slot, generation, combination)
         do update set sums = add_sums(u.sums, excluded.sums))
     insert into usage_day as u (day, generation, combination, sums)
     select day, $2, combination, sum_sums(sums) from usage_day
     where generation = any($1) and day < $4 group by 1, 3
     on conflict (day, generation, combination) do update set sums = add_sums(u.sums, excluded.sums)`,
    [before, generation, droppedMs / HOUR_MS, droppedMs / DAY_MS],
  )
}

/** Removes the sums of former counts, and of counts that were not finished. */
async function removeHidden(database: Database, current: number): Promise<void> {
  for (const table of ['usage_hour', 'usage_day']) {
    let removed = SLICE_ROWS
    while (removed >= SLICE_ROWS) {
      const rows = await database.rows(
        `delete from ${table} where ctid = any (array(
           select u.ctid from ${table} u, rollup_state s
           where u.generation <> all (s.visible) and u.generation <= $1 limit $2)) returning 1`,
        [current, SLICE_ROWS],
      )
      removed = rows.length
    }
  }
}
