// The checkpoints of the logs of a fleet: signed by the hubs for their own log, and by a sidecar
// and the hubs as its witness for any other.

import type { Checkpoint } from '../audit/checkpoint.ts'
import { Frontier } from '../audit/merkle.ts'
import { treeRoot } from '../audit/proof.ts'
import { parseObject } from '../audit/survey.ts'
import type { Milliseconds } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'
import { type Database, onlyRow, type Queries } from './database.ts'
import { hashText } from './hub-log.ts'
import { inStoredTree } from './log-tiles.ts'

/**
 * Checkpoints that are kept of one log. Beyond that every other one of the older half goes, so that
 * the whole log stays covered.
 */
export const MAXIMUM_LOG_CHECKPOINTS = 512

interface HeadColumns {
  readonly log_id: string
  readonly size: number
  readonly hash: Buffer
  readonly frontier: readonly Buffer[]
}

/** What the database knows of the log of a sidecar. */
export interface WitnessedLog {
  /** Null for the log of the hubs. */
  readonly sidecar: string | null
  readonly size: number
  readonly state: string
}

/** The log at a size. */
export interface StoredTree {
  /** Null when its entries are not stored any more. */
  readonly root: Buffer | null
  /** Hash of the newest of these entries; null when it is not stored any more. */
  readonly head: string | null
  /** Verifier key of the newest `boot` entry below the size; null without one. */
  readonly signer: string | null
}

/** @throws GatewayError (rejects, each) `fleet_unavailable` */
export class LedgerCheckpoints {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Returns a checkpoint over all entries of the hubs' log. */
  async describe(nowMs: Milliseconds): Promise<Checkpoint> {
    const { log_id, size, hash, frontier } = await onlyRow(
      this.#database.rows<HeadColumns>(
        'select log_id, size, hash, frontier from log_head where sidecar is null',
      ),
    )
    const root = Frontier.read(size, frontier).root()
    return { log: log_id, size, root, head: hashText(hash), time: isoTime(nowMs) }
  }

  /** Stores a signed checkpoint, unless there is one of the same size. */
  async save({ log, size, root }: Checkpoint, note: string): Promise<void> {
    await this.#database.transaction(async (queries) => {
      await queries.rows(
        'insert into checkpoint (log_id, size, root, note) values ($1, $2, $3, $4) on conflict do nothing',
        [log, size, root, note],
      )
      await thin(queries, log)
    })
  }

  /** Returns a log; null for one that is not known. */
  async log(log: string): Promise<WitnessedLog | null> {
    const statement = 'select sidecar, size, state from log_head where log_id = $1'
    return (await this.#database.rows<WitnessedLog>(statement, [log]))[0] ?? null
  }

  /** Returns the log at a size that it has had. */
  async treeAt(log: string, size: number): Promise<StoredTree> {
    const root = await inStoredTree(this.#database, log, (subtree) => treeRoot(size, subtree))
    const [newest] = await this.#database.rows<{ hash: Buffer }>(
      'select hash from entry where log_id = $1 and seq = $2',
      [log, size - 1],
    )
    const [boot] = await this.#database.rows<{ body: Buffer }>(
      `select body from entry
       where log_id = $1 and type = 'boot' and seq < $2 order by seq desc limit 1`,
      [log, size],
    )
    const signer = boot === undefined ? null : parseObject(boot.body)?.['signer']
    return {
      ...{ root, head: newest === undefined ? null : hashText(newest.hash) },
      signer: typeof signer === 'string' ? signer : null,
    }
  }

  /** Returns the first entry of a forked log at which it forked; null if that is not known. */
  async forkOf(log: string): Promise<number | null> {
    const [fork] = await this.#database.rows<{ seq: number | null }>(
      `select min(c.seq) as seq from conflict c join log_head h using (log_id, sidecar)
       where log_id = $1 and kind in ('fork', 'chain')`,
      [log],
    )
    return fork?.seq ?? null
  }
}

async function thin(queries: Queries, log: string): Promise<void> {
  await queries.rows(
    `with numbered as (
       select size, row_number() over (order by size) as number, count(*) over () as stored
       from checkpoint where log_id = $1)
     delete from checkpoint where log_id = $1 and size in (
       select size from numbered
       where stored > ${MAXIMUM_LOG_CHECKPOINTS} and number <= stored / 2 and number % 2 = 0)`,
    [log],
  )
}
