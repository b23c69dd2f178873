// Everything on disk, opened as one: builds the parts of the store on one database and keeps their housekeeping
// running. Knows nothing of what they hold.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { FileKey } from '../core/config.ts'
import { KeyStore } from './api-keys.ts'
import { Counters } from './counters.ts'
import { type Environment, openEnvironment, StoreOpenError, type StoreSize } from './lmdb.ts'
import { Checkpoints } from './log/checkpoints.ts'
import { UsageLog, type UsageLogEvents, type WhenFull } from './log/log.ts'
import { Retention, type RetentionOptions } from './log/retention.ts'
import { PolicyStore } from './policies.ts'
import { RuleStore } from './rules.ts'
import { Sessions } from './sessions.ts'
import { type WatchedEnvironment, watchWrites } from './write-watchdog.ts'

/** Commits are watched over, and probed after a failure, this often. */
const WATCH_MS: Milliseconds = 1000
/** Last uses are written and what is over is cleared away this often. */
const HOUSEKEEPING_MS: Milliseconds = 60_000

export interface StoreOptions extends Partial<UsageLogEvents> {
  /** Folder of the database; made if missing, for the owner only. */
  readonly path: string
  readonly clock: Clock
  /** Bytes of the CSPRNG. */
  readonly random: (length: number) => Buffer
  /** Size in use at which calls are no longer taken on, bytes. */
  readonly maxBytes: number
  /** What gives way when that size is near; calls unless given. */
  readonly whenFull?: WhenFull
  /** How the log is kept from growing; left out where it is not served from, as beside a running gateway. */
  readonly retention?: Pick<RetentionOptions, 'retainMs' | 'beforePrune' | 'onPruned'>
  /** Keys that the configuration declares by hash. */
  readonly fileKeys?: readonly FileKey[]
  /** Address space to begin with, bytes; it grows by itself. */
  readonly mapBytes?: number
  /** Housekeeping failed: the store goes on, and tries again in a minute. */
  readonly onHousekeepingError?: (error: unknown) => void
  /** Calls `work` again and again; returns what stops it. For tests that turn the clock. */
  readonly every?: (intervalMs: Milliseconds, work: () => void) => () => void
  /** Wraps the database, for tests that make it fail. */
  readonly wrap?: (environment: Environment) => Environment
}

export interface Store {
  readonly log: UsageLog
  readonly checkpoints: Checkpoints
  readonly keys: KeyStore
  readonly rules: RuleStore
  readonly policies: PolicyStore
  readonly counters: Counters
  readonly sessions: Sessions
  size(): StoreSize
  /** Finishes what was taken on and closes the database; resolves when everything is durable. Repeating it is fine. */
  close(): Promise<void>
}

/**
 * Opens the store, or makes it. Several processes may have it open at once; one of them at most should be serving
 * calls, because token limits are counted in memory.
 * @throws StoreOpenError saying what is wrong and what to do
 */
export function openStore(options: StoreOptions): Store {
  const { path, mapBytes } = options
  const opened = openEnvironment(path, mapBytes)
  const environment = watchWrites(options.wrap?.(opened) ?? opened, options.clock)
  try {
    return new OpenStore(environment, options)
  } catch (error) {
    void opened.close()
    throw new StoreOpenError(`the data directory ${path} cannot be used: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

class OpenStore implements Store {
  readonly log: UsageLog
  readonly checkpoints: Checkpoints
  readonly keys: KeyStore
  readonly rules: RuleStore
  readonly policies: PolicyStore
  readonly counters: Counters
  readonly sessions: Sessions
  readonly #environment: WatchedEnvironment
  readonly #onHousekeepingError: (error: unknown) => void
  readonly #retention: Retention | null
  readonly #stopWatch: () => void
  readonly #stopHousekeeping: () => void
  /** Ends the waiting for a step of closing. */
  #abandonStep: () => void = () => {}
  #housekeeping: Promise<void> = Promise.resolve()
  #closing: Promise<void> | null = null

  constructor(environment: WatchedEnvironment, options: StoreOptions) {
    const { clock, random, maxBytes, whenFull = 'refuse', fileKeys = [], every = everyUnref } = options
    this.#environment = environment
    this.#onHousekeepingError = options.onHousekeepingError ?? (() => {})
    const events = {
      ...eventsOf(options, () => void this.#retention?.tick()),
      onStalled: () => {
        this.#abandonStep()
        options.onStalled?.()
      },
    }
    this.log = new UsageLog({ environment, clock, random, maxBytes, whenFull, events })
    const onError = this.#onHousekeepingError
    const { retention } = options
    this.#retention =
      retention === undefined
        ? null
        : new Retention({ environment, log: this.log, clock, maxBytes, onError, ...retention })
    this.checkpoints = new Checkpoints(environment)
    this.keys = new KeyStore({ environment, log: this.log, clock, random, fileKeys })
    this.rules = new RuleStore(environment, this.log)
    this.policies = new PolicyStore(environment, this.log, clock, maxBytes)
    this.counters = new Counters(environment, clock)
    this.sessions = new Sessions(environment, clock, random)
    this.#stopWatch = every(WATCH_MS, () => {
      this.log.tick(environment.pendingMs())
      void this.#retention?.tick()
    })
    this.#stopHousekeeping = every(HOUSEKEEPING_MS, () => {
      this.#housekeeping = this.#housekeeping.then(() => this.#keepHouse())
    })
  }

  size(): StoreSize {
    return this.#environment.size()
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  async #finish(): Promise<void> {
    this.#stopHousekeeping()
    const steps = [
      () => this.#retention?.close(),
      () => this.#housekeeping,
      () => this.#attempt(() => this.keys.flush()),
      () => this.log.close(),
    ]
    // Watched to the end: a write that is stuck never settles, and neither would anything behind it.
    for (const step of steps) {
      const stuck = new Promise<void>((resolve) => {
        this.#abandonStep = resolve
      })
      if (!this.log.stalled) await Promise.race([step(), stuck])
    }
    this.#stopWatch()
    if (!this.log.stalled) await this.#environment.close()
  }

  async #keepHouse(): Promise<void> {
    // A disk that takes no writes is the log's to probe.
    if (!this.log.writable) return
    await this.#attempt(() => this.#environment.reapReaders())
    await this.#attempt(() => this.keys.flush())
    await this.#attempt(() => this.sessions.sweep())
    await this.#attempt(() => this.counters.sweep())
  }

  async #attempt(step: () => Promise<void> | void): Promise<void> {
    try {
      await step()
    } catch (error) {
      this.#onHousekeepingError(error)
    }
  }
}

/** @param committed called whenever something has been written */
function eventsOf(options: StoreOptions, committed: () => void): Omit<UsageLogEvents, 'onStalled'> {
  const ignore = () => {}
  const { onCommit = ignore } = options
  return {
    onUnavailable: options.onUnavailable ?? ignore,
    onAvailable: options.onAvailable ?? ignore,
    onCommit: (jobs, bytes, spentMs) => {
      onCommit(jobs, bytes, spentMs)
      committed()
    },
    onContentDropped: options.onContentDropped ?? ignore,
    onSealed: options.onSealed ?? ignore,
  }
}

function everyUnref(intervalMs: Milliseconds, work: () => void): () => void {
  const timer = setInterval(work, intervalMs)
  // Housekeeping alone is no reason for a process to stay alive.
  timer.unref()
  return () => clearInterval(timer)
}
