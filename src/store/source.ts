// Where a log to be checked is read from, and the data directory as one such place: page by page beside a running
// gateway, never holding more than a page, nor a database snapshot across a turn.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { hashContent, SALT_BYTES } from '../audit/content.ts'
import type { DumpedEntry, DumpedExchange } from '../audit/dump.ts'
import type { LogVerdict } from '../audit/log-verify.ts'
import type { Members } from '../audit/plain.ts'
import type { LogSurvey } from '../audit/survey.ts'
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

/** What came of the reading, for the source to say the rest. */
export interface LogRead extends Pick<LogVerdict, 'head' | 'beginning' | 'firstSeq' | 'root'> {
  /** Parts of the Merkle tree that are not as they were kept. */
  readonly wrongNodes: number
}

/** Where a log is, for whoever opens it anew. */
export interface LogPlace {
  readonly kind: 'directory' | 'export'
  readonly path: string
}

export interface LogSource {
  readonly place: LogPlace
  /** About how many entries there are. */
  readonly entries: number
  /** Sequence number of the newest entry by now; none is above it in what does not grow. */
  readonly lastSeq: number
  /**
   * Tells what must be known before the log is read: where it was pruned, and what was signed of it.
   * @param progress called with a fraction of 1 where that takes a while
   * @returns the hash of the first entry, which shows if another is the first by the time it is read
   */
  survey(survey: LogSurvey, progress: (done: number) => void): Promise<string | null>
  /** Reads all of it, from the beginning or an entry on. @returns why it could not be read to the end, or null */
  read(reader: LogReader, fromSeq?: number): Promise<string | null>
  /** What else is wrong with an entry that is in order; only the data directory can tell. */
  check(seq: number, entry: Members): string | null
  /** Whether a complete part of the Merkle tree, which the entries make, is as it was kept. */
  agrees(level: number, index: number, node: Buffer): boolean
  /** Whether by now the log begins with another entry than the one with this hash. */
  hasMoved(first: string | null): boolean
  /** What is wrong with the whole, once it was read to the end and its chain held. */
  conclude(read: LogRead): string | null
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
 * is stored beside an entry of the page at hand may be gone by then. An entry's bytes are there until the next one.
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
function* pageOf(
  { entries }: Environment['tables'],
  from: number,
): Generator<{ seq: number; value: Buffer }> {
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

/** What lies beside the entries, at one moment. */
interface Beside {
  readonly state: LogState | null
  readonly exchanges: number
}

/** What the entries say of it, as they are read. */
class Tally {
  requests = 0
  /** Exchanges that an entry commits to. */
  stored = 0
  /** Content that is gone, and how much of it erase entries speak of. */
  missing = 0
  firstMissing = 0
  erased = 0
}

export class DirectorySource implements LogSource {
  readonly place: LogPlace
  readonly #environment: Environment
  #tally = new Tally()
  #beside: Beside = { state: null, exchanges: 0 }

  constructor(path: string) {
    this.place = { kind: 'directory', path }
    this.#environment = openDirectory(path)
  }

  get entries(): number {
    return this.#environment.tables.entries.size
  }

  get lastSeq(): number {
    return this.#look().state?.seq ?? 0
  }

  /** Looks nothing but these up: what the newest `prune` entry says is the one beginning that the log has. */
  async survey(survey: LogSurvey): Promise<string | null> {
    const { tables } = this.#environment
    this.#environment.refresh()
    for (const { note } of keptCheckpoints(tables)) survey.checkpoint(note, null)
    const { saidBy } = readCut(tables)
    const prune = saidBy === null ? undefined : tables.entries.get(u64(saidBy))
    if (prune !== undefined) survey.entry(unpackEntry(saidBy ?? 0, prune).bytes)
    return this.#first()
  }

  async read(reader: LogReader, fromSeq = 0): Promise<string | null> {
    this.#tally = new Tally()
    const newest = this.lastSeq
    let first: number | null = null
    try {
      await eachEntry(this.#environment, fromSeq, (seq, entry) => {
        first ??= seq
        if (seq % PAGE_ROWS === 0) reader.progress((seq - first) / Math.max(1, newest - first))
        return reader.entry(entry, seq)
      })
      // At once: a running gateway goes on writing.
      this.#beside = this.#look()
      return null
    } catch (error) {
      return `the database cannot be read here (${(error as Error).message})`
    }
  }

  check(seq: number, entry: Members): string | null {
    const type = entry.get('type')
    const erased = type === 'erase' ? entry.get('erased') : 0
    if (Number.isSafeInteger(erased)) this.#tally.erased += Number(erased)
    if (type !== 'request') return null
    this.#tally.requests++
    const place = u64(seq)
    const id = Buffer.from(String(entry.get('id')))
    // The database takes no empty key and no long one.
    const isId = id.length > 0 && id.length <= MAX_ID_BYTES
    if (!isId || !this.#environment.tables.ids.peek(id)?.equals(place)) {
      return 'its id leads elsewhere in the index'
    }
    const committed = entry.get('content_hash')
    if (committed === null) return null
    const stored = this.#environment.tables.content.get(place)
    if (stored === undefined) {
      if (this.#tally.missing++ === 0) this.#tally.firstMissing = seq
      return null
    }
    this.#tally.stored++
    const fits =
      stored.length >= SALT_BYTES &&
      hashContent(stored.subarray(0, SALT_BYTES), stored.subarray(SALT_BYTES)) === committed
    return fits ? null : 'the stored exchange is not the one the entry commits to'
  }

  agrees(level: number, index: number, node: Buffer): boolean {
    return agreesWithKept(this.#environment.tables, level, index, node)
  }

  hasMoved(first: string | null): boolean {
    this.#environment.refresh()
    return this.#first() !== first
  }

  conclude({ head, beginning, firstSeq, root, wrongNodes }: LogRead): string | null {
    const { state, exchanges } = this.#beside
    const { requests, stored, missing, firstMissing, erased } = this.#tally
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
    if (wrongNodes > 0) return `${wrongNodes} nodes kept of the tree are not those of the entries`
    if (state.seq === head.seq && state.nextRequest - state.firstRequest !== requests) {
      const listed = state.nextRequest - state.firstRequest
      return `the usage list has ${listed} entries, and the log ${requests} calls`
    }
    const more = exchanges - stored
    if (state.seq === head.seq && more > 0) return `${more} exchanges are stored that no entry commits to`
    if (missing > erased) {
      return `${missing} stored exchanges are gone, the first of entry ${firstMissing}; erase entries speak of ${erased}`
    }
    return null
  }

  close(): Promise<void> {
    return this.#environment.close()
  }

  #look(): Beside {
    this.#environment.refresh()
    const { tables } = this.#environment
    return { state: readLogState(tables), exchanges: tables.content.size }
  }

  /** Hash of the first entry. */
  #first(): string | null {
    const [first] = this.#environment.tables.entries.rows({ limit: 1 })
    return first === undefined ? null : unpackEntry(0, first.value).hash
  }
}
