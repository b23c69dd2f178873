// Where a log to be checked is read from, and the data directory as one such place: page by page beside a running
// gateway, never holding more than a page, nor a database snapshot across a turn.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { hashContent, SALT_BYTES } from '../audit/content.ts'
import type { DumpedEntry, DumpedExchange } from '../audit/dump.ts'
import type { LogVerdict } from '../audit/log-verify.ts'
import type { LogSurvey } from '../audit/survey.ts'
import type { JsonObject } from '../core/json.ts'
import { MAX_ID_BYTES, readLogState } from './batch.ts'
import { keptCheckpoints } from './checkpoints.ts'
import { type LogState, readU64, u64, unpackEntry } from './layout.ts'
import { DATA_FILE, type Environment, openEnvironment } from './lmdb.ts'
import { readCut } from './prune.ts'
import { agreesWithKept, rootOf } from './tree.ts'

/** Rows read at a time: a longer look would hold the snapshot, and with it the file's free pages. */
const PAGE_ROWS = 500

/** Takes an entry in order, an exchange or a checkpoint; false ends the reading. */
export interface LogReader {
  /** @param seq where it was found; null in an export */
  entry(entry: DumpedEntry, seq: number | null): boolean
  /** Only of an export; in a data directory `check` looks at them. */
  exchange(exchange: DumpedExchange): void
  checkpoint(note: string): void
  /** How far it is, from 0 to 1. */
  progress(done: number): void
}

type Read = Pick<LogVerdict, 'head' | 'beginning' | 'firstSeq' | 'root'>

export interface LogSource {
  /**
   * Tells what must be known before the log is read: where it was pruned, and what was signed of it.
   * @param progress called with a fraction of 1 where that takes a while
   * @returns the hash of the first entry, which shows if another is the first by the time it is read
   */
  survey(survey: LogSurvey, progress: (done: number) => void): Promise<string | null>
  /** Reads all of it, from the beginning. @returns why it could not be read to the end, or null */
  read(reader: LogReader): Promise<string | null>
  /** What else is wrong with an entry that is in order; only the data directory can tell. */
  check(entry: JsonObject): string | null
  /** Told of each complete part of the Merkle tree as the entries make it. */
  node(level: number, index: number, node: Buffer): void
  /** What is wrong with the whole, once it was read to the end and its chain held. */
  conclude(verdict: Read): string | null
  close(): Promise<void>
}

/** The input is not there, or cannot be opened: exit 2. */
export class SourceError extends Error {
  override readonly name = 'SourceError'
}

/** Nothing here makes a data directory. @throws SourceError when there is none */
export function requireLog(path: string): void {
  if (!existsSync(join(path, DATA_FILE))) throw new SourceError(`there is no log in ${path}`)
}

/** Opens what is there. @throws SourceError */
export function openDirectory(path: string): Environment {
  requireLog(path)
  try {
    return openEnvironment(path)
  } catch (error) {
    throw new SourceError((error as Error).message, { cause: error })
  }
}

/**
 * The entries from `fromSeq` on, page by page, until `take` says false. While it waits for `take` the log goes on: what
 * is stored beside an entry of the page at hand may be gone by then.
 * @throws Error on rows that are none
 */
export async function eachEntry(
  environment: Environment,
  fromSeq: number,
  take: (seq: number, entry: DumpedEntry) => boolean | Promise<boolean>,
): Promise<void> {
  let from = fromSeq
  for (;;) {
    environment.refresh()
    const rows = environment.tables.entries.rows({ start: u64(from), limit: PAGE_ROWS })
    for (const { key, value } of rows) {
      const seq = readU64(key)
      const taken = take(seq, unpackEntry(seq, value))
      if (!(typeof taken === 'boolean' ? taken : await taken)) return
      from = seq + 1
    }
    if (rows.length < PAGE_ROWS) return
    await nextTurn()
  }
}

export class DirectorySource implements LogSource {
  readonly #environment: Environment
  #requests = 0
  /** Content that is gone, and how much of it erase entries speak of. */
  #missing = 0
  #firstMissing = 0
  #erased = 0
  #wrongNodes = 0
  /** Exchanges that an entry commits to. */
  #stored = 0

  constructor(path: string) {
    this.#environment = openDirectory(path)
  }

  /** Looks nothing but these up: what the newest `prune` entry says is the one beginning that the log has. */
  async survey(survey: LogSurvey): Promise<string | null> {
    const { tables } = this.#environment
    this.#environment.refresh()
    for (const { note } of keptCheckpoints(tables)) survey.checkpoint(note, null)
    const { saidBy } = readCut(tables)
    const prune = saidBy === null ? undefined : tables.entries.get(u64(saidBy))
    if (prune !== undefined) survey.entry(unpackEntry(saidBy ?? 0, prune).bytes)
    const [first] = tables.entries.rows({ limit: 1 })
    return first === undefined ? null : unpackEntry(0, first.value).hash
  }

  async read(reader: LogReader): Promise<string | null> {
    this.#requests = this.#missing = this.#erased = this.#wrongNodes = this.#stored = 0
    const newest = this.#state()?.seq ?? 0
    let first: number | null = null
    try {
      await eachEntry(this.#environment, 0, (seq, entry) => {
        first ??= seq
        if (seq % PAGE_ROWS === 0) reader.progress((seq - first) / Math.max(1, newest - first))
        return reader.entry(entry, seq)
      })
      return null
    } catch (error) {
      return `the database cannot be read here (${(error as Error).message})`
    }
  }

  check(entry: JsonObject): string | null {
    const { erased } = entry
    if (entry['type'] === 'erase' && Number.isSafeInteger(erased)) this.#erased += Number(erased)
    if (entry['type'] !== 'request') return null
    this.#requests++
    const place = u64(entry['seq'] as number)
    const id = Buffer.from(String(entry['id']))
    // The database takes no empty key and no long one.
    const isId = id.length > 0 && id.length <= MAX_ID_BYTES
    if (!isId || !this.#environment.tables.ids.get(id)?.equals(place)) {
      return 'its id leads elsewhere in the index'
    }
    if (entry['content_hash'] === null) return null
    const stored = this.#environment.tables.content.get(place)
    if (stored === undefined) {
      if (this.#missing++ === 0) this.#firstMissing = entry['seq'] as number
      return null
    }
    this.#stored++
    const fits =
      stored.length >= SALT_BYTES &&
      hashContent(stored.subarray(0, SALT_BYTES), stored.subarray(SALT_BYTES)) === entry['content_hash']
    return fits ? null : 'the stored exchange is not the one the entry commits to'
  }

  node(level: number, index: number, node: Buffer): void {
    this.#wrongNodes += Number(!agreesWithKept(this.#environment.tables, level, index, node))
  }

  conclude({ head, beginning, firstSeq, root }: Read): string | null {
    const state = this.#state()
    if (state === null || head === null) return 'the head of the log is missing'
    if (beginning === 'unanchored') {
      return `the log begins at ${firstSeq}, and no prune entry speaks of the entries before`
    }
    // A running gateway goes on writing: only what lies behind the newest entry read is missing.
    if (state.seq < head.seq) return `the head of the log is at ${state.seq}, and its entries go on`
    const next = this.#environment.tables.entries.get(u64(head.seq + 1))
    if (state.seq > head.seq && next === undefined) {
      return `the head of the log is at ${state.seq}, and its entries end at ${head.seq}`
    }
    if (state.seq === head.seq && state.hash !== head.hash) return 'the head of the log has another hash'
    if (state.seq === head.seq && rootOf(state)?.toString('base64') !== root)
      return 'the head of the log has another tree'
    if (this.#wrongNodes > 0) return `${this.#wrongNodes} nodes kept of the tree are not those of the entries`
    if (state.seq === head.seq && state.nextRequest - state.firstRequest !== this.#requests) {
      const listed = state.nextRequest - state.firstRequest
      return `the usage list has ${listed} entries, and the log ${this.#requests} calls`
    }
    const more = this.#environment.tables.content.size - this.#stored
    if (state.seq === head.seq && more > 0) return `${more} exchanges are stored that no entry commits to`
    if (this.#missing > this.#erased) {
      return `${this.#missing} stored exchanges are gone, the first of entry ${this.#firstMissing}; erase entries speak of ${this.#erased}`
    }
    return null
  }

  close(): Promise<void> {
    return this.#environment.close()
  }

  #state(): LogState | null {
    this.#environment.refresh()
    return readLogState(this.#environment.tables)
  }
}
