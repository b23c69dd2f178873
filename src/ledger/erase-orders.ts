// The open orders of erasure as an ingest needs them: what a sidecar sends that was erased is not
// stored, until its log says that it has erased it.

import type { Milliseconds } from '../core/clock.ts'
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

/** What decides whether an entry is erased. */
export interface ErasableEntry {
  readonly call_id: string | null
  readonly key_id: string | null
  /** RFC 3339, UTC with milliseconds, as `before` of an order. */
  readonly created_at: string
  /** The end user's hash; null without one. */
  readonly user: Buffer | null
}

/** The open orders in one transaction of an ingest. */
export class OpenOrders {
  readonly #orders: readonly OpenOrder[]
  /** Logs that have passed an order, by its revision. */
  readonly #passed: ReadonlyMap<number, Set<string>>
  #news: { rev: number; log: string }[] = []

  private constructor(orders: readonly OpenOrder[], passed: ReadonlyMap<number, Set<string>>) {
    this.#orders = orders
    this.#passed = passed
  }

  /**
   * Reads the orders inside a transaction, at its beginning: no order is made before it ends.
   * @param logs whose entries the transaction may store
   */
  static async read(queries: Queries, logs: readonly string[]): Promise<OpenOrders> {
    await queries.rows('select pg_advisory_xact_lock_shared($1)', [ORDERS_LOCK])
    // A statement of its own: it must see what was committed while the lock was waited for.
    const orders = await openOrdersIn(queries)
    const passed = new Map(orders.map(({ rev }) => [rev, new Set<string>()]))
    if (orders.length > 0) {
      const rows = await queries.rows<{ rev: number; log_id: string }>(
        'select rev, log_id from erase_passed where rev = any($1) and log_id = any($2)',
        [[...passed.keys()], logs],
      )
      for (const { rev, log_id: log } of rows) passed.get(rev)?.add(log)
    }
    return new OpenOrders(orders, passed)
  }

  /** Reports whether the exchange and the end user of an entry of a log were erased. */
  isErased(log: string, entry: ErasableEntry): boolean {
    return this.#orders.some(
      ({ rev, selection }) => selects(selection, entry) && !this.#passed.get(rev)!.has(log),
    )
  }

  /** Notes that the next entry of a log is its `erase` entry with an order. */
  pass(log: string, rev: number): void {
    const logs = this.#passed.get(rev)
    if (logs === undefined || logs.has(log)) return
    logs.add(log)
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
function selects(selection: OrderSelection, entry: ErasableEntry): boolean {
  if ('request_id' in selection) return entry.call_id === selection.request_id
  if ('key_id' in selection) return entry.key_id === selection.key_id
  if ('user' in selection) return entry.user?.toString('hex') === selection.user
  return entry.created_at < selection.before
}
