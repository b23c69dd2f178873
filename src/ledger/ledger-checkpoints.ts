// The checkpoints of the log that all hubs share.

import type { Checkpoint } from '../audit/checkpoint.ts'
import { Frontier } from '../audit/merkle.ts'
import type { Milliseconds } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'
import { type Database, onlyRow } from './database.ts'
import { hashText } from './hub-log.ts'

interface HeadColumns {
  readonly log_id: string
  readonly size: number
  readonly hash: Buffer
  readonly frontier: readonly Buffer[]
}

export class LedgerCheckpoints {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Returns a checkpoint over all entries. @throws GatewayError (rejects) `fleet_unavailable` */
  async describe(nowMs: Milliseconds): Promise<Checkpoint> {
    const { log_id, size, hash, frontier } = await onlyRow(
      this.#database.rows<HeadColumns>(
        'select log_id, size, hash, frontier from log_head where sidecar is null',
      ),
    )
    const root = Frontier.read(size, frontier).root()
    return { log: log_id, size, root, head: hashText(hash), time: isoTime(nowMs) }
  }

  /** Stores a signed checkpoint, unless another hub has one of the same size. */
  async save({ log, size, root }: Checkpoint, note: string): Promise<void> {
    await this.#database.rows(
      'insert into checkpoint (log_id, size, root, note) values ($1, $2, $3, $4) on conflict do nothing',
      [log, size, root, note],
    )
  }
}
