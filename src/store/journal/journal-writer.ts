// Writes the journal: one frame at a time, in segments that are allocated before they are needed
// and overwritten once the database has their frames.

import { randomInt } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Milliseconds } from '../../core/clock.ts'
import { freeBytesOf } from '../files/disk-space.ts'
import { type Frame, type RowParts, sealFrame } from './frame.ts'
import { type JournalPosition, listSegments, SEGMENT_PREFIX } from './journal-reader.ts'
import { readHeader, SEGMENT_HEADER_BYTES, SegmentFile } from './segment-file.ts'

/** Largest size of the first segment, so that a start does not wait for zeros. */
const FIRST_BYTES = 1024 ** 2
/** A later segment is so many times larger, up to the size for all. */
const GROWTH = 8
/** A larger segment takes at most this share of the free disk space. */
const FREE_SHARE = 0.1
/** Share of a segment in use from which the next one is made. */
const PREPARE_SHARE = 0.25
/** Age of a segment from which no frame is added, so that erased data leaves it soon. */
const RETIRE_MS: Milliseconds = 20_000
const NAME_DIGITS = 1e9
/** Empty segments that are kept. */
const MAXIMUM_SPARE_SEGMENTS = 2

/** A segment that gets no more frames, until the database has them. */
interface Retired {
  readonly segment: SegmentFile
  /** Number of its last frame. */
  readonly lastFrame: number
}

export class JournalWriter {
  readonly #folder: string
  #next: number
  #ordinal: number
  #current: SegmentFile | null = null
  #isWriting = false
  /** When the current segment was first seen with a frame; null before. */
  #usedSinceMs: Milliseconds | null = null
  #retired: Retired[] = []
  #spares: SegmentFile[] = []
  /** Number of the last frame that the database has on disk. */
  #appliedFrame = 0
  #preparing: Promise<void> | null = null
  #erasing: Promise<void> = Promise.resolve()
  /** Segments that wait to be overwritten. */
  #erasures = 0
  readonly #segmentBytes: number
  #capacity: number

  /**
   * Continues a journal whose frames are all in the database.
   * @param end of the last frame
   * @param segmentBytes size of a segment; a larger frame has a larger one
   */
  constructor(folder: string, { frame, ordinal }: JournalPosition, segmentBytes: number) {
    this.#folder = folder
    this.#segmentBytes = segmentBytes
    this.#capacity = Math.min(FIRST_BYTES, segmentBytes)
    this.#next = frame
    this.#ordinal = ordinal
    for (const name of listSegments(folder)) {
      const file = join(folder, name)
      const { size } = statSync(file)
      const header = readHeader(file)
      this.#ordinal = Math.max(this.#ordinal, header?.ordinal ?? 0)
      if (header === null) this.#keep(new SegmentFile(file, size, 0))
      else this.#retired.push({ segment: new SegmentFile(file, size, size), lastFrame: frame - 1 })
    }
    this.applied(frame - 1)
  }

  /** Number of segment files. */
  get segments(): number {
    return this.#retired.length + this.#erasures + Number(this.#current !== null) + this.#spares.length
  }

  /** Number of segments that wait for the database. */
  get waiting(): number {
    return this.#retired.length
  }

  /** The segment that the last frame was written to. */
  get position(): JournalPosition {
    return { frame: this.#next, ordinal: this.#ordinal, offset: this.#current?.used ?? 0 }
  }

  /**
   * Seals a frame and writes it. Resolves when it is on disk. To be called for one frame at a time.
   * @throws the system's error (rejects): the frame is then void, also if it reached the disk
   */
  async append(unsealed: RowParts): Promise<{ readonly frame: Frame; readonly file: string }> {
    const frame = sealFrame(unsealed, this.#next)
    const segment = this.#current ?? (await this.#begin(frame.bytes))
    const fitting = segment.used + frame.bytes <= segment.capacity ? segment : await this.#begin(frame.bytes)
    this.#isWriting = true
    try {
      await fitting.append(unsealed)
    } catch (error) {
      this.#retire()
      throw error
    } finally {
      this.#isWriting = false
    }
    this.#next++
    if (fitting.used > fitting.capacity * PREPARE_SHARE) this.#prepare()
    return { frame, file: fitting.file }
  }

  /** Overwrites the retired segments whose frames are in the database on disk. */
  applied(frame: number): void {
    this.#appliedFrame = frame
    const done = this.#retired.filter(({ lastFrame }) => lastFrame <= frame)
    this.#retired = this.#retired.filter(({ lastFrame }) => lastFrame > frame)
    this.#erasures += done.length
    for (const { segment } of done) this.#erasing = this.#erasing.then(() => this.#erase(segment))
  }

  /** Retires an old segment. Call it every second. */
  tick(nowMs: Milliseconds): void {
    if (this.#current === null || this.#isWriting) return
    this.#usedSinceMs ??= nowMs
    if (nowMs - this.#usedSinceMs < RETIRE_MS) return
    this.#retire()
    this.applied(this.#appliedFrame)
  }

  /** Overwrites every segment whose frames are in the database on disk. */
  async close(applied: number): Promise<void> {
    if (this.#current !== null) this.#retire()
    this.applied(applied)
    await this.#preparing
    await this.#erasing
    for (const { segment } of this.#retired) segment.close()
  }

  async #begin(bytes: number): Promise<SegmentFile> {
    if (this.#current !== null) this.#retire()
    const neededBytes = SEGMENT_HEADER_BYTES + bytes
    await this.#preparing
    // Otherwise a fast writer would make one segment after the other.
    if (this.#spares.length === 0 && this.#erasures > 0) await this.#erasing
    const fitting = this.#spares.findIndex(({ capacity }) => capacity >= neededBytes)
    const [spare] = fitting < 0 ? [] : this.#spares.splice(fitting, 1)
    const segment = spare ?? (await this.#create(Math.max(this.#capacity, neededBytes)))
    segment.begin({ ordinal: this.#ordinal + 1, firstFrame: this.#next })
    this.#ordinal++
    this.#current = segment
    return segment
  }

  #create(capacity: number): Promise<SegmentFile> {
    return SegmentFile.create(join(this.#folder, SEGMENT_PREFIX + randomInt(NAME_DIGITS)), capacity)
  }

  #prepare(): void {
    if (this.#spares.length + this.#erasures > 0 || this.#preparing !== null) return
    const largerBytes = Math.min(this.#segmentBytes, this.#capacity * GROWTH)
    if (largerBytes <= (freeBytesOf(this.#folder) ?? 0) * FREE_SHARE) this.#capacity = largerBytes
    // A failure shows when the segment is needed.
    this.#preparing = this.#create(this.#capacity).then(
      (segment) => {
        this.#preparing = null
        this.#keep(segment)
      },
      () => {
        this.#preparing = null
      },
    )
  }

  #retire(): void {
    if (this.#current === null) return
    this.#retired.push({ segment: this.#current, lastFrame: this.#next - 1 })
    this.#current.close()
    this.#current = null
    this.#usedSinceMs = null
  }

  async #erase(segment: SegmentFile): Promise<void> {
    try {
      await segment.erase()
      this.#keep(segment)
    } catch {
      rmSync(segment.file, { force: true })
    } finally {
      this.#erasures--
    }
  }

  /** Keeps the largest empty segments. */
  #keep(segment: SegmentFile): void {
    this.#spares = [...this.#spares, segment].sort((a, b) => b.capacity - a.capacity)
    for (const { file } of this.#spares.splice(MAXIMUM_SPARE_SEGMENTS)) rmSync(file, { force: true })
  }
}
