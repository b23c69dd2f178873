// Reads the logs that a database keeps, for their verification. Names tables with their schema, so
// that any role that may read them can.

import type { Queries } from './database.ts'
import { COLUMN_NAMES } from './entry-columns.ts'
import { SCHEMA } from './schema.ts'

/** Rows in a page: an entry has at most 64 KiB. */
const PAGE_ROWS = 200

/** A log as the database describes it. */
export interface StoredLog {
  readonly log_id: string
  /** Whose log; null for that of the hubs. */
  readonly sidecar: string | null
  /** The newest entry. */
  readonly seq: number
  readonly hash: Buffer
  readonly frontier: readonly Buffer[]
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
      `select log_id, sidecar, seq, hash, frontier from ${SCHEMA}.log_head
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
}
