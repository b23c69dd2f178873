// Proves that entries are in the logs of sidecars, also of those that are gone: from the stored
// tiles, and the checkpoints that sidecars sign and hubs cosign.

import { type Checkpoint, readCheckpoint } from '../audit/checkpoint.ts'
import {
  type ConsistencyProof,
  consistencyProof,
  type InclusionProof,
  inclusionProof,
  treeRoot,
  verifyInclusion,
} from '../audit/proof.ts'
import { type NotedCheckpoint, receiptObject } from '../audit/receipt.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { uuidv7Time } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { type Database, onlyRow } from './database.ts'
import { storable } from './entry-columns.ts'
import { hashText } from './hub-log.ts'
import { LedgerCheckpoints } from './ledger-checkpoints.ts'
import { type LogScope, oneLogOf } from './log-scope.ts'
import { inStoredTree } from './log-tiles.ts'

/** Time after which a receipt is asked for again: sidecars sign every few seconds. */
const RETRY_AFTER_SECONDS = '5'
/** Time after the start of a call within which it may not be stored yet. */
const ARRIVAL_MS: Milliseconds = 60_000
/** Time after a clean end of a log within which its last checkpoint may arrive. */
const LAST_CHECKPOINT_MS: Milliseconds = 60_000
const BLANK_LINE = '\n\n'

/** An API key of hubs for whose calls a sidecar asks. */
export interface ReceiptKey {
  readonly line: string
  /** Whether the sidecar gets a key with these globs of namespaces. */
  readonly isGiven: (namespaces: readonly string[] | null) => boolean
}

interface CallColumns {
  readonly log_id: string
  readonly seq: number
  readonly hash: Buffer
  readonly body: Buffer
  readonly namespaces: readonly string[] | null
}

/** @throws GatewayError (rejects, each) `fleet_unavailable` */
export class LedgerReceipts {
  readonly #database: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #checkpoints: LedgerCheckpoints

  constructor(database: Database, clock: Pick<Clock, 'now'>) {
    this.#database = database
    this.#clock = clock
    this.#checkpoints = new LedgerCheckpoints(database)
  }

  /**
   * Returns the signed receipt of a call; null when it is not stored, or its proof needs entries
   * that were dropped.
   * @param key only a call of it; null for a call of any key
   * @throws GatewayError (rejects) `audit_unavailable` when the call is so young that its sidecar
   * may not have sent it yet, or no checkpoint covers its entry yet; `conflict` when none ever will
   */
  async receipt(id: string, key: ReceiptKey | null = null): Promise<JsonObject | null> {
    const call = await this.#callOf(id, key)
    if (call === undefined) {
      if (await this.#isStillToCome(id, key)) throw later('No sidecar has sent a call with this id yet')
      return null
    }
    const { log_id: log, seq, hash, body } = call
    const checkpoint = await this.#covering(log, seq)
    const { leaf, proof } = await this.#path(log, seq, checkpoint.size)
    if (leaf === null || proof === null) return null
    if (!verifyInclusion(seq, checkpoint.size, leaf, checkpoint.root, proof))
      throw new Error(`the tiles of the log ${log} do not lead from entry ${seq} to its checkpoint`)
    const { signer } = await this.#checkpoints.treeAt(log, checkpoint.size)
    const record = { seq, hash: hashText(hash), bytes: body }
    return receiptObject(record, { leaf, root: checkpoint.root, proof }, checkpoint, signer ?? '')
  }

  /**
   * Returns the id of the log of a sidecar, its size and that of its newest checkpoint, which is
   * null before the first.
   * @throws GatewayError (rejects) `invalid_parameter` for a scope that is not one such log
   */
  async log(scope: LogScope): Promise<{ log: string; size: number; signed: number | null }> {
    if (scope.sidecar === null && scope.log == null)
      throw new GatewayError(
        'invalid_parameter',
        'Give the sidecar or the log; GET /api/v1/fleet lists them. No proofs are made of the log of the hubs.',
        { param: 'sidecar' },
      )
    const log = await oneLogOf(this.#database, scope)
    const { size, signed } = await onlyRow(
      this.#database.rows<{ size: number; signed: number | null }>(
        `select size, (select max(c.size) from checkpoint c where c.log_id = h.log_id) as signed
         from log_head h where log_id = $1`,
        [log],
      ),
    )
    return { log, size, signed }
  }

  /** Returns null when entries are needed that were dropped. @param size at most that of the log */
  async inclusion(log: string, seq: number, size: number): Promise<InclusionProof | null> {
    const { leaf, proof, root } = await this.#path(log, seq, size)
    return leaf === null || proof === null || root === null ? null : { leaf, proof, root }
  }

  /** Returns null when entries are needed that were dropped. @param size at most that of the log */
  async consistency(log: string, from: number, size: number): Promise<ConsistencyProof | null> {
    const { fromRoot, root, proof } = await inStoredTree(this.#database, log, (subtree) => ({
      fromRoot: treeRoot(from, subtree),
      root: treeRoot(size, subtree),
      proof: consistencyProof(from, size, subtree),
    }))
    return fromRoot === null || root === null || proof === null ? null : { fromRoot, root, proof }
  }

  async #callOf(id: string, key: ReceiptKey | null): Promise<CallColumns | undefined> {
    const [join, values] =
      key === null
        ? ['left join api_key k on false', []]
        : ['join api_key k on k.id = e.key_id and k.line = $2', [storable(key.line)]]
    // The oldest: a sidecar may ship an entry with the id of another one's call.
    const [call] = await this.#database.rows<CallColumns>(
      `select e.log_id, e.seq, e.hash, e.body, k.namespaces from entry e ${join}
       where e.call_id = $1 order by e.received_at, e.log_id, e.seq limit 1`,
      [storable(id), ...values],
    )
    return call !== undefined && (key === null || key.isGiven(call.namespaces)) ? call : undefined
  }

  /** Reports whether a call that is not found may be one that its sidecar has not sent yet. */
  async #isStillToCome(id: string, key: ReceiptKey | null): Promise<boolean> {
    const begunMs = uuidv7Time(id)
    if (begunMs === null || Math.abs(this.#clock.now() - begunMs) > ARRIVAL_MS) return false
    // A call of another key has come.
    return key === null || (await this.#callOf(id, null)) === undefined
  }

  async #covering(log: string, seq: number): Promise<NotedCheckpoint> {
    const [newest] = await this.#database.rows<{ note: string }>(
      'select note from checkpoint where log_id = $1 and size > $2 order by size desc limit 1',
      [log, seq],
    )
    if (newest !== undefined) return { ...checkpointIn(newest.note), note: newest.note }
    if (!(await this.#isOver(log))) throw later('No cosigned checkpoint covers the entry of the call yet')
    throw new GatewayError(
      'conflict',
      `No checkpoint covers the call, and none will: its log ended before its sidecar signed one. The hubs have it as entry ${seq} of the log ${log} and witnessed it in their own log: sidegate audit verify --fleet checks that.`,
    )
  }

  /** Reports whether a log gets no more checkpoints, unless its sidecar starts on its data. */
  async #isOver(log: string): Promise<boolean> {
    const over = await this.#database.rows(
      `select from log_head where log_id = $1 and (state in ('cut', 'forked')
         or state = 'closed' and last_at < now() - ${LAST_CHECKPOINT_MS} * interval '1 millisecond')`,
      [log],
    )
    return over.length > 0
  }

  #path(log: string, seq: number, size: number) {
    return inStoredTree(this.#database, log, (subtree) => ({
      leaf: subtree(0, seq),
      proof: inclusionProof(seq, size, subtree),
      root: treeRoot(size, subtree),
    }))
  }
}

/** @param reason a sentence without its full stop */
const later = (reason: string): GatewayError =>
  new GatewayError('audit_unavailable', `${reason}; try again in a few seconds.`, {
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
  })

/** Reads the checkpoint in a note that was verified before it was stored. */
function checkpointIn(note: string): Checkpoint {
  const checkpoint = readCheckpoint(note.slice(0, note.lastIndexOf(BLANK_LINE) + 1))
  if (checkpoint === null) throw new Error('a stored checkpoint cannot be read')
  return checkpoint
}
