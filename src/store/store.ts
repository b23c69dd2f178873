// Everything on disk, opened as one: builds the parts of the store on one database and keeps their housekeeping
// running. Knows nothing of what they hold.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { FileKey } from '../core/config.ts'
import type { AppenderEvents } from './appender.ts'
import { Counters } from './counters.ts'
import { KeyStore } from './keys.ts'
import { type Environment, openEnvironment, type StoreSize } from './lmdb.ts'
import { UsageLog } from './log.ts'
import { RuleStore } from './rules.ts'
import { Sessions } from './sessions.ts'

/** Commits are watched over, and probed after a failure, this often. */
const WATCH_MS: Milliseconds = 1000
/** Last uses are written and what is over is cleared away this often. */
const HOUSEKEEPING_MS: Milliseconds = 60_000

export interface StoreOptions extends Partial<AppenderEvents> {
  /** Folder of the database; made if missing, for the owner only. */
  readonly path: string
  readonly clock: Clock
  /** Bytes of the CSPRNG. */
  readonly random: (length: number) => Buffer
  /** Size in use at which calls are no longer taken on, bytes. */
  readonly maxBytes: number
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
  readonly keys: KeyStore
  readonly rules: RuleStore
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
  const { path, clock, random, maxBytes, fileKeys = [], mapBytes } = options
  const opened = openEnvironment(path, mapBytes)
  const environment = options.wrap?.(opened) ?? opened
  const log = new UsageLog({ environment, clock, random, maxBytes, events: eventsOf(options) })
  const keys = new KeyStore({ environment, log, clock, random, fileKeys })
  const counters = new Counters(environment, clock)
  const sessions = new Sessions(environment, clock, random)
  const parts = { log, keys, rules: new RuleStore(environment), counters, sessions }

  const tidy = async (steps: readonly (() => Promise<void>)[]): Promise<void> => {
    for (const step of steps) {
      try {
        await step()
      } catch (error) {
        options.onHousekeepingError?.(error)
      }
    }
  }
  const flushes = [() => keys.flush(), () => sessions.flush()]
  const every = options.every ?? everyUnref
  const stops = [
    every(WATCH_MS, () => log.tick()),
    every(HOUSEKEEPING_MS, () => {
      if (!log.available) return
      environment.reapReaders()
      void tidy([...flushes, () => counters.sweep()])
    }),
  ]
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    for (const stop of stops) stop()
    await log.close()
    // A commit that is stuck never settles, and neither would the database's own close.
    if (log.stalled) return
    await tidy(flushes)
    await environment.close()
  }
  return {
    ...parts,
    size: () => environment.size(),
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

function eventsOf(options: StoreOptions): AppenderEvents {
  const ignore = () => {}
  return {
    onUnavailable: options.onUnavailable ?? ignore,
    onAvailable: options.onAvailable ?? ignore,
    onStalled: options.onStalled ?? ignore,
    onCommit: options.onCommit ?? ignore,
  }
}

function everyUnref(intervalMs: Milliseconds, work: () => void): () => void {
  const timer = setInterval(work, intervalMs)
  // Housekeeping alone is no reason for a process to stay alive.
  timer.unref()
  return () => clearInterval(timer)
}
