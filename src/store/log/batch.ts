// One write transaction on the log: reads the head, seals entries, maintains their indexes, and
// writes the new head last. Exists only inside that transaction.

import { genesis, seal } from '../../audit/chain.ts'
import type { Commitment } from '../../audit/content.ts'
import type {
  EntryDraft,
  EntryType,
  GenesisDraft,
  RequestDraft,
  SealedEntry,
  SealedRequest,
} from '../../audit/entry.ts'
import { Frontier, leafHash } from '../../audit/merkle.ts'
import { type SecurityEventType, securityEvents } from '../../audit/security.ts'
import { MAXIMUM_ENTRY_BYTES } from '../../audit/verify.ts'
import { type Actor, GATEWAY_ACTOR } from '../../core/actor.ts'
import type { Milliseconds } from '../../core/clock.ts'
import type { StoredChange } from '../../keys/stored-answer.ts'
import { hourOf } from '../../usage/periods.ts'
import type { Environment } from '../environment/journaled.ts'
import type { Shared } from '../environment/transactions.ts'
import { type CounterChange, CounterChanges } from '../limits/counter-changes.ts'
import { CallRollup, writeFirstHour } from '../rollup/call-rollup.ts'
import {
  type DayCounts,
  dayOf,
  type LogState,
  packEntry,
  packEventLocation,
  packSummary,
  readDay,
  readJson,
  securityKey,
  u64,
  writeJson,
} from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { dropOldest, writeDay } from './prune.ts'
import { writeShared } from './shared-changes.ts'
import { MAXIMUM_STORED_ROWS, writeStored } from './stored-answers.ts'
import { storeNode } from './tree.ts'
import { countedUser, type StoredUser, writeUser } from './user-rows.ts'

const STATE_KEY = Buffer.from('log')
/** Longest id of a usage entry, bytes: it is a database key. */
export const MAXIMUM_ID_BYTES = 128

/** Returns the state of the log; null before its genesis entry. */
export function readLogState(tables: StoreTables): LogState | null {
  const bytes = tables.meta.get(STATE_KEY)
  return bytes === undefined ? null : readJson<LogState>(bytes)
}

export function writeLogState(tables: StoreTables, state: LogState): void {
  tables.meta.put(STATE_KEY, writeJson(state))
}

export interface Addition {
  readonly draft: EntryDraft
  readonly captured: Commitment | null
  readonly counters: readonly CounterChange[]
  readonly stored?: readonly StoredChange[]
  readonly user?: StoredUser | null
  /** Writes the change that the entry records. */
  readonly write?: (seq: number) => void
}

/** The index fields of a request. */
interface RequestKeys {
  /** Its id. */
  readonly key: Buffer
  readonly createdAtMs: Milliseconds
}

/** A change, and the entry that records it in the same transaction. */
export interface Change<Result> {
  /** Null when there is nothing to change. */
  readonly draft: EntryDraft | null
  /** Writes the change inside the transaction. Receives the entry's sequence number. */
  readonly write: (seq: number) => void
  readonly result: Result
}

export class Batch implements Shared {
  /** Types of the entries so far. */
  readonly sealed: EntryType[] = []
  readonly #tables: StoreTables
  readonly #nowMs: Milliseconds
  readonly #maxStored: number
  readonly #sharesStored: boolean
  readonly #days = new Map<number, DayCounts>()
  readonly #counters = new CounterChanges()
  readonly #rollup: CallRollup
  readonly #frontier: Frontier
  #state: LogState
  #torn = false

  /**
   * @param maxStored maximum rows of stored answers
   * @param sharesStored whether a hub gets the changes to stored answers
   * @throws Error when the log has no genesis entry, RangeError when the tree does not match its
   * length
   */
  constructor(
    tables: StoreTables,
    nowMs: Milliseconds,
    maxStored = MAXIMUM_STORED_ROWS,
    sharesStored = false,
  ) {
    const state = readLogState(tables)
    if (state === null) throw new Error('the log has no genesis entry')
    this.#tables = tables
    this.#nowMs = nowMs
    this.#maxStored = maxStored
    this.#sharesStored = sharesStored
    this.#state = state
    this.#rollup = new CallRollup(tables, nowMs)
    this.#frontier = Frontier.read(state.seq + 1, state.frontier)
  }

  get torn(): boolean {
    return this.#torn
  }

  /**
   * Seals an entry and writes it with its indexes.
   * @throws before the first write, when the draft cannot be sealed; the rest of the batch is
   * unaffected
   */
  add({ draft, captured, counters, stored = [], user = null, write }: Addition): SealedEntry {
    const request = draft.type === 'request' ? this.#readRequest(draft) : null
    const { entry, bytes, hash } = seal(this.#state, draft, this.#nowMs, captured?.hash ?? null)
    if (bytes.length > MAXIMUM_ENTRY_BYTES)
      throw new RangeError(`an entry is limited to ${MAXIMUM_ENTRY_BYTES} bytes`)
    // From here on only the database can fail, and then the whole transaction with it.
    this.#torn = true
    const key = u64(entry.seq)
    this.#tables.entries.put(key, packEntry(hash, bytes))
    if (captured !== null) this.#tables.content.put(key, captured.salted)
    this.#frontier.push(leafHash(hash), (level, index, node) => storeNode(this.#tables, level, index, node))
    let { nextRequest } = this.#state
    if (request !== null && entry.type === 'request') {
      if (user !== null) writeUser(this.#tables, entry.seq, nextRequest, user)
      this.#index(entry, request, nextRequest++)
      this.#rollup.add(entry, user === null ? null : countedUser(user))
    }
    this.#state = { ...this.#state, seq: entry.seq, hash, nextRequest }
    this.#counters.add(counters)
    writeStored(this.#tables, stored, this.#maxStored)
    if (this.#sharesStored) writeShared(this.#tables, entry.seq, stored)
    write?.(entry.seq)
    this.#torn = false
    this.sealed.push(entry.type)
    return entry
  }

  /**
   * Removes some of the oldest entries before `firstSeq`.
   * @returns how many
   */
  dropOldest(firstSeq: number): number {
    this.#torn = true
    const days = {
      read: (day: number) => this.#day(day),
      write: (day: number, counts: DayCounts) => this.#days.set(day, counts),
    }
    const { state, dropped } = dropOldest(this.#tables, this.#state, days, firstSeq)
    this.#state = state
    this.#torn = false
    return dropped
  }

  /** Writes the head with the tree's edge, the day counts, the token counts and the rollups. */
  finish(): void {
    this.#rollup.write()
    this.#counters.write(this.#tables.counters)
    for (const [day, counts] of this.#days) writeDay(this.#tables, day, counts)
    writeLogState(this.#tables, { ...this.#state, frontier: this.#frontier.encoded() })
  }

  #readRequest({ id, created_at }: RequestDraft): RequestKeys {
    const key = Buffer.from(id)
    if (key.length === 0 || key.length > MAXIMUM_ID_BYTES)
      throw new RangeError(`an id must have 1 to ${MAXIMUM_ID_BYTES} bytes`)
    if (this.#tables.ids.get(key) !== undefined) throw new Error('the id is already in use')
    const createdAtMs = Date.parse(created_at)
    if (!(createdAtMs >= 0)) throw new RangeError('created_at is not a point in time')
    return { key, createdAtMs }
  }

  #index(entry: SealedRequest, { key, createdAtMs }: RequestKeys, ordinal: number): void {
    const { seq } = entry
    this.#tables.ids.put(key, u64(seq))
    const summary = packSummary({
      seq,
      createdAtMs,
      blocked: entry.blocked,
      piiDetected: entry.pii_detected,
      outcome: entry.outcome,
      keyId: entry.key_id,
      model: entry.model,
    })
    this.#tables.requests.put(u64(ordinal), summary)
    const day = dayOf(createdAtMs)
    for (const [index, event] of securityEvents(entry).entries()) this.#addEvent(day, seq, index, event.type)
  }

  #addEvent(day: number, seq: number, index: number, type: SecurityEventType): void {
    const { counts, next } = this.#day(day)
    this.#tables.security.put(securityKey(day, next), packEventLocation(seq, index))
    this.#days.set(day, { counts: { ...counts, [type]: counts[type] + 1 }, next: next + 1 })
  }

  #day(day: number): DayCounts {
    return this.#days.get(day) ?? readDay(this.#tables.days.get(u64(day)))
  }
}

/**
 * Writes the genesis entry; runs inside a transaction.
 * @param log the new log's id, a UUIDv7
 * @param continues the log that this one replaces
 */
export function beginLog(
  { tables }: Environment,
  log: string,
  nowMs: Milliseconds,
  continues: GenesisDraft['continues'] = null,
  actor: Actor = GATEWAY_ACTOR,
): void {
  const draft: GenesisDraft = { type: 'genesis', product: 'sidegate', continues, actor }
  const { entry, bytes, hash } = genesis(log, draft, nowMs)
  tables.entries.put(u64(entry.seq), packEntry(hash, bytes))
  const frontier = Frontier.empty()
  frontier.push(leafHash(hash))
  const counts = { firstRequest: 0, nextRequest: 0 }
  writeLogState(tables, { log, seq: entry.seq, hash, frontier: frontier.encoded(), ...counts })
  // The calls of a log that this one replaces are not counted here.
  writeFirstHour(tables, continues === null ? 0 : hourOf(nowMs) + 1)
}
