// Recorded chat requests to try rules on: JSON Lines, each a chat request body, or an object with `request`, and
// `key_name` and `response` if it is known; or an export of the usage log with its exchanges. Texts stay here;
// problems name lines only.

import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { type DumpedExchange, readLine } from '../audit/dump.ts'
import { LineSplitter, LongLineError } from '../audit/lines.ts'
import { parseObject } from '../audit/survey.ts'
import { parseJson } from '../chat/strict-json.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { Problem } from '../core/problem.ts'
import type { Exchange } from './difference.ts'

const SPACE = 0x20
const CHUNK_BYTES = 1024 ** 2
/** Containers in one another of a captured exchange: more than any has, few enough to walk through. */
const MAX_DEPTH = 256
/** Ids of calls are UUIDs; a log that somebody wrote may have anything there, and it is printed. */
const CALL_ID = /^[\w-]{1,64}$/

export interface Recording {
  readonly exchanges: readonly Exchange[]
  readonly problems: readonly Problem[]
  /** Calls of an export without their exchange in it: passed over. */
  readonly withoutExchange: number
}

interface RecordingLimits {
  /** Longest line that is read. */
  readonly lineBytes: number
  /** Requests of one file that are held in memory, as bytes of their lines. */
  readonly heldBytes: number
}

/** A line may be longer than any of an export, and is short enough to be one string. */
const LIMITS: RecordingLimits = { lineBytes: 400 * 1024 ** 2, heldBytes: 512 * 1024 ** 2 }

/** What of an exchange is in a line. */
type Recorded = Pick<Exchange, 'request' | 'keyName' | 'answer'>

/** The call that an entry of an export is of. */
interface SealedCall {
  readonly seq: number
  readonly id: string
  readonly keyName: string
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

/** Makes a recording of the lines of one file. */
class Recorder {
  /** Nothing more is taken. */
  full = false
  readonly #path: string
  readonly #limits: RecordingLimits
  readonly #exchanges: Exchange[] = []
  readonly #problems: Problem[] = []
  #line = 0
  #heldBytes = 0
  /** The newest entry's, until its exchange comes: right behind it or not at all. */
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
        this.#refuse('is neither a chat request body nor an object with `request`, and no line of an export')
      } else this.#add(recorded, '', bytes.length)
    }
  }

  /** The next line is too long to be read. */
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
      this.#refuse('is an exchange that does not follow its entry; sidegate audit verify --export tells more')
      return
    }
    this.#call = null
    const recorded = readCaptured(content, call.keyName)
    if (recorded === null) this.#refuse('is not an exchange as it is captured')
    else this.#add(recorded, CALL_ID.test(call.id) ? ` ${call.id}` : '', content.length)
  }

  #add(recorded: Recorded, name: string, bytes: number): void {
    this.#heldBytes += bytes
    this.full = this.#heldBytes > this.#limits.heldBytes
    if (this.full)
      this.#refuse(
        `and those before it hold more than ${this.#limits.heldBytes} bytes of requests; split the file`,
      )
    else this.#exchanges.push({ ...recorded, where: `${this.#path}:${this.#line}${name}` })
  }

  #refuse(message: string): void {
    this.#problems.push({ file: this.#path, line: this.#line, column: 1, path: '', message })
  }
}

/** Up to a space, also a carriage return. */
const isBlank = (line: Buffer): boolean => line.every((byte) => byte <= SPACE)

/** The entry, unless the line only looks like one. */
function readEntry(bytes: Uint8Array): JsonObject | null {
  const entry = parseObject(bytes)
  return Number.isSafeInteger(entry?.['seq']) && typeof entry?.['type'] === 'string' ? entry : null
}

/** Null for an entry of another type. */
function callOf(entry: JsonObject): SealedCall | null {
  if (entry['type'] !== 'request') return null
  return { seq: entry['seq'] as number, id: String(entry['id']), keyName: String(entry['key_name']) }
}

/** The request as it was forwarded, and the answer if one in the form of a whole completion was captured. */
function readCaptured(content: Uint8Array, keyName: string): Recorded | null {
  if (!isUtf8(content)) return null
  const captured = parseObject(content)
  if (captured === null || !isShallow(captured, MAX_DEPTH)) return null
  // The gateway parsed it as strictly; of what an upstream answered it does not ask that much.
  const written = writeJson(captured['request'] ?? null)
  const request = written === null ? null : readJson(written)
  return isObject(request) ? { request, keyName, answer: answerOf(captured['response']) } : null
}

const isShallow = (value: JsonValue, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1)))

function readRequest(bytes: Buffer): Recorded | null {
  const value = readJson(bytes)
  if (!isObject(value)) return null
  const request = value['request'] ?? value
  const keyName = value['key_name'] ?? 'replay'
  if (!isObject(request) || !Array.isArray(request['messages']) || typeof keyName !== 'string') return null
  return { request: withoutKeyName(request), keyName, answer: answerOf(value['response']) }
}

/** Null for what would be longer than a string can be: numbers grow. */
function writeJson(value: JsonValue): Buffer | null {
  try {
    return Buffer.from(JSON.stringify(value))
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Null for what the gateway would not take as a body; no request is null. */
function readJson(bytes: Buffer): JsonValue {
  try {
    return parseJson(bytes)
  } catch (error) {
    if (error instanceof GatewayError) return null
    throw error
  }
}

const withoutKeyName = ({ key_name: _keyName, ...request }: JsonObject): JsonObject => request

const answerOf = (response: unknown): JsonObject | null =>
  isObject(response) && Array.isArray(response['choices']) ? response : null
