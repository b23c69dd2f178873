// The queue of all writes of this process: transactions, and turns of other processes. Transactions
// that wait become one frame of the journal, which this process appends, or sends to the process
// that holds the journal. Fails closed, and detects writes that hang. Knows nothing of the rows.

import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { unavailable } from '../files/unavailable.ts'
import { encodeRows, requireRows } from '../journal/frame.ts'
import type { JournalRows } from '../journal/journal-rows.ts'
import { NoHolderError, type Turn, writeThroughHolder } from '../journal/lease.ts'
import { type StoreTables, SUB_DATABASES } from '../tables/sub-databases.ts'
import type { Holder } from './holder.ts'
import { bytesOf, type Group, runFrame, type Shared, type Transaction } from './transactions.ts'
import type { Writability } from './writability.ts'

/** Maximum transactions in one frame. More gain nothing and delay the event loop. */
const MAXIMUM_FRAME_TRANSACTIONS = 512
/** Maximum bytes in one frame, so large exchanges do not block the event loop together. */
const MAXIMUM_FRAME_BYTES = 4 * 1024 ** 2
/** Bytes of a frame after which the event loop goes round before the next one. */
const LONG_FRAME_BYTES = 1024 ** 2
/**
 * Maximum transactions waiting. With thousands waiting the disk is too slow, and 503 is the right
 * answer.
 */
export const MAXIMUM_QUEUED = 8192
/** Maximum bytes waiting. */
export const MAXIMUM_QUEUED_BYTES = 256 * 1024 ** 2
/** Longest write. A longer one is stuck, as LMDB is after an I/O error on its meta page. */
export const STALL_MS: Milliseconds = 10_000
/**
 * Maximum time that counts between two calls of `tick`, a second apart. In a longer gap the process
 * was paused, like a container, or its event loop was busy: it has not yet seen writes that ended
 * meanwhile.
 */
const MAXIMUM_TICK_GAP_MS: Milliseconds = 1100
/** Time between two attempts to write, while the journal changes hands. */
const RETRY_MS: Milliseconds = 20
const MAXIMUM_ATTEMPTS = 500
const PROBE_KEY = Buffer.from('probe')
/** Size of a probe, as large as some entries with their exchanges. */
const PROBE_BYTES = 64 * 1024

export interface CommitQueueParts {
  /** The data folder. */
  readonly path: string
  readonly clock: Clock
  readonly rows: JournalRows
  readonly meta: StoreTables['meta']
  readonly writability: Writability
  /** Returns what holds the journal; null when another process holds it. */
  takeHolder(): Pick<Holder, 'makeRoom' | 'append'> | null
  /** What holds the journal now. */
  journal(): Pick<Holder['state'], 'isApplying' | 'appliedFrames'> | null
  /** Makes reads see all rows of any process. */
  refresh(): void
  fault(): Error | null
  /** A write has been pending for STALL_MS. It may never end, so the process should. */
  onStalled(): void
}

export class CommitQueue {
  readonly #parts: CommitQueueParts
  #tasks: Transaction[] = []
  /** Other processes that wait for their turn. */
  readonly #turns: Turn[] = []
  #queuedBytes = 0
  /** Transactions of the frame that is being written. */
  #frame: Transaction[] = []
  #running: Promise<void> | null = null
  /** When the last write ended or the first one began; moved forward by pauses of the process. */
  #progressMs: Milliseconds = 0
  #lastTickMs: Milliseconds
  /** When the database was last seen to have taken frames of the journal, or to need none. */
  #appliedMs: Milliseconds
  #appliedFrames = 0
  /** Stops waiting for the end of a stuck write. */
  #abandon = () => {}

  constructor(parts: CommitQueueParts) {
    this.#parts = parts
    this.#lastTickMs = parts.clock.monotonic()
    this.#appliedMs = this.#lastTickMs
  }

  /** Works like `Environment.transaction`, and with a group like `Environment.inGroup`. */
  submit<Common extends Shared, Result>(
    group: Group<Common> | null,
    work: (common: Common) => Result,
    bytes: number,
  ): Promise<Result> {
    const refusal = this.#refusal(group, bytes)
    if (refusal !== null) return Promise.reject(unavailable(refusal))
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#queuedBytes += bytes
    this.#tasks.push({ group, work, bytes, resolve, reject } as Transaction)
    this.#begin()
    return promise as Promise<Result>
  }

  /** Lets another process write when its turn comes. */
  giveTurn(turn: Turn): void {
    if (this.#parts.writability.has('closed')) turn.end(new Error('the store is closed'))
    else {
      this.#turns.push(turn)
      this.#begin()
    }
  }

  /** Detects a write that hangs, and probes after a failure. Call it every second. */
  tick(): void {
    const { writability } = this.#parts
    if (this.#pendingMs() >= STALL_MS) {
      if (!writability.has('stalled')) this.#stall()
      return
    }
    if (this.#running !== null || writability.has('closed')) return
    const fault = this.#parts.fault()
    if (fault !== null) {
      this.#fail(fault)
      return
    }
    writability.end('stalled')
    if (writability.has('failed')) void this.#probe()
  }

  /** Refuses further transactions. Resolves when the accepted ones are settled, or one is stuck. */
  close(): Promise<void> {
    this.#parts.writability.begin('closed')
    const running = this.#running
    if (running === null || this.#parts.writability.has('stalled')) return Promise.resolve()
    return new Promise((resolve) => {
      this.#abandon = resolve
      void running.then(resolve)
    })
  }

  /** A failure keeps groups out until a probe succeeds; other transactions find out themselves. */
  #refusal(group: Group<Shared> | null, bytes: number): string | null {
    const { writability } = this.#parts
    const isTaken =
      group === null ? !writability.has('closed') && !writability.has('stalled') : writability.takesChanges
    if (!isTaken) return writability.message
    const isFull = this.#tasks.length >= MAXIMUM_QUEUED || this.#queuedBytes + bytes > MAXIMUM_QUEUED_BYTES
    // An empty queue accepts any transaction, or a very large one could never run.
    return isFull && this.#tasks.length > 0 ? 'The usage log is overloaded; try again.' : null
  }

  #begin(): void {
    if (this.#running !== null) return
    this.#progressMs = this.#parts.clock.monotonic()
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    while (this.#tasks.length + this.#turns.length > 0) {
      // Own transactions wait for at most one turn of another process.
      if (this.#tasks.length > 0) {
        const bytes = this.#nextBytes()
        await this.#commit()
        if (bytes > LONG_FRAME_BYTES) await nextTurn()
      }
      this.#progressMs = this.#parts.clock.monotonic()
      const turn = this.#turns.shift()
      if (turn !== undefined) await this.#letWrite(turn)
      this.#progressMs = this.#parts.clock.monotonic()
    }
    this.#running = null
  }

  async #commit(): Promise<void> {
    try {
      const fault = this.#parts.fault()
      if (fault !== null) throw fault
      const settle = await this.#write()
      this.#frame = []
      this.#parts.writability.end('stalled')
      settle()
    } catch (error) {
      this.#parts.rows.take()
      this.#fail(error)
    }
  }

  /** @returns settles the transactions of the frame */
  async #write(): Promise<() => void> {
    for (let attempt = 1; ; attempt++) {
      const holder = this.#parts.takeHolder()
      try {
        return await (holder === null ? this.#writeThrough() : this.#append(holder))
      } catch (error) {
        if (!(error instanceof NoHolderError)) throw error
        if (attempt === MAXIMUM_ATTEMPTS) throw unreachable(error)
        await pause(RETRY_MS)
      }
    }
  }

  async #append(holder: Pick<Holder, 'makeRoom' | 'append'>): Promise<() => void> {
    await holder.makeRoom(this.#nextBytes())
    const settle = this.#stage()
    const rows = this.#parts.rows.take()
    if (rows.length > 0) await holder.append(encodeRows(rows))
    return settle
  }

  async #writeThrough(): Promise<() => void> {
    let settle = () => {}
    await writeThroughHolder(this.#parts.path, () => {
      this.#parts.refresh()
      settle = this.#stage()
      const rows = this.#parts.rows.take()
      return rows.length === 0 ? null : encodeRows(rows)
    })
    this.#parts.refresh()
    return settle
  }

  /**
   * Takes transactions, as late as possible, and runs them.
   * @returns settles them, to be called when their rows are on disk
   */
  #stage(): () => void {
    // After an attempt without a holder they are still there.
    if (this.#frame.length === 0) this.#frame = this.#takeFrame()
    return runFrame(this.#parts.rows, this.#frame)
  }

  /** More may join until the frame is taken, within MAXIMUM_FRAME_BYTES. */
  #nextBytes(): number {
    if (this.#frame.length > 0) return bytesOf(this.#frame)
    const [first] = this.#tasks
    return Math.min(this.#queuedBytes, Math.max(first?.bytes ?? 0, MAXIMUM_FRAME_BYTES))
  }

  #takeFrame(): Transaction[] {
    const taken: Transaction[] = []
    let bytes = 0
    for (const task of this.#tasks) {
      if (taken.length === MAXIMUM_FRAME_TRANSACTIONS) break
      if (taken.length > 0 && bytes + task.bytes > MAXIMUM_FRAME_BYTES) break
      bytes += task.bytes
      taken.push(task)
    }
    this.#tasks.splice(0, taken.length)
    this.#queuedBytes -= bytes
    return taken
  }

  async #letWrite(turn: Turn): Promise<void> {
    try {
      const rows = await turn.rows()
      const fault = this.#parts.fault()
      if (fault !== null) throw fault
      if (rows !== null) {
        requireRows(rows, SUB_DATABASES.length)
        const holder = this.#parts.takeHolder()
        await holder?.makeRoom(rows.length)
        await holder?.append([rows])
      }
      turn.end(null)
    } catch (error) {
      turn.end(error as Error)
    }
  }

  #fail(cause: unknown): void {
    this.#rejectAll(cause)
    this.#parts.writability.begin('failed', cause)
    this.#parts.writability.end('stalled')
  }

  #stall(): void {
    this.#parts.writability.begin('stalled')
    this.#rejectAll(new Error(`a write has been pending for ${STALL_MS} ms`))
    this.#abandon()
    this.#parts.onStalled()
  }

  /** A transaction under way or in the queue at a failure never succeeds. */
  #rejectAll(cause: unknown): void {
    const waiting = [...this.#frame, ...this.#tasks]
    this.#frame = []
    this.#tasks = []
    this.#queuedBytes = 0
    for (const { group, reject } of waiting)
      reject(group === null ? cause : unavailable('The usage log cannot be written.', cause))
  }

  /** Writes what nobody reads. */
  async #probe(): Promise<void> {
    const { meta, writability } = this.#parts
    try {
      await this.submit(null, () => meta.put(PROBE_KEY, Buffer.alloc(PROBE_BYTES)), PROBE_BYTES)
      await this.submit(null, () => meta.remove(PROBE_KEY), 0)
      writability.end('failed')
    } catch {
      // Still failing; the next tick probes again.
    }
  }

  /** Milliseconds since any write completed; 0 when none is pending. */
  #pendingMs(): Milliseconds {
    const nowMs = this.#parts.clock.monotonic()
    const pausedMs = Math.max(0, nowMs - this.#lastTickMs - MAXIMUM_TICK_GAP_MS)
    this.#lastTickMs = nowMs
    this.#progressMs = Math.min(nowMs, this.#progressMs + pausedMs)
    this.#appliedMs = Math.min(nowMs, this.#appliedMs + pausedMs)
    const journal = this.#parts.journal()
    if (journal === null || !journal.isApplying || journal.appliedFrames !== this.#appliedFrames)
      this.#appliedMs = nowMs
    this.#appliedFrames = journal?.appliedFrames ?? 0
    return Math.max(this.#running === null ? 0 : nowMs - this.#progressMs, nowMs - this.#appliedMs)
  }
}

const unreachable = (cause: Error): Error =>
  new Error(
    `another process holds the journal of the data folder and does not answer at its socket (${cause.message}); use the management API, or stop that process first`,
    { cause },
  )
