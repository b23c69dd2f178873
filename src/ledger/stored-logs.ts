// Reads the logs that a database keeps, for their verification. Names tables with their schema, so
// that any role that may read them can.

import type { ConflictKind } from '../audit/arrival.ts'
import type { TilePlace } from '../audit/tiles.ts'
import type { Milliseconds } from '../core/clock.ts'
import type { Queries } from './database.ts'
import { COLUMN_NAMES } from './entry-columns.ts'
import { SCHEMA } from './schema.ts'

/** Rows in a page: an entry has at most 64 KiB. */
const PAGE_ROWS = 200
/** Tiles in a page: a row has at most 8 KiB. */
const PAGE_TILES = 64
/** Conflicts that are read of one log. */
const MAXIMUM_READ_CONFLICTS = 100

/** A log as the database describes it. */
export interface StoredLog {
  readonly log_id: string
  /** Whose log; null for that of the hubs. */
  readonly sidecar: string | null
  /** Name of the sidecar in lists; null for one that is not registered any more. */
  readonly name: string | null
  /** `open`, `closed`, `cut` or `forked`. */
  readonly state: string
  /** The newest entry. */
  readonly seq: number
  readonly hash: Buffer
  readonly frontier: readonly Buffer[]
}

/** What a sidecar sent that does not fit its own log. */
export interface StoredConflict {
  readonly at: Milliseconds
  readonly seq: number | null
  readonly kind: ConflictKind
}

/** What one sidecar sent that was refused. */
export interface ConflictTally {
  /** Name of the sidecar; its id for one that is not registered any more. */
  readonly sender: string
  readonly count: number
  readonly kinds: readonly string[]
}

/** A log before the first entry that is left of it. */
export interface StoredCut {
  readonly first_seq: number
  readonly prev: Buffer
  readonly frontier: readonly Buffer[]
}

export interface StoredTile extends TilePlace {
  readonly hashes: Buffer
}

/** An entry, and the columns that repeat what it says (entry-columns.ts). */
export interface StoredEntry {
  readonly seq: number
  readonly hash: Buffer
  readonly body: Buffer
}

/** @throws GatewayError (rejects, each) `fleet_unavailable`; the error of the server */
export class StoredLogs {
  readonly #queries: Queries

  constructor(queries: Queries) {
    this.#queries = queries
  }

  /** Returns all logs, that of the hubs first, then by sidecar. */
  list(): Promise<StoredLog[]> {
    return this.#queries.rows(
      `select log_id, sidecar, s.name, l.state, seq, hash, frontier
       from ${SCHEMA}.log_head l left join ${SCHEMA}.sidecar s on s.id = l.sidecar
       order by sidecar nulls first, log_id`,
    )
  }

  /** Returns the hash of the first entry; null without entries. */
  async firstHash(log: string): Promise<Buffer | null> {
    const statement = `select hash from ${SCHEMA}.entry where log_id = $1 order by seq limit 1`
    const [first] = await this.#queries.rows<{ hash: Buffer }>(statement, [log])
    return first?.hash ?? null
  }

  /**
   * Returns the first entries from a sequence number on; none at the end.
   * @param type whose entries; null for all
   */
  page(log: string, fromSeq: number, type: string | null): Promise<StoredEntry[]> {
    return this.#queries.rows(
      `select seq, hash, body, ${COLUMN_NAMES} from ${SCHEMA}.entry
       where log_id = $1 and seq >= $2 and ($3::text is null or type = $3) order by seq limit ${PAGE_ROWS}`,
      [log, fromSeq, type],
    )
  }

  /** Returns the first signed checkpoints over more than some entries; none at the end. */
  checkpoints(log: string, afterSize: number): Promise<{ size: number; note: string }[]> {
    return this.#queries.rows(
      `select size, note from ${SCHEMA}.checkpoint where log_id = $1 and size > $2 order by size limit ${PAGE_ROWS}`,
      [log, afterSize],
    )
  }

  /** Returns where months of a log were dropped, oldest first. */
  cuts(log: string): Promise<StoredCut[]> {
    return this.#queries.rows(
      `select first_seq, prev, frontier from ${SCHEMA}.log_cut where log_id = $1 order by first_seq`,
      [log],
    )
  }

  /** Returns the first tiles after a place; none at the end. @param after null for the first */
  tiles(log: string, after: TilePlace | null): Promise<StoredTile[]> {
    return this.#queries.rows(
      `select level, index, hashes from ${SCHEMA}.tile
       where log_id = $1 and (level, index) > ($2::smallint, $3::bigint) order by level, index limit ${PAGE_TILES}`,
      [log, after?.level ?? 0, after?.index ?? 0],
    )
  }

  /** Returns the first conflicts of some kinds that a sidecar sent to a log, by kind as given. */
  conflicts(log: string, sidecar: string, kinds: readonly ConflictKind[]): Promise<StoredConflict[]> {
    return this.#queries.rows(
      `select at, seq, kind from ${SCHEMA}.conflict
       where log_id = $1 and sidecar = $2 and kind = any($3)
       order by array_position($3::text[], kind), at, seq limit ${MAXIMUM_READ_CONFLICTS}`,
      [log, sidecar, kinds],
    )
  }

  /**
   * Counts all other conflicts of a log, by sender.
   * @param sidecar the owner of the log; null for that of the hubs
   */
  refused(
    log: string,
    sidecar: string | null,
    kinds: readonly ConflictKind[],
    limit: number,
  ): Promise<ConflictTally[]> {
    const condition = 'c.log_id = $2 and (c.sidecar is distinct from $3 or c.kind <> all($4))'
    return this.#queries.rows(tallyOf(condition), [limit, log, sidecar, kinds])
  }

  /** Counts the conflicts of logs that are not stored, by sender. */
  strays(limit: number): Promise<ConflictTally[]> {
    const condition = `not exists (select from ${SCHEMA}.log_head h where h.log_id = c.log_id)`
    return this.#queries.rows(tallyOf(condition), [limit])
  }
}

const tallyOf = (condition: string): string =>
  `select coalesce(s.name, t.sidecar) as sender, t.count, t.kinds from (
     select c.sidecar, count(*) as count, array_agg(distinct c.kind order by c.kind) as kinds
     from ${SCHEMA}.conflict c where ${condition} group by c.sidecar order by count desc, c.sidecar limit $1) as t
   left join ${SCHEMA}.sidecar s on s.id = t.sidecar order by t.count desc, t.sidecar`
