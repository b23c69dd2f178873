// What a sidecar sends of its log to a hub, and how far the hub has it. Knows no hub: the shipper
// sends, and pruning asks which entries no hub has.

import type { GenesisDraft, SealedEntry } from '../../audit/entry.ts'
import type { Milliseconds } from '../../core/clock.ts'
import type { SharedChange } from '../../keys/stored-answer.ts'
import type { Environment } from '../environment/journaled.ts'
import { readJson, u64, unpackEntry, writeJson } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { readLogState } from './batch.ts'
import { oldestSeq, readPrunePoint } from './prune.ts'
import { readShared } from './shared-changes.ts'
import { readStoredUser, type StoredUser } from './user-rows.ts'

/** The table is carried into a log that replaces this one. */
const HEAD_KEY = Buffer.from('shipped')
const LEFT_BEHIND_KEY = Buffer.from('left-behind')
/** Earlier logs that are remembered, newest last. */
const MAXIMUM_LEFT_BEHIND = 16
/** Approximate bytes of both rows. */
const ROW_BYTES = 2048
/** In the canonical form of a call that named its end user. */
const HAS_USER = Buffer.from('"has_user":true')
/** Fewest entries that pruning removes at a time. */
const MINIMUM_PRUNED = 2

/** What happens when entries that no hub has fill the store. */
export type OnUnshippable = 'block' | 'continue'

/** The newest entry of a log that a hub has, as stored. */
interface ShippedRow {
  readonly log: string
  readonly seq: number
  readonly hash: string
}

/** An earlier log of the data folder that no hub has as a whole. */
export interface LeftBehind {
  /** Null when it could not be read. */
  readonly log: string | null
  /** Sequence of its newest entry; null when it could not be read. */
  readonly head: number | null
  /** The newest entry that a hub is known to have; null for none. */
  readonly shipped: number | null
}

/** An entry with what is stored apart from it. */
export interface UnshippedEntry {
  readonly bytes: Buffer
  readonly hash: string
  /** Salt and exchange; null when none is stored or none is to be sent. */
  readonly content: Buffer | null
  readonly user: StoredUser | null
  /** The log before the entry, where its beginning is pruned and no hub has it. */
  readonly before: { readonly hash: string; readonly frontier: readonly string[] } | null
  /** What the call changed of stored answers; absent when it changed nothing. */
  readonly stored?: readonly SharedChange[]
}

export interface ShippingTerms {
  /** Whether exchanges are sent. */
  readonly sendsContent: boolean
  /** Whether end users are sent in clear text, where the store has it. */
  readonly sendsClear: boolean
  readonly onUnshippable: OnUnshippable
}

export class LogShipping {
  readonly log: string
  readonly #environment: Environment
  readonly #terms: ShippingTerms
  readonly #leftBehind: readonly LeftBehind[]
  /** Null when no hub is known to have an entry. */
  #head: ShippedRow | null
  #isSaved = true

  /** @param hasEarlierLogs whether the data folder still has logs that were set aside */
  constructor(environment: Environment, terms: ShippingTerms, hasEarlierLogs: boolean) {
    const { tables } = environment
    this.#environment = environment
    this.#terms = terms
    this.log = stateOf(tables).log
    const row = readRow<ShippedRow>(tables, HEAD_KEY)
    this.#head = row?.log === this.log ? row : null
    const before = hasEarlierLogs ? (readRow<LeftBehind[]>(tables, LEFT_BEHIND_KEY) ?? []) : []
    const ended = this.#head === null && hasEarlierLogs ? endedLog(tables, row) : null
    const isNew = ended !== null && !before.some(({ log }) => log === ended.log)
    this.#leftBehind = isNew ? [...before, ended].slice(-MAXIMUM_LEFT_BEHIND) : before
  }

  /** The first entry that no hub is known to have. */
  get next(): number {
    return this.#head === null ? 0 : this.#head.seq + 1
  }

  /** Sequence of the newest entry, of any process. */
  get newest(): number {
    this.#environment.refresh()
    return stateOf(this.#environment.tables).seq
  }

  /** The first entry that could be sent: it is neither pruned nor shipped. */
  get first(): number {
    this.#environment.refresh()
    return Math.max(this.next, readPrunePoint(this.#environment.tables).firstSeq)
  }

  /** Entries that are stored and that no hub is known to have. */
  get unshipped(): number {
    return this.newest + 1 - this.first
  }

  /** When the oldest of those was sealed; null without any. */
  get oldestUnshippedMs(): Milliseconds | null {
    const entry = this.#entry(this.first)
    return entry === null ? null : Date.parse(readJson<SealedEntry>(entry.bytes).ts)
  }

  /** Earlier logs of this data folder that no hub has as a whole. */
  get leftBehind(): readonly LeftBehind[] {
    return this.#leftBehind
  }

  /** Whether pruning for the size of the store keeps entries that no hub has. */
  get keepsUnshipped(): boolean {
    return this.#terms.onUnshippable === 'block'
  }

  /** Whether pruning can remove nothing, because no hub has the oldest entries. */
  get isHeld(): boolean {
    const oldest = oldestSeq(this.#environment.tables)
    return this.keepsUnshipped && oldest !== null && this.next - oldest < MINIMUM_PRUNED
  }

  /**
   * Returns an entry as it is to be sent; null when it is not stored. Reads the state of the log at
   * the last look at `first`.
   * @param isFirst whether it is the first of a request, which may be the first that a hub gets
   */
  read(seq: number, isFirst: boolean): UnshippedEntry | null {
    const { sendsContent, sendsClear } = this.#terms
    const { tables } = this.#environment
    const entry = this.#entry(seq)
    if (entry === null) return null
    // Most entries have none, and looking for the row costs more.
    const user = entry.bytes.includes(HAS_USER) ? readStoredUser(tables, seq) : null
    const stored = readShared(tables, seq)
    return {
      ...entry,
      ...(stored !== null && { stored }),
      content: (sendsContent ? tables.content.get(u64(seq)) : undefined) ?? null,
      user: user === null || sendsClear ? user : { ...user, clear: null },
      before: isFirst ? this.#before(seq, entry.bytes) : null,
    }
  }

  /** Returns the hash of an entry; null when it is not stored. */
  hashOf(seq: number): string | null {
    this.#environment.refresh()
    return this.#entry(seq)?.hash ?? null
  }

  /** A hub has all entries up to this one for good. */
  took({ seq, hash }: { readonly seq: number; readonly hash: string }): void {
    this.#head = { log: this.log, seq, hash }
    this.#isSaved = false
  }

  /**
   * The hub wants entries from this one on. Where they are pruned, it gets the first that is not,
   * with the log before it.
   * @returns false when neither is stored; then nothing changes
   */
  moveTo(seq: number): boolean {
    const { tables } = this.#environment
    this.#environment.refresh()
    const first = readPrunePoint(tables).firstSeq
    const entry = this.#entry(Math.max(seq, first))
    if (entry === null) return false
    const hash = seq === 0 || seq < first ? null : readJson<SealedEntry>(entry.bytes).prev
    this.#head = hash === null ? null : { log: this.log, seq: seq - 1, hash }
    this.#isSaved = false
    return true
  }

  /**
   * Writes how far the hub is. Not after each answer: what is sent again after a crash is compared.
   */
  async save(): Promise<void> {
    if (this.#isSaved) return
    this.#isSaved = true
    try {
      await this.#environment.transaction(() => this.write(this.#environment.tables), ROW_BYTES)
    } catch (error) {
      this.#isSaved = false
      throw error
    }
  }

  /** Writes how far the hub is; runs inside a transaction. */
  write({ fleet }: StoreTables): void {
    if (this.#head === null) fleet.remove(HEAD_KEY)
    else fleet.put(HEAD_KEY, writeJson(this.#head))
    if (this.#leftBehind.length === 0) fleet.remove(LEFT_BEHIND_KEY)
    else fleet.put(LEFT_BEHIND_KEY, writeJson(this.#leftBehind))
  }

  #entry(seq: number): { readonly bytes: Buffer; readonly hash: string } | null {
    const row = this.#environment.tables.entries.get(u64(seq))
    if (row === undefined) return null
    const { bytes, hash } = unpackEntry(seq, row)
    return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), hash }
  }

  #before(seq: number, bytes: Buffer): UnshippedEntry['before'] {
    const { firstSeq, frontier } = readPrunePoint(this.#environment.tables)
    if (seq === 0 || seq !== firstSeq || this.next === seq) return null
    const { prev } = readJson<SealedEntry>(bytes)
    return prev === null ? null : { hash: prev, frontier }
  }
}

function stateOf(tables: StoreTables) {
  const state = readLogState(tables)
  if (state === null) throw new Error('the log has no genesis entry')
  return state
}

function readRow<Row>({ fleet }: StoreTables, key: Buffer): Row | null {
  const bytes = fleet.get(key)
  return bytes === undefined ? null : readJson<Row>(bytes)
}

/** Returns the log that the stored one continues, unless a hub has all of it. */
function endedLog({ entries }: StoreTables, row: ShippedRow | null): LeftBehind | null {
  const genesis = entries.get(u64(0))
  if (genesis === undefined) return null
  const { continues = null } = readJson<Partial<GenesisDraft>>(Buffer.from(unpackEntry(0, genesis).bytes))
  if (continues === null) return null
  const shipped = row !== null && row.log === continues.log ? row.seq : null
  if (shipped !== null && continues.seq !== null && shipped >= continues.seq) return null
  return { log: continues.log, head: continues.seq, shipped }
}
