// The orders of erasure as an ingest needs them: what a sidecar sends that was erased is not
// stored, until its log says that it has erased it. A log may come back after an order is done.

import type { Milliseconds } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'
import type { EraseOrder, OrderSelection } from '../keys/erase-order.ts'
import type { Queries } from './database.ts'

/**
 * Number of the advisory lock that an ingest shares and a new order has alone: an exchange is
 * stored before the order, which then erases it, or is not stored.
 */
const ORDERS_LOCK = 7_310_002

/** An order that some log has not passed. */
export interface OpenOrder extends EraseOrder {
  readonly atMs: Milliseconds
}

/** Done orders that keep away what is older than they are, and the age of the oldest one. */
const MAXIMUM_DONE_ORDERS = 500
const MAXIMUM_DONE_DAYS = 400

/** Returns the open orders, oldest first. */
export async function openOrdersIn(queries: Queries): Promise<OpenOrder[]> {
  const rows = await queries.rows<EraseOrder & { at: Milliseconds }>(
    'select rev, id, selection, at from erase_order where not done order by rev',
  )
  return rows.map(({ at, ...order }) => ({ ...order, atMs: at }))
}

/** Waits for ingests under way, and keeps others waiting until the transaction ends. */
export const lockOrders = (queries: Queries): Promise<unknown> =>
  queries.rows('select pg_advisory_xact_lock($1)', [ORDERS_LOCK])

/** Keeps new orders waiting until the transaction ends. */
export const shareOrders = (queries: Queries): Promise<unknown> =>
  queries.rows('select pg_advisory_xact_lock_shared($1)', [ORDERS_LOCK])

/** What an order looks at in an entry. */
export interface ErasableEntry {
  readonly call_id: string | null
  readonly key_id: string | null
  /** RFC 3339, UTC with milliseconds, as `before` of an order. */
  readonly created_at: string
  /** The end user's hash; null without one. */
  readonly user: Buffer | null
}

/** An order as an ingest sees it. */
interface IngestOrder extends OpenOrder {
  readonly isDone: boolean
  /** Logs that have passed it. */
  readonly passed: Set<string>
  /** By log, how often entries that are about to be stored pass it. */
  readonly passing: Map<string, number>
}

/** What a transaction of an ingest may store. */
export interface IngestScope {
  readonly logs: readonly string[]
  /** When the oldest entry with an exchange or an end user was sealed; null without one. */
  readonly oldestMs: Milliseconds | null
  /** Revisions of the orders that entries say they have applied. */
  readonly named: readonly number[]
}

/** The orders of erasure in one transaction of an ingest. */
export class IngestOrders {
  readonly #orders: ReadonlyMap<number, IngestOrder>
  #news: { rev: number; log: string }[] = []

  private constructor(orders: ReadonlyMap<number, IngestOrder>) {
    this.#orders = orders
  }

  /**
   * Reads the orders inside a transaction that has locked the heads of the logs and stored nothing:
   * no order is made, and no log passes one, before it ends.
   */
  static async read(queries: Queries, { logs, oldestMs, named }: IngestScope): Promise<IngestOrders> {
    await shareOrders(queries)
    // A statement of its own: it must see what was committed while the lock was waited for.
    const rows = await queries.rows<EraseOrder & { at: Milliseconds; done: boolean }>(
      `select rev, id, selection, at, done from erase_order where not done
       union select rev, id, selection, at, done from erase_order where rev = any($1)
       union select rev, id, selection, at, done from (
         select rev, id, selection, at, done from erase_order where done order by rev desc limit ${MAXIMUM_DONE_ORDERS}) newest
       where at > $2 and at > now() - interval '${MAXIMUM_DONE_DAYS} days'`,
      [named, oldestMs === null ? null : isoTime(Math.max(0, oldestMs))],
    )
    const orders = new Map(
      rows.map(({ at: atMs, done: isDone, ...order }) => {
        const known = {
          ...order,
          atMs,
          isDone,
          passed: new Set<string>(),
          passing: new Map<string, number>(),
        }
        return [order.rev, known]
      }),
    )
    if (orders.size > 0) {
      const passed = await queries.rows<{ rev: number; log_id: string }>(
        'select rev, log_id from erase_passed where rev = any($1) and log_id = any($2)',
        [[...orders.keys()], logs],
      )
      for (const { rev, log_id: log } of passed) orders.get(rev)?.passed.add(log)
    }
    return new IngestOrders(orders)
  }

  /**
   * Notes that an entry of a log that is about to be stored says the log has applied an order:
   * what the order selects before that entry is erased, even if the log passed it earlier.
   * @returns the order if some of that may be stored already; else null
   */
  expect(log: string, rev: number): OpenOrder | null {
    const order = this.#orders.get(rev)
    if (order === undefined) return null
    order.passing.set(log, (order.passing.get(log) ?? 0) + 1)
    return order.isDone || order.passed.has(log) ? order : null
  }

  /**
   * Reports whether the exchange and the end user of an entry of a log were erased. A done order
   * reaches only what was sealed before it, because a log that began later never passes it.
   */
  isErased(log: string, entry: ErasableEntry, sealedMs: Milliseconds): boolean {
    for (const { passed, passing, isDone, atMs, selection } of this.#orders.values()) {
      const isPassing = (passing.get(log) ?? 0) > 0
      const isReached = isPassing || (!passed.has(log) && (!isDone || sealedMs < atMs))
      if (isReached && selects(selection, entry)) return true
    }
    return false
  }

  /** Notes that the next entry of a log is its `erase` entry with an order. */
  pass(log: string, rev: number): void {
    const order = this.#orders.get(rev)
    if (order === undefined) return
    order.passing.set(log, (order.passing.get(log) ?? 1) - 1)
    if (order.passed.has(log)) return
    order.passed.add(log)
    this.#news.push({ rev, log })
  }

  /** Writes which logs have passed an order. */
  async save(queries: Queries): Promise<void> {
    const news = this.#news
    this.#news = []
    if (news.length === 0) return
    await queries.rows(
      `insert into erase_passed (rev, log_id) select * from unnest($1::bigint[], $2::uuid[])
       on conflict do nothing`,
      [news.map(({ rev }) => rev), news.map(({ log }) => log)],
    )
  }
}

/** Reports whether an order selects an entry. */
export function selects(selection: OrderSelection, entry: ErasableEntry): boolean {
  if ('request_id' in selection) return entry.call_id === selection.request_id
  if ('key_id' in selection) return entry.key_id === selection.key_id
  if ('user' in selection) return entry.user?.toString('hex') === selection.user
  return entry.created_at < selection.before
}
