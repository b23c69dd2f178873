// Writes the log in the export format, a piece at a time and only when asked for the next one.
// Holds a page of entries and one exchange.

import { SALT_BYTES } from '../../audit/content.ts'
import { checkpointLine, entryLine, exchangeLine } from '../../audit/dump.ts'
import { parseObject } from '../../audit/survey.ts'
import type { Milliseconds } from '../../core/clock.ts'
import type { Environment } from '../environment/journaled.ts'
import { storedCheckpoints } from '../log/checkpoints.ts'
import { readPrunePoint } from '../log/prune.ts'
import { u64, unpackEntry } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { entryRows } from './log-source.ts'

/** Size of a chunk. A chunk for each line costs more than the lines. */
const CHUNK_BYTES = 65_536
/** Maximum entries read for one chunk: about that size. */
const CHUNK_ROWS = 64
/** Entries between two looks at what other processes wrote, which cost more than a chunk. */
const REFRESH_ROWS = 500

export interface ExportOptions {
  /**
   * The export begins with the first entry sealed at this time or later, even if clocks went back
   * after it.
   */
  readonly sinceMs: Milliseconds | null
  /** The export ends before the first entry sealed later than this. */
  readonly untilMs: Milliseconds | null
  /** Whether to include the exchanges that are still stored. */
  readonly exchanges: boolean
}

/** What the export leaves out. */
export interface Omissions {
  /** Number of stored exchanges that cannot be lines of an export. */
  readonly exchanges: number
  /**
   * Sequence number of an entry that was pruned before it was written; the export ends before it.
   * Else null.
   */
  readonly prunedSeq: number | null
}

/**
 * Yields the entries of the range, with no gaps except those of the log, then the checkpoints that
 * end within it. Reads a bounded part of the log for each chunk, which is empty when the part has
 * no entry of the range. Any time may pass between two chunks.
 * @throws Error for malformed rows
 */
export function* exportChunks(
  environment: Environment,
  { sinceMs, untilMs, exchanges }: ExportOptions,
): Generator<Buffer, Omissions, undefined> {
  const { tables } = environment
  let first: number | null = null
  let from = 0
  let refreshAt = 0
  let leftOut = 0
  let prunedSeq: number | null = null
  for (let isOver = false; !isOver; ) {
    if (from >= refreshAt) {
      environment.refresh()
      refreshAt = from + REFRESH_ROWS
    }
    const lines = new Lines()
    let rows = 0
    for (const { seq, value } of entryRows(tables, from, CHUNK_ROWS)) {
      // With later entries after the gap the export would look tampered with.
      if (first !== null && seq !== from && readPrunePoint(tables).firstSeq > from) prunedSeq = from
      const entry = unpackEntry(seq, value)
      const sealedMs = sinceMs === null && untilMs === null ? 0 : sealedAt(entry.bytes)
      isOver = prunedSeq !== null || (untilMs !== null && sealedMs > untilMs)
      if (isOver) break
      from = seq + 1
      rows++
      if (sinceMs !== null && first === null && sealedMs < sinceMs) continue
      lines.add(Buffer.from(entryLine(entry)))
      first ??= seq
      const exchange = exchanges ? exchangeOf(tables, seq) : []
      leftOut += Number(exchange === null)
      for (const part of exchange ?? []) lines.add(part)
      if (lines.bytes >= CHUNK_BYTES) break
    }
    isOver ||= rows < CHUNK_ROWS && lines.bytes < CHUNK_BYTES
    yield* lines.chunks()
  }
  environment.refresh()
  const within = storedCheckpoints(tables).filter(({ size }) => size > (first ?? 0) && size <= from)
  yield Buffer.from(first === null ? '' : within.map(({ note }) => checkpointLine(note)).join(''))
  return { exchanges: leftOut, prunedSeq }
}

/** Lines to write. Joins small parts and leaves large ones as they are. */
class Lines {
  bytes = 0
  readonly #parts: Uint8Array[] = []

  add(part: Uint8Array): void {
    this.#parts.push(part)
    this.bytes += part.length
  }

  *chunks(): Generator<Buffer, void, undefined> {
    let small: Uint8Array[] = []
    for (const part of this.#parts) {
      if (part.length < CHUNK_BYTES) {
        small.push(part)
        continue
      }
      yield Buffer.concat(small)
      yield Buffer.from(part.buffer, part.byteOffset, part.length)
      small = []
    }
    yield Buffer.concat(small)
  }
}

/**
 * Parts of the exchange's line; none when no exchange is stored, null when it cannot be a line.
 */
function exchangeOf({ content }: StoreTables, seq: number): readonly Uint8Array[] | null {
  const stored = content.get(u64(seq))
  if (stored === undefined) return []
  if (stored.length < SALT_BYTES) return null
  return exchangeLine({ seq, salt: stored.subarray(0, SALT_BYTES), content: stored.subarray(SALT_BYTES) })
}

/** When an entry was sealed; NaN without a valid time, which is within every range. */
function sealedAt(bytes: Uint8Array): Milliseconds {
  return Date.parse(String(parseObject(bytes)?.['ts']))
}
