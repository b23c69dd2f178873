// The usage log: appends sealed entries, durable before they are acknowledged, and reads them.
// Knows requests, rules and keys only from their entries.

import { wellFormed } from '../../audit/canonical.ts'
import type { Head } from '../../audit/chain.ts'
import type { ChangesPage, ChangesQuery } from '../../audit/change-view.ts'
import {
  type Commitment,
  type Content,
  commit,
  commitSteps,
  contentBytes,
  SALT_BYTES,
} from '../../audit/content.ts'
import type { EntryDraft, EntryType, RequestDraft, SealedEntry, SealedRequest } from '../../audit/entry.ts'
import type {
  SecurityQuery,
  SecurityReport,
  UsageDetail,
  UsagePage,
  UsageQuery,
} from '../../audit/usage-query.ts'
import type { StoredRecord } from '../../audit/verify.ts'
import type { Actor } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import { uuidv7 } from '../../core/ids.ts'
import { inSlices } from '../../core/steps.ts'
import type { Environment } from '../environment/journaled.ts'
import type { StoreSize } from '../environment/lmdb.ts'
import type { Group } from '../environment/transactions.ts'
import type { Writability } from '../environment/writability.ts'
import { unavailable } from '../files/unavailable.ts'
import { readU64, u64, unpackEntry } from '../tables/layout.ts'
import type { AppendOptions } from './append-options.ts'
import { Batch, beginLog, type Change, readLogState } from './batch.ts'
import { listChanges } from './changes.ts'
import { type EraseSelection, type Erasure, eraseContent } from './erase.ts'
import { listUsage } from './list.ts'
import { findUsage, isSealed, newestSeqs, readExchange, reportSecurity } from './query.ts'
import { storedRows } from './stored-answers.ts'

/** Length of an exchange from which it is hashed in slices. */
const LONG_CONTENT_BYTES = 1024 * 1024
/** Bytes of an entry with its index rows, without content: an estimate, corrected every second. */
const ENTRY_BYTES = 2048
/** Share of `audit.maxBytes` written before the estimated size is replaced by a measurement. */
const MEASURE_SHARE = 0.01
/** Space kept for entries when exchanges are dropped: a share of the store, up to a maximum. */
const ENTRY_RESERVE_SHARE = 0.05
const MAXIMUM_ENTRY_RESERVE_BYTES = 64 * 1024 ** 2
/** Free space in a file that may no longer grow is fragmented: this share in use counts as full. */
const REUSED_SHARE = 0.9
/** Salts drawn at a time: a call to the random source costs more than one salt. */
const SALTS_AT_ONCE = 128
const ID_RANDOM_BYTES = 16

export type WhenFull = 'refuse' | 'drop-content'

export interface UsageLogEvents {
  /** Entries of these types are durable; with none, the oldest were removed. */
  onSealed(types: readonly EntryType[]): void
  /** A call was sealed without its exchange, because the store is nearly full. */
  onContentDropped(): void
}

export interface UsageLogOptions {
  readonly environment: Environment
  readonly clock: Clock
  /** Bytes of the CSPRNG. */
  readonly random: (length: number) => Buffer
  /** Size of the store from which calls are refused. */
  readonly maxBytes: number
  /** Shortly before that size, refuses calls or drops their exchanges. */
  readonly whenFull: WhenFull
  /** Returns the keys under which end users were hashed; none by default. */
  readonly userKeys?: () => readonly Buffer[]
  /** Whether nothing can be pruned, because no hub has the oldest entries; false by default. */
  readonly isHeld?: () => boolean
  /** Whether a hub gets the changes to stored answers; false by default. */
  readonly sharesStored?: boolean
  readonly events: UsageLogEvents
}

export class UsageLog {
  readonly writability: Writability
  readonly #environment: Environment
  readonly #clock: Clock
  readonly #random: (length: number) => Buffer
  readonly #maxBytes: number
  /** Size from which calls are sealed without their exchange. */
  readonly #contentBytes: number
  readonly #userKeys: () => readonly Buffer[]
  readonly #isHeld: () => boolean
  readonly #events: UsageLogEvents
  /** Each frame of entries is one batch on the head at its beginning. */
  readonly #batches: Group<Batch>
  /** Unused salts. */
  #salts: Buffer = Buffer.alloc(0)
  #size: StoreSize
  /** Approximate bytes written since `#size` was measured. */
  #writtenBytes = 0
  /** Approximate bytes accepted and not yet written. */
  #pendingBytes = 0
  /** Bytes reserved for running calls. */
  #reservedBytes = 0

  /** Opens the log of the store, or begins one. */
  constructor(options: UsageLogOptions) {
    const {
      environment,
      clock,
      random,
      maxBytes,
      whenFull,
      userKeys = () => [],
      events,
      sharesStored,
    } = options
    this.#clock = clock
    this.#environment = environment
    this.#random = random
    this.#maxBytes = maxBytes
    const reserve = Math.min(maxBytes * ENTRY_RESERVE_SHARE, MAXIMUM_ENTRY_RESERVE_BYTES)
    this.#contentBytes = whenFull === 'drop-content' ? maxBytes - reserve : Number.POSITIVE_INFINITY
    this.#userKeys = userKeys
    this.#isHeld = options.isHeld ?? (() => false)
    this.#events = events
    environment.initialize(() => {
      if (readLogState(environment.tables) !== null) return
      beginLog(environment, uuidv7(clock.now(), random(ID_RANDOM_BYTES)), clock.now())
    })
    this.#size = environment.size()
    this.writability = environment.writability
    const maxStored = storedRows(maxBytes)
    this.#batches = {
      // Read here because another process may have appended.
      begin: () => new Batch(environment.tables, clock.now(), maxStored, sharesStored),
      finish: (batch) => batch.finish(),
      onDurable: (batch, bytes) => this.#onDurable(batch, bytes),
    }
    this.measure()
  }

  /** Whether a call could be sealed now; while false, no call may be forwarded. */
  get available(): boolean {
    return this.writability.takesCalls
  }

  /** Whether a change could be sealed now, even if the store is full. */
  get writable(): boolean {
    return this.writability.takesChanges
  }

  /** Approximate bytes of the store in use; `measure` corrects it. */
  get usedBytes(): number {
    return this.#size.usedBytes + this.#writtenBytes
  }

  /** Approximate bytes of the file. */
  get fileBytes(): number {
    return Math.max(this.#size.fileBytes, this.usedBytes)
  }

  /** The newest entry of any process. */
  get head(): Head {
    this.#environment.refresh()
    const state = readLogState(this.#environment.tables)
    if (state === null) throw new Error('the log has no genesis entry')
    return { log: state.log, seq: state.seq, hash: state.hash }
  }

  /**
   * Seals and stores an entry with its exchange and counters, all or nothing. Resolves when it is
   * durable: it then survives the death of the process and of the machine.
   * @throws GatewayError `audit_unavailable` (rejects) when it could not be written; the call must
   * not count as done
   */
  append(draft: RequestDraft, options?: AppendOptions): Promise<SealedRequest>
  append(draft: EntryDraft, options?: AppendOptions): Promise<SealedEntry>
  async append(draft: EntryDraft, { content, ...changes }: AppendOptions = {}): Promise<SealedEntry> {
    if (draft.type === 'request' && !this.writability.takesCalls) throw unavailable(this.writability.message)
    const made = content === undefined ? null : this.#capture(content)
    // Most exchanges are short, and cost no turn.
    const captured = made instanceof Promise ? await made : made
    const addition = { draft: wellFormed(draft), captured, counters: [], ...changes }
    const bytes = ENTRY_BYTES + (captured?.salted.length ?? 0)
    this.#pendingBytes += bytes
    try {
      return await this.#environment.inGroup(this.#batches, (batch) => batch.add(addition), bytes)
    } finally {
      this.#pendingBytes -= bytes
    }
  }

  /**
   * Reserves room for the exchange of a call before it is forwarded, so parallel calls do not
   * exceed the store's limit together. A single call has room unless the store is full.
   * @returns releases the room; call it once, when the call is sealed
   * @throws GatewayError `audit_unavailable` when running calls leave no room, or the disk has none
   */
  reserve(bytes: number): () => void {
    const neededBytes = this.usedBytes + this.#reservedBytes + bytes
    const givesWay = this.#contentBytes !== Number.POSITIVE_INFINITY
    if (!givesWay && this.#reservedBytes > 0 && neededBytes > this.#maxBytes)
      throw unavailable('The usage log has no room for this call while others run (audit.maxBytes).')
    const fault = this.#environment.roomFault(this.#reservedBytes + bytes)
    if (fault !== null) throw unavailable('The disk has no room for this call.', fault)
    this.#reservedBytes += bytes
    return () => {
      this.#reservedBytes -= bytes
    }
  }

  /**
   * Makes a change and seals it in one transaction. `decide` runs inside it and reads what the
   * change depends on. Also works when the store is full: a key can always be revoked.
   * @throws the error of `decide` (rejects), and `audit_unavailable` like `append`
   */
  change<Result>(decide: () => Change<Result>): Promise<Result> {
    const make = (batch: Batch) => {
      const { draft, write, result } = decide()
      if (draft !== null) batch.add({ draft: wellFormed(draft), captured: null, counters: [], write })
      return result
    }
    return this.#environment.inGroup(this.#batches, make, ENTRY_BYTES)
  }

  /**
   * Erases captured exchanges and seals the erasure; also works when the store is full. The entries
   * stay.
   * @param order of a hub, as EraseRequest has it
   * @returns null when there is no call with the requested id
   */
  erase(selection: EraseSelection, actor: Actor, order?: number): Promise<Erasure | null> {
    const change = <Result>(decide: () => Change<Result>) => this.change(decide)
    const parts = { environment: this.#environment, userKeys: this.#userKeys(), change }
    return eraseContent(parts, { selection, actor, order })
  }

  /**
   * Removes some of the oldest entries before `firstSeq`; resolves with their number when it is
   * durable.
   */
  dropOldest(firstSeq: number): Promise<number> {
    return this.#environment.inGroup(this.#batches, (batch) => batch.dropOldest(firstSeq), 0)
  }

  /**
   * Returns a page of usage entries, newest first by sequence.
   * @throws GatewayError (rejects) `invalid_parameter` for a cursor that no page has
   */
  list(query: UsageQuery): Promise<UsagePage> {
    this.#environment.refresh()
    return listUsage(this.#environment.tables, query, this.#userKeys())
  }

  /** Returns a page of entries that are not calls, newest first. */
  listChanges(query: ChangesQuery): Promise<ChangesPage> {
    return listChanges(this.#environment, query)
  }

  /** Reports whether a call with this id is sealed and not pruned. */
  has(id: string): boolean {
    this.#environment.refresh()
    return isSealed(this.#environment.tables, id)
  }

  /** Returns one usage entry with its exchange; null for an unknown id. */
  get(id: string): UsageDetail | null {
    this.#environment.refresh()
    return findUsage(this.#environment.tables, id)
  }

  /** Returns the sequence numbers of the newest calls, newest first. */
  newestSeqs(limit: number): number[] {
    this.#environment.refresh()
    return newestSeqs(this.#environment.tables, limit)
  }

  /** Works like `readExchange`. */
  exchange(seq: number, maximumBytes: number): ReturnType<typeof readExchange> {
    this.#environment.refresh()
    return readExchange(this.#environment.tables, seq, maximumBytes)
  }

  security(query: SecurityQuery): SecurityReport {
    this.#environment.refresh()
    return reportSecurity(this.#environment.tables, query)
  }

  /** Returns entries of any type in order from `fromSeq`, at most `limit`. */
  records(fromSeq: number, limit: number): StoredRecord[] {
    this.#environment.refresh()
    const rows = this.#environment.tables.entries.rows({ start: u64(fromSeq), limit })
    return rows.map(({ key, value }) => unpackEntry(readU64(key), value))
  }

  /** Watches the size. Call it every second. */
  tick(): void {
    // After an I/O error even reading is unsafe.
    if (this.writable) this.measure()
  }

  #onDurable({ sealed }: Batch, bytes: number): void {
    this.#writtenBytes += bytes
    const isNearLimit = this.usedBytes >= Math.min(this.#maxBytes, this.#contentBytes)
    if (isNearLimit || this.#writtenBytes >= this.#maxBytes * MEASURE_SHARE) this.measure()
    this.#events.onSealed(sealed)
  }

  /** Returns null when there is no room. */
  #capture(content: Content): Commitment | null | Promise<Commitment> {
    if (!this.#hasRoomFor(content)) return null
    if (this.#salts.length === 0) this.#salts = this.#random(SALT_BYTES * SALTS_AT_ONCE)
    const salt = this.#salts.subarray(0, SALT_BYTES)
    this.#salts = this.#salts.subarray(SALT_BYTES)
    if (contentBytes(content) <= LONG_CONTENT_BYTES) return commit(salt, content)
    return inSlices(commitSteps(salt, content), this.#clock)
  }

  #hasRoomFor(content: Content): boolean {
    if (this.#contentBytes === Number.POSITIVE_INFINITY) return true
    const moreBytes = this.#pendingBytes + contentBytes(content)
    const fits =
      this.fileBytes + moreBytes < this.#contentBytes ||
      this.usedBytes + moreBytes < this.#contentBytes * REUSED_SHARE
    if (!fits) this.#events.onContentDropped()
    return fits
  }

  /** Measures the store, and opens or closes the log accordingly. */
  measure(): StoreSize {
    this.#size = this.#environment.size()
    this.#writtenBytes = 0
    const fault = this.#environment.roomFault(0)
    const isFull = this.#size.usedBytes >= this.#maxBytes
    const isHeld = isFull && this.#isHeld()
    const reason = `the store has reached ${this.#maxBytes} bytes (audit.maxBytes)`
    const heldBy = isHeld ? ' with entries that no hub has (fleet.onUnshippable)' : ''
    if (fault !== null || isFull) this.writability.begin('full', fault ?? new Error(reason + heldBy))
    else this.writability.end('full')
    if (isHeld) this.writability.begin('unshipped')
    else this.writability.end('unshipped')
    return this.#size
  }
}
