// Reads the calls that hubs have stored since a reading before, for those who watch the log: by the
// heads of the logs, which every hub moves in the transaction that stores the entries.

import type { UsagePage } from '../audit/usage-query.ts'
import type { Milliseconds } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'
import { CALL_COLUMNS, CALL_JOINS, type CallRow, LISTED, viewOf } from './call-rows.ts'
import type { Queries } from './database.ts'

/**
 * Longest time between the beginning of a transaction that stores entries, which is their time of
 * receipt, and its end.
 */
const TRANSACTION_MS: Milliseconds = 60_000
/** Logs that grew of which one reading knows; those with the newest entries first. */
const MAXIMUM_GROWN_LOGS = 20_000
/** Newest entries of a log that are searched for the last one before a time. */
const MAXIMUM_SEARCHED_ENTRIES = 10_000

/** Reads the newest entries of a log `w` up to its head, until the reader has enough. */
const NEWEST = `select e.seq, e.received_at from entry e where e.log_id = w.log_id and e.seq <= w.head
  order by e.seq desc limit ${MAXIMUM_SEARCHED_ENTRIES}`

/** By log, the sequence number of an entry. */
export type EntryByLog = ReadonlyMap<string, number>

export type WatchedCall = UsagePage['logs'][number]

export interface GrownLogs {
  /** The time of the database before the reading. */
  readonly atMs: Milliseconds
  /** The newest entry of each log to which some came lately. */
  readonly heads: EntryByLog
}

export interface ArrivedCalls {
  /** In the order of arrival. */
  readonly calls: readonly WatchedCall[]
  /** Entries that were not read, because there were too many. */
  readonly missed: number
}

/** @throws GatewayError (rejects, each) `fleet_unavailable` */
export class ArrivalReading {
  readonly #queries: Queries

  constructor(queries: Queries) {
    this.#queries = queries
  }

  /**
   * Returns the logs that grew. What comes later to another one is received after `receivedBefore`.
   * @param sinceMs a time of the database; null for now
   */
  async grown(sinceMs: Milliseconds | null): Promise<GrownLogs> {
    const rows = await this.#queries.rows<{ at: number; log_id: string | null; seq: number }>(
      `select n.at, h.log_id, h.seq from (select now() as at) n left join (
         select log_id, seq from log_head
         where sidecar is not null
           and last_at > coalesce($1::timestamptz, now()) - ${TRANSACTION_MS} * interval '1 millisecond'
         order by last_at desc limit ${MAXIMUM_GROWN_LOGS}) h on true`,
      [sinceMs === null ? null : isoTime(sinceMs)],
    )
    const heads = rows.flatMap(({ log_id: log, seq }) => (log === null ? [] : [[log, seq] as const]))
    return { atMs: rows[0]!.at, heads: new Map(heads) }
  }

  /** Returns the last entry of each log that was received by a time, else the one before all. */
  async lastBefore(heads: EntryByLog, receivedMs: Milliseconds): Promise<EntryByLog> {
    if (heads.size === 0) return heads
    const rows = await this.#queries.rows<{ log_id: string; seq: number }>(
      `select w.log_id, coalesce(
         (select n.seq from (${NEWEST}) n where n.received_at <= $3 order by n.seq desc limit 1),
         (select min(n.seq) - 1 from (${NEWEST}) n), w.head) as seq
       from unnest($1::uuid[], $2::bigint[]) as w(log_id, head)`,
      [[...heads.keys()], [...heads.values()], isoTime(receivedMs)],
    )
    return new Map(rows.map(({ log_id: log, seq }) => [log, seq]))
  }

  /**
   * Returns the newest calls among entries of logs.
   * @param after the entry before the first one of each log in `heads`
   */
  async calls(after: EntryByLog, heads: EntryByLog, limit: number): Promise<ArrivedCalls> {
    const grown = [...heads].filter(([log, seq]) => seq > after.get(log)!)
    if (grown.length === 0) return { calls: [], missed: 0 }
    const arrived = grown.reduce((sum, [log, seq]) => sum + seq - after.get(log)!, 0)
    const rows = await this.#queries.rows<CallRow & { is_listed: boolean }>(
      `select ${CALL_COLUMNS}, p.is_listed from (
         select e.received_at, e.created_at, e.log_id, e.seq, e.hash, e.body, ${LISTED} as is_listed from (
           select n.received_at, n.log_id, n.seq
           from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as w(log_id, after, head)
           cross join lateral (
             select e.received_at, e.log_id, e.seq from entry e
             where e.log_id = w.log_id and e.seq > w.after and e.seq <= w.head
             order by e.seq desc limit $4) n
           order by n.received_at desc, n.log_id desc, n.seq desc limit $4) n
         join entry e on e.log_id = n.log_id and e.seq = n.seq and e.received_at = n.received_at) p ${CALL_JOINS}
       order by p.received_at, p.log_id, p.seq`,
      [grown.map(([log]) => log), grown.map(([log]) => after.get(log)), grown.map(([, seq]) => seq), limit],
    )
    const calls = rows.flatMap((row) => (row.is_listed ? (viewOf(row) ?? []) : []))
    return { calls, missed: Math.max(0, arrived - rows.length) }
  }
}

/** Returns a time before the receipt of all that comes to logs that `grown` did not return. */
export const receivedBefore = (atMs: Milliseconds): Milliseconds => atMs - TRANSACTION_MS
