// Reads the frames of a journal in order, also next to the process that writes it.

import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { FRAME_HEADER_BYTES, type Frame, findMagic, frameBytes, openFrame } from './frame.ts'
import { readHeader, SEGMENT_HEADER_BYTES, type SegmentHeader } from './segment-file.ts'

/** Names of segment files end with a number. */
export const SEGMENT_PREFIX = 'journal-'
/** Bytes searched at a time for frames after a bad one. */
const SEARCH_BYTES = 1024 ** 2

/** The frames up to a point are in the database. */
export interface JournalPosition {
  /** Number of the next frame. */
  readonly frame: number
  /** Segment and offset of the end of the last one. */
  readonly ordinal: number
  readonly offset: number
}

export const FIRST_POSITION: JournalPosition = { frame: 1, ordinal: 0, offset: 0 }

/** A frame cannot be read and others follow it: what they record is lost or changed. */
export class JournalDamageError extends Error {
  override readonly name = 'JournalDamageError'
}

/** The writer overwrote a segment before it was read. A newer position avoids that. */
class JournalMovedError extends Error {
  override readonly name = 'JournalMovedError'
}

export const isJournalMoved = (error: unknown): boolean => error instanceof JournalMovedError

/** Returns the names of the segment files in a folder. */
export function listSegments(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith(SEGMENT_PREFIX))
}

interface UsedSegment extends SegmentHeader {
  readonly file: string
}

/** Returns the segments that hold frames, in order. */
function usedSegments(folder: string): UsedSegment[] {
  const used: UsedSegment[] = []
  for (const name of listSegments(folder)) {
    const file = join(folder, name)
    const header = readHeader(file)
    if (header !== null) used.push({ ...header, file })
  }
  return used.sort((a, b) => a.ordinal - b.ordinal)
}

/**
 * Passes the frames after a position in order, up to the first that is not complete.
 * @param take receives a frame and the position after it
 * @returns the position after the last frame
 * @throws JournalDamageError when frames are missing between two segments, and an error that
 * `isJournalMoved` accepts when the frames after the position are no longer there
 */
export function readFrames(
  folder: string,
  from: JournalPosition,
  take: (frame: Frame, end: JournalPosition) => void,
): JournalPosition {
  const segments = usedSegments(folder).filter(({ ordinal }) => ordinal >= from.ordinal)
  let position = from
  for (const [index, { file, ordinal, firstFrame }] of segments.entries()) {
    if (firstFrame > position.frame) {
      const reason = `frames ${position.frame} to ${firstFrame - 1} of the journal are missing`
      throw position === from ? new JournalMovedError(reason) : new JournalDamageError(reason)
    }
    const offset = ordinal === position.ordinal ? position.offset : SEGMENT_HEADER_BYTES
    const end = segments[index + 1]?.firstFrame ?? Infinity
    position = readSegment(file, { ...position, ordinal, offset }, end, take)
  }
  return position
}

function readSegment(
  file: string,
  from: JournalPosition,
  endFrame: number,
  take: (frame: Frame, end: JournalPosition) => void,
): JournalPosition {
  let position = from
  const handle = openSync(file, 'r')
  try {
    while (position.frame < endFrame) {
      const frame = readFrame(handle, position.offset)
      // Frames before the position are in the database already.
      if (frame === null || frame.number > position.frame) break
      const { ordinal } = position
      const offset = position.offset + frame.bytes
      const isNext = frame.number === position.frame
      position = { frame: position.frame + Number(isNext), ordinal, offset }
      if (isNext) take(frame, position)
    }
    return position
  } finally {
    closeSync(handle)
  }
}

/** Reads one frame of an open segment; null when none is complete there. */
export function readFrame(handle: number, offset: number): Frame | null {
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES)
  if (readSync(handle, header, 0, FRAME_HEADER_BYTES, offset) < FRAME_HEADER_BYTES) return null
  const length = frameBytes(header)
  if (length === null || offset + length > fstatSync(handle).size) return null
  const bytes = Buffer.allocUnsafeSlow(length)
  return readSync(handle, bytes, 0, length, offset) === length ? openFrame(bytes) : null
}

/**
 * Checks that nothing valid follows the end of the journal: a torn last write is cut, and never was
 * acknowledged. Reads to the end of the last segment.
 * @param end the position that `readFrames` returned
 * @throws JournalDamageError
 */
export function requireEnd(folder: string, end: JournalPosition): void {
  for (const name of listSegments(folder)) {
    const file = join(folder, name)
    const header = readHeader(file)
    if (header === null && hasLostHeader(file))
      throw new JournalDamageError(`${name} has a damaged header, and a frame after it`)
    if (header?.ordinal !== end.ordinal) continue
    const later = findFrame(file, end)
    if (later !== null) {
      const damage = `frame ${end.frame} cannot be read, and frame ${later} follows it`
      throw new JournalDamageError(`${name}: ${damage}`)
    }
  }
}

/** Whether a segment without a valid header holds a frame where its first one belongs. */
function hasLostHeader(file: string): boolean {
  const handle = openSync(file, 'r')
  try {
    return readFrame(handle, SEGMENT_HEADER_BYTES) !== null
  } finally {
    closeSync(handle)
  }
}

/** Returns the number of the first valid frame after a position that is not older than it. */
function findFrame(file: string, { offset, frame }: JournalPosition): number | null {
  const handle = openSync(file, 'r')
  try {
    const { size } = fstatSync(handle)
    const chunk = Buffer.allocUnsafe(Math.max(0, Math.min(SEARCH_BYTES, size - offset)))
    for (let from = offset; from < size - FRAME_HEADER_BYTES; from += chunk.length - FRAME_HEADER_BYTES) {
      const length = readSync(handle, chunk, 0, chunk.length, from)
      const bytes = chunk.subarray(0, length)
      for (let at = findMagic(bytes, 0); at >= 0; at = findMagic(bytes, at + 1)) {
        const found = readFrame(handle, from + at)
        if (found !== null && found.number >= frame) return found.number
      }
      if (length <= FRAME_HEADER_BYTES) break
    }
    return null
  } finally {
    closeSync(handle)
  }
}
