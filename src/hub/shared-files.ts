// Files of one hub that are to be in force for the fleet, with those of other hubs: each change of
// them counts once, when this hub sees it. What another hub has put in force since stays.

import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { formatProblem, type Problem } from '../core/problem.ts'
import type { Timers } from '../core/timers.ts'
import { logWatching } from '../gateway/live-rules.ts'
import type { GatewayLogger } from '../gateway/logger.ts'
import { loadCheckedOut } from '../rules/load.ts'
import { type FileSnapshot, type FileSource, FileWatcher } from '../rules/watch.ts'

/** Time after which files that could not be put in force are tried again. */
const RETRY_MS: Milliseconds = 1000

/** Files as messages name them, and their verb. */
const VERBS = { 'rule files': 'are', 'price file': 'is' } as const

interface HubSnapshot extends FileSnapshot {
  readonly problems: readonly Problem[]
}

export interface SharedFilesParts<Snapshot extends HubSnapshot> {
  readonly path: string
  readonly what: keyof typeof VERBS
  readonly open: (path: string) => Promise<FileSource<Snapshot>>
  /**
   * Puts files without errors in force. Resolves when `version` is theirs, or with the problems for
   * which they cannot be now. Rejects with `fleet_unavailable` when that is not known.
   */
  readonly write: (snapshot: Snapshot) => Promise<readonly Problem[]>
  /** Names what is in force for the fleet. */
  readonly version: () => string
  /** Names files without errors as `version` does. */
  readonly versionOf: (snapshot: Snapshot) => string
  /** Called after each load. */
  readonly onLoad: (result: 'ok' | 'error') => void
  readonly logger: GatewayLogger
  readonly timers: Timers
}

export class SharedFiles<Snapshot extends HubSnapshot> {
  readonly #parts: SharedFilesParts<Snapshot>
  #watcher: FileWatcher<Snapshot> | null = null
  /** Files that are not in force yet, and what was when they were seen. */
  #waiting: { readonly snapshot: Snapshot; readonly version: string } | null = null
  /** Errors of the files as they are; or why they wait. */
  #problems: readonly Problem[] = []
  /** What this hub has put in force; null for nothing. */
  #version: string | null = null
  #retry: unknown = null
  #writes: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(parts: SharedFilesParts<Snapshot>) {
    this.#parts = parts
  }

  /** Errors of the files as they are, and reasons for which they are not in force. */
  get problems(): readonly Problem[] {
    return this.#problems
  }

  /** Whether the files have no errors, and no hub has put others in force since. */
  get isInForce(): boolean {
    return this.#problems.length === 0 && !this.#isOther
  }

  /** Another hub has put something else in force since. */
  get #isOther(): boolean {
    return this.#version !== null && this.#version !== this.#parts.version()
  }

  /** What /readyz shows: `ok`, or what is wrong. */
  health(): string {
    const { what } = this.#parts
    const be = VERBS[what]
    if (this.#problems.length > 0)
      return `the ${what} of this hub ${be} not in force; what was in force stays`
    return this.#isOther ? `the ${what} of another hub ${be} in force instead` : 'ok'
  }

  /** Reads the files, puts them in force if it can be, and follows them. */
  async start(): Promise<void> {
    const { path, open, what, logger } = this.#parts
    const initial = await loadCheckedOut(path, open)
    await this.#take(initial)
    this.#watcher = new FileWatcher({
      path,
      open,
      initial,
      onSnapshot: (snapshot) => void this.#take(snapshot),
      onError: (error) => logger.error({ err: error, path }, `the ${what} could not be read`),
      onWatching: logWatching(logger, path, what),
    })
    await this.#watcher.start()
  }

  /** Reads the files now, as on SIGHUP: they count as changed. */
  async reload(): Promise<void> {
    await this.#watcher?.reload()
    await this.#writes
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#parts.timers.clear(this.#retry)
    await this.#watcher?.close()
    await this.#writes
  }

  #take(snapshot: Snapshot): Promise<void> {
    const { version, timers } = this.#parts
    timers.clear(this.#retry)
    if (snapshot.problems.length > 0) {
      this.#waiting = null
      this.#report(snapshot.problems)
      this.#parts.onLoad('error')
      return Promise.resolve()
    }
    this.#waiting = { snapshot, version: version() }
    this.#writes = this.#writes.then(() => this.#write(true))
    return this.#writes
  }

  /** Never rejects. */
  async #write(isFirst: boolean): Promise<void> {
    const waiting = this.#waiting
    if (waiting === null || this.#isClosed) return
    const { what, path, version, write, onLoad, logger, timers } = this.#parts
    // A write of unknown outcome may have happened.
    const isWritten = !isFirst && version() === this.#parts.versionOf(waiting.snapshot)
    if (!isFirst && !isWritten && version() !== waiting.version) {
      // What another hub has seen later is newer.
      this.#waiting = null
      this.#version = waiting.version
      this.#report([])
      logger.warn({ path }, `another hub has put other ${what} in force; those of this hub do not count`)
      return
    }
    const problems = await this.#problemsOf(write(waiting.snapshot), path)
    if (this.#waiting !== waiting) return
    this.#report(problems)
    if (isFirst || problems.length === 0) onLoad(problems.length === 0 ? 'ok' : 'error')
    if (problems.length === 0) {
      this.#waiting = null
      this.#version = version()
      return
    }
    this.#retry = timers.set(() => {
      this.#writes = this.#writes.then(() => this.#write(false))
    }, RETRY_MS)
  }

  async #problemsOf(writing: Promise<readonly Problem[]>, file: string): Promise<readonly Problem[]> {
    try {
      return await writing
    } catch (error) {
      if (!(error instanceof GatewayError))
        this.#parts.logger.error({ err: error }, 'the files could not be put in force')
      return [{ file, line: 0, column: 0, path: '', message: (error as Error).message }]
    }
  }

  /** Logs problems that are new. */
  #report(problems: readonly Problem[]): void {
    const { what, logger } = this.#parts
    const errors = problems.map(formatProblem)
    const isSame = errors.join('\n') === this.#problems.map(formatProblem).join('\n')
    this.#problems = problems
    if (errors.length > 0 && !isSame)
      logger.error({ errors }, `the ${what} ${VERBS[what]} not in force; what was in force stays`)
  }
}

/** Returns the part of readiness about files. */
export function filesHealth(
  name: 'rules' | 'prices',
  files: Pick<SharedFiles<HubSnapshot>, 'health' | 'problems'> | null,
): JsonObject {
  if (files === null) return {}
  return { [name]: files.health(), [`${name.slice(0, -1)}_errors`]: files.problems.map(formatProblem) }
}
