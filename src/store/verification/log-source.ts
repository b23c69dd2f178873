// The sources of logs to verify, and paged reading of a data directory next to a running gateway.
// Holds at most one page, and no database snapshot across a turn.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DumpedEntry, DumpedExchange } from '../../audit/dump.ts'
import type { LogVerdict } from '../../audit/log-verify.ts'
import type { Members } from '../../audit/plain.ts'
import type { LogSurvey } from '../../audit/survey.ts'
import { checkJournal } from '../environment/apply.ts'
import { isDamage } from '../environment/damage.ts'
import { type Environment, openEnvironment } from '../environment/journaled.ts'
import { DATA_FILE, faultOfFile } from '../files/header.ts'
import { readU64, u64, unpackEntry } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'

/** Rows in a page. More would hold the snapshot, and with it the file's free pages, too long. */
export const PAGE_ROWS = 500

/** Describes a log whose beginning is missing. */
export const missingBeginning = (firstSeq: number | null): string =>
  `the log begins at ${firstSeq}, and no prune entry covers the entries before`

/** Receives entries in order, exchanges and checkpoints; `entry` returns false to stop. */
export interface LogReader {
  /** @param seq position of the entry; null in an export */
  entry(entry: DumpedEntry, seq: number | null): boolean
  /** Only from an export; in a data directory `checkEntry` reads them. */
  exchange(exchange: DumpedExchange): void
  checkpoint(note: string): void
  /** Fraction done, from 0 to 1. */
  progress(done: number): void
}

/** The result of a reading, for `checkWhole`. */
export interface ReadResult extends Pick<LogVerdict, 'head' | 'beginning' | 'firstSeq' | 'root'> {
  /** Number of tree nodes that differ from their stored copies. */
  readonly wrongNodes: number
}

export interface LogSource {
  /**
   * Passes prune entries and checkpoints to the survey, before the log is read.
   * @param progress receives fractions of 1 if this takes long
   * @returns the hash of the first entry, to detect a pruning before the reading
   */
  survey(survey: LogSurvey, progress: (done: number) => void): Promise<string | null>
  /**
   * Reads the whole log.
   * @returns why it could not be read to the end, or null
   */
  read(reader: LogReader): Promise<string | null>
  /** Returns a further fault of a valid entry; only the data directory can find one. */
  checkEntry(seq: number, entry: Members): string | null
  /** Reports whether a complete subtree equals its stored copy. */
  matchesStoredNode(level: number, index: number, node: Buffer): boolean
  /** Reports whether the log now begins with another entry than the one with this hash. */
  wasPruned(first: string | null): boolean
  /** Returns a fault of the whole log, after a complete reading and a valid chain. */
  checkWhole(read: ReadResult): string | null
  close(): Promise<void>
}

/** The input does not exist or cannot be opened: exit 2. */
export class SourceError extends Error {
  override readonly name: string = 'SourceError'
}

/** The log exists but cannot be read; a finding when the log is to be verified. */
export class DamageError extends SourceError {
  override readonly name = 'DamageError'
}

/** The log changed faster than it could be read, so there is no verdict. */
export class UnsteadyError extends SourceError {
  override readonly name = 'UnsteadyError'
}

/**
 * Checks for a log without creating a data directory.
 * @throws SourceError when there is none
 */
export function requireLog(path: string): void {
  let exists: boolean
  try {
    exists = statSync(join(path, DATA_FILE), { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    throw new SourceError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    })
  }
  if (!exists) throw new SourceError(`there is no log in ${path}`)
}

/**
 * Opens an existing data directory.
 * @throws SourceError, or DamageError when the database file is damaged
 */
export function openDirectory(path: string): Environment {
  requireLog(path)
  const fault = faultOfFile(join(path, DATA_FILE))
  if (fault !== null && !fault.startsWith('cannot be read')) throw new DamageError(`${DATA_FILE} ${fault}`)
  try {
    const environment = openEnvironment(path)
    checkJournal(environment, path)
    return environment
  } catch (error) {
    throw new (isDamage(error) ? DamageError : SourceError)((error as Error).message, { cause: error })
  }
}

/**
 * Passes the entries to `take`, page by page, until it returns false. While `take` is awaited the
 * log may change: content stored with an entry of the current page may be gone. An entry's bytes
 * are valid until the next one.
 * @throws Error for malformed rows
 */
export async function eachEntry(
  environment: Environment,
  take: (seq: number, entry: DumpedEntry) => boolean | Promise<boolean>,
): Promise<void> {
  let from = 0
  for (;;) {
    environment.refresh()
    let rows = 0
    for (const { seq, value } of entryRows(environment.tables, from, PAGE_ROWS)) {
      const continues = take(seq, unpackEntry(seq, value))
      if (!(typeof continues === 'boolean' ? continues : await continues)) return
      from = seq + 1
      rows++
    }
    if (rows < PAGE_ROWS) return
    await nextTurn()
  }
}

/** Yields at most `limit` entries from `from` on. A value is valid until the next one. */
export function* entryRows(
  { entries }: StoreTables,
  from: number,
  limit: number,
): Generator<{ seq: number; value: Buffer }> {
  const end = from + limit
  let seq = from
  // In a page without gaps or extra rows, lookups by key take half the time.
  if (entries.count({ start: u64(from), end: u64(end) }) === limit) {
    for (let value = entries.peek(u64(seq)); value !== undefined; value = entries.peek(u64(seq))) {
      yield { seq, value }
      if (++seq === end) return
    }
  }
  for (const { key, value } of entries.rows({ start: u64(seq), limit: end - seq })) {
    yield { seq: readU64(key), value }
  }
}
