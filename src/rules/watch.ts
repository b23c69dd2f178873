// Follows a rule file or folder. Events of the file system are hints only: what counts is whether the content, read
// as one snapshot, has changed. Knows nothing of what is done with a snapshot.

import { realpath, stat } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import type { Milliseconds } from '../core/clock.ts'
import { systemTimers, type Timers } from '../core/timers.ts'
import { openRules, type RuleSource } from './load.ts'
import { PathWatcher } from './path-watch.ts'
import type { RuleSnapshot } from './snapshot.ts'

/** Quiet time after which a burst of events is taken as over: one ConfigMap swap is nine events. */
const QUIET_MS: Milliseconds = 100

/** A burst that goes on is acted on after this all the same. */
const MAX_DELAY_MS: Milliseconds = 1000

/** The net under the hints: network mounts and exhausted watch limits give none. */
const POLL_MS: Milliseconds = 30_000

/** A mount that hangs keeps no gateway from ending its calls and sealing them. */
const CLOSE_MS: Milliseconds = 1000

export interface RuleWatcherOptions {
  readonly path: string
  /** What is known already: an equal snapshot is no news. */
  readonly initial: RuleSnapshot
  /** Called with every snapshot whose content differs from the last that was taken, problems included. */
  readonly onSnapshot: (snapshot: RuleSnapshot) => void
  /** Told when `onSnapshot` threw; without it that error is an unhandled one. */
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
  /** A folder further up may be replaced; then the hints come from the old one. */
  readonly #pathWatcher: PathWatcher
  /** Target of the path when it was last followed. */
  #place: string | null = null
  #follows: Promise<void> = Promise.resolve()
  #isFollowQueued = false
  /** Loads one after the other, so that an older snapshot never replaces a newer one. */
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

  /** Resolves once changes are noticed. What changed since `initial` is noticed too. */
  async start(): Promise<void> {
    this.#place = await placeOf(this.#root)
    await this.#watch()
    await this.#follow()
    this.#armPoll()
    await this.#check()
  }

  async #watch(): Promise<void> {
    const root = this.#root
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

  /** Stops everything; a load that runs is waited for, for a while, and its result dropped. */
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
    const place = await placeOf(this.#root)
    if (this.#closed) {
      this.#pathWatcher.close()
      return
    }
    if (place === null || place === this.#place) return
    this.#place = place
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
      // Only now: what could not be taken is still news.
      this.#contentHash = snapshot.contentHash
    })
    this.#loads = check.catch((error: unknown) => {
      if (this.#options.onError === undefined) throw error
      this.#options.onError(error)
    })
    return this.#loads
  }
}

/** Where a path leads, through all links; null while its folder is missing. One that was made anew is another. */
async function placeOf(root: string): Promise<string | null> {
  const parent = dirname(root)
  try {
    const [folder, target] = await Promise.all([realpath(parent), realpath(root).catch(() => '')])
    const { dev, ino, birthtimeNs } = await stat(parent, { bigint: true })
    return [folder, target, dev, ino, birthtimeNs].join('\n')
  } catch {
    return null
  }
}
