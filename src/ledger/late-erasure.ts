// Erases what a log has stored although an order selects it: the log came back after the order was
// done, or applies it once more. It is gone before the erasure of the log itself is stored.

import type { Milliseconds } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'
import { eraseFromSums } from './combination-rows.ts'
import type { Queries } from './database.ts'
import { type ErasableEntry, type OpenOrder, selects } from './erase-orders.ts'
import { removeRows } from './erased-rows.ts'

/** Entries of a log that one transaction looks at. */
export const LATE_WINDOW_ENTRIES = 5000
/**
 * How much the clock of the database may have gone back since an order. The erasure of the order
 * itself has reached what was received before it.
 */
const MAXIMUM_CLOCK_STEP_MS: Milliseconds = 86_400_000

/** An order with the entry by which a log says that it has applied it. */
export interface LatePass {
  readonly order: OpenOrder
  readonly seq: number
}

/** A stored entry with an exchange or an end user. */
interface StoredEntry extends Omit<ErasableEntry, 'created_at'> {
  readonly log_id: string
  readonly seq: number
  readonly received_at: string
  readonly created_at: Milliseconds
}

/**
 * Erases in the next entries of a log what the orders select before their passes. Call it again
 * until it reaches the newest entry.
 * @param after the sequence number that was reached before; null at the beginning
 * @returns the sequence number that is reached
 */
export async function eraseLate(
  queries: Queries,
  log: string,
  passes: readonly LatePass[],
  after: number | null,
): Promise<number> {
  const oldestMs = Math.min(...passes.map(({ order }) => order.atMs))
  const since = isoTime(Math.max(0, oldestMs - MAXIMUM_CLOCK_STEP_MS))
  const from = after === null ? await firstSince(queries, log, since) : after + 1
  if (from === null) return Number.MAX_SAFE_INTEGER
  const upto = from + LATE_WINDOW_ENTRIES - 1
  const stored = await queries.rows<StoredEntry>(
    `select e.log_id, e.seq, e.received_at::text, e.created_at, e.call_id, e.key_id, u.hash as user
     from entry e left join entry_user u on u.log_id = e.log_id and u.seq = e.seq
     where e.log_id = $1 and e.seq between $2 and $3 and e.received_at >= $4
       and (u.hash is not null or exists (select from exchange x
         where x.log_id = e.log_id and x.seq = e.seq and x.received_at = e.received_at))`,
    [log, from, upto, since],
  )
  const places = stored.filter(({ seq, created_at: createdMs, ...entry }) => {
    const erasable = { ...entry, created_at: isoTime(createdMs) }
    return passes.some((pass) => seq < pass.seq && selects(pass.order.selection, erasable))
  })
  if (places.length > 0) await removeRows(queries, places)
  for (const { order } of passes)
    if ('user' in order.selection) await eraseFromSums(queries, Buffer.from(order.selection.user, 'hex'))
  return upto
}

/** Returns the sequence number of the first entry received since a time; null without one. */
async function firstSince(queries: Queries, log: string, since: string): Promise<number | null> {
  const rows = await queries.rows<{ first: number | null }>(
    'select min(seq) as first from entry where log_id = $1 and received_at >= $2',
    [log, since],
  )
  return rows[0]?.first ?? null
}
