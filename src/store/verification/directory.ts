// The data directory as a place to read a log from, beside a running gateway or none, and what only that place can tell:
// the index, stored exchanges, the head and the tree that are kept beside the entries.

import { hashContent, SALT_BYTES } from '../../audit/content.ts'
import type { Members } from '../../audit/plain.ts'
import type { LogSurvey } from '../../audit/survey.ts'
import { type LogState, u64, unpackEntry } from '../layout.ts'
import type { Environment } from '../lmdb.ts'
import { MAX_ID_BYTES, readLogState } from '../log/batch.ts'
import { storedCheckpoints } from '../log/checkpoints.ts'
import { readPrunePoint } from '../log/prune.ts'
import { equalsStoredNode, rootOf } from '../log/tree.ts'
import {
  DamageError,
  eachEntry,
  type LogReader,
  type LogSource,
  openDirectory,
  PAGE_ROWS,
  type ReadResult,
} from './log-source.ts'

const readFault = (error: unknown): string =>
  error instanceof DamageError
    ? error.message
    : `the database cannot be read here (${(error as Error).message})`

/** @param what for people, in the singular or as a list @throws DamageError naming it */
function orDamageError<Value>(what: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw new DamageError(`the database is damaged: ${what} cannot be read (${(error as Error).message})`)
  }
}

/** What lies beside the entries, at one moment. */
interface StoredState {
  readonly state: LogState | null
  readonly exchanges: number
}

/** What the entries printLine of it, as they are read. */
class EntryTally {
  requests = 0
  /** Exchanges that an entry commits to. */
  stored = 0
  /** Content that is gone, and how much of it erase entries speak of. */
  missing = 0
  firstMissing = 0
  erased = 0
}

export class DirectorySource implements LogSource {
  readonly #environment: Environment
  #tally = new EntryTally()
  #stored: StoredState = { state: null, exchanges: 0 }

  constructor(path: string) {
    this.#environment = openDirectory(path)
  }

  /** Looks nothing but these up: what the newest `prune` entry says is the one beginning that the log has. */
  async survey(survey: LogSurvey): Promise<string | null> {
    const { tables } = this.#environment
    this.#environment.refresh()
    const kept = orDamageError('the checkpoints beside the log', () => storedCheckpoints(tables))
    for (const { note } of kept) survey.addCheckpoint(note, null)
    // Last and as of now, since signatures took their time: a running gateway prunes on.
    this.#environment.refresh()
    const { pruneSeq } = orDamageError('where the log begins', () => readPrunePoint(tables))
    if (pruneSeq !== null) {
      orDamageError(`the prune entry at ${pruneSeq}`, () => {
        const prune = tables.entries.get(u64(pruneSeq))
        if (prune !== undefined) survey.addEntry(unpackEntry(pruneSeq, prune).bytes)
      })
    }
    return orDamageError('the first entry', () => this.#firstHash())
  }

  async read(reader: LogReader): Promise<string | null> {
    this.#tally = new EntryTally()
    let first: number | null = null
    try {
      const newest = this.#readState().state?.seq ?? 0
      await eachEntry(this.#environment, (seq, entry) => {
        first ??= seq
        if (seq % PAGE_ROWS === 0) reader.progress((seq - first) / Math.max(1, newest - first))
        return reader.entry(entry, seq)
      })
      // At once: a running gateway goes on writing.
      this.#stored = this.#readState()
      return null
    } catch (error) {
      return readFault(error)
    }
  }

  checkEntry(seq: number, entry: Members): string | null {
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

  matchesStoredNode(level: number, index: number, node: Buffer): boolean {
    return equalsStoredNode(this.#environment.tables, level, index, node)
  }

  wasPruned(first: string | null): boolean {
    try {
      this.#environment.refresh()
      return this.#firstHash() !== first
    } catch {
      // What is there cannot be read, and that has been found.
      return false
    }
  }

  checkWhole(read: ReadResult): string | null {
    try {
      return this.#faultOfWhole(read)
    } catch (error) {
      return readFault(error)
    }
  }

  #faultOfWhole({ head, beginning, firstSeq, root, wrongNodes }: ReadResult): string | null {
    const { state, exchanges } = this.#stored
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

  #readState(): StoredState {
    this.#environment.refresh()
    const { tables } = this.#environment
    return {
      state: orDamageError('the head of the log', () => readLogState(tables)),
      exchanges: orDamageError('the number of stored exchanges', () => tables.content.size),
    }
  }

  /** Hash of the first entry. */
  #firstHash(): string | null {
    const [first] = this.#environment.tables.entries.rows({ limit: 1 })
    return first === undefined ? null : unpackEntry(0, first.value).hash
  }
}
