// The byte layout of keys and values. Numbers are big-endian, so byte order is numeric order.
// Values that may gain fields are JSON; values scanned by the thousand are packed.

import type { Head } from '../../audit/chain.ts'
import { OUTCOMES, type Outcome } from '../../audit/entry-fields.ts'
import { SECURITY_EVENT_TYPES, type SecurityEventType } from '../../audit/security.ts'
import type { UsageFilter } from '../../audit/usage-query.ts'
import type { StoredRecord } from '../../audit/verify.ts'
import type { Milliseconds } from '../../core/clock.ts'

const HASH_PREFIX = 'sha256:'
const HASH_BYTES = 32
const U64_BYTES = 8
const MS_PER_DAY: Milliseconds = 86_400_000

/** Bytes of each 32-bit half; a big integer would cost more than the rest of a key. */
const U32_BYTES = 4
const U32_VALUES = 2 ** 32

export function u64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(U64_BYTES)
  writeU64(bytes, value, 0)
  return bytes
}

export function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(U32_BYTES)
  bytes.writeUInt32BE(value)
  return bytes
}

function writeU64(bytes: Buffer, value: number, offset: number): void {
  bytes.writeUInt32BE(Math.floor(value / U32_VALUES), offset)
  bytes.writeUInt32BE(value % U32_VALUES, offset + U32_BYTES)
}

export function readU64(bytes: Buffer, offset = 0): number {
  return bytes.readUInt32BE(offset) * U32_VALUES + bytes.readUInt32BE(offset + U32_BYTES)
}

/** Joins the parts of a key. */
export function joinKey(...parts: readonly Buffer[]): Buffer {
  return Buffer.concat(parts)
}

/**
 * @throws Error when the row is damaged; its message omits the bytes, which may be what people
 * wrote
 */
export function readJson<Value>(bytes: Buffer): Value {
  try {
    return JSON.parse(bytes.toString('utf8')) as Value
  } catch {
    throw new Error('a row of the store is not JSON')
  }
}

export function writeJson(value: object): Buffer {
  return Buffer.from(JSON.stringify(value), 'utf8')
}

/** The head of the log, the edge of its tree and the counts of its indexes. */
export interface LogState extends Head {
  /** The Merkle frontier over all entries, base64. */
  readonly frontier: readonly string[]
  /** Ordinals of the oldest stored usage entry and of the next one. */
  readonly firstRequest: number
  readonly nextRequest: number
}

/** The hash as 32 bytes, then the canonical bytes. */
export function packEntry(hash: string, bytes: Buffer): Buffer {
  const packed = Buffer.allocUnsafe(HASH_BYTES + bytes.length)
  packed.write(hash.slice(HASH_PREFIX.length), 'hex')
  packed.set(bytes, HASH_BYTES)
  return packed
}

export function unpackEntry(seq: number, packed: Buffer): StoredRecord {
  return {
    seq,
    hash: `${HASH_PREFIX}${packed.toString('hex', 0, HASH_BYTES)}`,
    bytes: packed.subarray(HASH_BYTES),
  }
}

/** The fields that usage lists can filter on without reading entries. */
export interface RequestSummary {
  readonly seq: number
  readonly createdAtMs: Milliseconds
  readonly blocked: boolean
  readonly piiDetected: boolean
  readonly outcome: Outcome
  readonly keyId: string
  readonly model: string
}

const FLAGS_AT = 2 * U64_BYTES
const KEY_LENGTH_AT = FLAGS_AT + 1
const TEXT_AT = KEY_LENGTH_AT + 2
const BLOCKED = 1
const PII_DETECTED = 2
/** Four bits of the flags: the position of the outcome, from 1; 0 in rows of older releases. */
const OUTCOME_SHIFT = 2
const OUTCOME_MASK = 0b1111

/** seq u64 · created_at u64 · flags u8 · length of the key's id u16 · the key's id · the model. */
export function packSummary(summary: RequestSummary): Buffer {
  const keyIdBytes = Buffer.byteLength(summary.keyId)
  const bytes = Buffer.allocUnsafe(TEXT_AT + keyIdBytes + Buffer.byteLength(summary.model))
  writeU64(bytes, summary.seq, 0)
  writeU64(bytes, summary.createdAtMs, U64_BYTES)
  bytes[FLAGS_AT] =
    (summary.blocked ? BLOCKED : 0) |
    (summary.piiDetected ? PII_DETECTED : 0) |
    ((OUTCOMES.indexOf(summary.outcome) + 1) << OUTCOME_SHIFT)
  bytes.writeUInt16BE(keyIdBytes, KEY_LENGTH_AT)
  bytes.write(summary.keyId, TEXT_AT)
  bytes.write(summary.model, TEXT_AT + keyIdBytes)
  return bytes
}

export const summarySeq = (bytes: Buffer): number => readU64(bytes)

/** Returns null for a row of a release that did not write the outcome. */
export const summaryOutcome = (bytes: Buffer): Outcome | null =>
  OUTCOMES[(((bytes[FLAGS_AT] as number) >> OUTCOME_SHIFT) & OUTCOME_MASK) - 1] ?? null

/**
 * Returns the filter as a test of packed summaries that decodes no text; null if it accepts
 * everything.
 */
export function summaryTest(filter: UsageFilter): ((bytes: Buffer) => boolean) | null {
  const tests: ((bytes: Buffer) => boolean)[] = []
  const { blocked, piiDetected, sinceMs, untilMs } = filter
  const flag = (expected: boolean, bit: number) =>
    tests.push((bytes) => ((bytes[FLAGS_AT] as number) & bit) === (expected ? bit : 0))
  if (blocked != null) flag(blocked, BLOCKED)
  if (piiDetected != null) flag(piiDetected, PII_DETECTED)
  if (sinceMs != null) tests.push((bytes) => readU64(bytes, U64_BYTES) >= sinceMs)
  if (untilMs != null) tests.push((bytes) => readU64(bytes, U64_BYTES) <= untilMs)
  if (filter.keyId != null) {
    const keyId = Buffer.from(filter.keyId)
    tests.push((bytes) => keyId.equals(bytes.subarray(TEXT_AT, TEXT_AT + bytes.readUInt16BE(KEY_LENGTH_AT))))
  }
  if (filter.model != null) {
    const model = Buffer.from(filter.model)
    tests.push((bytes) => model.equals(bytes.subarray(TEXT_AT + bytes.readUInt16BE(KEY_LENGTH_AT))))
  }
  return tests.length === 0 ? null : (bytes) => tests.every((test) => test(bytes))
}

/** Returns the UTC day of a point in time, counted from the epoch. */
export const dayOf = (timeMs: Milliseconds): number => Math.floor(timeMs / MS_PER_DAY)

export const startOfDay = (day: number): Milliseconds => day * MS_PER_DAY

/** The security events of one UTC day. */
export interface DayCounts {
  readonly counts: Readonly<Record<SecurityEventType, number>>
  /** Ordinal of the day's next event, removed events included. */
  readonly next: number
}

const NO_EVENTS = Object.fromEntries(SECURITY_EVENT_TYPES.map((type) => [type, 0])) as DayCounts['counts']

/** A type of event that an older release did not know is missing in its rows. */
export function readDay(bytes: Buffer | undefined): DayCounts {
  if (bytes === undefined) return { counts: NO_EVENTS, next: 0 }
  const { counts, next } = readJson<DayCounts>(bytes)
  return { counts: { ...NO_EVENTS, ...counts }, next }
}

export const securityKey = (day: number, ordinal: number): Buffer => joinKey(u64(day), u64(ordinal))

/** Location of a security event: its entry, and its index among the entry's events. */
export function packEventLocation(seq: number, index: number): Buffer {
  return joinKey(u64(seq), u64(index))
}

export function unpackEventLocation(bytes: Buffer): { readonly seq: number; readonly index: number } {
  return { seq: readU64(bytes), index: readU64(bytes, U64_BYTES) }
}
