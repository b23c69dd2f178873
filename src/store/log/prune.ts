// Letting go of the oldest entries: where the log is cut, what the `prune` entry says of what goes, and the removal
// of rows with everything that leads to them. Knows nothing of when or why.

import type { SealedEntry } from '../../audit/entry.ts'
import { Frontier, leafHash } from '../../audit/merkle.ts'
import { SECURITY_EVENT_TYPES, securityEvents } from '../../audit/security.ts'
import {
  type DayCounts,
  dayOf,
  type LogState,
  readJson,
  readU64,
  securityKey,
  u64,
  unpackEntry,
  writeJson,
} from '../layout.ts'
import type { StoreTables, SubDatabase } from '../lmdb.ts'
import { dropNode, type PrunePoint } from './tree.ts'

const PRUNE_POINT_KEY = Buffer.from('pruned')
/** Rows that one transaction removes at most: a few milliseconds in which nothing else is written. */
const MAX_DROPPED_ROWS = 1000
/** Entries read for them; each has two rows at least. */
const MAX_DROPPED_ENTRIES = MAX_DROPPED_ROWS / 2

/** A prune point as the store holds it. */
interface StoredPrunePoint extends Pick<PrunePoint, 'firstSeq' | 'frontier'> {
  readonly saidBy: number | null
}

/** A cut further on that nothing is said of yet, with the hash of the entry before it. */
export interface NextPrunePoint extends Omit<PrunePoint, 'pruneSeq'> {
  readonly head: string
}

export function readPrunePoint({ meta }: StoreTables): PrunePoint {
  const bytes = meta.get(PRUNE_POINT_KEY)
  if (bytes === undefined) return { firstSeq: 0, frontier: [], pruneSeq: null }
  const { firstSeq, frontier, saidBy } = readJson<StoredPrunePoint>(bytes)
  return { firstSeq, frontier, pruneSeq: saidBy }
}

/** To be called in the transaction of the `prune` entry. */
export function writePrunePoint({ meta }: StoreTables, { firstSeq, frontier, pruneSeq }: PrunePoint): void {
  const stored: StoredPrunePoint = { firstSeq, frontier, saidBy: pruneSeq }
  meta.put(PRUNE_POINT_KEY, writeJson(stored))
}

/** The oldest entry that is still there; null in a log without any. */
export function oldestSeq({ entries }: StoreTables): number | null {
  const [key] = entries.keys({ limit: 1 })
  return key === undefined ? null : readU64(key)
}

/** Moves a cut onwards over entries that are read one after the other. */
export class PrunePointMover {
  readonly #frontier: Frontier
  #head: string | null = null

  constructor({ firstSeq, frontier }: PrunePoint) {
    this.#frontier = Frontier.read(firstSeq, frontier)
  }

  /** The first entry that would stay. */
  get firstSeq(): number {
    return this.#frontier.size
  }

  /** @throws Error when the entry is not the next one: nothing may be said of entries that are missing */
  pass(seq: number, hash: string): void {
    if (seq !== this.#frontier.size) throw new Error(`entry ${this.#frontier.size} of the log is missing`)
    this.#frontier.push(leafHash(hash))
    this.#head = hash
  }

  /** Null as long as nothing was passed. */
  get next(): NextPrunePoint | null {
    if (this.#head === null) return null
    return { firstSeq: this.#frontier.size, frontier: this.#frontier.encoded(), head: this.#head }
  }
}

/** The counts of days as the running transaction has them. */
interface DayCountsView {
  read(day: number): DayCounts
  write(day: number, counts: DayCounts): void
}

/**
 * Removes the oldest entries before `firstSeq`, and with each its exchange, its place in the lists and its security
 * events; MAX_DROPPED_ROWS at most. Runs inside a transaction.
 * @returns the state of the log after it, and how many entries went
 */
export function dropOldest(
  tables: StoreTables,
  state: LogState,
  days: DayCountsView,
  firstSeq: number,
): { readonly state: LogState; readonly dropped: number } {
  const rows = tables.entries.rows({ end: u64(firstSeq), limit: MAX_DROPPED_ENTRIES })
  let { firstRequest } = state
  let removed = 0
  let dropped = 0
  for (const { key, value } of rows) {
    const entry = readJson<SealedEntry>(Buffer.from(unpackEntry(readU64(key), value).bytes))
    const paths: [SubDatabase, Buffer][] = [['entries', key]]
    if (entry.type === 'request') {
      if (entry.content_hash !== null) paths.push(['content', key])
      paths.push(['ids', Buffer.from(entry.id)], ['requests', u64(firstRequest)])
    }
    const events = entry.type === 'request' ? securityEvents({ ...entry, hash: '' }) : []
    if (dropped > 0 && removed + paths.length + events.length > MAX_DROPPED_ROWS) break
    for (const [table, path] of paths) tables[table].remove(path)
    if (entry.type === 'request') {
      firstRequest++
      const day = dayOf(Date.parse(entry.created_at))
      for (const { type } of events) dropEvent(tables, days, day, type)
    }
    dropNode(tables, readU64(key))
    removed += paths.length + events.length
    dropped++
  }
  return { state: { ...state, firstRequest }, dropped }
}

/** Events of a day are counted up in the order of entries, so that the oldest entry has the lowest ordinals left. */
function dropEvent(
  { security }: StoreTables,
  days: DayCountsView,
  day: number,
  type: (typeof SECURITY_EVENT_TYPES)[number],
): void {
  const { counts, next } = days.read(day)
  security.remove(securityKey(day, next - countEvents(counts)))
  days.write(day, { counts: { ...counts, [type]: counts[type] - 1 }, next })
}

const countEvents = (counts: DayCounts['counts']): number =>
  SECURITY_EVENT_TYPES.reduce((sum, type) => sum + counts[type], 0)

/** Writes a day's counts back; a day without events needs no row. */
export function writeDay({ days }: StoreTables, day: number, counts: DayCounts): void {
  if (countEvents(counts.counts) === 0) days.remove(u64(day))
  else days.put(u64(day), writeJson(counts))
}
