// The store's tables: reads that see every acknowledged row, and transactions that are durable in
// the journal before they are in the database. Any number of processes may have a folder open; the
// one that holds its journal writes for all.

import { type Clock, type Milliseconds, systemClock } from '../../core/clock.ts'
import {
  FIRST_POSITION,
  isJournalMoved,
  JournalDamageError,
  type JournalPosition,
  readFrames,
} from '../journal/journal-reader.ts'
import { JournalRows } from '../journal/journal-rows.ts'
import { type StoreTables, SUB_DATABASES } from '../tables/sub-databases.ts'
import { Application, readPosition } from './apply.ts'
import { CommitQueue } from './commit-queue.ts'
import { Holder, type HolderOptions, type JournalState } from './holder.ts'
import { type Lmdb, openLmdb, type StoreSize } from './lmdb.ts'
import type { Group, Shared } from './transactions.ts'
import { Writability, type WritabilityEvents } from './writability.ts'

/** Maximum attempts to read a journal whose writer overwrites it meanwhile. */
const READ_ATTEMPTS = 50

export interface Environment {
  readonly tables: StoreTables
  /** Whether transactions are accepted; `inGroup` obeys it, and `transaction` finds out itself. */
  readonly writability: Writability
  /**
   * Runs `write` in a transaction, exclusive across processes. Resolves with its result once the
   * rows are on disk; readers see them then. If `write` throws, the disk fails or the database
   * file was deleted, nothing is stored and the promise rejects; with code ENOSPC when the disk has
   * no room.
   * @param bytes approximate bytes to store
   */
  transaction<Result>(write: () => Result, bytes?: number): Promise<Result>
  /**
   * Works like `transaction`, together with those of the group that wait. `work` may throw alone
   * only before its first write.
   * @throws GatewayError `audit_unavailable` (rejects) when it is not written, or not known to be
   * written
   */
  inGroup<Common extends Shared, Result>(
    group: Group<Common>,
    work: (common: Common) => Result,
    bytes: number,
  ): Promise<Result>
  /** Works like `transaction` but blocks until the disk has written; for use before serving. */
  initialize(write: () => void): void
  /** Makes later reads, up to the next await, see all rows of any process so far. */
  refresh(): void
  size(): StoreSize
  /** Why the disk has no room for this many bytes of rows; null if it has. Its code is ENOSPC. */
  roomFault(bytes: number): Error | null
  /** Null in a process that does not hold the journal. */
  journal(): JournalState | null
  /** Resolves when the database has all rows of the journal, or an attempt to write them failed. */
  apply(): Promise<void>
  /** Frees the slots of dead readers, whose snapshots would keep the file growing. */
  reapReaders(): void
  /** Copies the current contents to an empty folder, without free pages and their bytes. */
  copyTo(folder: string): Promise<void>
  /**
   * Detects a write that hangs, probes after a failure, and lets no row stay in the journal for a
   * minute. Call it every second.
   */
  tick(nowMs: Milliseconds): void
  /** Resolves when accepted transactions are settled and all is closed, or a write is stuck. */
  close(): Promise<void>
}

const SEGMENT_BYTES = 64 * 1024 ** 2
/** Share of the store that one segment takes at most. */
const SEGMENT_SHARE = 1 / 64

export interface EnvironmentEvents extends WritabilityEvents {
  /** A write has been pending for ten seconds. It may never end, so the process should. */
  onStalled(): void
}

export interface EnvironmentOptions extends Partial<EnvironmentEvents> {
  readonly clock?: Clock
  /** Initial address space of the database, bytes. */
  readonly mapBytes?: number | undefined
  /** Size that the store may reach. */
  readonly maxBytes?: number | undefined
  /** Takes the journal at once, if it is free, so that its rows are not read before. */
  readonly takesJournal?: boolean
  /** Size of a segment of the journal, unless it is too large for the store; 64 MiB by default. */
  readonly segmentBytes?: number | undefined
}

/**
 * Opens or creates the store in a folder on a local disk.
 * @throws StoreOpenError when the folder cannot be used or holds another layout, and
 * JournalDamageError
 */
export function openEnvironment(path: string, options: EnvironmentOptions = {}): Environment {
  const { mapBytes, maxBytes = Infinity, segmentBytes: wantedBytes = SEGMENT_BYTES } = options
  const lmdb = openLmdb(path, mapBytes)
  try {
    const segmentBytes = Math.min(wantedBytes, Math.floor(maxBytes * SEGMENT_SHARE))
    const isGateway = options.takesJournal ?? false
    return new JournaledEnvironment(path, lmdb, { mapBytes, segmentBytes, isGateway }, options)
  } catch (error) {
    void lmdb.close()
    throw error
  }
}

class JournaledEnvironment implements Environment {
  readonly tables: StoreTables
  readonly writability: Writability
  readonly #path: string
  readonly #lmdb: Lmdb
  readonly #holding: Omit<HolderOptions, 'onTurn'>
  readonly #rows = new JournalRows(SUB_DATABASES.length)
  readonly #queue: CommitQueue
  #holder: Holder | null = null
  /** Up to where the rows were read from the journal of another process. */
  #readTo: JournalPosition = FIRST_POSITION

  constructor(
    path: string,
    lmdb: Lmdb,
    holding: Omit<HolderOptions, 'onTurn'>,
    { clock = systemClock, onStalled = () => {}, ...events }: Partial<EnvironmentEvents> & { clock?: Clock },
  ) {
    this.#path = path
    this.#lmdb = lmdb
    this.#holding = holding
    const tables = SUB_DATABASES.map((name, table) => [name, this.#rows.table(table, lmdb.tables[name])])
    this.tables = Object.fromEntries(tables) as StoreTables
    this.writability = new Writability(events)
    this.#queue = new CommitQueue({
      path,
      clock,
      rows: this.#rows,
      meta: this.tables.meta,
      writability: this.writability,
      takeHolder: () => {
        this.#holder ??= this.#take()
        return this.#holder
      },
      journal: () => this.journal(),
      refresh: () => this.refresh(),
      fault: () => this.#lmdb.fault() ?? this.#holder?.fault ?? null,
      onStalled,
    })
    if (holding.isGateway) this.#holder = this.#take()
    this.refresh()
  }

  transaction<Result>(write: () => Result, bytes = 0): Promise<Result> {
    return this.#queue.submit(null, write, bytes)
  }

  inGroup<Common extends Shared, Result>(
    group: Group<Common>,
    work: (common: Common) => Result,
    bytes: number,
  ): Promise<Result> {
    return this.#queue.submit(group, work, bytes)
  }

  initialize(write: () => void): void {
    this.refresh()
    this.#rows.run(write)
    if (this.#rows.take().length === 0) return
    this.#holder ??= this.#take()
    if (this.#holder === null) throw new Error('another process writes to the data folder')
    this.#rows.run(write)
    this.#holder.initialize(this.#rows.take())
  }

  refresh(): void {
    this.#lmdb.refresh()
    if (this.#holder === null) this.#readJournal()
  }

  size(): StoreSize {
    const { usedBytes, fileBytes } = this.#lmdb.size()
    const journalBytes = this.#holder?.bytes ?? 0
    const bytes = journalBytes + this.#rows.bytes
    return { usedBytes: usedBytes + bytes, fileBytes: fileBytes + bytes }
  }

  roomFault(bytes: number): Error | null {
    try {
      this.#holder?.requireRoom(bytes)
      return null
    } catch (error) {
      return error as Error
    }
  }

  journal(): JournalState | null {
    return this.#holder?.state ?? null
  }

  async apply(): Promise<void> {
    await this.#holder?.apply()
  }

  reapReaders(): void {
    this.#lmdb.reapReaders()
  }

  async copyTo(folder: string): Promise<void> {
    await this.#lmdb.copyTo(folder)
    const copy = openLmdb(folder)
    try {
      copyJournal(this.#path, copy)
    } finally {
      await copy.close()
    }
  }

  tick(nowMs: Milliseconds): void {
    if (!this.writability.has('closed')) this.#holder?.tick(nowMs)
    this.#queue.tick()
  }

  async close(): Promise<void> {
    await this.#queue.close()
    // The write may still touch what would be closed.
    if (this.writability.has('stalled')) return
    await this.#holder?.close()
    await this.#lmdb.close()
  }

  /** Reads the rows that the database does not have from the journal of another process. */
  #readJournal(): void {
    // No other process writes meanwhile.
    if (this.#rows.isInTransaction) return
    for (let attempt = 1; ; attempt++) {
      this.#dropStored()
      try {
        this.#readTo = readFrames(this.#path, this.#readTo, (frame) => this.#rows.add(frame))
        // The frames may have moved into the database, and out of the journal, since.
        this.#lmdb.refresh()
        const isBehind = readPosition(this.#lmdb.tables).frame > this.#readTo.frame
        if (isBehind && attempt < READ_ATTEMPTS) continue
        this.#dropStored()
        return
      } catch (error) {
        if (!isJournalMoved(error)) throw error
        if (attempt === READ_ATTEMPTS) throw new JournalDamageError((error as Error).message)
        this.#lmdb.refresh()
      }
    }
  }

  /** Removes the rows that the database has. */
  #dropStored(): void {
    const stored = readPosition(this.#lmdb.tables)
    if (this.#readTo.frame < stored.frame) this.#readTo = stored
    this.#rows.drop(stored.frame - 1)
  }

  #take(): Holder | null {
    return Holder.take(this.#path, this.#lmdb, this.#rows, {
      ...this.#holding,
      onTurn: (turn) => this.#queue.giveTurn(turn),
    })
  }
}

/**
 * Adds what the journal of a folder has and the copy of its database does not. While the copy was
 * made, a gateway may have overwritten that; then the copy ends where it began to be made.
 */
function copyJournal(path: string, copy: Lmdb): void {
  const application = new Application(copy)
  try {
    readFrames(path, readPosition(copy.tables), (frame, end) => application.add(frame, end))
  } catch (error) {
    if (!isJournalMoved(error)) throw error
  }
  application.finish()
}
