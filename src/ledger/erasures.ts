// Erases exchanges and end users over a fleet: makes the order that every sidecar gets, erases what
// the database has in slices, and closes the order once every log has passed it.

import type { ChangeDraft } from '../audit/change-draft.ts'
import type { Actor } from '../core/actor.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { uuidv7 } from '../core/ids.ts'
import { MAXIMUM_OPEN_ORDERS, type OrderSelection } from '../keys/erase-order.ts'
import { eraseFromSums, isInSums } from './combination-rows.ts'
import { onlyRow, type Queries } from './database.ts'
import { lockOrders } from './erase-orders.ts'
import { ERASE_SLICE_ROWS, type ErasedRows, eraseRows, type ReceivedPlace, sumOf } from './erased-rows.ts'
import type { FeedChange, LedgerOptions } from './hub-log.ts'

/** Entries read at once. */
const PAGE_ROWS = 2000
/** An order on which no hub worked for so long is continued by another one. */
const ABANDONED_MS: Milliseconds = 60_000
const ID_RANDOM_BYTES = 16

/** What an order has erased in the database. */
export type OrderedErasure = ErasedRows & { readonly order: number }

/** The place of an entry with what orders the reading. */
interface Candidate extends ReceivedPlace {
  readonly created_at: string | null
  /** Whether it has an exchange or an end user. */
  readonly has: boolean
}

/** An order whose rows in the database are being erased. */
interface SweptOrder {
  readonly rev: number
  readonly actor: Actor
  readonly selection: OrderSelection
}

export class Erasures {
  readonly #parts: LedgerOptions

  constructor(parts: LedgerOptions) {
    this.#parts = parts
  }

  /** Reports whether an entry or a sum names an end user by a hash. */
  async knowsUser(hash: Buffer): Promise<boolean> {
    const { database } = this.#parts
    const rows = await database.rows('select from entry_user where hash = $1 limit 1', [hash])
    return rows.length > 0 || isInSums(database, hash)
  }

  /**
   * Makes an order and erases what the database has. The order, its first slice and its entry are
   * durable together; other slices follow, and another hub continues them should this one end.
   * @throws GatewayError (rejects) `conflict` at MAXIMUM_OPEN_ORDERS, `fleet_unavailable`: what was
   * made is durable
   */
  async order(selection: OrderSelection, actor: Actor): Promise<OrderedErasure> {
    const id = uuidv7(this.#parts.clock.now(), this.#parts.random(ID_RANDOM_BYTES))
    const { result: begun } = await this.#parts.log.change(async (queries) => {
      await assertRoom(queries)
      // With this lock no exchange arrives between the erasure and the order.
      await lockOrders(queries)
      const rev = (await onlyRow(queries.rows<{ rev: number }>('select rev from fleet_head'))).rev + 1
      const page = await readPage(queries, selection, null)
      const found = page.filter(({ has }) => has)
      const slice = found.slice(0, ERASE_SLICE_ROWS)
      const reason = { selection: sealedSelection(selection), actor, order: rev, isFirst: true }
      const { draft, result } = await eraseRows(queries, slice, reason)
      if ('user' in selection) await eraseFromSums(queries, hashIn(selection))
      const isSwept = page.length < PAGE_ROWS && found.length === slice.length
      const feed = [feedOf({ id, actor, selection }, isSwept)]
      return { draft, feed, result: { rev, isSwept, rows: result } }
    })
    const { rev, isSwept, rows } = begun
    const rest = isSwept ? { erased: 0, entries: 0 } : await this.#sweep({ rev, actor, selection })
    return { ...sumOf(rows, rest), order: rev }
  }

  /**
   * Continues orders that other hubs have left, and closes those that every log has passed. Call it
   * regularly.
   */
  async maintain(): Promise<void> {
    for (;;) {
      const order = await this.#takeAbandoned()
      if (order === null) break
      await this.#sweep(order)
    }
    await this.#parts.database.rows(CLOSE_ORDERS)
  }

  async #takeAbandoned(): Promise<SweptOrder | null> {
    const rows = await this.#parts.database.rows<SweptOrder>(
      `update erase_order set worked_at = now() where rev = (
         select rev from erase_order
         where not done and not swept and worked_at < now() - $1 * interval '1 millisecond'
         order by rev limit 1 for update skip locked)
       returning rev, actor, selection`,
      [ABANDONED_MS],
    )
    return rows[0] ?? null
  }

  /** Erases what an order selects in the database. */
  async #sweep({ rev, actor, selection }: SweptOrder): Promise<ErasedRows> {
    const reason = { selection: sealedSelection(selection), actor, order: rev }
    let erased: ErasedRows = { erased: 0, entries: 0 }
    const slice: ReceivedPlace[] = []
    const eraseSlice = async () => {
      const places = slice.splice(0, ERASE_SLICE_ROWS)
      const { result } = await this.#parts.log.change(async (queries) => ({
        ...(await eraseRows(queries, places, reason)),
        feed: [],
      }))
      erased = sumOf(erased, result)
    }
    for (let after: Candidate | null = null; ; ) {
      const page: Candidate[] = await readPage(this.#parts.database, selection, after)
      slice.push(...page.filter(({ has }) => has))
      while (slice.length >= ERASE_SLICE_ROWS) await eraseSlice()
      await this.#parts.database.rows('update erase_order set worked_at = now() where rev = $1', [rev])
      after = page.at(-1) ?? null
      if (page.length < PAGE_ROWS) break
    }
    if (slice.length > 0) await eraseSlice()
    await this.#parts.database.transaction(async (queries) => {
      // A count of the whole log may have read users that were not erased yet.
      if ('user' in selection) await eraseFromSums(queries, hashIn(selection))
      await queries.rows('update erase_order set swept = true where rev = $1', [rev])
    })
    return erased
  }
}

/** @throws GatewayError (rejects) `conflict` */
async function assertRoom(queries: Queries): Promise<void> {
  const { open } = await onlyRow(
    queries.rows<{ open: number }>('select count(*) as open from erase_order where not done'),
  )
  if (open < MAXIMUM_OPEN_ORDERS) return
  throw new GatewayError(
    'conflict',
    `There are ${MAXIMUM_OPEN_ORDERS} orders of erasure that some sidecar has not applied; GET /api/v1/fleet lists the sidecars: start those that are silent, or declare them gone.`,
  )
}

/** The order as it is stored and sent. */
const feedOf = (
  { id, actor, selection }: { id: string; actor: Actor; selection: OrderSelection },
  isSwept: boolean,
): FeedChange => ({
  kind: 'erase',
  id,
  op: 'put',
  body: { selection: { ...selection } },
  write: (queries, rev) =>
    queries.rows(
      `insert into erase_order (rev, id, at, actor, selection, swept, worked_at)
       values ($1, $2, now(), $3, $4, $5, now())`,
      [rev, id, actor, selection, isSwept],
    ),
})

const hashIn = ({ user }: { readonly user: string }): Buffer => Buffer.from(user, 'hex')

/** Who it was is what was erased. */
const sealedSelection = (selection: OrderSelection): Extract<ChangeDraft, { type: 'erase' }>['selection'] =>
  'user' in selection ? { user: true } : selection

/** Returns the next entries that are selected; fewer than PAGE_ROWS at the end. */
async function readPage(
  queries: Queries,
  selection: OrderSelection,
  after: Candidate | null,
): Promise<Candidate[]> {
  if ('user' in selection)
    return queries.rows(
      `select u.log_id, u.seq, true as has, null as created_at, (select x.received_at::text from exchange x
         where x.log_id = u.log_id and x.seq = u.seq) as received_at
       from entry_user u
       where u.hash = $1 and ($2::uuid is null or (u.log_id, u.seq) > ($2::uuid, $3::bigint))
       order by u.log_id, u.seq limit ${PAGE_ROWS}`,
      [hashIn(selection), after?.log_id ?? null, after?.seq ?? null],
    )
  const [condition, value] = conditionOf(selection)
  return queries.rows(
    `select e.log_id, e.seq, e.received_at::text, e.created_at::text,
       exists (select from exchange x
         where x.log_id = e.log_id and x.seq = e.seq and x.received_at = e.received_at)
       or exists (select from entry_user u where u.log_id = e.log_id and u.seq = e.seq) as has
     from entry e
     where ${condition}
       and ($2::timestamptz is null
         or (e.created_at, e.log_id, e.seq) > ($2::timestamptz, $3::uuid, $4::bigint))
     order by e.created_at, e.log_id, e.seq limit ${PAGE_ROWS}`,
    [value, after?.created_at ?? null, after?.log_id ?? null, after?.seq ?? null],
  )
}

const conditionOf = (
  selection: Exclude<OrderSelection, { readonly user: string }>,
): readonly [condition: string, value: string] => {
  if ('request_id' in selection) return ['e.call_id = $1', selection.request_id]
  if ('key_id' in selection) return ['e.key_id = $1', selection.key_id]
  return ['e.created_at < $1::timestamptz', selection.before]
}

/**
 * Closes the orders that every log has passed. A sidecar has passed with any of its logs: it writes
 * to one only. One that left for good, that is gone or that is not known has nothing to erase; one
 * whose log was forked can send no more, so that its acknowledgement is enough.
 */
const CLOSE_ORDERS = `
  update erase_order o set done = true
  where not o.done and o.swept
    and not exists (
      select from log_head h join sidecar s on s.id = h.sidecar
      where s.state <> 'gone'
        and not (s.state = 'left' and h.state = 'closed' and s.public_key is null)
        and not (h.state = 'forked' and s.acked_rev >= o.rev)
        and not exists (
          select from erase_passed p join log_head other on other.log_id = p.log_id
          where p.rev = o.rev and other.sidecar = h.sidecar))
    and not exists (
      select from sidecar s
      where s.state in ('connected', 'silent') and not exists (select from log_head h where h.sidecar = s.id))`
