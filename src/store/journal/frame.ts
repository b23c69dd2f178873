// A frame of the journal: the rows that one batch of transactions changes. Magic u32 · bytes of the
// body u32 · number u64 · CRC-32 of header and body u32 · body. A row in the body: table u8 · bytes
// of the key u16 · bytes of the value u32 · key · value. Numbers are big-endian.

import { crc32 } from 'node:zlib'
import { readU64, u64 } from '../tables/layout.ts'

const MAGIC = Buffer.from('SGJF')
const LENGTH_AT = 4
const NUMBER_AT = 8
const CHECKSUM_AT = 16
export const FRAME_HEADER_BYTES = 20
const ROW_HEADER_BYTES = 7
const KEY_LENGTH_AT = 1
const VALUE_LENGTH_AT = 3
/** LMDB's limit with pages of 4 KiB. */
const MAXIMUM_KEY_BYTES = 1978
/** Length of the value in a row that is removed. */
const REMOVED = 0xffffffff
/** Values from this length on are not copied. */
const LONG_VALUE_BYTES = 64 * 1024

/** A row to write; without a value, a row to remove. */
export interface RowChange {
  /** Index of the sub-database. */
  readonly table: number
  readonly key: Buffer
  readonly value: Buffer | null
}

/** Consecutive bytes of rows. A long value is a part of its own. */
export type RowParts = readonly Buffer[]

export interface Frame {
  /** Counts the frames of a store from 1. */
  readonly number: number
  readonly body: RowParts
  /** Bytes of the whole frame. */
  readonly bytes: number
}

/** Returns an unsealed frame with the rows. Shares the memory of long values. */
export function encodeRows(rows: readonly RowChange[]): RowParts {
  const parts: Buffer[] = []
  let from = 0
  for (const [index, { value }] of rows.entries()) {
    if (!isLong(value)) continue
    parts.push(encodePart(rows.slice(from, index + 1), from === 0), value as Buffer)
    from = index + 1
  }
  if (from < rows.length || from === 0) parts.push(encodePart(rows.slice(from), from === 0))
  return parts
}

const isLong = (value: Buffer | null): boolean => (value?.length ?? 0) >= LONG_VALUE_BYTES

/** Encodes rows, but of one with a long value only its beginning. */
function encodePart(rows: readonly RowChange[], isFirst: boolean): Buffer {
  const start = isFirst ? FRAME_HEADER_BYTES : 0
  let bytes = start
  for (const { key, value } of rows)
    bytes += ROW_HEADER_BYTES + key.length + (isLong(value) ? 0 : (value?.length ?? 0))
  const part = Buffer.allocUnsafeSlow(bytes)
  let at = start
  for (const { table, key, value } of rows) {
    part[at] = table
    part.writeUInt16BE(key.length, at + KEY_LENGTH_AT)
    part.writeUInt32BE(value?.length ?? REMOVED, at + VALUE_LENGTH_AT)
    at += ROW_HEADER_BYTES
    part.set(key, at)
    at += key.length
    if (value === null || isLong(value)) continue
    part.set(value, at)
    at += value.length
  }
  return part
}

/**
 * Checks an unsealed frame from another process.
 * @param tables number of sub-databases
 * @throws RangeError
 */
export function requireRows(frame: Buffer, tables: number): void {
  if (frame.length < FRAME_HEADER_BYTES) throw new RangeError('a frame of the journal is cut')
  eachRow([frame.subarray(FRAME_HEADER_BYTES)], (table, key) => {
    if (table >= tables) throw new RangeError(`the journal has no table ${table}`)
    requireKey(key)
  })
}

/** @throws RangeError for a key that the database would refuse when the row is durable already */
export function requireKey({ length }: Buffer): void {
  if (length < 1 || length > MAXIMUM_KEY_BYTES)
    throw new RangeError(`a key has 1 to ${MAXIMUM_KEY_BYTES} bytes`)
}

/** Writes the header of an unsealed frame. */
export function sealFrame(parts: RowParts, number: number): Frame {
  const [first, ...rest] = parts as [Buffer, ...Buffer[]]
  const bytes = bytesOf(parts)
  first.set(MAGIC)
  first.writeUInt32BE(bytes - FRAME_HEADER_BYTES, LENGTH_AT)
  first.set(u64(number), NUMBER_AT)
  const body = [first.subarray(FRAME_HEADER_BYTES), ...rest]
  first.writeUInt32BE(checksumOf(first, body), CHECKSUM_AT)
  return { number, body, bytes }
}

export const bytesOf = (parts: RowParts): number => parts.reduce((sum, { length }) => sum + length, 0)

/** Returns the size of the frame that a header announces; null if it is no header. */
export function frameBytes(header: Buffer): number | null {
  const isHeader = header.length >= FRAME_HEADER_BYTES && header.subarray(0, LENGTH_AT).equals(MAGIC)
  return isHeader ? FRAME_HEADER_BYTES + header.readUInt32BE(LENGTH_AT) : null
}

/** Returns the frame at the beginning of the bytes; null if it is cut, damaged or no frame. */
export function openFrame(bytes: Buffer): Frame | null {
  const length = frameBytes(bytes)
  if (length === null || bytes.length < length) return null
  const body = [bytes.subarray(FRAME_HEADER_BYTES, length)]
  if (bytes.readUInt32BE(CHECKSUM_AT) !== checksumOf(bytes, body)) return null
  return { number: readU64(bytes, NUMBER_AT), body, bytes: length }
}

function checksumOf(header: Buffer, body: RowParts): number {
  let checksum = crc32(header.subarray(0, CHECKSUM_AT))
  for (const part of body) checksum = crc32(part, checksum)
  return checksum
}

/** Returns the position of the next possible frame, or -1. */
export const findMagic = (bytes: Buffer, from: number): number => bytes.indexOf(MAGIC, from)

/**
 * Passes each row of a body; key and value share its memory.
 * @throws RangeError for a body that is not a list of rows
 */
export function eachRow(
  body: RowParts,
  take: (table: number, key: Buffer, value: Buffer | null) => void,
): void {
  for (let index = 0; index < body.length; index++) {
    const part = body[index] as Buffer
    for (let at = 0; at < part.length; ) {
      const keyAt = at + ROW_HEADER_BYTES
      if (keyAt > part.length) throw new RangeError('a row of the journal is cut')
      const valueAt = keyAt + part.readUInt16BE(at + KEY_LENGTH_AT)
      const valueBytes = part.readUInt32BE(at + VALUE_LENGTH_AT)
      const end = valueBytes === REMOVED ? valueAt : valueAt + valueBytes
      const isApart = valueAt === part.length && body[index + 1]?.length === valueBytes
      if (end > part.length && !isApart) throw new RangeError('a row of the journal is cut')
      const inPart = valueBytes === REMOVED ? null : part.subarray(valueAt, end)
      const value = isApart ? (body[++index] as Buffer) : inPart
      take(part[at] as number, part.subarray(keyAt, valueAt), value)
      at = end
    }
  }
}
