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

/** A row to write; without a value, a row to remove. */
export interface RowChange {
  /** Index of the sub-database. */
  readonly table: number
  readonly key: Buffer
  readonly value: Buffer | null
}

export interface Frame {
  /** Counts the frames of a store from 1. */
  readonly number: number
  readonly body: Buffer
  /** Bytes of the whole frame. */
  readonly bytes: number
}

/** Returns an unsealed frame with the rows. */
export function encodeRows(rows: readonly RowChange[]): Buffer {
  let bytes = FRAME_HEADER_BYTES
  for (const { key, value } of rows) bytes += ROW_HEADER_BYTES + key.length + (value?.length ?? 0)
  const frame = Buffer.allocUnsafeSlow(bytes)
  let at = FRAME_HEADER_BYTES
  for (const { table, key, value } of rows) {
    frame[at] = table
    frame.writeUInt16BE(key.length, at + KEY_LENGTH_AT)
    frame.writeUInt32BE(value?.length ?? REMOVED, at + VALUE_LENGTH_AT)
    at += ROW_HEADER_BYTES
    frame.set(key, at)
    at += key.length
    if (value === null) continue
    frame.set(value, at)
    at += value.length
  }
  return frame
}

/**
 * Checks an unsealed frame from another process.
 * @param tables number of sub-databases
 * @throws RangeError
 */
export function requireRows(frame: Buffer, tables: number): void {
  if (frame.length < FRAME_HEADER_BYTES) throw new RangeError('a frame of the journal is cut')
  eachRow(frame.subarray(FRAME_HEADER_BYTES), (table, key) => {
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
export function sealFrame(frame: Buffer, number: number): Frame {
  const body = frame.subarray(FRAME_HEADER_BYTES)
  frame.set(MAGIC)
  frame.writeUInt32BE(body.length, LENGTH_AT)
  frame.set(u64(number), NUMBER_AT)
  frame.writeUInt32BE(checksumOf(frame), CHECKSUM_AT)
  return { number, body, bytes: frame.length }
}

/** Returns the size of the frame that a header announces; null if it is no header. */
export function frameBytes(header: Buffer): number | null {
  const isHeader = header.length >= FRAME_HEADER_BYTES && header.subarray(0, LENGTH_AT).equals(MAGIC)
  return isHeader ? FRAME_HEADER_BYTES + header.readUInt32BE(LENGTH_AT) : null
}

/** Returns the frame at the beginning of the bytes; null if it is cut, damaged or no frame. */
export function openFrame(bytes: Buffer): Frame | null {
  const length = frameBytes(bytes)
  if (length === null || bytes.length < length) return null
  const frame = bytes.subarray(0, length)
  if (frame.readUInt32BE(CHECKSUM_AT) !== checksumOf(frame)) return null
  return { number: readU64(frame, NUMBER_AT), body: frame.subarray(FRAME_HEADER_BYTES), bytes: length }
}

const checksumOf = (frame: Buffer): number =>
  crc32(frame.subarray(FRAME_HEADER_BYTES), crc32(frame.subarray(0, CHECKSUM_AT)))

/** Returns the position of the next possible frame, or -1. */
export const findMagic = (bytes: Buffer, from: number): number => bytes.indexOf(MAGIC, from)

/**
 * Passes each row of a body; key and value share its memory.
 * @throws RangeError for a body that is not a list of rows
 */
export function eachRow(
  body: Buffer,
  take: (table: number, key: Buffer, value: Buffer | null) => void,
): void {
  for (let at = 0; at < body.length; ) {
    const keyAt = at + ROW_HEADER_BYTES
    if (keyAt > body.length) throw new RangeError('a row of the journal is cut')
    const valueAt = keyAt + body.readUInt16BE(at + KEY_LENGTH_AT)
    const valueBytes = body.readUInt32BE(at + VALUE_LENGTH_AT)
    const end = valueBytes === REMOVED ? valueAt : valueAt + valueBytes
    if (end > body.length) throw new RangeError('a row of the journal is cut')
    const value = valueBytes === REMOVED ? null : body.subarray(valueAt, end)
    take(body[at] as number, body.subarray(keyAt, valueAt), value)
    at = end
  }
}
