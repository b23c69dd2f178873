// Records calls before they are forwarded, so the next process can seal those that a killed process
// left unfinished. One write covers the calls of one turn of the event loop and does not wait for
// the disk: the system keeps written bytes when a process dies. A power loss may lose the newest.
// Knows nothing of entries.

import { closeSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, type Milliseconds, systemClock } from '../../core/clock.ts'
import { InFlight, type InFlightSlot } from '../../core/inflight.ts'
import type { KeyLabels } from '../../core/key-terms.ts'
import { unavailable } from './unavailable.ts'

/** In the data folder, next to the database. */
export const INTENTS_FILE = 'intents'
/** Size from which the file is rewritten with the running calls only. */
const MAXIMUM_FILE_BYTES = 4 * 1024 ** 2
/** Growth after a rewrite that triggers the next, for running calls that fill the file. */
const GROWTH = 2
const FILE_MODE = 0o600
/** Begins the line that marks a call as sealed. */
const SEALED = '-'
/** Shortest time between two attempts after a failure. */
const RETRY_MS: Milliseconds = 1000
/**
 * A blank line to probe the disk, as long as some calls take, so that success means enough free
 * space to continue.
 */
const PROBE_LINE = `${' '.repeat(4095)}\n`

/** A call as known before it is forwarded. */
export interface Intent {
  readonly id: string
  readonly key_id: string
  readonly key_name: string
  /** As CallKey.line, when it is not `key_id`. */
  readonly key_line?: string
  /** Labels of the key; absent without any. */
  readonly labels?: KeyLabels
  /** Name of the API; absent in intents of releases that served only `chat`. */
  readonly api?: string
  readonly model: string
  /** All candidate models, if there are more than `model`. */
  readonly models?: readonly string[]
  /** RFC 3339 with milliseconds. */
  readonly created_at: string
  readonly stream: boolean
  readonly policy_revision: string
  /** Estimated. */
  readonly prompt_tokens: number
  /** Expected maximum cost of the call, 10⁻⁹ USD; absent when no limit of money applies. */
  readonly most_cost?: number
  /** The same in tokens; absent when the call uses none. */
  readonly most_tokens?: number
  /** Hash of the run, and of the end user; absent for a call that names none. */
  readonly run?: string
  readonly user?: string
  /** Absent for a call that is scanned. */
  readonly unscanned?: UnscannedRequest
}

/** A request that is forwarded without a scan. */
export interface UnscannedRequest {
  readonly method: string
  /** Without its query. */
  readonly path: string
  readonly requestBytes: number
}

/** A recorded call that is not sealed yet. */
export type OpenIntent = InFlightSlot<Intent>

export interface IntentOptions {
  readonly clock?: Clock
  /** Replaces MAXIMUM_FILE_BYTES. */
  readonly maxBytes?: number
  /** A write failed, so no call can be recorded. Called once, until `onAvailable`. */
  readonly onUnavailable?: (cause: unknown) => void
  /** A write succeeded again. */
  readonly onAvailable?: () => void
}

interface PendingIntent {
  readonly intent: Intent
  resolve(open: OpenIntent): void
  reject(error: unknown): void
}

export class Intents {
  readonly #path: string
  readonly #maxBytes: number
  readonly #clock: Clock
  readonly #onUnavailable: (cause: unknown) => void
  readonly #onAvailable: () => void
  /** Calls that an earlier process left unsealed. */
  readonly unfinished: readonly OpenIntent[]
  /** Calls that are not sealed. */
  readonly #open = new InFlight<Intent>()
  /** Begun in this turn of the event loop; at most as many as may be in flight. */
  #pending: PendingIntent[] = []
  /**
   * Lines for calls sealed since the last write. If they are lost, the next process finds those
   * calls in the log.
   */
  #sealed = ''
  #file: number
  #bytes: number
  #limit: number
  /** Whether the file ends within a line. */
  #torn: boolean
  /** Time of the last failed write; null while writes succeed. */
  #failedAtMs: Milliseconds | null = null

  /** @throws the system's error when the file cannot be read or written */
  constructor(folder: string, options: IntentOptions = {}) {
    const { clock = systemClock, maxBytes = MAXIMUM_FILE_BYTES, onUnavailable, onAvailable } = options
    this.#path = join(folder, INTENTS_FILE)
    this.#maxBytes = this.#limit = maxBytes
    this.#clock = clock
    this.#onUnavailable = onUnavailable ?? (() => {})
    this.#onAvailable = onAvailable ?? (() => {})
    const text = readText(this.#path)
    this.unfinished = readIntents(text).map((intent) => this.#open.add(intent))
    this.#bytes = Buffer.byteLength(text)
    this.#torn = text !== '' && !text.endsWith('\n')
    this.#file = openSync(this.#path, 'a', FILE_MODE)
  }

  /** Number of running calls, and of earlier ones that are not sealed yet. */
  get open(): number {
    return this.#open.size
  }

  /**
   * Reports whether a call can be recorded. After a failure, probes the disk at most every
   * RETRY_MS.
   */
  isWritable(): boolean {
    if (this.#failedAtMs === null) return true
    if (this.#clock.monotonic() - this.#failedAtMs < RETRY_MS) return false
    try {
      this.#write(PROBE_LINE)
      return true
    } catch {
      return false
    }
  }

  /**
   * Records a call; await it before forwarding. Resolves at the end of this turn, when the call is
   * written.
   * @throws GatewayError `audit_unavailable` (rejects) when it could not be written; the call must
   * not be forwarded then
   */
  begin(intent: Intent): Promise<OpenIntent> {
    if (this.#pending.length === 0) setImmediate(() => this.#flush())
    const { promise, resolve, reject } = Promise.withResolvers<OpenIntent>()
    this.#pending.push({ intent, resolve, reject })
    return promise
  }

  /**
   * Marks a call as sealed, once its entry is durable. Call it exactly once for each recorded call.
   */
  sealed(open: OpenIntent): void {
    this.#open.remove(open)
    this.#sealed += `${SEALED}${open.item.id}\n`
  }

  /**
   * Leaves an empty file if no call is open.
   * @throws the system's error
   */
  close(): void {
    try {
      this.#rewrite()
    } finally {
      closeSync(this.#file)
    }
  }

  #flush(): void {
    const pending = this.#pending
    this.#pending = []
    try {
      this.#write(linesOf(pending.map(({ intent }) => intent)))
    } catch (error) {
      for (const { reject } of pending) reject(unavailable('The call cannot be recorded.', error))
      return
    }
    for (const { intent, resolve } of pending) resolve(this.#open.add(intent))
  }

  /**
   * Writes the pending sealed marks, then `lines`.
   * @throws the system's error
   */
  #write(lines: string): void {
    const failed = this.#failedAtMs !== null
    try {
      if (this.#bytes >= this.#limit) this.#rewrite()
      this.#append(this.#sealed + lines)
    } catch (error) {
      this.#failedAtMs = this.#clock.monotonic()
      if (!failed) this.#onUnavailable(error)
      throw error
    }
    this.#sealed = ''
    this.#failedAtMs = null
    if (failed) this.#onAvailable()
  }

  #append(text: string): void {
    const bytes = Buffer.from(this.#torn ? `\n${text}` : text)
    this.#torn = true
    // After a partial write, the next one reports the reason.
    for (let at = 0; at < bytes.length; ) {
      const written = writeSync(this.#file, bytes, at)
      this.#bytes += written
      at += written
    }
    this.#torn = false
  }

  /** Replaces the file atomically. */
  #rewrite(): void {
    const next = `${this.#path}.new`
    const file = openSync(next, 'w', FILE_MODE)
    const bytes = Buffer.from(linesOf(this.#open.items()))
    try {
      writeFileSync(file, bytes)
      renameSync(next, this.#path)
    } catch (error) {
      closeSync(file)
      throw error
    }
    closeSync(this.#file)
    this.#file = file
    this.#bytes = bytes.length
    this.#limit = Math.max(this.#maxBytes, bytes.length * GROWTH)
    this.#sealed = ''
    this.#torn = false
  }
}

const linesOf = (intents: readonly Intent[]): string =>
  intents.reduce((lines, intent) => `${lines}${JSON.stringify(intent)}\n`, '')

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/** Returns the intents without a sealed mark, in order. A torn line was never acted upon. */
function readIntents(text: string): Intent[] {
  const open = new Map<string, Intent>()
  for (const line of text.split('\n')) {
    if (line.startsWith(SEALED)) open.delete(line.slice(SEALED.length))
    const intent = readIntent(line)
    if (intent !== null) open.set(intent.id, intent)
  }
  return [...open.values()]
}

function readIntent(line: string): Intent | null {
  let value: Partial<Record<keyof Intent, unknown>> | null
  try {
    value = JSON.parse(line)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { id, key_id, key_name, model, created_at, stream, policy_revision, prompt_tokens } = value
  const { models = [model] } = value
  const named = Array.isArray(models) && models.length > 0 && models.every((one) => typeof one === 'string')
  const { api = '' } = value
  const texts = [id, key_id, key_name, model, policy_revision, api].every((text) => typeof text === 'string')
  const timed = typeof created_at === 'string' && !Number.isNaN(Date.parse(created_at))
  const counted = Number.isSafeInteger(prompt_tokens) && Number(prompt_tokens) >= 0
  return texts && named && timed && counted && typeof stream === 'boolean' ? (value as Intent) : null
}
