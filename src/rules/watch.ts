// Watches a file or folder and reports each snapshot whose content differs from the last. File
// system events are hints: the content decides. Knows neither what is in the files nor what a
// snapshot is used for.

import { realpath, stat } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import type { Milliseconds } from '../core/clock.ts'
import { systemTimers, type Timers } from '../core/timers.ts'
import { whenCheckedOut } from './checkout.ts'
import { type RuleSurvey, surveyRules } from './path-survey.ts'
import { PathWatcher } from './path-watch.ts'

/** Quiet time that ends a burst of events: one ConfigMap swap is nine events. */
const QUIET_MS: Milliseconds = 100

/** Longest delay of a reading while a burst lasts. */
const MAXIMUM_DELAY_MS: Milliseconds = 1000

/** Period of readings without a hint: network mounts give no events. */
const POLL_MS: Milliseconds = 30_000

/**
 * Period of surveys while the system lets nothing be watched, such as without inotify instances.
 * With QUIET_MS and a reading, a change takes less than a second.
 */
const SURVEY_MS: Milliseconds = 700

/** Surveys after which watching is tried again. */
const SURVEYS_PER_TRY = 40

/** Longest wait for a reading at close: a hanging mount must not keep calls from being sealed. */
const CLOSE_MS: Milliseconds = 1000

/** The content of watched files at one moment, parsed. */
export interface FileSnapshot {
  /** Equal hashes mean an equal snapshot. */
  readonly contentHash: string
}

/** The content of watched files at one moment, not yet parsed. */
export interface FileSource<Snapshot extends FileSnapshot> {
  /** The content hash of the snapshot. */
  readonly contentHash: string
  /** Never rejects. @param signal ends a child that parses */
  read(signal?: AbortSignal): Promise<Snapshot>
}

export interface FileWatcherOptions<Snapshot extends FileSnapshot> {
  readonly path: string
  /** Reads the files without parsing them. Never rejects. */
  readonly open: (path: string) => Promise<FileSource<Snapshot>>
  /** The snapshot already taken; an equal one is not reported. */
  readonly initial: Snapshot
  /** Called with each snapshot whose content differs from the last one taken, problems included. */
  readonly onSnapshot: (snapshot: Snapshot) => void
  /** Called with what `onSnapshot` throws. Without it the error is an unhandled rejection. */
  readonly onError?: (error: unknown) => void
  /** Called with the reason when watching becomes impossible, and with null when it works again. */
  readonly onWatching?: (failure: string | null) => void
  readonly timers?: Timers
}

export class FileWatcher<Snapshot extends FileSnapshot> {
  readonly #options: FileWatcherOptions<Snapshot>
  /** The path, absolute. */
  readonly #root: string
  readonly #reading = new AbortController()
  readonly #timers: Timers
  #contentHash: string
  #watcher: FSWatcher | null = null
  #quiet: unknown = null
  #deadline: unknown = null
  #poll: unknown = null
  /** Why some of the files are not watched; null when all are. */
  #failure: string | null = null
  /** Error of `#watcher`. */
  #watcherError: string | null = null
  #survey: RuleSurvey | null = null
  #surveys = 0
  /** Reports when a folder further up is replaced: events then come from the old one. */
  readonly #pathWatcher: PathWatcher
  /** Target of the path when it was last followed. */
  #target: string | null = null
  #follows: Promise<void> = Promise.resolve()
  #isFollowQueued = false
  /** Readings run one after another, so that an older snapshot never replaces a newer one. */
  #loads: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: FileWatcherOptions<Snapshot>) {
    this.#options = options
    this.#root = resolve(options.path)
    this.#pathWatcher = new PathWatcher(this.#root, () => this.#queueFollow(true))
    this.#timers = options.timers ?? systemTimers
    this.#contentHash = options.initial.contentHash
  }

  /** Resolves when changes are watched. Reports a change since `initial` at once. */
  async start(): Promise<void> {
    this.#target = await targetOf(this.#root)
    await this.#watch()
    await this.#follow()
    this.#armPoll()
    this.#noteFailure()
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
    this.#watcherError = null
    watcher.on('all', () => this.hint())
    watcher.on('error', (error) => {
      this.#watcherError ??= (error as NodeJS.ErrnoException).code ?? String(error)
      this.#noteFailure()
      this.hint()
    })
    await new Promise<void>((ready) => watcher.once('ready', ready))
  }

  /** Says that something may have changed. */
  hint(): void {
    if (this.#closed) return
    this.#timers.clear(this.#quiet)
    this.#quiet = this.#timers.set(() => this.#settled(), QUIET_MS)
    this.#deadline ??= this.#timers.set(() => this.#settled(), MAXIMUM_DELAY_MS)
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
    this.#timers.clear(this.#poll)
    this.#poll =
      this.#failure === null
        ? this.#timers.set(() => {
            void this.#check()
            this.#queueFollow()
            this.#armPoll()
          }, POLL_MS)
        : this.#timers.set(() => void this.#look().finally(() => this.#armPoll()), SURVEY_MS)
  }

  /** Looks for a change without events, and now and then tries to watch again. */
  async #look(): Promise<void> {
    const before = this.#survey?.signature
    this.#survey = await surveyRules(this.#root)
    if (this.#survey.signature !== before) this.hint()
    if (++this.#surveys % SURVEYS_PER_TRY !== 0 || this.#closed) return
    this.#target = null
    this.#queueFollow(true)
    await this.#follows
  }

  /** Reports that watching fails or works again, and polls accordingly. */
  #noteFailure(): void {
    const failure = this.#watcherError ?? this.#pathWatcher.failure
    if (this.#closed || (failure === null) === (this.#failure === null)) return
    this.#failure = failure
    this.#options.onWatching?.(failure)
    if (this.#poll !== null) this.#armPoll()
  }

  #queueFollow(thenHint = false): void {
    if (this.#isFollowQueued) return
    this.#isFollowQueued = true
    this.#follows = this.#follows.then(async () => {
      this.#isFollowQueued = false
      await this.#follow()
      this.#noteFailure()
      if (thenHint) this.hint()
    })
  }

  /** Watches the current target of the path, and again until the target stays the same. */
  async #follow(): Promise<void> {
    if (this.#closed) return
    this.#survey = await surveyRules(this.#root)
    await this.#pathWatcher.follow(this.#survey.links)
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

  /** Opens the files when git does not write them. */
  async #openCheckedOut(): Promise<FileSource<Snapshot>> {
    const { folders } = this.#survey ?? (await surveyRules(this.#root))
    const open = () => this.#options.open(this.#options.path)
    return whenCheckedOut(folders, open, this.#timers, this.#reading.signal)
  }

  #check(always = false): Promise<void> {
    const check = this.#loads.then(async () => {
      if (this.#closed) return
      const source = await this.#openCheckedOut()
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
