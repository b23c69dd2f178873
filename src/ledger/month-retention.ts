// Drops months of entries that are too old: seals where each log is cut, then lets a function of
// the owner check that and drop the tables. One hub at a time.

import { isDeepStrictEqual } from 'node:util'
import type { ChangeDraft, DroppedLog } from '../audit/change-draft.ts'
import { Frontier, leafHash } from '../audit/merkle.ts'
import type { Subtree } from '../audit/proof.ts'
import { GATEWAY_ACTOR } from '../core/actor.ts'
import type { RetainRule } from '../core/retention-section.ts'
import type { Database, Queries } from './database.ts'
import { type HubLog, hashText } from './hub-log.ts'
import { inStoredTree } from './log-tiles.ts'

/** Number of the advisory lock of the hub that removes what is too old. */
const RETENTION_LOCK = 7_310_003
/** Logs in one `month_dropped` entry, which then takes about 50 KiB. */
const MAXIMUM_DROPPED_LOGS = 200
/** Logs read at once, entries read at once, and end users removed at once. */
const PAGE_LOGS = 500
const PAGE_ENTRIES = 5000
const SLICE_USERS = 5000

export interface RetentionParts {
  readonly database: Database
  readonly log: Pick<HubLog, 'change'>
  readonly retainDays: number
  readonly retain: readonly RetainRule[]
}

/** A month with entries: its first day, and its time of the day in UTC. */
interface Month {
  /** `2026-01-01`. */
  readonly first: string
  readonly starts: string
  readonly ends: string
}

/** Where a log is cut. */
interface Cut extends DroppedLog {
  /** Null but for the log of the hubs. */
  readonly frontier: Frontier | null
}

/** Runs `work` if no other hub does such work. */
export const asOnlyHub = (database: Database, work: () => Promise<void>): Promise<void> =>
  database.transaction(async (queries) => {
    const [row] = await queries.rows<{ is_first: boolean }>(
      'select pg_try_advisory_xact_lock($1) as is_first',
      [RETENTION_LOCK],
    )
    if (row?.is_first === true) await work()
  })

export class MonthRetention {
  readonly #parts: RetentionParts

  constructor(parts: RetentionParts) {
    this.#parts = parts
  }

  /**
   * Drops every month that is too old.
   * @returns the months, `2026-01`
   * @throws GatewayError (rejects) `fleet_unavailable`; the error of the server when a log does not
   * fit its cut, and then nothing of that month is dropped
   */
  async run(): Promise<string[]> {
    const dropped: string[] = []
    for (let month = await this.#oldest(); month !== null; month = await this.#oldest()) {
      await this.#drop(month)
      dropped.push(nameOf(month))
    }
    return dropped
  }

  /** The longest time counts for all, because a month is dropped whole. */
  get #days(): number {
    const { retainDays, retain } = this.#parts
    return Math.max(retainDays, ...retain.map(({ days }) => days))
  }

  /** Returns the oldest month if it is too old. */
  async #oldest(): Promise<Month | null> {
    const rows = await this.#parts.database.rows<Month>(
      `select first::text, starts::text, ends::text from (
         select first, first::timestamp at time zone 'UTC' as starts,
           (first + interval '1 month')::timestamp at time zone 'UTC' as ends
         from (
           select to_date(min(right(c.relname, 7)), 'YYYY_MM') as first
           from pg_inherits i join pg_class c on c.oid = i.inhrelid
           where i.inhparent = 'entry'::regclass) oldest) month
       where ends + $1 * interval '1 day' <= now()
         and first < (date_trunc('month', now() at time zone 'UTC') - interval '1 month')::date`,
      [this.#days],
    )
    return rows[0] ?? null
  }

  async #drop(month: Month): Promise<void> {
    const { database, log } = this.#parts
    await database.rows('delete from cut_draft')
    const cuts = await this.#cuts(month)
    const drafts = draftsOf(month, cuts)
    if (!(await this.#isSealed(drafts.at(-1))))
      for (const draft of drafts) await log.change(async () => ({ draft, feed: [], result: null }))
    for (const cut of cuts) await this.#removeUsers(cut)
    await database.rows('select drop_month($1::date, $2)', [month.first, this.#days])
  }

  /** Reports whether an attempt that failed has sealed the cuts: those of an old month stay. */
  async #isSealed(last: ChangeDraft | undefined): Promise<boolean> {
    if (last === undefined) return true
    const [newest] = await this.#parts.database.rows<{ body: Buffer }>(
      `select body from entry where type = $1
         and log_id = (select log_id from log_head where sidecar is null) order by seq desc limit 1`,
      [last.type],
    )
    if (newest === undefined) return false
    const said = JSON.parse(newest.body.toString()) as Record<string, unknown>
    return Object.entries(last).every(([name, value]) => isDeepStrictEqual(said[name], value))
  }

  /** Returns where each log is cut, and writes it down for the function. */
  async #cuts({ starts, ends }: Month): Promise<Cut[]> {
    const { database } = this.#parts
    const cuts: Cut[] = []
    for (let after: string | null = null; ; ) {
      const rows: { log_id: string; sidecar: string | null; seq: number | null; hash: Buffer }[] =
        await database.rows(
          `select h.log_id, h.sidecar, last.seq, last.hash
           from (select log_id, sidecar from log_head where $1::uuid is null or log_id > $1
             order by log_id limit ${PAGE_LOGS}) h
           left join lateral (
             select seq, hash from entry e
             where e.log_id = h.log_id and e.received_at >= $2 and e.received_at < $3
             order by seq desc limit 1) last on true
           order by h.log_id`,
          [after, starts, ends],
        )
      for (const { log_id: log, sidecar, seq, hash } of rows) {
        if (seq === null) continue
        const isOfHubs = sidecar === null
        const frontier = await (isOfHubs ? walked(database, log, seq + 1) : stored(database, log, seq + 1))
        const root = frontier.root().toString('base64')
        const cut = { log, first_seq: seq + 1, head: hashText(hash), root }
        await database.rows(
          'insert into cut_draft (log_id, first_seq, prev, frontier) values ($1, $2, $3, $4)',
          [log, seq + 1, hash, frontier.nodes()],
        )
        cuts.push({ ...cut, frontier: isOfHubs ? frontier : null })
      }
      after = rows.at(-1)?.log_id ?? null
      if (rows.length < PAGE_LOGS) return cuts
    }
  }

  /** In slices, so that the function has few left. */
  async #removeUsers({ log, first_seq: firstSeq }: Cut): Promise<void> {
    for (;;) {
      const gone = await this.#parts.database.rows(
        `delete from entry_user where log_id = $1 and seq in (
           select seq from entry_user where log_id = $1 and seq < $2 order by seq limit ${SLICE_USERS})
         returning 1`,
        [log, firstSeq],
      )
      if (gone.length < SLICE_USERS) return
    }
  }
}

const nameOf = ({ first }: Month): string => first.slice(0, '2026-01'.length)

/** The log of the hubs names its own cut as a gateway does. */
function draftsOf(month: Month, cuts: readonly Cut[]): ChangeDraft[] {
  const others = cuts.filter(({ frontier }) => frontier === null)
  const parts = Math.ceil(others.length / MAXIMUM_DROPPED_LOGS)
  const dropped = Array.from({ length: parts }, (_, index) => ({
    type: 'month_dropped' as const,
    month: nameOf(month),
    part: index + 1,
    parts,
    logs: others
      .slice(index * MAXIMUM_DROPPED_LOGS, (index + 1) * MAXIMUM_DROPPED_LOGS)
      .map(({ log, first_seq, head, root }) => ({ log, first_seq, head, root })),
    actor: GATEWAY_ACTOR,
  }))
  const own = cuts.flatMap(({ first_seq, head, frontier }) =>
    frontier === null
      ? []
      : { type: 'prune' as const, first_seq, head, frontier: frontier.encoded(), reason: 'age' as const },
  )
  return [...own.map((draft) => ({ ...draft, actor: GATEWAY_ACTOR })), ...dropped]
}

/** Returns the edge of a tree that is stored in tiles. */
async function stored(queries: Queries, log: string, size: number): Promise<Frontier> {
  const nodes = await inStoredTree(queries, log, (subtree) => edgeNodes(size, subtree))
  const known = nodes.filter((node) => node !== null)
  if (known.length < nodes.length) throw new Error(`the tree of the log ${log} is not stored up to ${size}`)
  return Frontier.read(size, known)
}

/** Returns the largest complete subtrees of a tree, left to right. */
function edgeNodes(size: number, subtree: Subtree): (Buffer | null)[] {
  const nodes: (Buffer | null)[] = []
  let start = 0
  for (let level = Math.floor(Math.log2(size)); level >= 0; level--) {
    const leaves = 2 ** level
    if (start + leaves > size) continue
    nodes.push(subtree(level, start / leaves))
    start += leaves
  }
  return nodes
}

/** Returns the edge of the tree of the hubs' log, which has no tiles, from its entries. */
async function walked(queries: Queries, log: string, size: number): Promise<Frontier> {
  const [cut] = await queries.rows<{ first_seq: number; frontier: readonly Buffer[] }>(
    'select first_seq, frontier from log_cut where log_id = $1 order by first_seq desc limit 1',
    [log],
  )
  const frontier = cut === undefined ? Frontier.empty() : Frontier.read(cut.first_seq, cut.frontier)
  while (frontier.size < size) {
    const rows = await queries.rows<{ seq: number; hash: Buffer }>(
      `select seq, hash from entry where log_id = $1 and seq >= $2 and seq < $3
       order by seq limit ${PAGE_ENTRIES}`,
      [log, frontier.size, size],
    )
    for (const { seq, hash } of rows) {
      if (seq !== frontier.size) throw new Error(`entry ${frontier.size} of the log ${log} is missing`)
      frontier.push(leafHash(hashText(hash)))
    }
    if (rows.length === 0) throw new Error(`entry ${frontier.size} of the log ${log} is missing`)
  }
  return frontier
}
