// A file of the journal: allocated and filled with zeros before its first use, then written from
// front to back, each write on disk when it returns. Magic u32 · ordinal u64 · number of its first
// frame u64 · CRC-32 u32 · frames.

import { closeSync, constants, openSync, readSync, rmSync, write, writev } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { syncToDisk } from '../files/sync.ts'
import { readU64, u64 } from '../tables/layout.ts'
import { bytesOf, type RowParts } from './frame.ts'

const MAGIC = Buffer.from('SGJ1')
const ORDINAL_AT = 4
const FIRST_AT = 12
const CHECKSUM_AT = 20
export const SEGMENT_HEADER_BYTES = 24
const FILE_MODE = 0o600
/** Bytes of zeros in one write. */
const ZERO_BYTES = 1024 ** 2
/** A write returns when its bytes are on disk, without another call. */
const WRITE_FLAGS = constants.O_WRONLY | (constants.O_DSYNC ?? constants.O_SYNC)

const writeBytes = promisify(write)
const writeBuffers = promisify(writev)

/** The header of a segment that holds frames. */
export interface SegmentHeader {
  /** Counts the segments of a store from 1. */
  readonly ordinal: number
  /** Frames of earlier segments from this number on are void: their write failed. */
  readonly firstFrame: number
}

function encodeHeader({ ordinal, firstFrame }: SegmentHeader): Buffer {
  const header = Buffer.alloc(SEGMENT_HEADER_BYTES)
  header.set(MAGIC)
  header.set(u64(ordinal), ORDINAL_AT)
  header.set(u64(firstFrame), FIRST_AT)
  header.writeUInt32BE(crc32(header.subarray(0, CHECKSUM_AT)), CHECKSUM_AT)
  return header
}

/** Returns null for a segment without frames, or a damaged header. */
export function readHeader(file: string): SegmentHeader | null {
  const handle = openSync(file, 'r')
  try {
    const header = Buffer.alloc(SEGMENT_HEADER_BYTES)
    const length = readSync(handle, header, 0, SEGMENT_HEADER_BYTES, 0)
    const isHeader =
      length === SEGMENT_HEADER_BYTES &&
      header.subarray(0, ORDINAL_AT).equals(MAGIC) &&
      header.readUInt32BE(CHECKSUM_AT) === crc32(header.subarray(0, CHECKSUM_AT))
    return isHeader ? { ordinal: readU64(header, ORDINAL_AT), firstFrame: readU64(header, FIRST_AT) } : null
  } finally {
    closeSync(handle)
  }
}

/** Overwrites a part of a file with zeros. Resolves when they are on disk. */
async function writeZeros(file: string, from: number, to: number, flags = 0): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | flags, FILE_MODE)
  try {
    const zeros = Buffer.alloc(Math.max(0, Math.min(ZERO_BYTES, to - from)))
    for (let at = from; at < to; ) {
      const { bytesWritten } = await handle.write(zeros, 0, Math.min(zeros.length, to - at), at)
      at += bytesWritten
    }
    await handle.datasync()
  } finally {
    await handle.close()
  }
}

export class SegmentFile {
  readonly file: string
  readonly capacity: number
  #used = 0
  /** Bytes that may not be zero, with those of a failed write. */
  #written: number
  #header: Buffer | null = null
  #handle: number | null = null

  /** @param written bytes that may not be zero */
  constructor(file: string, capacity: number, written: number) {
    this.file = file
    this.capacity = capacity
    this.#written = written
  }

  /**
   * Makes a segment of zeros. Resolves when it is on disk.
   * @throws the system's error (rejects)
   */
  static async create(file: string, capacity: number): Promise<SegmentFile> {
    try {
      await writeZeros(file, 0, capacity, constants.O_CREAT)
      syncToDisk(dirname(file))
    } catch (error) {
      rmSync(file, { force: true })
      throw error
    }
    return new SegmentFile(file, capacity, 0)
  }

  /** End of the last frame. */
  get used(): number {
    return this.#used
  }

  /** Begins to use an empty segment; its header is written with the first frame. */
  begin(header: SegmentHeader): void {
    this.#handle = openSync(this.file, WRITE_FLAGS)
    this.#header = encodeHeader(header)
    this.#used = SEGMENT_HEADER_BYTES
  }

  /**
   * Writes a frame after the last one. Resolves when it is on disk. After a failure the descriptor
   * is closed: the system may report a lost write once only, and later ones as successful.
   * @throws the system's error (rejects)
   */
  async append(frame: RowParts): Promise<void> {
    if (this.#handle === null) throw new Error('the segment is closed')
    const bytes = bytesOf(frame)
    this.#written = this.#used + bytes
    try {
      if (this.#header === null) await writeParts(this.#handle, frame, this.#used)
      else await writeParts(this.#handle, [this.#header, ...frame], 0)
      this.#header = null
    } catch (error) {
      this.close()
      throw error
    }
    this.#used += bytes
  }

  /** Overwrites its frames, then its header: with a header, frames may be left. */
  async erase(): Promise<void> {
    this.close()
    await writeZeros(this.file, SEGMENT_HEADER_BYTES, this.#written)
    await writeZeros(this.file, 0, SEGMENT_HEADER_BYTES)
    this.#used = 0
    this.#written = 0
  }

  close(): void {
    if (this.#handle !== null) closeSync(this.#handle)
    this.#handle = null
  }
}

async function writeParts(handle: number, parts: RowParts, position: number): Promise<void> {
  const [only] = parts as [Buffer]
  if (parts.length === 1) await writeWhole(handle, only, position)
  else {
    const { bytesWritten } = await writeBuffers(handle, parts, position)
    if (bytesWritten < bytesOf(parts)) await writeWhole(handle, Buffer.concat(parts), position)
  }
}

async function writeWhole(handle: number, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await writeBytes(handle, bytes, at, bytes.length - at, position + at)
    at += bytesWritten
  }
}
