// The usage log: appending sealed entries, all durable before they are acknowledged, and orDamageError them back.
// Knows nothing of requests, rules or keys beyond what their entries printLine.

import { wellFormed } from '../../audit/canonical.ts'
import type { Head } from '../../audit/chain.ts'
import { type Commitment, type Content, commit, contentBytes, SALT_BYTES } from '../../audit/content.ts'
import type { EntryDraft, RequestDraft, SealedEntry, SealedRequest } from '../../audit/entry.ts'
import type { StoredRecord } from '../../audit/verify.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { uuidv7 } from '../../core/ids.ts'
import type { CounterChange } from '../counters.ts'
import { readU64, u64, unpackEntry } from '../layout.ts'
import type { Environment, StoreSize } from '../lmdb.ts'
import { Appender, type AppenderEvents, unavailable } from './appender.ts'
import { type Batch, beginLog, type Change, type CommitEvents, commitsOf, readLogState } from './batch.ts'
import { type EraseSelection, type Erasure, eraseContent } from './erase.ts'
import { listUsage, type UsagePage, type UsageQuery } from './list.ts'
import {
  findUsage,
  isSealed,
  reportSecurity,
  type SecurityQuery,
  type SecurityReport,
  type UsageDetail,
} from './query.ts'

/** What an entry with its index rows takes beyond its content, bytes; generous, corrected every second. */
const ENTRY_BYTES = 2048
/** After this share of `audit.maxBytes` the estimate of the store's size gives way to a look at it. */
const MEASURE_SHARE = 0.01
/** What is kept for entries when exchanges have to give way: a share of the store, some seconds' worth at most. */
const ENTRY_RESERVE_SHARE = 0.05
const MAX_ENTRY_RESERVE_BYTES = 64 * 1024 ** 2
/** In a file that may not grow any more, what is free lies scattered: so much of it in use is as good as full. */
const REUSED_SHARE = 0.9
/** Salts drawn at a time: asking for randomness costs more than what one salt takes. */
const SALTS_AT_ONCE = 128
const ID_RANDOM_BYTES = 16

export interface AppendOptions {
  /** The captured exchange: JSON of an object with `request` and `response`. */
  readonly content?: Content
  /** What the call used of token limits; kept in the entry's own transaction. */
  readonly counters?: readonly CounterChange[]
}

export type WhenFull = 'refuse' | 'drop-content'

export interface UsageLogEvents extends AppenderEvents, CommitEvents {
  /** A call was sealed without its exchange, for want of room. */
  onContentDropped(): void
}

export interface UsageLogOptions {
  readonly environment: Environment
  readonly clock: Clock
  /** Bytes of the CSPRNG. */
  readonly random: (length: number) => Buffer
  /** Size of the store at which calls are no longer taken on. */
  readonly maxBytes: number
  /** What gives way shortly before that: calls, or the exchanges of calls. */
  readonly whenFull: WhenFull
  readonly events: UsageLogEvents
}

export class UsageLog {
  readonly #environment: Environment
  readonly #random: (length: number) => Buffer
  readonly #maxBytes: number
  /** From here on calls are sealed without their exchange. */
  readonly #contentBytes: number
  readonly #events: UsageLogEvents
  readonly #appender: Appender<Batch>
  /** Salts not used yet. */
  #salts: Buffer = Buffer.alloc(0)
  #size: StoreSize
  /** Written since `#size` was measured, about. */
  #writtenBytes = 0
  /** Taken on and not written yet, about. */
  #pendingBytes = 0
  /** Kept for calls under way. */
  #reservedBytes = 0
  #full = false

  /** Takes up the log of the store, or begins one. */
  constructor({ environment, clock, random, maxBytes, whenFull, events }: UsageLogOptions) {
    this.#environment = environment
    this.#random = random
    this.#maxBytes = maxBytes
    const reserve = Math.min(maxBytes * ENTRY_RESERVE_SHARE, MAX_ENTRY_RESERVE_BYTES)
    this.#contentBytes = whenFull === 'drop-content' ? maxBytes - reserve : Number.POSITIVE_INFINITY
    this.#events = events
    environment.initialize(() => {
      if (readLogState(environment.tables) !== null) return
      beginLog(environment, uuidv7(clock.now(), random(ID_RANDOM_BYTES)), clock.now())
    })
    this.#size = environment.size()
    this.#appender = new Appender(commitsOf(environment, clock, events), clock, {
      ...events,
      onCommit: (jobs, bytes, spentMs) => {
        this.#writtenBytes += bytes
        const close = this.usedBytes >= Math.min(maxBytes, this.#contentBytes)
        if (close || this.#writtenBytes >= maxBytes * MEASURE_SHARE) this.measure()
        events.onCommit(jobs, bytes, spentMs)
      },
    })
    this.measure()
  }

  /** Whether a call could be sealed now; while false, none may be forwarded. */
  get available(): boolean {
    return this.#appender.available && !this.#full
  }

  /** Whether a change could be sealed now, the store being full or not. */
  get writable(): boolean {
    return this.#appender.available
  }

  /** Bytes of the store in use, about; `measure` looks. */
  get usedBytes(): number {
    return this.#size.usedBytes + this.#writtenBytes
  }

  /** Bytes of the file, about. */
  get fileBytes(): number {
    return Math.max(this.#size.fileBytes, this.usedBytes)
  }

  /** Entries that wait to be durable. */
  get pending(): number {
    return this.#appender.pending
  }

  get stalled(): boolean {
    return this.#appender.stalled
  }

  /** The newest entry, as of now and of any process. */
  get head(): Head {
    this.#environment.refresh()
    const state = readLogState(this.#environment.tables)
    if (state === null) throw new Error('the log has no genesis entry')
    return { log: state.log, seq: state.seq, hash: state.hash }
  }

  /**
   * Seals and stores an entry with its exchange and counters, all or nothing. Resolves when that is durable, in
   * which case it survives the death of the process and of the machine.
   * @throws GatewayError `audit_unavailable` (rejects) when it could not be written; nothing may count as done then
   */
  append(draft: RequestDraft, options?: AppendOptions): Promise<SealedRequest>
  append(draft: EntryDraft, options?: AppendOptions): Promise<SealedEntry>
  async append(draft: EntryDraft, { content, counters = [] }: AppendOptions = {}): Promise<SealedEntry> {
    if (this.#full && draft.type === 'request') {
      throw unavailable('The usage log has reached its size limit (audit.maxBytes).')
    }
    const captured = content === undefined ? null : this.#capture(content)
    const addition = { draft: wellFormed(draft), captured, counters }
    const bytes = ENTRY_BYTES + (captured?.salted.length ?? 0)
    this.#pendingBytes += bytes
    try {
      return await this.#appender.submit({ bytes, run: (batch) => batch.add(addition) })
    } finally {
      this.#pendingBytes -= bytes
    }
  }

  /**
   * Keeps room for the exchange of a call before it is forwarded, so that calls side by side do not fill the store
   * beyond its limit. A call that is alone has room as long as the store is not full.
   * @returns gives the room back; to be called once, when the call is sealed
   * @throws GatewayError `audit_unavailable` when the calls under way leave none
   */
  reserve(bytes: number): () => void {
    const neededBytes = this.usedBytes + this.#reservedBytes + bytes
    const givesWay = this.#contentBytes !== Number.POSITIVE_INFINITY
    if (!givesWay && this.#reservedBytes > 0 && neededBytes > this.#maxBytes) {
      throw unavailable('The usage log has no room for this call beside those under way (audit.maxBytes).')
    }
    this.#reservedBytes += bytes
    return () => {
      this.#reservedBytes -= bytes
    }
  }

  /**
   * Makes a change and seals it in one transaction, in which `decide` reads what the change depends on. Also works
   * when the store is full: a key can always be revoked.
   * @throws what `decide` throws (rejects), and `audit_unavailable` as `append` does
   */
  change<Result>(decide: () => Change<Result>): Promise<Result> {
    const run = (batch: Batch) => {
      const { draft, write, result } = decide()
      if (draft !== null) batch.add({ draft: wellFormed(draft), captured: null, counters: [], write })
      return result
    }
    return this.#appender.submit({ bytes: ENTRY_BYTES, run })
  }

  /**
   * Erases captured exchanges and seals that; also works when the store is full. The entries stay.
   * @returns null when there is no call with the id asked for
   */
  erase(selection: EraseSelection): Promise<Erasure | null> {
    return eraseContent(this.#environment, selection, (decide) => this.change(decide))
  }

  /** Removes the oldest entries before `firstSeq`, some at a time; resolves with how many once that is durable. */
  dropOldest(firstSeq: number): Promise<number> {
    return this.#appender.submit({ bytes: 0, run: (batch) => batch.dropOldest(firstSeq) })
  }

  /** A page of usage entries, newest first by sequence. */
  list(query: UsageQuery): Promise<UsagePage> {
    this.#environment.refresh()
    return listUsage(this.#environment.tables, query)
  }

  /** Whether a call with this id is sealed, and was not pruned since. */
  has(id: string): boolean {
    this.#environment.refresh()
    return isSealed(this.#environment.tables, id)
  }

  /** One usage entry with its exchange; null for an unknown id. */
  get(id: string): UsageDetail | null {
    this.#environment.refresh()
    return findUsage(this.#environment.tables, id)
  }

  security(query: SecurityQuery): SecurityReport {
    this.#environment.refresh()
    return reportSecurity(this.#environment.tables, query)
  }

  /** Entries of any type in order from `fromSeq`, at most `limit`: for verifying and exporting page by page. */
  records(fromSeq: number, limit: number): StoredRecord[] {
    this.#environment.refresh()
    const rows = this.#environment.tables.entries.rows({ start: u64(fromSeq), limit })
    return rows.map(({ key, value }) => unpackEntry(readU64(key), value))
  }

  /** To be called every second: watches over writes and the size of the store. @param pendingMs see Appender.tick */
  tick(pendingMs: Milliseconds): void {
    this.#appender.tick(pendingMs, this.#environment.fault())
    // After an I/O error not even orDamageError is safe.
    if (this.#appender.available && (this.#writtenBytes > 0 || this.#full)) this.measure()
  }

  /** Takes nothing on any more; resolves when all that was taken on is durable or refused. */
  close(): Promise<void> {
    return this.#appender.close()
  }

  /** Null where there is no room for it. */
  #capture(content: Content): Commitment | null {
    if (!this.#hasRoomFor(content)) return null
    if (this.#salts.length === 0) this.#salts = this.#random(SALT_BYTES * SALTS_AT_ONCE)
    const salt = this.#salts.subarray(0, SALT_BYTES)
    this.#salts = this.#salts.subarray(SALT_BYTES)
    return commit(salt, content)
  }

  #hasRoomFor(content: Content): boolean {
    if (this.#contentBytes === Number.POSITIVE_INFINITY) return true
    const moreBytes = this.#pendingBytes + contentBytes(content)
    const fits =
      this.fileBytes + moreBytes < this.#contentBytes ||
      this.usedBytes + moreBytes < this.#contentBytes * REUSED_SHARE
    if (fits) return true
    this.#events.onContentDropped()
    return false
  }

  /** Looks how large the store is, and opens or closes the log by it. */
  measure(): StoreSize {
    this.#size = this.#environment.size()
    this.#writtenBytes = 0
    const full = this.#size.usedBytes >= this.#maxBytes
    if (full !== this.#full) {
      this.#full = full
      const reached = `the store has reached ${this.#maxBytes} bytes (audit.maxBytes)`
      if (full) this.#events.onUnavailable(new Error(reached))
      else this.#events.onAvailable()
    }
    return this.#size
  }
}
