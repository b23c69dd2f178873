// Calls under way, written down before they are forwarded: what a process that is killed leaves behind to be sealed
// by the next one. One write for the calls of one turn of the event loop, and no wait for the disk: the system keeps what was written when a process dies.
// A machine that loses its power may lose the newest. Knows nothing of entries.

import { closeSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, type Milliseconds, systemClock } from '../../core/clock.ts'
import { InFlight, type InFlightSlot } from '../../core/inflight.ts'
import { unavailable } from '../log/appender.ts'

/** StoredState the database, in the data folder. */
export const INTENTS_FILE = 'intents'
/** From this size on the file is written anew with nothing but the calls that still run. */
const MAX_FILE_BYTES = 4 * 1024 ** 2
/** Those may take much room themselves; then it is written anew when it has doubled. */
const GROWTH = 2
const FILE_MODE = 0o600
/** Begins the line that says of a call that it is sealed. */
const SEALED = '-'
/** After a failure it is tried again this often at most. */
const RETRY_MS: Milliseconds = 1000
/** What is written then, a line that says nothing: as long as some calls take, so that what is free is worth going on for. */
const PROBE_LINE = `${' '.repeat(4095)}\n`

/** A call as far as it is known before it is forwarded. */
export interface Intent {
  readonly id: string
  readonly key_id: string
  readonly key_name: string
  readonly model: string
  /** All that it may end up at, where these are more than `model`. */
  readonly models?: readonly string[]
  /** RFC 3339 with milliseconds. */
  readonly created_at: string
  readonly stream: boolean
  readonly policy_revision: string
  /** Estimated. */
  readonly prompt_tokens: number
}

/** A call that is written down as under way; kept until it is sealed. */
export type OpenIntent = InFlightSlot<Intent>

export interface IntentOptions {
  readonly clock?: Clock
  /** In place of MAX_FILE_BYTES. */
  readonly maxBytes?: number
  /** A write failed: no call can be written down. Called once, until `onAvailable`. */
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
  /** What an earlier process left behind. */
  readonly unfinished: readonly OpenIntent[]
  /** Calls that are not sealed. */
  readonly #open = new InFlight<Intent>()
  /** Begun in this turn of the event loop: as many as may be in flight at most. */
  #pending: PendingIntent[] = []
  /** Sealed since the last write; said by the next one, or found in the log by the next process. */
  #sealed = ''
  #file: number
  #bytes: number
  #limit: number
  /** Whether the file ends within a line. */
  #torn: boolean
  /** When writing failed last; null while it succeeds. */
  #failedAtMs: Milliseconds | null = null

  /** @throws the system's error when the file cannot be read or written */
  constructor(folder: string, options: IntentOptions = {}) {
    const { clock = systemClock, maxBytes = MAX_FILE_BYTES, onUnavailable, onAvailable } = options
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

  /** Calls that are under way, and those of earlier processes that are not sealed yet. */
  get open(): number {
    return this.#open.size
  }

  /** Whether a call can be written down: after a failure this is tried, now and then. */
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
   * To be waited for before a call is forwarded: resolves when it is written down, at the end of this turn.
   * @throws GatewayError `audit_unavailable` (rejects) when it could not be: then it must not be forwarded
   */
  begin(intent: Intent): Promise<OpenIntent> {
    if (this.#pending.length === 0) setImmediate(() => this.#flush())
    const { promise, resolve, reject } = Promise.withResolvers<OpenIntent>()
    this.#pending.push({ intent, resolve, reject })
    return promise
  }

  /** The call's entry is durable; once for each that was begun. */
  sealed(open: OpenIntent): void {
    this.#open.remove(open)
    this.#sealed += `${SEALED}${open.item.id}\n`
  }

  /** With nothing open an empty file is left. @throws the system's error */
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
      for (const { reject } of pending) reject(unavailable('The call cannot be written down.', error))
      return
    }
    for (const { intent, resolve } of pending) resolve(this.#open.add(intent))
  }

  /** Lines, and before them which calls were sealed meanwhile. @throws the system's error */
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
    // Where a part was written, the next write says why it was no more.
    for (let at = 0; at < bytes.length; ) {
      const written = writeSync(this.#file, bytes, at)
      this.#bytes += written
      at += written
    }
    this.#torn = false
  }

  /** Replaces the file in one step: at any moment there is the old one or the new one. */
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

/** Those without a word that they were sealed, in their order. A line that is torn was never acted upon. */
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
  const texts = [id, key_id, key_name, model, policy_revision].every((text) => typeof text === 'string')
  const timed = typeof created_at === 'string' && !Number.isNaN(Date.parse(created_at))
  const counted = Number.isSafeInteger(prompt_tokens) && Number(prompt_tokens) >= 0
  return texts && named && timed && counted && typeof stream === 'boolean' ? (value as Intent) : null
}
