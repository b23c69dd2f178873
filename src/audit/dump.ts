// The export format, JSON Lines: first the entries in order, each followed by its exchange if
// exchanges are exported, then the checkpoints. An entry's line is its canonical form with the hash
// as last member. An exchange's line ends in the captured bytes, so the hashed bytes are visible.

import { isUtf8 } from 'node:buffer'
import { isObject } from '../core/json.ts'
import { SALT_BYTES } from './content.ts'
import { MAXIMUM_NOTE_BYTES } from './note.ts'
import { MAXIMUM_ENTRY_BYTES, type StoredRecord } from './verify.ts'

const HASH_NAME = ',"hash":"'
const HASH_PREFIX = 'sha256:'
const HASH_LENGTH = HASH_PREFIX.length + 64
const HASH_END = '"}'
const HASH_MEMBER_BYTES = HASH_NAME.length + HASH_LENGTH + HASH_END.length
/** By byte: 1 for a lower-case hexadecimal digit. */
const IN_HASH = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number('0123456789abcdef'.includes(String.fromCharCode(byte))),
)
const CHECKPOINT_BEGINNING = '{"checkpoint":'
/** A note in a JSON string takes at most twice its length and a few bytes more. */
const MAXIMUM_CHECKPOINT_LINE_BYTES = 2 * MAXIMUM_NOTE_BYTES + 64
const CLOSING_BRACE = 0x7d
const LINE_FEED = 0x0a

const EXCHANGE_BEGINNING = '{"exchange":{"seq":'
/** The line up to the content. Sequence numbers are safe integers, at most 16 digits. */
const EXCHANGE_HEAD = /^\{"exchange":\{"seq":(0|[1-9]\d{0,15}),"salt":"([A-Za-z0-9+/]{43}=)","content":/
const EXCHANGE_TAIL = '}}'
/** Twice the longest head. */
const MAXIMUM_HEAD_BYTES = 256
/**
 * Longest captured exchange to export or read, bytes: 256 MiB for the largest request
 * (`limits.bodyBytes`), 64 MiB for the largest answer, and a margin for placeholders longer than
 * the values they replace.
 */
const MAXIMUM_CONTENT_BYTES = 384 * 1024 ** 2

/** Longest line of an entry or a checkpoint, bytes. */
export const MAXIMUM_LINE_BYTES = MAXIMUM_ENTRY_BYTES + HASH_MEMBER_BYTES
const MAXIMUM_EXCHANGE_LINE_BYTES = MAXIMUM_HEAD_BYTES + MAXIMUM_CONTENT_BYTES + EXCHANGE_TAIL.length

/** The hash and the hashed bytes. */
export type DumpedEntry = Omit<StoredRecord, 'seq'>

/** A captured exchange with its salt. */
export interface DumpedExchange {
  /** Sequence number of the entry that commits to it. */
  readonly seq: number
  readonly salt: Uint8Array
  /** The captured bytes, JSON on one line. */
  readonly content: Uint8Array
}

export type DumpLine =
  | { readonly entry: DumpedEntry }
  | { readonly exchange: DumpedExchange }
  | { readonly checkpoint: string }

/** Returns an entry's line, with its line feed. */
export function entryLine({ bytes, hash }: DumpedEntry): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  return `${text.slice(0, -1)},"hash":"${hash}"}\n`
}

/** Returns a signed checkpoint's line, with its line feed. */
export function checkpointLine(note: string): string {
  return `${JSON.stringify({ checkpoint: note })}\n`
}

/**
 * Returns an exchange's line with its line feed, in parts because the content can be large. Null if
 * the content is longer than MAXIMUM_CONTENT_BYTES or contains a line feed, which no capture does.
 */
export function exchangeLine({ seq, salt, content }: DumpedExchange): readonly Uint8Array[] | null {
  if (content.length > MAXIMUM_CONTENT_BYTES || content.includes(LINE_FEED)) return null
  const base64 = Buffer.from(salt).toString('base64')
  return [
    Buffer.from(`${EXCHANGE_BEGINNING}${seq},"salt":"${base64}","content":`),
    content,
    Buffer.from(`${EXCHANGE_TAIL}\n`),
  ]
}

/**
 * Returns the longest valid line with this beginning, bytes.
 * @param beginning the first 32 bytes or more
 */
export const maxLineBytes = (beginning: Buffer): number =>
  isExchange(beginning) ? MAXIMUM_EXCHANGE_LINE_BYTES : MAXIMUM_LINE_BYTES

const isExchange = (line: Buffer): boolean => beginsWith(line, EXCHANGE_BEGINNING)

function beginsWith(line: Buffer, beginning: string): boolean {
  for (let at = 0; at < beginning.length; at++) {
    if (line[at] !== beginning.charCodeAt(at)) return false
  }
  return true
}

/** Reads a line without its line feed. Accepts any bytes; a string names the fault. */
export function readLine(line: Buffer): DumpLine | string {
  if (line.length > maxLineBytes(line)) return 'the line is too long'
  if (isExchange(line)) return readExchangeLine(line)
  if (beginsWith(line, CHECKPOINT_BEGINNING)) return readCheckpointLine(line)
  const hash = hashOf(line)
  if (hash === null)
    return 'the line is neither an entry that ends in its hash, nor an exchange, nor a checkpoint'
  const end = line.length - HASH_MEMBER_BYTES
  const bytes = Buffer.allocUnsafe(end + 1)
  line.copy(bytes, 0, 0, end)
  bytes[end] = CLOSING_BRACE
  return { entry: { hash, bytes } }
}

/**
 * Returns the hash at the end of a line. A regular expression would take as long as hashing the
 * line.
 */
function hashOf(line: Buffer): string | null {
  const at = line.length - HASH_MEMBER_BYTES
  if (at < 0) return null
  const member = line.toString('latin1', at)
  if (!member.startsWith(HASH_NAME + HASH_PREFIX) || !member.endsWith(HASH_END)) return null
  const end = line.length - HASH_END.length
  for (let digit = at + HASH_NAME.length + HASH_PREFIX.length; digit < end; digit++) {
    if (IN_HASH[line[digit] as number] !== 1) return null
  }
  return member.slice(HASH_NAME.length, HASH_NAME.length + HASH_LENGTH)
}

/** Checks the head only; the hash covers the content. */
function readExchangeLine(line: Buffer): DumpLine | string {
  const fault = 'the exchange cannot be read'
  const [head, digits, base64] = EXCHANGE_HEAD.exec(line.toString('latin1', 0, MAXIMUM_HEAD_BYTES)) ?? []
  if (head === undefined || base64 === undefined) return fault
  const seq = Number(digits)
  const salt = Buffer.from(base64, 'base64')
  // The decoder ignores unused bits, which could hide a change.
  if (salt.toString('base64') !== base64 || salt.length !== SALT_BYTES) return fault
  const end = line.length - EXCHANGE_TAIL.length
  if (!Number.isSafeInteger(seq) || end < head.length || line.toString('latin1', end) !== EXCHANGE_TAIL)
    return fault
  return { exchange: { seq, salt, content: line.subarray(head.length, end) } }
}

function readCheckpointLine(line: Buffer): DumpLine | string {
  if (line.length > MAXIMUM_CHECKPOINT_LINE_BYTES || !isUtf8(line)) return 'the checkpoint cannot be read'
  try {
    const value: unknown = JSON.parse(line.toString('utf8'))
    if (isObject(value) && typeof value['checkpoint'] === 'string') return { checkpoint: value['checkpoint'] }
  } catch {
    // Falls through to the fault below.
  }
  return 'the checkpoint cannot be read'
}
