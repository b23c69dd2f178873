// Has the frames written to the database by a thread of its own, soon after they are in the journal
// and many at a time.

import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Milliseconds } from '../../core/clock.ts'
import type { JournalPosition } from '../journal/journal-reader.ts'

/** Time in which frames gather. */
const GATHER_MS: Milliseconds = 100
/** Longest time while calls follow each other one at a time, which then share a commit. */
const MAXIMUM_GATHER_MS: Milliseconds = 500
/** Frames within GATHER_MS that make it worth waiting for more. */
const FOLLOWING_FRAMES = 4
/** Bytes that do not wait longer: readers look at each row that the database does not have. */
const MANY_BYTES = 256 * 1024
const APPLIER_PROGRAM = join(import.meta.dirname, `applier${extname(import.meta.filename)}`)

/** Adjacent frames in one segment. */
interface FrameRange {
  readonly file: string
  readonly ordinal: number
  readonly from: number
  to: number
}

/** Frames to apply, or the end of the thread. */
export type ApplierRequest =
  | {
      readonly ranges: readonly FrameRange[]
      /** Number of the first frame. */
      readonly first: number
    }
  | 'close'

export interface ApplierReply {
  /** Null when the frames are in the database and on disk. */
  readonly error: {
    readonly message: string
    readonly code?: string
    /** Whether the database must be opened anew. */
    readonly isBroken: boolean
  } | null
}

export interface ApplyingEvents {
  /** Receives the number of the last frame that is in the database. */
  onApplied(frame: number): void
  /** The database must be opened anew, and no thread of this class has it open. */
  onBroken(): Promise<void>
}

type ApplyError = Error & { readonly isBroken?: boolean }

export class Applying {
  readonly #folder: string
  readonly #mapBytes: number | undefined
  readonly #events: ApplyingEvents
  /** Frames that wait. */
  #ranges: FrameRange[] = []
  /** Numbers of the first frame that waits, and of the one after the last. */
  #first = 0
  #next = 0
  #worker: Worker | null = null
  #timer: NodeJS.Timeout | null = null
  #running: Promise<void> | null = null
  #fault: Error | null = null
  /** Whether the newest attempt broke the database. */
  #isBroken = false

  constructor(folder: string, mapBytes: number | undefined, events: ApplyingEvents) {
    this.#folder = folder
    this.#mapBytes = mapBytes
    this.#events = events
  }

  /** Why the newest attempt failed; null if it did not. */
  get fault(): Error | null {
    return this.#fault
  }

  /** Whether an attempt runs, or must follow one that broke the database. */
  get isRunning(): boolean {
    return this.#running !== null || this.#isBroken
  }

  /** Whether the thread runs; until then, no frame was applied. */
  get isStarted(): boolean {
    return this.#worker !== null
  }

  /** @param end the position after the frame */
  add(file: string, bytes: number, { frame, ordinal, offset }: JournalPosition): void {
    if (this.#ranges.length === 0) this.#first = frame - 1
    const last = this.#ranges.at(-1)
    const from = offset - bytes
    if (last !== undefined && last.file === file && last.to === from) last.to = offset
    else this.#ranges.push({ file, ordinal, from, to: offset })
    this.#next = frame
    if (this.#running === null) this.#gather()
  }

  /** Resolves when all frames so far are applied, or an attempt failed. */
  async flush(): Promise<void> {
    await this.#running
    if (this.#ranges.length === 0) return
    this.#running ??= this.#apply()
    await this.#running
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#running
    await this.#end()
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    if (worker === null) return
    this.#worker = null
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    worker.ref()
    worker.postMessage('close' satisfies ApplierRequest)
    await ended
  }

  #gather(waitedMs = GATHER_MS): void {
    const before = this.#next
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      if (this.#ranges.length === 0 || this.#running !== null) return
      const isWaiting = waitedMs < MAXIMUM_GATHER_MS && this.#next - before >= FOLLOWING_FRAMES
      const bytes = this.#ranges.reduce((sum, { from, to }) => sum + to - from, 0)
      if (isWaiting && bytes < MANY_BYTES) this.#gather(waitedMs + GATHER_MS)
      else this.#running = this.#apply()
    }, GATHER_MS).unref()
  }

  async #apply(): Promise<void> {
    const ranges = this.#ranges
    const [first, next] = [this.#first, this.#next]
    this.#ranges = []
    try {
      await this.#ask({ ranges, first })
      this.#fault = null
      this.#isBroken = false
      this.#events.onApplied(next - 1)
    } catch (error) {
      // Applied again from its beginning, which changes nothing.
      this.#ranges = [...ranges, ...this.#ranges]
      this.#first = first
      await this.#fail(error as ApplyError)
    } finally {
      this.#running = null
      if (this.#ranges.length > 0) this.#gather()
    }
  }

  async #fail(error: ApplyError): Promise<void> {
    this.#fault = error
    this.#isBroken = error.isBroken ?? this.#isBroken
    if (!this.#isBroken) return
    try {
      await this.#end()
      await this.#events.onBroken()
    } catch (cause) {
      this.#fault = cause as Error
    }
  }

  #ask(request: ApplierRequest): Promise<void> {
    const worker = this.#start()
    return new Promise((resolve, reject) => {
      const settle = (error: ApplyError | ApplierReply['error']) => {
        worker.off('message', onMessage).off('error', onError).off('exit', onExit)
        if (error === null) resolve()
        else reject(Object.assign(new Error(error.message), error))
      }
      const onMessage = (reply: ApplierReply) => settle(reply.error)
      const onError = (error: Error) => {
        this.#worker = null
        settle(error)
      }
      const onExit = () => onError(new Error('the thread that writes the database ended'))
      worker.on('message', onMessage).once('error', onError).once('exit', onExit)
      worker.postMessage(request)
    })
  }

  #start(): Worker {
    if (this.#worker !== null) return this.#worker
    this.#worker = new Worker(APPLIER_PROGRAM, { workerData: [this.#folder, this.#mapBytes] })
    this.#worker.unref()
    return this.#worker
  }
}
