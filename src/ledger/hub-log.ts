// The log that all hubs share: seals each change in the transaction that makes it, and numbers it
// for the feed. Entries, chain and tree are those of a gateway's log.

import { genesis, type Sealed, seal } from '../audit/chain.ts'
import type { EntryDraft } from '../audit/entry.ts'
import { Frontier, leafHash } from '../audit/merkle.ts'
import { TileCollector } from '../audit/tiles.ts'
import { GATEWAY_ACTOR } from '../core/actor.ts'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { uuidv7 } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { type Database, onlyRow, type Queries } from './database.ts'
import { columnsOf, digestOf, insertEntries } from './entry-columns.ts'
import { storeTiles } from './log-tiles.ts'

/** The channel of notifications about changes; the newest revision is the payload. */
export const CHANGES_CHANNEL = 'sidegate_change'

const ID_RANDOM_BYTES = 16
const HASH_PREFIX = 'sha256:'

/** What a change adds to the feed. */
export interface FeedChange {
  readonly kind: string
  readonly id: string
  readonly op: 'put' | 'del'
  readonly body: JsonObject | null
  /** Writes the row of the change, with its revision. */
  readonly write: (queries: Queries, rev: number) => Promise<unknown>
}

/** A change, and the entry that records it in the same transaction. */
export interface LedgerChange<Result> {
  /** Null when nothing is to be sealed; then nothing is written either. */
  readonly draft: EntryDraft | null
  /** Entries that are sealed before it. */
  readonly before?: readonly EntryDraft[]
  readonly feed: readonly FeedChange[]
  readonly result: Result
}

/** A change that is durable. */
export interface MadeChange<Result> {
  readonly result: Result
  /** The newest revision after the change. */
  readonly rev: number
}

interface LogHead {
  readonly log_id: string
  readonly seq: number
  readonly hash: Buffer
  readonly frontier: readonly Buffer[]
  /** The newest entry is of a later month than this transaction. */
  readonly is_later: boolean
}

export interface HubLogOptions {
  readonly database: Database
  readonly clock: Pick<Clock, 'now'>
  /** Bytes of the CSPRNG. */
  readonly random: (length: number) => Buffer
}

/** What seals its changes in the log of the hubs. */
export interface LedgerOptions extends HubLogOptions {
  readonly log: HubLog
}

export class HubLog {
  readonly #database: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #random: (length: number) => Buffer

  constructor({ database, clock, random }: HubLogOptions) {
    this.#database = database
    this.#clock = clock
    this.#random = random
  }

  /**
   * Makes the partitions of the next months, and begins the log if no hub has.
   * @returns the id of the log
   */
  async open(): Promise<string> {
    await this.makePartitions()
    return this.#database.transaction(async (queries) => {
      await lockHead(queries)
      const begun = await headIn(queries)
      if (begun !== null) return begun.log_id
      const nowMs = this.#clock.now()
      const log = uuidv7(nowMs, this.#random(ID_RANDOM_BYTES))
      const draft = { type: 'genesis', product: 'sidegate', continues: null, actor: GATEWAY_ACTOR } as const
      const sealed = genesis(log, draft, nowMs)
      const frontier = Frontier.empty()
      frontier.push(leafHash(sealed.hash))
      await writeEntry(queries, log, sealed)
      await queries.rows(
        `insert into log_head (log_id, seq, hash, size, frontier, state, first_seq, last_at)
         values ($1, 0, $2, 1, $3, 'open', 0, now())`,
        [log, digestOf(sealed.hash), frontier.nodes()],
      )
      return log
    })
  }

  /** Makes the partitions of the next months. Call it at least once a day. */
  async makePartitions(): Promise<void> {
    await this.#database.rows('select add_months()')
  }

  /**
   * Makes a change and seals it in one transaction. `decide` runs inside it, one at a time over all
   * hubs, and reads what the change depends on.
   * @throws what `decide` throws (rejects); GatewayError `fleet_unavailable`
   */
  change<Result>(decide: (queries: Queries) => Promise<LedgerChange<Result>>): Promise<MadeChange<Result>> {
    return this.#database.transaction(async (queries) => {
      const before = await lockHead(queries)
      const { draft, before: earlier = [], feed, result } = await decide(queries)
      if (draft === null) return { result, rev: before }
      for (const one of earlier) await this.#seal(queries, one)
      const seq = await this.#seal(queries, draft)
      let rev = before
      for (const { kind, id, op, body, write } of feed) {
        rev++
        await write(queries, rev)
        await queries.rows(
          'insert into change (rev, kind, id, op, body, seq) values ($1, $2, $3, $4, $5, $6)',
          [rev, kind, id, op, body, seq],
        )
      }
      if (rev > before) {
        await queries.rows('update fleet_head set rev = $1', [rev])
        await queries.rows('select pg_notify($1, $2)', [CHANGES_CHANNEL, String(rev)])
      }
      return { result, rev }
    })
  }

  /** Appends an entry. @returns its sequence number */
  async #seal(queries: Queries, draft: EntryDraft): Promise<number> {
    const head = await headIn(queries)
    if (head === null) throw new Error('the log of the hubs has no genesis entry')
    const { log_id: log, seq, hash } = head
    if (head.is_later)
      throw new GatewayError('fleet_unavailable', 'A month ended while the change waited; send it again.', {
        headers: { 'retry-after': '1' },
      })
    const newest = { log, seq, hash: hashText(hash) }
    const sealed = seal(newest, draft, this.#clock.now(), null)
    const frontier = Frontier.read(seq + 1, head.frontier)
    const tiles = new TileCollector(log, 0)
    frontier.push(leafHash(sealed.hash), tiles.add)
    await writeEntry(queries, log, sealed)
    await storeTiles(queries, tiles.appends())
    await queries.rows(
      `update log_head set seq = $2, hash = $3, size = $4, frontier = $5, last_at = now() where log_id = $1`,
      [log, seq + 1, digestOf(sealed.hash), seq + 2, frontier.nodes()],
    )
    return seq + 1
  }
}

/** Takes the row that every change takes first, so that revisions become visible in order. */
const lockHead = async (queries: Queries): Promise<number> =>
  (await onlyRow(queries.rows<{ rev: number }>('select rev from fleet_head for update'))).rev

const headIn = async (queries: Queries): Promise<LogHead | null> =>
  (
    await queries.rows<LogHead>(
      `select log_id, seq, hash, frontier,
         date_trunc('month', last_at at time zone 'UTC') > date_trunc('month', now() at time zone 'UTC') as is_later
       from log_head where sidecar is null for update`,
    )
  )[0] ?? null

const writeEntry = (queries: Queries, log: string, { entry, bytes, hash }: Sealed): Promise<unknown> => {
  const said = new Map<string, unknown>(Object.entries(entry))
  return insertEntries(queries, [{ log, seq: entry.seq, hash, bytes, columns: columnsOf(said) }])
}

/** Returns `sha256:` and the digits of a digest. */
export const hashText = (digest: Buffer): string => HASH_PREFIX + digest.toString('hex')
