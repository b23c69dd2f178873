// `sidegate audit export`: the log as JSON Lines on standard output, a page at a time, as fast as the reader takes it.

import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { checkpointLine, entryLine } from '../audit/dump.ts'
import { parseObject } from '../audit/survey.ts'
import type { Milliseconds } from '../core/clock.ts'
import { keptCheckpoints } from '../store/checkpoints.ts'
import type { Environment } from '../store/lmdb.ts'
import { eachEntry } from '../store/source.ts'

/** Written in one piece: a write for every line would cost more than the lines. */
const CHUNK_CHARACTERS = 65_536

export interface ExportRange {
  /** Sealed at this time or later; the first such entry begins the export, whatever clocks did after it. */
  readonly sinceMs: Milliseconds | null
  /** The export ends before the first entry sealed later than this. */
  readonly untilMs: Milliseconds | null
}

/**
 * Writes the entries of the range, without gaps, and then the checkpoints that end within it. A reader that goes away
 * ends it quietly.
 */
export async function exportLog(
  environment: Environment,
  { sinceMs, untilMs }: ExportRange,
  output: Writable,
): Promise<void> {
  const gone = new AbortController()
  output.on('error', () => gone.abort())
  let next = 0
  let first: number | null = null
  let end = 0
  let ended = false
  while (!ended && !gone.signal.aborted) {
    let text = ''
    ended = true
    await eachEntry(environment, next, (seq, entry) => {
      next = seq + 1
      const sealedMs = sinceMs === null && untilMs === null ? 0 : sealedAt(entry.bytes)
      if (sinceMs !== null && first === null && sealedMs < sinceMs) return true
      if (untilMs !== null && sealedMs > untilMs) return false
      text += entryLine(entry)
      first ??= seq
      end = seq + 1
      ended = text.length < CHUNK_CHARACTERS
      return ended
    })
    if (text !== '' && !output.write(text)) await drained(output, gone.signal)
  }
  environment.refresh()
  const within = keptCheckpoints(environment.tables).filter(({ size }) => size > (first ?? 0) && size <= end)
  if (!gone.signal.aborted) output.write(within.map(({ note }) => checkpointLine(note)).join(''))
}

async function drained(output: Writable, signal: AbortSignal): Promise<void> {
  try {
    await once(output, 'drain', { signal })
  } catch {
    // The reader is gone; the loop sees it.
  }
}

/** When an entry was sealed; an entry that does not say belongs to every range. */
function sealedAt(bytes: Uint8Array): Milliseconds {
  return Date.parse(String(parseObject(bytes)?.['ts']))
}
