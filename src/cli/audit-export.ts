// `sidegate audit export`: the log as JSON Lines on standard output, a page of entries and one exchange at a time, as
// fast as the reader takes it.

import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { SALT_BYTES } from '../audit/content.ts'
import { checkpointLine, entryLine, exchangeLine } from '../audit/dump.ts'
import { parseObject } from '../audit/survey.ts'
import type { Milliseconds } from '../core/clock.ts'
import { counted } from '../rulecheck/report.ts'
import { u64 } from '../store/layout.ts'
import type { Environment } from '../store/lmdb.ts'
import { storedCheckpoints } from '../store/log/checkpoints.ts'
import { readPrunePoint } from '../store/log/prune.ts'
import { eachEntry } from '../store/verification/log-source.ts'

/** Written in one piece: a write for every line would cost more than the lines. */
const CHUNK_BYTES = 65_536

export interface ExportOptions {
  /** Sealed at this time or later; the first such entry begins the export, whatever clocks did after it. */
  readonly sinceMs: Milliseconds | null
  /** The export ends before the first entry sealed later than this. */
  readonly untilMs: Milliseconds | null
  /** With what people wrote to models, as far as it is still stored. */
  readonly exchanges: boolean
}

/** What the export is without, for whoever holds it to know. */
export interface Omissions {
  /** Exchanges that are stored and cannot be lines of an export. */
  readonly exchanges: number
  /** The entry that was pruned before it could be written: the export ends before it. Null where it is whole. */
  readonly prunedSeq: number | null
}

/**
 * Writes the entries of the range, without gaps but those of the log itself, and then the checkpoints that end within
 * it. An output that takes no more ends it; whoever holds the output says so, where that is to be said.
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
    // With what comes after it the export would look tampered with.
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
      const pieces = exchangeOf(environment, seq)
      leftOut += Number(pieces === null)
      for (const piece of pieces ?? []) lines.add(piece)
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

/** For people, a sentence each. */
export function describeOmissions({ exchanges, prunedSeq }: Omissions): string[] {
  const said: string[] = []
  if (exchanges > 0) {
    said.push(
      `${counted(exchanges, 'stored exchange')} left out: too large or damaged; see sidegate audit verify`,
    )
  }
  if (prunedSeq !== null) {
    said.push(`entry ${prunedSeq} was pruned before it could be written: the export ends before it`)
  }
  return said
}

/** The line of the exchange stored for an entry, none when there is no exchange; null when it makes no line. */
function exchangeOf({ tables }: Environment, seq: number): readonly Uint8Array[] | null {
  const stored = tables.content.get(u64(seq))
  if (stored === undefined) return []
  if (stored.length < SALT_BYTES) return null
  return exchangeLine({ seq, salt: stored.subarray(0, SALT_BYTES), content: stored.subarray(SALT_BYTES) })
}

/** Gathers what is small and writes it at once, no faster than it is read; what is large goes as it is. */
class LineWriter {
  heldBytes = 0
  readonly #output: Writable
  readonly #gone = new AbortController()
  #held: Uint8Array[] = []

  constructor(output: Writable) {
    this.#output = output
    output.on('error', () => this.#gone.abort())
  }

  add(bytes: Uint8Array): void {
    this.#held.push(bytes)
    this.heldBytes += bytes.length
  }

  /** Resolves once the output takes more; false when it takes nothing any more. */
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
    return !this.#gone.signal.aborted
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const { signal } = this.#gone
    if (bytes.length === 0 || signal.aborted || this.#output.write(bytes)) return
    try {
      await once(this.#output, 'drain', { signal })
    } catch {
      // It takes nothing any more; whoever flushes is told.
    }
  }
}

/** When an entry was sealed; an entry that does not say belongs to every range. */
function sealedAt(bytes: Uint8Array): Milliseconds {
  return Date.parse(String(parseObject(bytes)?.['ts']))
}
