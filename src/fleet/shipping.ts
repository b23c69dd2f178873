// How a sidecar sends the entries of its log to a hub: one JSON object a line, oldest first, and
// what the hub answers. Says nothing of whether the entries are right.

import { openNote } from '../audit/note.ts'
import { checkValue, formatPath } from '../core/document.ts'
import { isObject } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'
import { readSharedChanges, type SharedChange } from '../keys/stored-answer.ts'

/** Entries in one request. */
export const MAXIMUM_SHIPPED_ENTRIES = 200
/** Bytes of a request with more than one entry. */
export const MAXIMUM_SHIPPED_BYTES = 262_144
/**
 * Bytes of a request with one entry, whose exchange may be long. An exchange that makes it longer
 * stays at its sidecar.
 */
export const MAXIMUM_LONE_BYTES = 24 * 1024 * 1024

/** Path of a log at a hub, to which its entries are posted. */
export const logPath = (log: string): string => `/fleet/v1/logs/${log}`
/** Path to which the signed checkpoints of a log are posted, as text. */
export const checkpointPath = (log: string): string => `${logPath(log)}/checkpoint`
/** Types of the bodies. */
export const SHIPMENT_TYPE = 'application/x-ndjson'
export const NOTE_TYPE = 'text/plain; charset=utf-8'

/** The end user of a call. */
export interface ShippedUser {
  /** 16 bytes. */
  readonly hash: Buffer
  /** Null unless the sidecar keeps users in clear text. */
  readonly clear: string | null
}

/** The log before an entry that is not its first, for a hub that does not know the log. */
export interface ShippedBeginning {
  /** Hash of the entry before: `sha256:` and 64 hexadecimal digits. */
  readonly hash: string
  /** Edge of the tree of all entries before, base64. */
  readonly frontier: readonly string[]
}

/** An entry with what is stored apart from it. */
export interface ShippedEntry {
  /** The canonical form that was hashed. */
  readonly bytes: Buffer
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string
  /** Salt and exchange; null when none is stored or none is shipped. */
  readonly content: Buffer | null
  readonly user: ShippedUser | null
  /** Given with the first entry of a log whose beginning was pruned before it was shipped. */
  readonly before: ShippedBeginning | null
  /** What the call changed of stored answers; absent when it changed nothing. */
  readonly stored?: readonly SharedChange[]
}

/** The newest entry of a log that a hub has for good. */
export interface ShippedHead {
  readonly seq: number
  readonly hash: string
}

/** Reads the body of an answer; null for any other. */
export function readShipmentAnswer(status: number, body: string): ShipmentAnswer | null {
  let answer: unknown
  try {
    answer = JSON.parse(body)
  } catch {
    return null
  }
  if (!isObject(answer)) return null
  const { seq, hash, want, code } = answer
  if (status === 200) return isSeq(seq) && typeof hash === 'string' ? { seq, hash } : null
  if (status !== 409) return null
  if (code === 'fork') return isSeq(seq) ? { code, seq } : null
  return isSeq(want) ? { want } : null
}

const isSeq = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** Reports whether what a hub returned is the note that it was sent, with more signatures. */
export function isCosigned(sent: string, returned: string): boolean {
  const opened = openNote(returned, [])
  const signaturesAt = sent.lastIndexOf('\n\n') + 1
  if ('fault' in opened || opened.text !== sent.slice(0, signaturesAt)) return false
  const lines = returned.split('\n')
  return sent
    .slice(signaturesAt)
    .split('\n')
    .every((line) => lines.includes(line))
}

/** What a hub answers to entries. Any other status is a failure, and they are sent again. */
export type ShipmentAnswer =
  /** 200: durable up to here. */
  | ShippedHead
  /** 409: the next entry must be this one; 0 for a log that the hub does not know. */
  | { readonly want: number }
  /** 409: the hub has another entry there. */
  | { readonly code: 'fork'; readonly seq: number }

/** A request that does not have this form. */
export class ShipmentError extends Error {
  override readonly name = 'ShipmentError'
}

/** Prints entries as the body of a request. */
export const printShipment = (entries: readonly ShippedEntry[]): Buffer =>
  joinLines(entries.map(printShippedLine))

/** Returns the body of printed lines. */
export function joinLines(lines: readonly (string | Buffer)[]): Buffer {
  const body = Buffer.allocUnsafe(lines.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const line of lines)
    at += typeof line === 'string' ? body.write(line, at, 'latin1') : line.copy(body, at)
  return body
}

/** Bytes of an exchange that are encoded at a time: a multiple of three, so that none is padded. */
const ENCODED_BYTES = 49_152

/**
 * Prints a line of a body. As Latin-1 each byte of UTF-8 is a character, of which JSON escapes
 * those of ASCII only, so nothing is decoded. A long exchange is never a string as a whole.
 * @returns its bytes, or a string with a character for each
 */
export function printShippedLine(entry: ShippedEntry): string | Buffer {
  const { bytes, hash, content, user, before, stored } = entry
  const head = `{"entry":${JSON.stringify(bytes.toString('latin1'))},"hash":"${hash}","content":`
  const tail = `,"user":${user === null ? 'null' : printUser(user)}${printBefore(before)}${printStored(stored)}}\n`
  if (content === null) return `${head}null${tail}`
  if (content.length <= ENCODED_BYTES) return `${head}"${content.toString('base64')}"${tail}`
  return Buffer.concat([latin1(`${head}"`), base64Of(content), latin1(`"${tail}`)])
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

/** Returns JSON with a character for each byte of UTF-8. */
const jsonBytes = (value: object): string => Buffer.from(JSON.stringify(value)).toString('latin1')

const printUser = ({ hash, clear }: ShippedUser): string => jsonBytes({ hash: hash.toString('hex'), clear })

const printStored = (stored: ShippedEntry['stored']): string =>
  stored === undefined ? '' : `,"stored":${jsonBytes(stored)}`

const printBefore = (before: ShippedBeginning | null): string =>
  before === null ? '' : `,"before":${JSON.stringify({ hash: before.hash, frontier: before.frontier })}`

function base64Of(content: Buffer): Buffer {
  const base64 = Buffer.allocUnsafe(base64Bytes(content.length))
  for (let from = 0, at = 0; from < content.length; from += ENCODED_BYTES)
    at += base64.write(content.toString('base64', from, from + ENCODED_BYTES), at, 'latin1')
  return base64
}

/** Returns the length of an exchange in a line. */
export const base64Bytes = (bytes: number): number => 4 * Math.ceil(bytes / 3)

const HASH = { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' }
const BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'

/** JSON Schema of a line. Other members are ignored. */
const LINE_SCHEMA = {
  type: 'object',
  required: ['entry', 'hash', 'content', 'user'],
  properties: {
    entry: { type: 'string' },
    hash: HASH,
    content: { type: ['string', 'null'] },
    user: {
      type: ['object', 'null'],
      required: ['hash', 'clear'],
      properties: {
        hash: { type: 'string', pattern: '^[0-9a-f]{32}$' },
        clear: { type: ['string', 'null'], maxLength: 65_536 },
      },
    },
    before: {
      type: 'object',
      required: ['hash', 'frontier'],
      properties: {
        hash: HASH,
        frontier: { type: 'array', maxItems: 53, items: { type: 'string', pattern: BASE64, maxLength: 44 } },
      },
    },
  },
}

/** A line as JSON. */
interface ShippedLine {
  readonly entry: string
  readonly hash: string
  readonly content: string | null
  readonly user: { readonly hash: string; readonly clear: string | null } | null
  readonly before?: ShippedBeginning
  readonly stored?: unknown
}

/** Base64 characters of a step, four for each three bytes: about a millisecond. */
const STEP_CHARACTERS = 1024 * 1024
const CONTENT_MEMBER = Buffer.from(',"content":"')
const QUOTE = 0x22
const NO_CONTENT = Buffer.from(',"content":null')

/**
 * Reads a line of a body, which may hold a long exchange. Pauses after each part of it.
 * @throws as `readShippedLine`
 */
export function* readShippedLineSteps(line: Buffer): Steps<ShippedEntry> {
  if (line.length <= MAXIMUM_SHIPPED_BYTES) return readShippedLine(line)
  // Strings escape their quotes, so this is a member wherever it occurs.
  const member = line.indexOf(CONTENT_MEMBER)
  const start = member + CONTENT_MEMBER.length
  const end = member < 0 ? -1 : line.indexOf(QUOTE, start)
  if (end < 0) throw new ShipmentError('has an entry that is too long')
  const rest = Buffer.concat([line.subarray(0, member), NO_CONTENT, line.subarray(end + 1)])
  if (rest.length > MAXIMUM_SHIPPED_BYTES * 2) throw new ShipmentError('has an entry that is too long')
  const entry = readShippedLine(rest)
  return { ...entry, content: yield* longBytesOf(line.subarray(start, end)) }
}

function* longBytesOf(base64: Buffer): Steps<Buffer> {
  const parts: Buffer[] = []
  for (let from = 0; from < base64.length; from += STEP_CHARACTERS) {
    const to = Math.min(base64.length, from + STEP_CHARACTERS)
    const part = bytesOf(base64.toString('latin1', from, to))
    // Padding ends the text.
    if (to < base64.length && part.length !== (STEP_CHARACTERS / 4) * 3)
      throw new ShipmentError('content is not base64')
    parts.push(part)
    yield
  }
  return Buffer.concat(parts)
}

/** Reads a line of a body. @throws ShipmentError that says what is wrong, for people */
export function readShippedLine(line: Buffer): ShippedEntry {
  const value = parsed(line)
  const [problem] = checkValue(value, LINE_SCHEMA)
  if (problem !== undefined)
    throw new ShipmentError(`${formatPath(problem.path) || 'the line'} ${problem.message}`)
  const { entry, hash, content, user, before = null, ...rest } = value as ShippedLine
  const stored = readSharedChanges(rest.stored)
  return {
    bytes: Buffer.from(entry),
    hash,
    content: content === null ? null : bytesOf(content),
    user: user === null ? null : { hash: Buffer.from(user.hash, 'hex'), clear: user.clear },
    before,
    ...(stored.length > 0 && { stored }),
  }
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'))
  } catch {
    throw new ShipmentError('is not JSON')
  }
}

/** The decoder skips what is not base64, which would hide a change. */
function bytesOf(base64: string): Buffer {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') === base64) return bytes
  throw new ShipmentError('content is not base64')
}
