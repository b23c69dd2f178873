// Gathers jobs into batches, one commit in flight, and fails closed: after a commit that failed nothing is taken
// on until a probe has shown that the disk takes writes again. Knows nothing of what the jobs write.

import type { Clock, Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'

/** Jobs one transaction takes: the point where larger batches no longer gain and the event loop starts to notice. */
const MAX_BATCH_JOBS = 512
/** Bytes one transaction takes, so that a few hundred large exchanges do not block the event loop together. */
const MAX_BATCH_BYTES = 16 * 1024 ** 2
/** Jobs that may wait. With thousands waiting the disk is not keeping up, and 503 is the honest answer. */
export const MAX_QUEUED_JOBS = 8192
/** Bytes that may wait. */
export const MAX_QUEUED_BYTES = 256 * 1024 ** 2
/** A write that takes longer than this is not slow but stuck, as LMDB is after an I/O error on its meta page. */
export const STALL_MS: Milliseconds = 10_000
/** What clients are told to wait, seconds: the time between two probes. */
const RETRY_AFTER_SECONDS = '1'

/** What jobs write into: one transaction's view of the store. */
export interface Transaction {
  /** Whether a job has written a part of what it has to write: then the whole transaction must go. */
  readonly torn: boolean
}

/** Something to be written. */
export interface Job<Context extends Transaction, Result> {
  /** What it adds to the store, bytes, about. */
  readonly bytes: number
  /** Reads, decides and writes inside the transaction. Throwing before it wrote anything fails this job alone. */
  run(context: Context): Result
}

/** The part that talks to the database, so that a test can make it fail. */
export interface Commits<Context extends Transaction> {
  /** Runs `work` in one transaction; resolves when that is durable. If `work` throws, nothing of it is kept. */
  commit(work: (context: Context) => void): Promise<void>
  /** Commits something that does not matter. */
  probe(): Promise<void>
}

export interface AppenderEvents {
  /** A commit failed; nothing is taken on. Called once, until `onAvailable`. */
  onUnavailable(cause: unknown): void
  /** A probe succeeded. */
  onAvailable(): void
  /** A write has been pending for STALL_MS. The process had better end: LMDB does not recover from this. */
  onStalled(): void
  /** A batch is durable. */
  onCommit(jobs: number, bytes: number, spentMs: Milliseconds): void
}

interface Waiter<Context extends Transaction> {
  readonly job: Job<Context, unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
}

type JobResult = { readonly value: unknown } | { readonly error: unknown }

export class Appender<Context extends Transaction> {
  readonly #commits: Commits<Context>
  readonly #clock: Clock
  readonly #events: AppenderEvents
  #queue: Waiter<Context>[] = []
  #queuedBytes = 0
  #batch: Waiter<Context>[] = []
  /** Whether a loop of commits, or a probe, is under way: there is never more than one. */
  #busy = false
  #failed = false
  #stalled = false
  #closed = false
  #idle: (() => void)[] = []

  constructor(commits: Commits<Context>, clock: Clock, events: AppenderEvents) {
    this.#commits = commits
    this.#clock = clock
    this.#events = events
  }

  /** Whether a job would be taken on now. */
  get available(): boolean {
    return !this.#failed && !this.#stalled && !this.#closed
  }

  get stalled(): boolean {
    return this.#stalled
  }

  /** Jobs that wait or are being committed. */
  get pending(): number {
    return this.#queue.length + this.#batch.length
  }

  /**
   * Resolves with the job's result when it is durable.
   * @throws GatewayError `audit_unavailable` (rejects) when it is not written, or not known to be
   */
  submit<Result>(job: Job<Context, Result>): Promise<Result> {
    const refusal = this.#refusal(job)
    if (refusal !== null) return Promise.reject(unavailable(refusal))
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#queue.push({ job, resolve: resolve as (value: unknown) => void, reject })
    this.#queuedBytes += job.bytes
    if (!this.#busy) void this.#run()
    return promise
  }

  /**
   * To be called every second: looks for a stuck write, and probes after a failure.
   * @param pendingMs how long no write to the database has ended that is under way, the log's or another; 0 without any
   * @param fault why none can succeed, where that is known without trying one
   */
  tick(pendingMs: Milliseconds, fault: Error | null = null): void {
    if (pendingMs >= STALL_MS) {
      if (!this.#stalled) this.#stall()
    } else if (this.#busy || this.#closed) return
    else if (fault !== null) this.#fail(fault)
    else if (this.#failed) void this.#probe()
    // Not a commit of the log, which would have said so.
    else if (this.#stalled) this.#recover()
  }

  /** Takes nothing on any more; resolves when everything taken on is settled, or a commit is stuck. */
  close(): Promise<void> {
    this.#closed = true
    if (!this.#busy || this.#stalled) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #refusal(job: Job<Context, unknown>): string | null {
    if (this.#closed) return 'The usage log is closed.'
    if (this.#stalled || this.#failed) return 'The usage log cannot be written.'
    const full = this.#queue.length >= MAX_QUEUED_JOBS || this.#queuedBytes + job.bytes > MAX_QUEUED_BYTES
    // One job is always taken on, or a very large one never could be.
    return full && this.#queue.length > 0 ? 'The usage log is behind; try again.' : null
  }

  async #run(): Promise<void> {
    this.#busy = true
    while (this.#queue.length > 0) await this.#flush()
    this.#rest()
  }

  async #flush(): Promise<void> {
    const startMs = this.#clock.monotonic()
    let results: JobResult[] = []
    try {
      await this.#commits.commit((context) => {
        // Taken as late as possible: what arrived while another process was writing joins the batch.
        this.#batch = this.#takeBatch()
        results = this.#batch.map(({ job }) => runJob(job, context))
      })
      this.#finish(results, startMs)
    } catch (error) {
      this.#stalled = false
      this.#fail(error)
    }
  }

  #finish(results: readonly JobResult[], startMs: Milliseconds): void {
    const batch = this.#batch
    this.#batch = []
    // Late, but there: a commit that was taken for stuck came back. Its waiters have been told no.
    if (this.#stalled) this.#recover()
    let bytes = 0
    for (const [index, waiter] of batch.entries()) {
      bytes += waiter.job.bytes
      settleWaiter(waiter, results[index])
    }
    this.#events.onCommit(batch.length, bytes, this.#clock.monotonic() - startMs)
  }

  #takeBatch(): Waiter<Context>[] {
    let count = 0
    let bytes = 0
    for (const { job } of this.#queue) {
      if (count === MAX_BATCH_JOBS || (count > 0 && bytes + job.bytes > MAX_BATCH_BYTES)) break
      bytes += job.bytes
      count++
    }
    this.#queuedBytes -= bytes
    return this.#queue.splice(0, count)
  }

  #fail(cause: unknown): void {
    const first = !this.#failed
    this.#failed = true
    this.#rejectAll(cause)
    if (first) this.#events.onUnavailable(cause)
  }

  #stall(): void {
    this.#stalled = true
    this.#rejectAll(new Error(`a write has been pending for ${STALL_MS} ms`))
    this.#events.onStalled()
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Those whose batch failed, and those behind them: a call in flight at that moment is never a success. */
  #rejectAll(cause: unknown): void {
    const waiters = [...this.#batch, ...this.#queue]
    this.#batch = []
    this.#queue = []
    this.#queuedBytes = 0
    for (const waiter of waiters) waiter.reject(unavailable('The usage log cannot be written.', cause))
  }

  async #probe(): Promise<void> {
    this.#busy = true
    try {
      await this.#commits.probe()
      this.#recover()
    } catch {
      // Still failing; the next tick asks again.
      this.#stalled = false
    }
    // Whoever was told that writes succeed again may have had something to write.
    await this.#run()
  }

  #rest(): void {
    this.#busy = false
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  #recover(): void {
    this.#failed = false
    this.#stalled = false
    this.#events.onAvailable()
  }
}

function runJob<Context extends Transaction>(job: Job<Context, unknown>, context: Context): JobResult {
  try {
    return { value: job.run(context) }
  } catch (error) {
    if (context.torn) throw error
    return { error }
  }
}

function settleWaiter(waiter: Waiter<never>, result: JobResult | undefined): void {
  if (result === undefined) waiter.reject(unavailable('The usage log cannot be written.'))
  else if ('error' in result) waiter.reject(result.error)
  else waiter.resolve(result.value)
}

/** What a client is answered when its entry cannot be sealed. */
export function unavailable(message: string, cause?: unknown): GatewayError {
  return new GatewayError('audit_unavailable', message, {
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
    cause,
  })
}
