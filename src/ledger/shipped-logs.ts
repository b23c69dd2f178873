// Writes the entries that sidecars ship. One transaction stores what is new of many logs, or
// nothing: each head moves only if it is the one that was compared, so any number of hubs stores an
// entry once.

import {
  type ArrivalFault,
  type ArrivedEntry,
  type ArrivingEntry,
  type LogBeginning,
  type Placement,
  placeArrival,
} from '../audit/arrival.ts'
import type { Head } from '../audit/chain.ts'
import { Frontier, leafHash } from '../audit/merkle.ts'
import { TileCollector } from '../audit/tiles.ts'
import { userName } from '../audit/user-hash.ts'
import { GatewayError } from '../core/errors.ts'
import type { KeptUser } from '../core/retention-section.ts'
import type { SharedChange } from '../keys/stored-answer.ts'
import type { CountedUser } from '../usage/call-groups.ts'
import { ERASED } from '../usage/combination.ts'
import { type AnswerChanges, storeAnswers } from './answer-owners.ts'
import { KnownCombinations } from './combination-rows.ts'
import type { Database, Queries } from './database.ts'
import { digestOf, erasableIn, insertEntries, type KeptEntry } from './entry-columns.ts'
import { insertExchanges, insertUsers } from './erasable-rows.ts'
import { IngestOrders, type IngestScope } from './erase-orders.ts'
import { hashText } from './hub-log.ts'
import { eraseLate, type LatePass } from './late-erasure.ts'
import { storeTiles } from './log-tiles.ts'
import { countCalls, type ShippedCall } from './usage-counting.ts'

/** Times that a transaction is tried when other hubs write the same logs. */
const MAXIMUM_ATTEMPTS = 5
/** Errors of the server after which another attempt may succeed (PostgreSQL Appendix A). */
const LOST_RACE: ReadonlySet<unknown> = new Set(['40001', '40P01', '23505'])

/** The newest entry of a log that is durable. */
type NewestEntry = Pick<Head, 'seq' | 'hash'>

/** What a sidecar sends of one entry, with what its call changed of stored answers. */
interface SentEntry extends ArrivingEntry {
  readonly stored?: readonly SharedChange[]
}

/** Entries of one log that have arrived. */
export interface Shipment {
  readonly log: string
  /** Id of the sidecar whose credential came with them. */
  readonly sidecar: string
  /** Its name. */
  readonly name: string
  /** At least one. */
  readonly entries: readonly ArrivedEntry<SentEntry, KeptEntry>[]
  /** What the sidecar says of the log before the first entry. */
  readonly beginning: LogBeginning | null
}

/** What became of a shipment. */
export type ShipmentResult =
  /** Durable, with the number of entries that were new. */
  | { readonly head: NewestEntry; readonly added: number }
  | { readonly want: number }
  /** The log is that of another sidecar. */
  | { readonly isForeign: true }
  /** The log was forked before, from this entry on. */
  | { readonly forkedAt: number }
  /** They do not fit. `isFork`: what is stored and what was sent cannot both be of one log. */
  | { readonly fault: ArrivalFault; readonly isFork: boolean }

interface HeadRow {
  readonly log_id: string
  readonly sidecar: string | null
  readonly seq: number
  readonly hash: Buffer
  readonly frontier: readonly Buffer[]
  readonly first_seq: number
  readonly forked_at: number | null
  /** The newest entry is of a later month than this transaction. */
  readonly is_later: boolean
}

/** New entries of one log, and its head before; null for a new log. */
interface Append {
  readonly shipment: Shipment
  readonly entries: Shipment['entries']
  readonly before: HeadRow | null
  readonly after: NewestEntry
  readonly frontier: Frontier
  /** Edge of the tree before the first entry of a log, and its sequence number. */
  readonly first: Frontier
}

/** By log, the entry up to which a late erasure has come. */
type LateProgress = ReadonlyMap<string, number>

/** Another hub wrote one of the logs since they were read. */
class LostRaceError extends Error {
  override readonly name = 'LostRaceError'
}

export class ShippedLogs {
  readonly #database: Database
  readonly #keptUser: KeptUser
  readonly #known = new KnownCombinations()

  /** @param keptUser what is stored of the end users of calls */
  constructor(database: Database, keptUser: KeptUser) {
    this.#database = database
    this.#keptUser = keptUser
  }

  /**
   * Stores shipments of different logs: all that is new is durable when this resolves, and nothing
   * when it rejects.
   * @returns the result of each, in their order
   * @throws GatewayError (rejects) `fleet_unavailable`; the error of the server
   */
  async store(shipments: readonly Shipment[]): Promise<readonly ShipmentResult[]> {
    const parts = { shipments, keptUser: this.#keptUser, known: this.#known }
    let late: LateProgress = new Map()
    for (let attempt = 1; attempt <= MAXIMUM_ATTEMPTS; ) {
      try {
        const stored = await this.#database.transaction((queries) => storeIn(queries, parts, late))
        if (!('late' in stored)) return stored
        late = stored.late
      } catch (error) {
        attempt++
        if (!(error instanceof LostRaceError) && !LOST_RACE.has((error as { code?: unknown }).code))
          throw error
      }
    }
    throw new GatewayError('fleet_unavailable', 'Other hubs write the same logs; send the entries again.', {
      headers: { 'retry-after': '1' },
    })
  }
}

interface StoreParts {
  readonly shipments: readonly Shipment[]
  readonly keptUser: KeptUser
  readonly known: KnownCombinations
}

/** @returns the results; or how far a late erasure has come, when only that was done */
async function storeIn(
  queries: Queries,
  { shipments, ...parts }: StoreParts,
  late: LateProgress,
): Promise<readonly ShipmentResult[] | { readonly late: LateProgress }> {
  const heads = await headsOf(queries, shipments)
  const orders = await IngestOrders.read(queries, scopeOf(shipments))
  const hashes = await storedHashes(queries, shipments, heads)
  const appends: Append[] = []
  const results = shipments.map((shipment): ShipmentResult => {
    const head = heads.get(shipment.log) ?? null
    if (head !== null && head.sidecar !== shipment.sidecar) return { isForeign: true }
    if (head !== null && head.forked_at !== null) return { forkedAt: head.forked_at }
    const placement = place(shipment, head, hashes)
    if ('want' in placement) return placement
    if ('reason' in placement) return { fault: placement, isFork: head !== null }
    const entries = shipment.entries.slice(placement.from)
    if (entries.length === 0) return { head: { seq: head!.seq, hash: hashText(head!.hash) }, added: 0 }
    const append = appendOf(shipment, entries, head)
    appends.push(append)
    return { head: append.after, added: entries.length }
  })
  const progress = await eraseSlices(queries, appends, { orders, late })
  if (progress !== null) return { late: progress }
  if (appends.length > 0) await write(queries, appends, orders, parts)
  return results
}

/** What the orders of erasure need to know of shipments. */
function scopeOf(shipments: readonly Shipment[]): IngestScope {
  const entries = shipments.flatMap((shipment) => shipment.entries)
  const erasable = entries.filter(({ sent }) => sent.content !== null || sent.user !== null)
  return {
    logs: shipments.map(({ log }) => log),
    oldestMs: erasable.length === 0 ? null : Math.min(...erasable.map(({ sealedMs }) => sealedMs)),
    named: entries.flatMap((entry) => orderNamedIn(entry) ?? []),
  }
}

/** Returns the order that an entry says its log has applied; null for any other entry. */
function orderNamedIn({ type, sent }: Append['entries'][number]): number | null {
  if (type !== 'erase') return null
  const { order } = JSON.parse(sent.bytes.toString()) as { order?: unknown }
  return Number.isSafeInteger(order) ? (order as number) : null
}

/**
 * Erases a slice of what logs have stored before entries that say it was erased.
 * @returns how far it came; null when nothing is left, and the entries may be stored
 */
async function eraseSlices(
  queries: Queries,
  appends: readonly Append[],
  { orders, late }: { readonly orders: IngestOrders; readonly late: LateProgress },
): Promise<LateProgress | null> {
  const progress = new Map(late)
  let isMore = false
  for (const { shipment, entries, before } of appends) {
    const { log } = shipment
    const passes = entries.flatMap((entry): LatePass[] => {
      const rev = orderNamedIn(entry)
      const order = rev === null ? null : orders.expect(log, rev)
      return order === null ? [] : [{ order, seq: entry.seq }]
    })
    const after = late.get(log) ?? null
    if (passes.length === 0 || before === null || (after ?? -1) >= before.seq) continue
    const reached = await eraseLate(queries, log, passes, after)
    progress.set(log, reached)
    isMore ||= reached < before.seq
  }
  return isMore ? progress : null
}

/** Reads and locks the heads, in an order that all hubs share. */
async function headsOf(
  queries: Queries,
  shipments: readonly Shipment[],
): Promise<ReadonlyMap<string, HeadRow>> {
  const rows = await queries.rows<HeadRow>(
    `select log_id, sidecar, seq, hash, frontier, first_seq, case when state = 'forked' then
       coalesce((select min(seq) from conflict c
         where c.log_id = h.log_id and c.sidecar = h.sidecar and kind in ('fork', 'chain')), seq)
       end as forked_at,
       date_trunc('month', last_at at time zone 'UTC') > date_trunc('month', now() at time zone 'UTC') as is_later
     from log_head h where log_id = any($1) order by log_id for update`,
    [shipments.map(({ log }) => log)],
  )
  // Times of receipt must not fall from month to month, or a dropped month would leave a gap.
  if (rows.some(({ is_later: isLater }) => isLater)) throw new LostRaceError()
  return new Map(rows.map((row) => [row.log_id, row]))
}

/** Returns the stored hashes of entries that are sent again, by log and sequence number. */
async function storedHashes(
  queries: Queries,
  shipments: readonly Shipment[],
  heads: ReadonlyMap<string, HeadRow>,
): Promise<ReadonlyMap<string, string>> {
  const again = shipments.filter(({ log, entries }) => entries[0]!.seq < (heads.get(log)?.seq ?? 0))
  if (again.length === 0) return new Map()
  const rows = await queries.rows<{ log_id: string; seq: number; hash: Buffer }>(
    `select e.log_id, e.seq, e.hash from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as sent (log_id, first, last)
     join entry e on e.log_id = sent.log_id and e.seq between sent.first and sent.last`,
    [
      again.map(({ log }) => log),
      again.map(({ entries }) => entries[0]!.seq),
      again.map(({ entries }) => entries.at(-1)!.seq),
    ],
  )
  return new Map(rows.map(({ log_id, seq, hash }) => [`${log_id}/${seq}`, hashText(hash)]))
}

function place(
  { log, entries, beginning }: Shipment,
  head: HeadRow | null,
  hashes: ReadonlyMap<string, string>,
): Placement {
  const newest = head === null ? null : { log, seq: head.seq, hash: hashText(head.hash) }
  return placeArrival(entries, newest, beginning, (seq) => hashes.get(`${log}/${seq}`))
}

function appendOf(shipment: Shipment, entries: Shipment['entries'], before: HeadRow | null): Append {
  const [{ seq: firstSeq }] = entries as [Shipment['entries'][number]]
  const { seq, sent } = entries.at(-1)!
  const isNext = before !== null && firstSeq === before.seq + 1
  const edge = isNext ? before.frontier : (shipment.beginning?.frontier ?? [])
  const first = firstSeq === 0 ? Frontier.empty() : Frontier.read(firstSeq, edge)
  return { shipment, entries, before, after: { seq, hash: sent.hash }, frontier: first.copy(), first }
}

async function write(
  queries: Queries,
  appends: readonly Append[],
  orders: IngestOrders,
  { keptUser, known }: Omit<StoreParts, 'shipments'>,
): Promise<void> {
  const tiles = appends.flatMap(({ shipment, entries, before, frontier, first }) => {
    const begins = before === null || isAfterGap({ before, first }) ? first.size : before.first_seq
    const collector = new TileCollector(shipment.log, begins)
    for (const { sent } of entries) frontier.push(leafHash(sent.hash), collector.add)
    return collector.appends()
  })
  await moveHeads(queries, appends)
  const rows = appends.flatMap(({ shipment: { log, name }, entries }) =>
    entries.map((entry) => ({
      ...{ log, name, entry, seq: entry.seq, sent: entry.sent, columns: entry.kept.columns },
      isErased: isErased(orders, log, entry),
    })),
  )
  await saveGaps(queries, appends)
  await orders.save(queries)
  await insertEntries(
    queries,
    rows.map(({ log, seq, sent, columns }) => ({ log, seq, hash: sent.hash, bytes: sent.bytes, columns })),
  )
  await insertExchanges(
    queries,
    rows.filter(({ sent, isErased }) => sent.content !== null && !isErased),
  )
  await insertUsers(
    queries,
    rows.filter(({ sent, isErased }) => sent.user !== null && !isErased),
    keptUser,
  )
  await storeTiles(queries, tiles)
  await countCalls(
    queries,
    rows.flatMap(({ entry, name, isErased }) => countedCall(entry, name, { keptUser, isErased })),
    known,
  )
  await storeAnswers(
    queries,
    rows.flatMap(({ entry }) => changedAnswers(entry)),
  )
}

/** Returns what the call of an entry changed of stored answers, if anything. */
function changedAnswers({ sent: { stored }, kept }: Append['entries'][number]): AnswerChanges[] {
  const { key_id: key } = erasableIn(kept.columns)
  return stored === undefined || key === null ? [] : [{ key, changes: stored }]
}

/** How the end user of a call is stored. */
interface UserStorage {
  readonly keptUser: KeptUser
  readonly isErased: boolean
}

/** Returns the call that an entry is of, if it is of one. */
function countedCall(
  { kept: { call }, sent, sealedMs }: Append['entries'][number],
  sidecar: string,
  storage: UserStorage,
): ShippedCall[] {
  if (call === null) return []
  const hasUser = call.has_user === true && storage.keptUser !== 'off'
  return [{ call, sealedMs, sidecar, user: hasUser ? countedUser(sent, storage) : null }]
}

function countedUser({ user }: ArrivingEntry, { keptUser, isErased }: UserStorage): CountedUser {
  if (user === null || isErased) return { user: ERASED, hash: null }
  const { hash, clear } = user
  return { user: userName(hash, keptUser === 'clear' ? clear : null), hash: hash.toString('hex') }
}

/** Reports whether entries are missing before these: they were pruned and never sent. */
const isAfterGap = ({ before, first }: Pick<Append, 'before' | 'first'>): boolean =>
  before !== null && first.size > before.seq + 1

/** Keeps the edge of the tree after each gap, from which its further nodes are computed. */
async function saveGaps(queries: Queries, appends: readonly Append[]): Promise<void> {
  for (const { shipment, entries, first } of appends.filter(isAfterGap))
    await queries.rows('select note_gap($1, $2, $3, $4)', [
      ...[shipment.log, first.size],
      ...[digestOf(entries[0]!.prev!), first.nodes()],
    ])
}

/** Reports whether what is apart from an entry was erased; notes the orders that its log passes. */
function isErased(orders: IngestOrders, log: string, entry: Append['entries'][number]): boolean {
  const { sent, kept, sealedMs } = entry
  const rev = orderNamedIn(entry)
  if (rev !== null) orders.pass(log, rev)
  if (sent.content === null && sent.user === null) return false
  return orders.isErased(log, { ...erasableIn(kept.columns), user: sent.user?.hash ?? null }, sealedMs)
}

const stateAfter = ({ entries }: Append): string => (entries.at(-1)!.type === 'stop' ? 'closed' : 'open')

/** Moves all heads. @throws LostRaceError (rejects) when another hub moved one */
async function moveHeads(queries: Queries, appends: readonly Append[]): Promise<void> {
  const old = appends.filter(({ before }) => before !== null)
  const fresh = appends.filter(({ before }) => before === null).toSorted(byLog)
  const moved =
    old.length === 0
      ? []
      : await queries.rows(
          `update log_head h set seq = n.seq, hash = n.hash, size = n.seq + 1, frontier = n.frontier::bytea[],
             state = n.state, last_at = now()
           from unnest($1::uuid[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[], $6::text[], $7::text[])
             as n (log_id, old_seq, old_hash, seq, hash, frontier, state)
           where h.log_id = n.log_id and h.seq = n.old_seq and h.hash = n.old_hash and h.state <> 'forked'
           returning h.log_id`,
          [
            old.map(({ shipment }) => shipment.log),
            old.map(({ before }) => before!.seq),
            old.map(({ before }) => before!.hash),
            ...headColumns(old),
          ],
        )
  const begun =
    fresh.length === 0
      ? []
      : await queries.rows(
          `insert into log_head (log_id, sidecar, sidecar_name, first_seq, first_frontier, seq, hash, size, frontier,
             state, last_at)
           select n.log_id, n.sidecar, n.name, n.first_seq, n.first_frontier::bytea[], n.seq, n.hash, n.seq + 1,
             n.frontier::bytea[], n.state, now()
           from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::bytea[], $8::text[],
             $9::text[]) as n (log_id, sidecar, name, first_seq, first_frontier, seq, hash, frontier, state)
           on conflict do nothing returning log_id`,
          [
            fresh.map(({ shipment }) => shipment.log),
            fresh.map(({ shipment }) => shipment.sidecar),
            fresh.map(({ shipment }) => shipment.name),
            fresh.map(({ first }) => first.size),
            fresh.map(({ first }) => arrayText(first)),
            ...headColumns(fresh),
          ],
        )
  if (moved.length + begun.length < appends.length) throw new LostRaceError()
}

const byLog = (one: Append, other: Append): number => (one.shipment.log < other.shipment.log ? -1 : 1)

const headColumns = (appends: readonly Append[]): readonly (readonly unknown[])[] => [
  appends.map(({ after }) => after.seq),
  appends.map(({ after }) => digestOf(after.hash)),
  appends.map(({ frontier }) => arrayText(frontier)),
  appends.map((append) => stateAfter(append)),
]

/** Returns the text of an array of `bytea`: `unnest` takes no arrays of different lengths. */
const arrayText = (frontier: Frontier): string =>
  `{${frontier
    .nodes()
    .map((node) => `"\\\\x${node.toString('hex')}"`)
    .join(',')}}`
