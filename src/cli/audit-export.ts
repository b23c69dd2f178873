// `sidegate audit export`: writes the log as JSON Lines to standard output, at the speed of the
// reader. Holds a page of entries and one exchange at a time.

import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { SALT_BYTES } from '../audit/content.ts'
import { checkpointLine, entryLine, exchangeLine } from '../audit/dump.ts'
import { parseObject } from '../audit/survey.ts'
import type { Milliseconds } from '../core/clock.ts'
import { counted } from '../rulecheck/report.ts'
import type { Environment } from '../store/journaled.ts'
import { u64 } from '../store/layout.ts'
import { storedCheckpoints } from '../store/log/checkpoints.ts'
import { readPrunePoint } from '../store/log/prune.ts'
import { eachEntry } from '../store/verification/log-source.ts'

/** Size of a write. A write for each line costs more than the lines. */
const CHUNK_BYTES = 65_536

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
 * Writes the entries of the range, with no gaps except those of the log, then the checkpoints that
 * end within it. A failed output ends the export without an error; the owner of the output reports
 * it.
 */
export async function exportLog(
  environment: Environment,
  { sinceMs, untilMs, exchanges }: ExportOptions,
  output: Writable,
): Promise<Omissions> {
  const lines = new LineWriter(output)
  let first: number | null = null
  let end = 0
  let leftOut = 0
  let prunedSeq: number | null = null
  await eachEntry(environment, (seq, entry) => {
    // With later entries after the gap the export would look tampered with.
    if (first !== null && seq !== end && readPrunePoint(environment.tables).firstSeq > end) {
      prunedSeq = end
      return false
    }
    const sealedMs = sinceMs === null && untilMs === null ? 0 : sealedAt(entry.bytes)
    if (sinceMs !== null && first === null && sealedMs < sinceMs) return true
    if (untilMs !== null && sealedMs > untilMs) return false
    lines.add(Buffer.from(entryLine(entry)))
    first ??= seq
    end = seq + 1
    if (exchanges) {
      const chunks = exchangeOf(environment, seq)
      leftOut += Number(chunks === null)
      for (const chunk of chunks ?? []) lines.add(chunk)
    }
    return lines.heldBytes < CHUNK_BYTES || lines.flush()
  })
  await lines.flush()
  environment.refresh()
  const within = storedCheckpoints(environment.tables).filter(
    ({ size }) => size > (first ?? 0) && size <= end,
  )
  lines.add(Buffer.from(within.map(({ note }) => checkpointLine(note)).join('')))
  await lines.flush()
  return { exchanges: leftOut, prunedSeq }
}

/** Describes the omissions for people, one sentence each. */
export function describeOmissions({ exchanges, prunedSeq }: Omissions): string[] {
  const sentences: string[] = []
  if (exchanges > 0) {
    sentences.push(
      `${counted(exchanges, 'stored exchange')} left out because they are too large or damaged; run sidegate audit verify`,
    )
  }
  if (prunedSeq !== null) {
    sentences.push(
      `entry ${prunedSeq} was pruned before it was written; the export ends before it; run the export again`,
    )
  }
  return sentences
}

/**
 * Chunks of the exchange's line; empty when no exchange is stored, null when it cannot be a line.
 */
function exchangeOf({ tables }: Environment, seq: number): readonly Uint8Array[] | null {
  const stored = tables.content.get(u64(seq))
  if (stored === undefined) return []
  if (stored.length < SALT_BYTES) return null
  return exchangeLine({ seq, salt: stored.subarray(0, SALT_BYTES), content: stored.subarray(SALT_BYTES) })
}

/**
 * Joins small lines into one write and writes large ones unchanged, no faster than the reader takes
 * them.
 */
class LineWriter {
  heldBytes = 0
  readonly #output: Writable
  readonly #failed = new AbortController()
  #held: Uint8Array[] = []

  constructor(output: Writable) {
    this.#output = output
    output.on('error', () => this.#failed.abort())
  }

  add(bytes: Uint8Array): void {
    this.#held.push(bytes)
    this.heldBytes += bytes.length
  }

  /**
   * Writes all lines held. Resolves once the output accepts more; with false when it has failed.
   */
  async flush(): Promise<boolean> {
    const held = this.#held
    this.#held = []
    this.heldBytes = 0
    let small: Uint8Array[] = []
    for (const bytes of held) {
      if (bytes.length < CHUNK_BYTES) {
        small.push(bytes)
        continue
      }
      await this.#write(Buffer.concat(small))
      await this.#write(bytes)
      small = []
    }
    await this.#write(Buffer.concat(small))
    return !this.#failed.signal.aborted
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const { signal } = this.#failed
    if (bytes.length === 0 || signal.aborted || this.#output.write(bytes)) return
    try {
      await once(this.#output, 'drain', { signal })
    } catch {
      // The output has failed; flush returns false.
    }
  }
}

/** When an entry was sealed; NaN without a valid time, which is within every range. */
function sealedAt(bytes: Uint8Array): Milliseconds {
  return Date.parse(String(parseObject(bytes)?.['ts']))
}
