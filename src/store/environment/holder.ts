// What the one process that holds the journal of a data folder has: the lock, the writer, the
// thread that fills the database, and the socket for the other processes.

import { join } from 'node:path'
import type { Milliseconds } from '../../core/clock.ts'
import { DiskRoom } from '../files/disk-space.ts'
import { lockFile } from '../files/file-lock.ts'
import type { RowChange, RowParts } from '../journal/frame.ts'
import type { JournalRows } from '../journal/journal-rows.ts'
import { JournalWriter } from '../journal/journal-writer.ts'
import { LeaseServer, type Turn } from '../journal/lease.ts'
import { changeRow, replay } from './apply.ts'
import { Applying } from './applying.ts'
import { type Lmdb, raiseLayout } from './lmdb.ts'

/** Locked, and empty. */
const LOCK_FILE = 'store.lock'
/** Bytes of frames that the database may lack; with more, writes wait. */
const MAXIMUM_LAG_BYTES = 64 * 1024 ** 2
/** Segments whose frames the database may lack; with more, writes wait. */
const MAXIMUM_WAITING_SEGMENTS = 2
/** Those, the one in use and empty ones. */
const MAXIMUM_SEGMENTS = MAXIMUM_WAITING_SEGMENTS + 3

/** For metrics. */
export interface JournalState {
  /** Frames that are not in the database yet, and the time since it had all of them. */
  readonly lagFrames: number
  readonly lagMs: Milliseconds
  /** Number of the last frame in the database, and whether later ones are being written. */
  readonly appliedFrames: number
  readonly isApplying: boolean
  readonly segments: number
  /** Time that the start took to write the frames of the last process to the database. */
  readonly replayMs: Milliseconds
}

export class Holder {
  readonly #folder: string
  readonly #lmdb: Lmdb
  readonly #rows: JournalRows
  readonly #room: DiskRoom
  readonly #unlock: () => void
  readonly #writer: JournalWriter
  readonly #applying: Applying
  readonly #server: LeaseServer
  readonly #replayMs: Milliseconds
  readonly #segmentBytes: number
  /** When the database was last seen to have every frame. */
  #evenMs: Milliseconds = performance.now()

  private constructor(
    folder: string,
    lmdb: Lmdb,
    rows: JournalRows,
    unlock: () => void,
    { mapBytes, segmentBytes, onTurn }: HolderOptions,
  ) {
    this.#folder = folder
    this.#lmdb = lmdb
    this.#rows = rows
    this.#room = new DiskRoom(folder)
    this.#unlock = unlock
    this.#segmentBytes = segmentBytes
    raiseLayout(lmdb)
    const startMs = performance.now()
    this.#writer = new JournalWriter(folder, replay(lmdb, folder), segmentBytes)
    this.#replayMs = performance.now() - startMs
    rows.clear()
    this.#applying = new Applying(folder, mapBytes, {
      onApplied: (frame) => this.#applied(frame),
      onBroken: () => lmdb.reopen(),
    })
    this.#server = new LeaseServer(folder, onTurn)
  }

  /**
   * Takes the journal of a folder; null when another process holds it, or this one elsewhere.
   * @throws JournalDamageError, or the system's error
   */
  static take(folder: string, lmdb: Lmdb, rows: JournalRows, options: HolderOptions): Holder | null {
    const unlock = lockIn(folder, options.isGateway)
    if (unlock === null) return null
    try {
      return new Holder(folder, lmdb, rows, unlock, options)
    } catch (error) {
      unlock()
      throw error
    }
  }

  get state(): JournalState {
    const lagFrames = this.#rows.frames
    const lagMs = lagFrames === 0 ? 0 : performance.now() - this.#evenMs
    return {
      lagFrames,
      lagMs,
      appliedFrames: this.#writer.position.frame - 1 - lagFrames,
      isApplying: this.#applying.isRunning,
      segments: this.#writer.segments,
      replayMs: this.#replayMs,
    }
  }

  /** Maximum bytes of the journal's files. */
  get bytes(): number {
    return MAXIMUM_SEGMENTS * this.#segmentBytes
  }

  /** A known reason why writes must fail; null if there is none. */
  get fault(): Error | null {
    return this.#applying.fault
  }

  /**
   * Checks that the disk has room for rows in the database, and for those it does not have yet.
   * @throws Error with code ENOSPC
   */
  requireRoom(bytes: number): void {
    this.#room.require(bytes + this.#rows.bytes, () => this.#lmdb.size())
  }

  /** Works like `requireRoom`, once the database has the rows before. */
  async makeRoom(bytes: number): Promise<void> {
    try {
      this.requireRoom(bytes)
    } catch (error) {
      if (this.#rows.bytes === 0) throw error
      await this.#applying.flush()
      this.requireRoom(bytes)
    }
  }

  /**
   * Writes rows to the journal. Resolves when they are on disk and readers see them.
   * @throws the system's error (rejects)
   */
  async append(unsealed: RowParts): Promise<void> {
    const isBehind = this.#rows.bytes > MAXIMUM_LAG_BYTES || this.#writer.waiting > MAXIMUM_WAITING_SEGMENTS
    if (isBehind) await this.#applying.flush()
    if (this.#applying.fault !== null) throw this.#applying.fault
    if (this.#rows.frames === 0) this.#evenMs = performance.now()
    const { frame, file } = await this.#writer.append(unsealed)
    this.#rows.add(frame)
    this.#applying.add(file, frame.bytes, this.#writer.position)
  }

  /** Works like `Environment.apply`. */
  apply(): Promise<void> {
    return this.#applying.flush()
  }

  /** Writes rows to the database directly; for use before serving. */
  initialize(changes: readonly RowChange[]): void {
    if (this.#applying.isStarted || this.#rows.frames > 0)
      throw new Error('rows are initialized before the first transaction')
    replay(this.#lmdb, this.#folder)
    this.#rows.clear()
    this.#lmdb.write(() => {
      for (const { table, key, value } of changes) changeRow(this.#lmdb.tables, table, key, value)
    })
    this.#lmdb.refresh()
  }

  tick(nowMs: Milliseconds): void {
    this.#server.tick()
    this.#writer.tick(nowMs)
    if (this.#applying.fault !== null) void this.#applying.flush()
  }

  /** Leaves every frame in the database, if that can be written, and frees the journal. */
  async close(): Promise<void> {
    this.#server.close()
    if (this.#applying.isStarted) await this.#applying.flush()
    await this.#applying.close()
    let applied = this.#writer.position.frame - 1
    if (this.#rows.frames > 0) {
      try {
        replay(this.#lmdb, this.#folder)
        this.#rows.clear()
      } catch {
        // The next process that takes the journal tries again.
        applied = 0
      }
    }
    await this.#writer.close(applied)
    this.#unlock()
  }

  #applied(frame: number): void {
    this.#lmdb.refresh()
    this.#rows.drop(frame)
    this.#writer.applied(frame)
    this.#evenMs = performance.now()
  }
}

export interface HolderOptions {
  readonly mapBytes: number | undefined
  readonly segmentBytes: number
  /** Whether this process holds the folder in another way, too. */
  readonly isGateway: boolean
  /** Receives each other process that wants to write. */
  readonly onTurn: (turn: Turn) => void
}

/** Where files cannot be locked only a gateway holds the journal, and others write through it. */
function lockIn(folder: string, isGateway: boolean): (() => void) | null {
  try {
    return lockFile(join(folder, LOCK_FILE))
  } catch {
    return isGateway ? () => {} : null
  }
}
