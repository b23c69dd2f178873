// Follows the configuration file of a running program: says when it is not in force, and puts in
// force what can be on SIGHUP. A file with errors replaces nothing.

import { hash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import {
  changedSettings,
  isReloadable,
  type ReloadableSetting,
  settingAt,
  settingsAfter,
} from '../core/config-changes.ts'
import {
  type ComparableReading,
  type ConfigSource,
  contentDigest,
  type IncludedFile,
} from '../core/config-source.ts'
import { formatPath, type Path } from '../core/document.ts'
import type { JsonObject } from '../core/json.ts'
import { formatProblem, type Problem } from '../core/problem.ts'
import { readTextFile, reasonOf } from '../core/text-file.ts'
import type { Timers } from '../core/timers.ts'
import { type FileSnapshot, type FileSource, FileWatcher } from '../rules/watch.ts'
import { logWatching } from './live-rules.ts'
import type { GatewayLogger } from './logger.ts'

/** Calls wait while a file is parsed: about half a second for one of this size. */
const MAXIMUM_CONFIG_BYTES = 256 * 1024
/** A program that started with a larger file reads one that has grown by this factor. */
const MAXIMUM_GROWTH = 4
const TOO_LARGE = 'only a restart reads a larger one'
/** A file that the configuration names, such as certificates in PEM. */
const MAXIMUM_INCLUDED_BYTES = 16 * 1024 * 1024

/** How the file as it is differs from what is in force. */
export interface ConfigState {
  readonly changed: boolean
  /** Changed settings that a reload puts in force. */
  readonly needsReload: readonly string[]
  /** Changed settings that only a restart puts in force. */
  readonly needsRestart: readonly string[]
  /** Errors of the file; with any, nothing of it is put in force. */
  readonly errors: readonly string[]
}

interface LiveConfigParts<C, Section extends keyof C> {
  /** What is in force, without problems. */
  readonly reading: Pick<ComparableReading<C>, 'settings' | 'included'>
  /** Null for a configuration without a file, which never changes. */
  readonly source: ConfigSource<ComparableReading<C>> | null
  readonly reloadable: readonly ReloadableSetting<Section & string>[]
  /**
   * Puts sections in force, at once. An error that it throws leaves everything as it was.
   * @param isSame whether the file has what is in force at a path
   */
  readonly replace: (config: Pick<C, Section>, isSame: (path: Path) => boolean) => void
  readonly logger: GatewayLogger
  readonly timers?: Timers
}

interface ConfigSnapshot<C> extends FileSnapshot {
  /** Null when there are problems. */
  readonly content: { readonly config: C; readonly settings: JsonObject } | null
  readonly included: readonly IncludedFile[]
  readonly problems: readonly Problem[]
}

const IN_FORCE: ConfigState = { changed: false, needsReload: [], needsRestart: [], errors: [] }
const STAYS = 'what was in force stays'

/** The configuration `C` of a running program, of which it can replace some sections. */
export class LiveConfig<C, Section extends keyof C> {
  readonly #parts: LiveConfigParts<C, Section>
  readonly #watcher: FileWatcher<ConfigSnapshot<C>> | null
  /** The settings in force. */
  #inForce: JsonObject
  #latest: ConfigSnapshot<C>
  #state = IN_FORCE
  /** Reloads under way: they say what they find. */
  #reloads = 0
  #isClosed = false

  constructor(parts: LiveConfigParts<C, Section>) {
    const { reading, source, logger, timers } = parts
    const { included } = reading
    this.#parts = parts
    this.#inForce = reading.settings ?? {}
    const contentHash = hashOf(source?.text ?? '', digestsOf(included))
    this.#latest = { content: null, included, problems: [], contentHash }
    this.#watcher =
      source === null
        ? null
        : new FileWatcher({
            path: source.file,
            open: () => this.#open(source),
            initial: this.#latest,
            onSnapshot: (snapshot) => this.#take(snapshot),
            onError: (error) => logger.error({ err: error }, 'the configuration file could not be compared'),
            onWatching: logWatching(logger, source.file, 'configuration file'),
            ...(timers !== undefined && { timers }),
          })
  }

  /** What is in force, with defaults. */
  get settings(): JsonObject {
    return this.#inForce
  }

  get state(): ConfigState {
    return this.#state
  }

  /** Resolves once the file is watched. */
  async start(): Promise<void> {
    await this.#watcher?.start()
  }

  /** Reads the file now and puts in force what can be, as on SIGHUP. */
  async reload(): Promise<void> {
    if (this.#watcher === null) return
    this.#reloads++
    try {
      await this.#watcher.reload()
    } finally {
      this.#reloads--
    }
    if (!this.#isClosed) this.#apply()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#watcher?.close()
  }

  async #open(source: ConfigSource<ComparableReading<C>>): Promise<FileSource<ConfigSnapshot<C>>> {
    const { file } = source
    const mostBytes = Math.max(MAXIMUM_CONFIG_BYTES, MAXIMUM_GROWTH * Buffer.byteLength(source.text))
    const read = await readTextFile(file, mostBytes, TOO_LARGE)
    if ('problem' in read) {
      const problems = [{ file, line: 0, column: 0, path: '', message: read.problem }]
      const contentHash = hashOf(read.problem, [])
      return { contentHash, read: async () => ({ content: null, included: [], problems, contentHash }) }
    }
    // An error may end without a change of the file: a secret that was missing is there.
    if (this.#latest.problems.length > 0) {
      const snapshot = parse(source, read.text)
      return { contentHash: snapshot.contentHash, read: async () => snapshot }
    }
    const digests = await Promise.all(this.#latest.included.map(({ path }) => digestOfFile(path)))
    return { contentHash: hashOf(read.text, digests), read: async () => parse(source, read.text) }
  }

  /** Says what is not in force of the file. */
  #take(snapshot: ConfigSnapshot<C>): void {
    const wasChanged = this.#state.changed
    this.#latest = snapshot
    this.#compare()
    if (this.#reloads > 0) return
    const { logger } = this.#parts
    const { changed, needsReload, needsRestart, errors } = this.#state
    if (errors.length > 0) logger.error({ errors }, `the configuration file has errors; ${STAYS}`)
    else if (changed) {
      const remedy = needsReload.length > 0 ? 'send SIGHUP, or restart' : 'restart'
      logger.warn({ needsReload, needsRestart }, `the configuration file is not in force; ${remedy}`)
    } else if (wasChanged) logger.info({}, 'the configuration file is in force again')
  }

  #apply(): void {
    const { logger, replace, reloadable } = this.#parts
    const { content } = this.#latest
    const { needsReload, errors } = this.#state
    if (content === null) {
      if (errors.length > 0) logger.error({ errors }, `the configuration file has errors; ${STAYS}`)
      return
    }
    const before = this.#inForce
    const isSame = (path: Path) =>
      isDeepStrictEqual(settingAt(before, path), settingAt(content.settings, path))
    try {
      if (needsReload.length > 0) replace(content.config, isSame)
    } catch (error) {
      logger.error({ err: error }, `the configuration could not be put in force; ${STAYS}`)
      return
    }
    this.#inForce = settingsAfter(before, content.settings, reloadable)
    this.#compare()
    const { needsRestart } = this.#state
    if (needsRestart.length === 0) logger.info({ reloaded: needsReload }, 'the configuration is in force')
    else
      logger.warn(
        { reloaded: needsReload, needsRestart },
        'the configuration is in force, except for settings that need a restart',
      )
  }

  #compare(): void {
    const { content, problems } = this.#latest
    if (content === null) {
      this.#state = { ...IN_FORCE, changed: true, errors: problems.map(formatProblem) }
      return
    }
    const changed = changedSettings(this.#inForce, content.settings)
    const { true: now = [], false: later = [] } = Object.groupBy(changed, (path) =>
      String(isReloadable(this.#parts.reloadable, path)),
    )
    this.#state = {
      changed: changed.length > 0,
      needsReload: now.map(formatPath),
      needsRestart: later.map(formatPath),
      errors: [],
    }
  }
}

function parse<C>(source: ConfigSource<ComparableReading<C>>, text: string): ConfigSnapshot<C> {
  const { config, settings, included, problems } = source.parse(text)
  const isGood = config !== null && settings !== null && problems.length === 0
  const errors = problems.map(formatProblem)
  return {
    content: isGood ? { config, settings } : null,
    included,
    problems,
    contentHash: hashOf(text, [...digestsOf(included), ...errors]),
  }
}

const digestsOf = (included: readonly IncludedFile[]): string[] => included.map(({ digest }) => digest)

/** Returns the digest of an included file, or why there is none. */
async function digestOfFile(path: string): Promise<string> {
  try {
    const { size } = await stat(path)
    return size > MAXIMUM_INCLUDED_BYTES ? 'too large' : contentDigest(await readFile(path, 'utf8'))
  } catch (error) {
    return reasonOf(error)
  }
}

const hashOf = (text: string, more: readonly string[]): string => hash('sha256', JSON.stringify([text, more]))

/** Field of readiness. */
export const configHealth = ({ changed, needsReload, needsRestart, errors }: ConfigState): JsonObject => ({
  changed,
  needs_reload: [...needsReload],
  needs_restart: [...needsRestart],
  errors: [...errors],
})
