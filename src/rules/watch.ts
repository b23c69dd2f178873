// Watches a rule file or folder and reports each snapshot whose content differs from the last. File
// system events are hints: the content decides. Knows nothing of what a snapshot is used for.

import { realpath, stat } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import type { Milliseconds } from '../core/clock.ts'
import { systemTimers, type Timers } from '../core/timers.ts'
import { openRules, type RuleSource } from './load.ts'
import { PathWatcher } from './path-watch.ts'
import type { RuleSnapshot } from './snapshot.ts'

/** Quiet time that ends a burst of events: one ConfigMap swap is nine events. */
const QUIET_MS: Milliseconds = 100

/** Longest delay of a reading while a burst lasts. */
const MAX_DELAY_MS: Milliseconds = 1000

/** Period of readings without a hint: network mounts and exhausted watch limits give no events. */
const POLL_MS: Milliseconds = 30_000

/** Longest wait for a reading at close: a hanging mount must not keep calls from being sealed. */
const CLOSE_MS: Milliseconds = 1000

export interface RuleWatcherOptions {
  readonly path: string
  /** The snapshot already taken; an equal one is not reported. */
  readonly initial: RuleSnapshot
  /** Called with each snapshot whose content differs from the last one taken, problems included. */
  readonly onSnapshot: (snapshot: RuleSnapshot) => void
  /** Called with what `onSnapshot` throws. Without it the error is an unhandled rejection. */
  readonly onError?: (error: unknown) => void
  readonly open?: (path: string) => Promise<RuleSource>
  readonly timers?: Timers
}

export class RuleWatcher {
  readonly #options: RuleWatcherOptions
  /** The path, absolute. */
  readonly #root: string
  readonly #open: (path: string) => Promise<RuleSource>
  readonly #reading = new AbortController()
  readonly #timers: Timers
  #contentHash: string
  #watcher: FSWatcher | null = null
  #quiet: unknown = null
  #deadline: unknown = null
  #poll: unknown = null
  /** Reports when a folder further up is replaced: events then come from the old one. */
  readonly #pathWatcher: PathWatcher
  /** Target of the path when it was last followed. */
  #target: string | null = null
  #follows: Promise<void> = Promise.resolve()
  #isFollowQueued = false
  /** Readings run one after another, so that an older snapshot never replaces a newer one. */
  #loads: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: RuleWatcherOptions) {
    this.#options = options
    this.#root = resolve(options.path)
    this.#pathWatcher = new PathWatcher(this.#root, () => this.#queueFollow())
    this.#open = options.open ?? openRules
    this.#timers = options.timers ?? systemTimers
    this.#contentHash = options.initial.contentHash
  }

  /** Resolves when changes are watched. Reports a change since `initial` at once. */
  async start(): Promise<void> {
    this.#target = await targetOf(this.#root)
    await this.#watch()
    await this.#follow()
    this.#armPoll()
    await this.#check()
  }

  async #watch(): Promise<void> {
    const root = this.#root
    const parent = dirname(root)
    // The parent is watched, one level deep: the folder itself may be deleted, recreated or
    // swapped.
    const watcher = watch(parent, {
      depth: 1,
      ignoreInitial: true,
      ignored: (path) => path !== parent && path !== root && !path.startsWith(root + sep),
    })
    this.#watcher = watcher
    watcher.on('all', () => this.hint())
    // The poll continues without events.
    watcher.on('error', () => this.hint())
    await new Promise<void>((ready) => watcher.once('ready', ready))
  }

  /** Says that something may have changed. */
  hint(): void {
    if (this.#closed) return
    this.#timers.clear(this.#quiet)
    this.#quiet = this.#timers.set(() => this.#settled(), QUIET_MS)
    this.#deadline ??= this.#timers.set(() => this.#settled(), MAX_DELAY_MS)
  }

  /** Reads now and reports the snapshot even if nothing changed, as on SIGHUP. */
  reload(): Promise<void> {
    return this.#check(true)
  }

  /** Stops watching. Waits up to CLOSE_MS for a running reading and drops its result. */
  async close(): Promise<void> {
    this.#closed = true
    this.#reading.abort()
    for (const timer of [this.#quiet, this.#deadline, this.#poll])
      if (timer !== null) this.#timers.clear(timer)
    let limit: unknown
    const late = new Promise<void>((resolve) => {
      limit = this.#timers.set(resolve, CLOSE_MS)
    })
    await Promise.race([this.#end(), late])
    this.#timers.clear(limit)
  }

  async #end(): Promise<void> {
    this.#pathWatcher.close()
    await this.#follows
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
      this.#queueFollow()
      this.#armPoll()
    }, POLL_MS)
  }

  #queueFollow(): void {
    if (this.#isFollowQueued) return
    this.#isFollowQueued = true
    this.#follows = this.#follows.then(() => {
      this.#isFollowQueued = false
      return this.#follow()
    })
  }

  /** Watches the current target of the path, and again until the target stays the same. */
  async #follow(): Promise<void> {
    if (this.#closed) return
    await this.#pathWatcher.follow()
    const target = await targetOf(this.#root)
    if (this.#closed) {
      this.#pathWatcher.close()
      return
    }
    if (target === null || target === this.#target) return
    this.#target = target
    await this.#watcher?.close()
    if (this.#closed) return
    await this.#watch()
    this.hint()
    await this.#follow()
  }

  #check(always = false): Promise<void> {
    const check = this.#loads.then(async () => {
      if (this.#closed) return
      const source = await this.#open(this.#options.path)
      if (this.#closed || (!always && source.contentHash === this.#contentHash)) return
      const snapshot = await source.read(this.#reading.signal)
      if (this.#closed) return
      this.#options.onSnapshot(snapshot)
      // After the call: a snapshot that could not be taken is reported again.
      this.#contentHash = snapshot.contentHash
    })
    this.#loads = check.catch((error: unknown) => {
      if (this.#options.onError === undefined) throw error
      this.#options.onError(error)
    })
    return this.#loads
  }
}

/**
 * Identifies the target of a path, all links resolved; null while its folder is missing. A
 * recreated folder differs.
 */
async function targetOf(root: string): Promise<string | null> {
  const parent = dirname(root)
  try {
    const [folder, target] = await Promise.all([realpath(parent), realpath(root).catch(() => '')])
    const { dev, ino, birthtimeNs } = await stat(parent, { bigint: true })
    return [folder, target, dev, ino, birthtimeNs].join('\n')
  } catch {
    return null
  }
}
