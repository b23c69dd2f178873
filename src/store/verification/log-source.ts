// Where a log to be checked is read from, and the entries of a data directory: page by page beside a running gateway,
// never holding more than a page, nor a database snapshot across a turn.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DumpedEntry, DumpedExchange } from '../../audit/dump.ts'
import type { LogVerdict } from '../../audit/log-verify.ts'
import type { Members } from '../../audit/plain.ts'
import type { LogSurvey } from '../../audit/survey.ts'
import { isDamageError } from '../damage.ts'
import { DATA_FILE, faultOfFile } from '../folder/header.ts'
import { readU64, u64, unpackEntry } from '../layout.ts'
import { type Environment, openEnvironment, type StoreTables } from '../lmdb.ts'

/** Rows read at a time: a longer look would hold the snapshot, and with it the file's free pages. */
export const PAGE_ROWS = 500

/** Takes an entry in order, an exchange or a checkpoint; false ends the orDamageError. */
export interface LogReader {
  /** @param seq where it was found; null in an export */
  entry(entry: DumpedEntry, seq: number | null): boolean
  /** Only of an export; in a data directory `check` looks at them. */
  exchange(exchange: DumpedExchange): void
  checkpoint(note: string): void
  /** How far it is, from 0 to 1. */
  progress(done: number): void
}

/** What came of the orDamageError, for the source to printLine the rest. */
export interface ReadResult extends Pick<LogVerdict, 'head' | 'beginning' | 'firstSeq' | 'root'> {
  /** Parts of the Merkle tree that are not as they were kept. */
  readonly wrongNodes: number
}

export interface LogSource {
  /**
   * Tells what must be known before the log is read: where it was pruned, and what was signed of it.
   * @param progress called with a fraction of 1 where that takes a while
   * @returns the hash of the first entry, which shows if another is the first by the time it is read
   */
  survey(survey: LogSurvey, progress: (done: number) => void): Promise<string | null>
  /** Reads all of it. @returns why it could not be read to the end, or null */
  read(reader: LogReader): Promise<string | null>
  /** What else is wrong with an entry that is in order; only the data directory can tell. */
  checkEntry(seq: number, entry: Members): string | null
  /** Whether a complete part of the Merkle tree, which the entries make, is as it was kept. */
  matchesStoredNode(level: number, index: number, node: Buffer): boolean
  /** Whether by now the log begins with another entry than the one with this hash. */
  wasPruned(first: string | null): boolean
  /** What is wrong with the whole, once it was read to the end and its chain held. */
  checkWhole(read: ReadResult): string | null
  close(): Promise<void>
}

/** The input is not there, or cannot be opened: exit 2. */
export class SourceError extends Error {
  override readonly name: string = 'SourceError'
}

/** What is there is a log that cannot be read: where it was to be checked, a finding. */
export class DamageError extends SourceError {
  override readonly name = 'DamageError'
}

/** What is there did not stay for as long as it takes to read it, so that nothing can be said of it. */
export class UnsteadyError extends SourceError {
  override readonly name = 'UnsteadyError'
}

/** Nothing here makes a data directory. @throws SourceError when there is none */
export function requireLog(path: string): void {
  let isThere: boolean
  try {
    isThere = statSync(join(path, DATA_FILE), { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    throw new SourceError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    })
  }
  if (!isThere) throw new SourceError(`there is no log in ${path}`)
}

/** Opens what is there. @throws SourceError, a DamageError where the database file is damaged */
export function openDirectory(path: string): Environment {
  requireLog(path)
  const fault = faultOfFile(join(path, DATA_FILE))
  if (fault !== null && !fault.startsWith('cannot be read')) throw new DamageError(`${DATA_FILE} ${fault}`)
  try {
    return openEnvironment(path)
  } catch (error) {
    const { message, cause } = error as Error
    throw new (isDamageError(cause) ? DamageError : SourceError)(message, { cause: error })
  }
}

/**
 * The entries page by page, until `take` says false. While it waits for `take` the log goes on: what
 * is stored beside an entry of the page at hand may be gone by then. An entry's bytes are there until the next one.
 * @throws Error on rows that are none
 */
export async function eachEntry(
  environment: Environment,
  take: (seq: number, entry: DumpedEntry) => boolean | Promise<boolean>,
): Promise<void> {
  let from = 0
  for (;;) {
    environment.refresh()
    let rows = 0
    for (const { seq, value } of pageOf(environment.tables, from)) {
      const taken = take(seq, unpackEntry(seq, value))
      if (!(typeof taken === 'boolean' ? taken : await taken)) return
      from = seq + 1
      rows++
    }
    if (rows < PAGE_ROWS) return
    await nextTurn()
  }
}

/** The next rows with `from` and above. */
function* pageOf({ entries }: StoreTables, from: number): Generator<{ seq: number; value: Buffer }> {
  const end = from + PAGE_ROWS
  let seq = from
  // Where nothing is missing, and nothing is too much, each is found by its key in half the time.
  if (entries.count({ start: u64(from), end: u64(end) }) === PAGE_ROWS) {
    for (let value = entries.peek(u64(seq)); value !== undefined; value = entries.peek(u64(seq))) {
      yield { seq, value }
      if (++seq === end) return
    }
  }
  for (const { key, value } of entries.rows({ start: u64(seq), limit: end - seq })) {
    yield { seq: readU64(key), value }
  }
}
