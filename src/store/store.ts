// Opens everything on disk: builds the parts of the store on one database and runs their
// housekeeping. Knows nothing of their contents.

import type { EntryType } from '../audit/entry.ts'
import type { Actor } from '../core/actor.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { FileKey } from '../core/key-config.ts'
import type { JournalState } from './environment/holder.ts'
import { type Environment, type EnvironmentEvents, openEnvironment } from './environment/journaled.ts'
import { StoreOpenError, type StoreSize } from './environment/lmdb.ts'
import { FleetRows } from './keys/fleet-rows.ts'
import { KeyDirectory, type KeysOfHub } from './keys/key-directory.ts'
import { KeyRing } from './keys/key-ring.ts'
import { Counters } from './limits/counters.ts'
import { CallTail } from './log/call-tail.ts'
import { Checkpoints } from './log/checkpoints.ts'
import { trustClock } from './log/clock-doubt.ts'
import { UsageLog, type UsageLogEvents, type WhenFull } from './log/log.ts'
import { type RebuiltRollups, RollupRebuild } from './log/rebuild.ts'
import { Retention, type RetentionOptions } from './log/retention.ts'
import { LogShipping, type ShippingTerms } from './log/shipping.ts'
import { StoredAnswers } from './log/stored-answers.ts'
import { recordedIdentity, recordIdentity } from './opening/identity.ts'
import { hasEarlierLogs } from './opening/quarantine.ts'
import { Rollups } from './rollup/rollups.ts'
import { PolicyStore } from './rules/policies.ts'
import { RuleStore } from './rules/rules.ts'
import { Sessions } from './sessions/sessions.ts'
import { SealedLog } from './verification/sealed-log.ts'

/** Interval of watching commits, and of probes after a failure. */
const WATCH_MS: Milliseconds = 1000
/** Interval of flushing last uses and removing expired rows. */
const HOUSEKEEPING_MS: Milliseconds = 60_000

export interface StoreOptions extends Partial<UsageLogEvents>, Partial<EnvironmentEvents> {
  /** Folder of the database; created if missing, for its owner only. */
  readonly path: string
  readonly clock: Clock
  /** Bytes of the CSPRNG. */
  readonly random: (length: number) => Buffer
  /** Used size from which calls are refused, bytes. */
  readonly maxBytes: number
  /** What to drop near that size; calls by default. */
  readonly whenFull?: WhenFull
  /**
   * Own key under which end users are hashed; null, the default, when none was ever made. Users are
   * also found by the key of a hub.
   */
  readonly userKey?: Buffer | null
  /** Limits on the log's growth. Omit it in commands that run next to a gateway. */
  readonly retention?: Pick<
    RetentionOptions,
    'retainMs' | 'retain' | 'beforePrune' | 'onPruned' | 'onClockDoubt'
  >
  /** Keys that the configuration declares by hash. */
  readonly fileKeys?: readonly FileKey[]
  /** URL of the hub that manages the keys; null, the default, without one. */
  readonly hub?: string | null
  /** What a sidecar sends of the log to a hub; null, the default, for none. */
  readonly shipping?: ShippingTerms | null
  /** Size of a segment of the journal, bytes. */
  readonly segmentBytes?: number
  /** Initial address space, bytes; grows automatically. */
  readonly mapBytes?: number
  /** Housekeeping failed; the store continues and retries in a minute. */
  readonly onHousekeepingError?: (error: unknown) => void
  /** Repeats `work`; returns a function that stops it. For tests that control the clock. */
  readonly every?: (intervalMs: Milliseconds, work: () => void) => () => void
  /** Wraps the database, for tests that make it fail. */
  readonly wrap?: (environment: Environment) => Environment
}

export interface Store {
  readonly log: UsageLog
  readonly sealed: SealedLog
  readonly checkpoints: Checkpoints
  readonly keys: KeyDirectory
  readonly ring: KeyRing
  /** What a hub has sent. */
  readonly fleet: FleetRows
  /** What a hub is to have of the log; null without one. */
  readonly shipping: LogShipping | null
  readonly rules: RuleStore
  readonly policies: PolicyStore
  readonly counters: Counters
  readonly sessions: Sessions
  readonly stored: StoredAnswers
  readonly rollups: Rollups
  readonly tail: CallTail
  /**
   * Counts the calls of the log again, for the hours of which the log has all, also while calls are
   * sealed; rows of earlier hours stay. Run it again after a crash.
   * @param progress receives the share of the log that is counted
   */
  rebuildRollups(progress: (done: number) => void): Promise<RebuiltRollups>
  /**
   * Seals that the clock is right, so that ages are acted on again.
   * @throws GatewayError `audit_unavailable` (rejects)
   */
  trustClock(actor: Actor): Promise<void>
  /** Whether nothing is removed for its age, because the clock may be wrong. */
  readonly isClockDoubted: boolean
  size(): StoreSize
  /** State of the journal; null in a process that does not hold it. */
  journal(): JournalState | null
  /**
   * Finishes accepted work and closes the database; resolves when everything is durable. May be
   * called again.
   */
  close(): Promise<void>
}

/**
 * Opens or creates the store. Several processes may have it open, but only one may serve calls,
 * because token limits are counted in memory.
 * @throws StoreOpenError with the problem and the remedy
 */
export function openStore(options: StoreOptions): Store {
  const { path } = options
  const takesJournal = options.retention !== undefined
  let opened: Environment | null = null
  try {
    opened = openEnvironment(path, { ...options, takesJournal })
    if (recordedIdentity(opened) === null) recordIdentity(opened, path)
    return new OpenStore(options.wrap?.(opened) ?? opened, options)
  } catch (error) {
    void opened?.close()
    if (error instanceof StoreOpenError) throw error
    throw new StoreOpenError(`the data directory ${path} cannot be used: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

class OpenStore implements Store {
  readonly log: UsageLog
  readonly sealed: SealedLog
  readonly checkpoints: Checkpoints
  readonly keys: KeyDirectory
  readonly ring: KeyRing
  readonly fleet: FleetRows
  readonly shipping: LogShipping | null = null
  readonly rules: RuleStore
  readonly policies: PolicyStore
  readonly counters: Counters
  readonly sessions: Sessions
  readonly stored: StoredAnswers
  readonly rollups: Rollups
  readonly tail: CallTail
  readonly #environment: Environment
  readonly #clock: Clock
  readonly #onHousekeepingError: (error: unknown) => void
  readonly #retention: Retention | null
  readonly #stopWatch: () => void
  readonly #stopHousekeeping: () => void
  #housekeeping: Promise<void> = Promise.resolve()
  #closing: Promise<void> | null = null

  constructor(environment: Environment, options: StoreOptions) {
    const { clock, random, maxBytes, whenFull = 'refuse', fileKeys = [], every = everyUnref } = options
    const { userKey = null } = options
    this.#environment = environment
    this.#clock = clock
    this.#onHousekeepingError = options.onHousekeepingError ?? (() => {})
    const { onSealed, onContentDropped = () => {} } = options
    const events = {
      onSealed: (types: readonly EntryType[]) => {
        onSealed?.(types)
        void this.#retention?.tick()
      },
      onContentDropped,
    }
    this.fleet = new FleetRows(environment)
    const userKeys = () => [this.fleet.userKey, userKey].filter((key) => key !== null)
    const isHeld = () => this.shipping?.isHeld === true
    const sharesStored = options.shipping != null
    this.log = new UsageLog({
      ...{ environment, clock, random, maxBytes, whenFull, userKeys, isHeld, sharesStored, events },
    })
    if (options.shipping != null)
      this.shipping = new LogShipping(environment, options.shipping, hasEarlierLogs(options.path))
    const onError = this.#onHousekeepingError
    const { retention } = options
    const { log, shipping } = this
    this.#retention =
      retention === undefined
        ? null
        : new Retention({ environment, log, clock, maxBytes, shipping, onError, ...retention })
    this.sealed = new SealedLog(environment)
    this.checkpoints = new Checkpoints(environment)
    this.ring = new KeyRing(environment, clock, fileKeys)
    const { ring } = this
    const hub = keysOfHub(options.hub ?? null, ring, this.fleet)
    this.keys = new KeyDirectory({ environment, log: this.log, clock, random, ring, hub })
    this.rules = new RuleStore(environment, this.log)
    this.policies = new PolicyStore(environment, this.log, clock, maxBytes)
    this.counters = new Counters(environment, clock)
    this.sessions = new Sessions(environment, this.log, clock, random)
    this.stored = new StoredAnswers(environment, clock)
    this.rollups = new Rollups(environment, clock)
    this.tail = new CallTail(environment)
    this.#stopWatch = every(WATCH_MS, () => void this.#attempt(() => this.#watch()))
    this.#stopHousekeeping = every(HOUSEKEEPING_MS, () => {
      this.#housekeeping = this.#housekeeping.then(() => this.#keepHouse())
    })
  }

  rebuildRollups(progress: (done: number) => void): Promise<RebuiltRollups> {
    return new RollupRebuild(this.#environment, this.#clock.now()).run(progress)
  }

  trustClock(actor: Actor): Promise<void> {
    return trustClock(this.log, this.#environment.tables, actor)
  }

  get isClockDoubted(): boolean {
    return this.#retention?.isClockDoubted ?? false
  }

  size(): StoreSize {
    return this.#environment.size()
  }

  journal(): JournalState | null {
    return this.#environment.journal()
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  async #finish(): Promise<void> {
    this.#stopHousekeeping()
    await this.#retention?.close()
    await this.#housekeeping
    await this.#attempt(() => this.ring.flush())
    // Watched to the end: a stuck write never settles.
    await this.#environment.close()
    this.#stopWatch()
  }

  /** @throws Error when the database cannot be read, as for a moment after its disk has failed */
  #watch(): void {
    this.#environment.tick(this.#clock.monotonic())
    this.log.tick()
    void this.#retention?.tick()
  }

  async #keepHouse(): Promise<void> {
    // The log probes a disk that rejects writes.
    if (!this.log.writable) return
    await this.#attempt(() => this.#environment.reapReaders())
    await this.#attempt(() => this.ring.flush())
    await this.#attempt(() => this.sessions.sweep())
    await this.#attempt(() => this.counters.sweep())
    await this.#attempt(() => this.stored.sweep())
    await this.#attempt(() => this.rollups.maintain())
  }

  async #attempt(step: () => Promise<void> | void): Promise<void> {
    try {
      await step()
    } catch (error) {
      this.#onHousekeepingError(error)
    }
  }
}

/** A gateway lists the keys in its memory, a command those on disk. */
function keysOfHub(url: string | null, ring: KeyRing, rows: FleetRows): KeysOfHub | null {
  if (url === null) return null
  return { url, stored: () => ring.hubKeys?.list() ?? rows.accepted() }
}

function everyUnref(intervalMs: Milliseconds, work: () => void): () => void {
  const timer = setInterval(work, intervalMs)
  // Housekeeping alone must not keep the process alive.
  timer.unref()
  return () => clearInterval(timer)
}
