// Gathers jobs into batches, with one commit in flight. Fails closed: after a failed commit it
// refuses jobs until a probe shows that the disk accepts writes. Knows nothing of the jobs'
// contents.

import type { Clock, Milliseconds } from '../../core/clock.ts'
import { unavailable } from '../files/unavailable.ts'
import type { Writability } from './writability.ts'

/** Maximum jobs in one transaction. Larger batches gain nothing and delay the event loop. */
const MAXIMUM_BATCH_JOBS = 512
/** Maximum bytes in one transaction, so large exchanges do not block the event loop together. */
const MAXIMUM_BATCH_BYTES = 16 * 1024 ** 2
/**
 * Maximum jobs waiting. With thousands waiting the disk is too slow, and 503 is the right answer.
 */
export const MAXIMUM_QUEUED_JOBS = 8192
/** Maximum bytes waiting. */
export const MAXIMUM_QUEUED_BYTES = 256 * 1024 ** 2
/** Longest write. A longer one is stuck, as LMDB is after an I/O error on its meta page. */
export const STALL_MS: Milliseconds = 10_000

/** One transaction's view of the store. */
export interface Transaction {
  /**
   * Whether a job failed after writing some of its rows; the whole transaction must then be rolled
   * back.
   */
  readonly torn: boolean
}

/** A unit of work in a batch. */
export interface Job<Context extends Transaction, Result> {
  /** Approximate bytes that it adds to the store. */
  readonly bytes: number
  /**
   * Reads, decides and writes inside the transaction. If it throws before its first write, only
   * this job fails.
   */
  run(context: Context): Result
}

/** The database, replaceable in tests. */
export interface Commits<Context extends Transaction> {
  /**
   * Runs `work` in one transaction; resolves when it is durable. If `work` throws, nothing is
   * stored.
   * @param bytes maximum bytes that `work` is expected to store
   */
  commit(work: (context: Context) => void, bytes: number): Promise<void>
  /** Commits a value that nobody reads. */
  probe(): Promise<void>
}

export interface AppenderEvents {
  /**
   * A write has been pending for STALL_MS. LMDB does not recover from this, so the process should
   * end.
   */
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
  readonly #writability: Writability
  readonly #events: AppenderEvents
  #queue: Waiter<Context>[] = []
  #queuedBytes = 0
  #batch: Waiter<Context>[] = []
  /** Whether a loop of commits, or a probe, is running; never both. */
  #busy = false
  #idle: (() => void)[] = []

  constructor(commits: Commits<Context>, clock: Clock, writability: Writability, events: AppenderEvents) {
    this.#commits = commits
    this.#clock = clock
    this.#writability = writability
    this.#events = events
  }

  /** Number of jobs that wait or are being committed. */
  get pending(): number {
    return this.#queue.length + this.#batch.length
  }

  /**
   * Resolves with the job's result when it is durable.
   * @throws GatewayError `audit_unavailable` (rejects) when it is not written, or not known to be
   * written
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
   * Detects a stuck write, and probes after a failure. Call it every second.
   * @param pendingMs milliseconds since any write completed, 0 when none is pending
   * @param fault a known reason why every write must fail
   */
  tick(pendingMs: Milliseconds, fault: Error | null = null): void {
    const writability = this.#writability
    if (pendingMs >= STALL_MS) {
      if (!writability.has('stalled')) this.#stall()
    } else if (this.#busy || writability.has('closed')) return
    else if (fault !== null) this.#fail(fault)
    else if (writability.has('failed')) void this.#probe()
    // The stuck write was not a commit of the log, which would have recovered in #finish.
    else writability.end('stalled')
  }

  /** Refuses further jobs. Resolves when all accepted jobs are settled or a commit is stuck. */
  close(): Promise<void> {
    this.#writability.begin('closed')
    if (!this.#busy || this.#writability.has('stalled')) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #refusal(job: Job<Context, unknown>): string | null {
    if (!this.#writability.takesChanges) return this.#writability.message
    const full =
      this.#queue.length >= MAXIMUM_QUEUED_JOBS || this.#queuedBytes + job.bytes > MAXIMUM_QUEUED_BYTES
    // An empty queue accepts any job, or a very large one could never run.
    return full && this.#queue.length > 0 ? 'The usage log is overloaded; try again.' : null
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
        // Taken as late as possible, so jobs that arrive while another process writes join the
        // batch.
        this.#batch = this.#takeBatch()
        results = this.#batch.map(({ job }) => runJob(job, context))
      }, this.#nextBatchBytes())
      this.#finish(results, startMs)
    } catch (error) {
      this.#fail(error)
    }
  }

  #finish(results: readonly JobResult[], startMs: Milliseconds): void {
    const batch = this.#batch
    this.#batch = []
    // The commit was declared stuck and finished late; its waiters have already been rejected.
    this.#writability.end('stalled', 'failed')
    let bytes = 0
    for (const [index, waiter] of batch.entries()) {
      bytes += waiter.job.bytes
      settleWaiter(waiter, results[index])
    }
    this.#events.onCommit(batch.length, bytes, this.#clock.monotonic() - startMs)
  }

  /** Jobs may join until the transaction begins, within MAXIMUM_BATCH_BYTES. */
  #nextBatchBytes(): number {
    const firstBytes = this.#queue[0]?.job.bytes ?? 0
    return Math.min(this.#queuedBytes, Math.max(firstBytes, MAXIMUM_BATCH_BYTES))
  }

  #takeBatch(): Waiter<Context>[] {
    let count = 0
    let bytes = 0
    for (const { job } of this.#queue) {
      if (count === MAXIMUM_BATCH_JOBS || (count > 0 && bytes + job.bytes > MAXIMUM_BATCH_BYTES)) break
      bytes += job.bytes
      count++
    }
    this.#queuedBytes -= bytes
    return this.#queue.splice(0, count)
  }

  #fail(cause: unknown): void {
    this.#rejectAll(cause)
    this.#writability.begin('failed', cause)
    this.#writability.end('stalled')
  }

  #stall(): void {
    this.#writability.begin('stalled')
    this.#rejectAll(new Error(`a write has been pending for ${STALL_MS} ms`))
    this.#events.onStalled()
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  /**
   * Rejects the failed batch and the jobs queued after it: a call in flight at a failure never
   * succeeds.
   */
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
      this.#writability.end('stalled', 'failed')
    } catch {
      // Still failing; the next tick probes again.
      this.#writability.end('stalled')
    }
    // The event handler may have submitted jobs.
    await this.#run()
  }

  #rest(): void {
    this.#busy = false
    for (const resolve of this.#idle.splice(0)) resolve()
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
