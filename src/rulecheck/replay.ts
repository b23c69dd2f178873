// Reads recorded exchanges from JSON Lines. A line is a chat request body, or an object with
// `request` and optional `api`, `key_name` and `response`, or a line of an export of the usage log.
// Problems name lines, never texts.

import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { type DumpedExchange, readLine } from '../audit/dump.ts'
import { LineSplitter, LongLineError } from '../audit/lines.ts'
import { parseObject } from '../audit/survey.ts'
import { apiNamed } from '../chat/apis.ts'
import { parseJson } from '../chat/strict-json.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { KeyLabels } from '../core/key-terms.ts'
import type { Problem } from '../core/problem.ts'
import type { MatchedKey } from '../policy/compile.ts'
import type { RecordedExchange } from './difference.ts'

const SPACE = 0x20
const CHUNK_BYTES = 1024 ** 2
/** Deepest nesting of a captured exchange: more than any has, and safe to walk recursively. */
const MAXIMUM_DEPTH = 256
/** Ids of calls are UUIDs. An export may have been edited, and the id is printed. */
const CALL_ID = /^[\w-]{1,64}$/

export interface Recording {
  readonly exchanges: readonly RecordedExchange[]
  readonly problems: readonly Problem[]
  /** Number of calls in an export that holds no exchange of them; they are skipped. */
  readonly withoutExchange: number
}

interface RecordingLimits {
  /** Longest line, bytes. */
  readonly lineBytes: number
  /** Maximum bytes of request lines held in memory. */
  readonly heldBytes: number
}

/** Longer than any line of an export, and short enough for one string. */
const LIMITS: RecordingLimits = { lineBytes: 400 * 1024 ** 2, heldBytes: 512 * 1024 ** 2 }

/** The content of an exchange. */
type ExchangeContent = Omit<RecordedExchange, 'where'>

/** The call of an entry in an export. */
interface SealedCall {
  readonly api: string
  readonly seq: number
  readonly id: string
  readonly key: MatchedKey
}

/** Reads a file of recorded requests. @throws the file system's error */
export async function readRecording(path: string, limits = LIMITS): Promise<Recording> {
  const recorder = new Recorder(path, limits)
  const lines = new LineSplitter(() => limits.lineBytes)
  const stream = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      for (const line of lines.push(chunk)) recorder.take(line)
      if (recorder.full) break
    }
    const rest = recorder.full ? null : lines.end()
    if (rest !== null) recorder.take(rest)
  } catch (error) {
    if (!(error instanceof LongLineError)) throw error
    recorder.overlong()
  }
  return recorder.finish()
}

/** Collects the exchanges of one file, line by line. */
class Recorder {
  /** The memory limit is reached; no more lines are taken. */
  full = false
  readonly #path: string
  readonly #limits: RecordingLimits
  readonly #exchanges: RecordedExchange[] = []
  readonly #problems: Problem[] = []
  #line = 0
  #heldBytes = 0
  /** The call of the newest entry, until its exchange comes: on the next line or not at all. */
  #call: SealedCall | null = null
  #withoutExchange = 0

  constructor(path: string, limits: RecordingLimits) {
    this.#path = path
    this.#limits = limits
  }

  take(bytes: Buffer): void {
    this.#line++
    if (this.full || isBlank(bytes)) return
    const line = readLine(bytes)
    const entry = typeof line === 'string' || !('entry' in line) ? null : readEntry(line.entry.bytes)
    if (entry !== null) this.#begin(callOf(entry))
    else if (typeof line !== 'string' && 'exchange' in line) this.#takeExchange(line.exchange)
    else if (typeof line === 'string' || !('checkpoint' in line)) {
      const recorded = readRequest(bytes)
      if (recorded === null) {
        this.#refuse('is neither a chat request body, nor an object with `request`, nor a line of an export')
      } else this.#add(recorded, '', bytes.length)
    }
  }

  /** Takes the next line, which is too long to be read. */
  overlong(): void {
    this.#line++
    this.#refuse(`is longer than ${this.#limits.lineBytes} bytes`)
  }

  finish(): Recording {
    this.#begin(null)
    return {
      exchanges: this.#exchanges,
      problems: this.#problems,
      withoutExchange: this.#withoutExchange,
    }
  }

  #begin(call: SealedCall | null): void {
    if (this.#call !== null) this.#withoutExchange++
    this.#call = call
  }

  #takeExchange({ seq, content }: DumpedExchange): void {
    const call = this.#call
    if (call?.seq !== seq) {
      this.#refuse(
        'is an exchange that does not follow its entry; run sidegate audit verify --export to see why',
      )
      return
    }
    this.#call = null
    const recorded = readCaptured(content, call)
    if (recorded === null) this.#refuse('is not a captured exchange')
    else this.#add(recorded, CALL_ID.test(call.id) ? ` ${call.id}` : '', content.length)
  }

  #add(recorded: ExchangeContent, name: string, bytes: number): void {
    this.#heldBytes += bytes
    this.full = this.#heldBytes > this.#limits.heldBytes
    if (this.full)
      this.#refuse(
        `and the lines before it hold more than ${this.#limits.heldBytes} bytes of requests; split the file`,
      )
    else this.#exchanges.push({ ...recorded, where: `${this.#path}:${this.#line}${name}` })
  }

  #refuse(message: string): void {
    this.#problems.push({ file: this.#path, line: this.#line, column: 1, path: '', message })
  }
}

/** White space and control characters only. */
const isBlank = (line: Buffer): boolean => line.every((byte) => byte <= SPACE)

/** Null for a line that only looks like an entry. */
function readEntry(bytes: Uint8Array): JsonObject | null {
  const entry = parseObject(bytes)
  return Number.isSafeInteger(entry?.['seq']) && typeof entry?.['type'] === 'string' ? entry : null
}

/** Null for an entry of another type. */
function callOf(entry: JsonObject): SealedCall | null {
  if (entry['type'] !== 'request') return null
  const api = apiOf(entry['api'])
  const { seq, id, key_name: name, labels } = entry
  const key = { name: String(name), labels: isObject(labels) ? (labels as KeyLabels) : {} }
  return api === null ? null : { api, seq: seq as number, id: String(id), key }
}

/** The request as forwarded, and the answer if a whole completion was captured. */
function readCaptured(content: Uint8Array, { api, key }: SealedCall): ExchangeContent | null {
  if (!isUtf8(content)) return null
  const captured = parseObject(content)
  if (captured === null || !isShallow(captured, MAXIMUM_DEPTH)) return null
  // Parsed as strictly as the gateway parses requests. Answers of upstreams need not pass that.
  const written = writeJson(captured['request'] ?? null)
  const request = written === null ? null : readJson(written)
  return isObject(request) ? { api, request, key, answer: answerOf(api, captured['response']) } : null
}

const isShallow = (value: JsonValue, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1)))

function readRequest(bytes: Buffer): ExchangeContent | null {
  const value = readJson(bytes)
  if (!isObject(value)) return null
  const request = value['request'] ?? value
  const name = value['key_name'] ?? 'replay'
  const api = apiOf(value['api'])
  if (api === null || !isObject(request) || typeof name !== 'string') return null
  if (api === 'chat' && !Array.isArray(request['messages'])) return null
  const key = { name, labels: {} }
  return { api, request: withoutKeyName(request), key, answer: answerOf(api, value['response']) }
}

/** Null when the text would be longer than a string can be, because numbers grow when written. */
function writeJson(value: JsonValue): Buffer | null {
  try {
    return Buffer.from(JSON.stringify(value))
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Null for a body that the gateway refuses; no request is null. */
function readJson(bytes: Buffer): JsonValue {
  try {
    return parseJson(bytes)
  } catch (error) {
    if (error instanceof GatewayError) return null
    throw error
  }
}

const withoutKeyName = ({ key_name: _keyName, api: _api, ...request }: JsonObject): JsonObject => request

/** The name of an API with bodies; chat without one, and null for any other text. */
function apiOf(name: unknown = 'chat'): string | null {
  return apiNamed(name)?.name ?? null
}

function answerOf(name: string, response: unknown): JsonObject | null {
  const format = apiNamed(name)!.answer
  return isObject(response) && format.isAnswer(response) ? response : null
}
