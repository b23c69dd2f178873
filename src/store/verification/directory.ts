// Reads a log from a data directory, also next to a running gateway, and checks what only the
// directory holds: the index, stored exchanges, and the stored head and tree.

import { hashContent, SALT_BYTES } from '../../audit/content.ts'
import type { Members } from '../../audit/plain.ts'
import type { LogSurvey } from '../../audit/survey.ts'
import type { Environment } from '../environment/journaled.ts'
import { MAXIMUM_ID_BYTES, readLogState } from '../log/batch.ts'
import { storedCheckpoints } from '../log/checkpoints.ts'
import { readPrunePoint } from '../log/prune.ts'
import { equalsStoredNode, rootOf } from '../log/tree.ts'
import { type LogState, u64, unpackEntry } from '../tables/layout.ts'
import {
  DamageError,
  eachEntry,
  type LogReader,
  type LogSource,
  missingBeginning,
  openDirectory,
  PAGE_ROWS,
  type ReadResult,
} from './log-source.ts'

const readFault = (error: unknown): string =>
  error instanceof DamageError
    ? error.message
    : `the database cannot be read here (${(error as Error).message})`

/**
 * @param what a noun for people
 * @throws DamageError that names it
 */
function readOrThrow<Value>(what: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw new DamageError(`the database is damaged: ${what} cannot be read (${(error as Error).message})`)
  }
}

/** The stored state next to the entries, at one moment. */
interface StoredState {
  readonly state: LogState | null
  readonly exchanges: number
}

/** Counts gathered from the entries during a reading. */
class EntryTally {
  requests = 0
  /** Stored exchanges that an entry commits to. */
  stored = 0
  /** Exchanges that are missing, and the number that erase entries account for. */
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

  /**
   * Reads only the checkpoints and the newest `prune` entry, which defines the beginning of the
   * log.
   */
  async survey(survey: LogSurvey): Promise<string | null> {
    const { tables } = this.#environment
    this.#environment.refresh()
    const checkpoints = readOrThrow('the checkpoints stored with the log', () => storedCheckpoints(tables))
    for (const { note } of checkpoints) survey.addCheckpoint(note, null)
    // Last and refreshed: checking signatures takes time, and a running gateway may prune
    // meanwhile.
    this.#environment.refresh()
    const { pruneSeq } = readOrThrow('the prune point', () => readPrunePoint(tables))
    if (pruneSeq !== null) {
      readOrThrow(`the prune entry at ${pruneSeq}`, () => {
        const prune = tables.entries.get(u64(pruneSeq))
        if (prune !== undefined) survey.addEntry(unpackEntry(pruneSeq, prune).bytes)
      })
    }
    return readOrThrow('the first entry', () => this.#firstHash())
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
      // At once, because a running gateway keeps writing.
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
    const key = u64(seq)
    const id = Buffer.from(String(entry.get('id')))
    // The database rejects empty and long keys.
    const isId = id.length > 0 && id.length <= MAXIMUM_ID_BYTES
    if (!isId || !this.#environment.tables.ids.peek(id)?.equals(key)) {
      return 'the index maps its id to another entry'
    }
    const committed = entry.get('content_hash')
    if (committed === null) return null
    const stored = this.#environment.tables.content.get(key)
    if (stored === undefined) {
      if (this.#tally.missing++ === 0) this.#tally.firstMissing = seq
      return null
    }
    this.#tally.stored++
    const matches =
      stored.length >= SALT_BYTES &&
      hashContent(stored.subarray(0, SALT_BYTES), stored.subarray(SALT_BYTES)) === committed
    return matches ? null : 'the stored exchange is not the one the entry commits to'
  }

  matchesStoredNode(level: number, index: number, node: Buffer): boolean {
    return equalsStoredNode(this.#environment.tables, level, index, node)
  }

  wasPruned(first: string | null): boolean {
    try {
      this.#environment.refresh()
      return this.#firstHash() !== first
    } catch {
      // An unreadable database is already a finding.
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
    if (beginning === 'unanchored') return missingBeginning(firstSeq)
    // A running gateway keeps writing: only entries after the newest one read can be missing.
    if (state.seq < head.seq) return `the head of the log is at ${state.seq}, and there are entries after it`
    const next = this.#environment.tables.entries.get(u64(head.seq + 1))
    if (state.seq > head.seq && next === undefined) {
      return `the head of the log is at ${state.seq}, and its entries end at ${head.seq}`
    }
    if (state.seq === head.seq && state.hash !== head.hash) return 'the head of the log has another hash'
    if (state.seq === head.seq && rootOf(state)?.toString('base64') !== root)
      return 'the head of the log has another tree'
    if (wrongNodes > 0) return `${wrongNodes} stored tree nodes do not match the entries`
    if (state.seq === head.seq && state.nextRequest - state.firstRequest !== requests) {
      const listed = state.nextRequest - state.firstRequest
      return `the usage list has ${listed} entries, and the log ${requests} calls`
    }
    const more = exchanges - stored
    if (state.seq === head.seq && more > 0) return `${more} exchanges are stored that no entry commits to`
    if (missing > erased) {
      return `${missing} stored exchanges are missing, the first of entry ${firstMissing}; erase entries account for ${erased}`
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
      state: readOrThrow('the head of the log', () => readLogState(tables)),
      exchanges: readOrThrow('the number of stored exchanges', () => tables.content.size),
    }
  }

  /** Hash of the first entry. */
  #firstHash(): string | null {
    const [first] = this.#environment.tables.entries.rows({ limit: 1 })
    return first === undefined ? null : unpackEntry(0, first.value).hash
  }
}
