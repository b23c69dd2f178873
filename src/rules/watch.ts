// Follows a rule file or folder. Events of the file system are hints only: what counts is whether the content, read
// as one snapshot, has changed. Knows nothing of what is done with a snapshot.

import { dirname, resolve, sep } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import type { Milliseconds } from '../core/clock.ts'
import { loadRules, type RuleSnapshot } from './load.ts'
import { systemTimers, type Timers } from './timers.ts'

/** Quiet time after which a burst of events is taken as over: one ConfigMap swap is nine events. */
const QUIET_MS: Milliseconds = 100

/** A burst that goes on is acted on after this all the same. */
const MAX_DELAY_MS: Milliseconds = 1000

/** The net under the hints: network mounts and exhausted watch limits give none. */
const POLL_MS: Milliseconds = 30_000

export interface RuleWatcherOptions {
  readonly path: string
  /** What is known already: an equal snapshot is no news. */
  readonly initial: RuleSnapshot
  /** Called with every snapshot whose content differs from the one before, problems included. */
  readonly onSnapshot: (snapshot: RuleSnapshot) => void
  /** Told when `onSnapshot` threw; without it that error is an unhandled one. */
  readonly onError?: (error: unknown) => void
  readonly load?: (path: string) => Promise<RuleSnapshot>
  readonly timers?: Timers
}

export class RuleWatcher {
  readonly #options: RuleWatcherOptions
  readonly #load: (path: string) => Promise<RuleSnapshot>
  readonly #timers: Timers
  #contentHash: string
  #watcher: FSWatcher | null = null
  #quiet: unknown = null
  #deadline: unknown = null
  #poll: unknown = null
  /** Loads one after the other, so that an older snapshot never replaces a newer one. */
  #loads: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: RuleWatcherOptions) {
    this.#options = options
    this.#load = options.load ?? loadRules
    this.#timers = options.timers ?? systemTimers
    this.#contentHash = options.initial.contentHash
  }

  /** Resolves once changes are noticed. What changed since `initial` is noticed too. */
  async start(): Promise<void> {
    const root = resolve(this.#options.path)
    const parent = dirname(root)
    // The parent is watched too, one level deep: the folder itself may be deleted, made again or swapped for another.
    const watcher = watch(parent, {
      depth: 1,
      ignoreInitial: true,
      ignored: (path) => path !== parent && path !== root && !path.startsWith(root + sep),
    })
    this.#watcher = watcher
    watcher.on('all', () => this.hint())
    // Then the poll is what is left.
    watcher.on('error', () => this.hint())
    await new Promise<void>((ready) => watcher.once('ready', ready))
    this.#armPoll()
    await this.#check()
  }

  /** Something may have changed. */
  hint(): void {
    if (this.#closed) return
    this.#timers.clear(this.#quiet)
    this.#quiet = this.#timers.set(() => this.#settled(), QUIET_MS)
    this.#deadline ??= this.#timers.set(() => this.#settled(), MAX_DELAY_MS)
  }

  /** Reads now, as on SIGHUP, and hands the snapshot on even if nothing changed. */
  reload(): Promise<void> {
    return this.#check(true)
  }

  /** Stops everything; a load that runs is waited for and its result dropped. */
  async close(): Promise<void> {
    this.#closed = true
    for (const timer of [this.#quiet, this.#deadline, this.#poll])
      if (timer !== null) this.#timers.clear(timer)
    await this.#watcher?.close()
    await this.#loads
  }

  #settled(): void {
    for (const timer of [this.#quiet, this.#deadline]) this.#timers.clear(timer)
    this.#quiet = null
    this.#deadline = null
    void this.#check()
  }

  #armPoll(): void {
    if (this.#closed) return
    this.#poll = this.#timers.set(() => {
      void this.#check()
      this.#armPoll()
    }, POLL_MS)
  }

  #check(always = false): Promise<void> {
    const check = this.#loads.then(async () => {
      if (this.#closed) return
      const snapshot = await this.#load(this.#options.path)
      if (this.#closed || (!always && snapshot.contentHash === this.#contentHash)) return
      this.#contentHash = snapshot.contentHash
      this.#options.onSnapshot(snapshot)
    })
    this.#loads = check.catch((error: unknown) => {
      if (this.#options.onError === undefined) throw error
      this.#options.onError(error)
    })
    return this.#loads
  }
}
