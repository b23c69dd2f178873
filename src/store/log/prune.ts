// Removes the oldest entries: stores the prune point, prepares `prune` entries, and removes rows
// with their indexes. Knows neither the schedule nor the reason.

import type { SealedEntry } from '../../audit/entry.ts'
import { Frontier, leafHash } from '../../audit/merkle.ts'
import { SECURITY_EVENT_TYPES, type SecurityEventType, securityEvents } from '../../audit/security.ts'
import {
  type DayCounts,
  dayOf,
  type LogState,
  readJson,
  readU64,
  securityKey,
  u64,
  unpackEntry,
  unpackEventLocation,
  writeJson,
} from '../tables/layout.ts'
import type { StoreTables, SubDatabase } from '../tables/sub-databases.ts'
import { dropNode, type PrunePoint } from './tree.ts'
import { removeUser } from './user-rows.ts'

const PRUNE_POINT_KEY = Buffer.from('pruned')
/** Maximum rows that one transaction removes: a few milliseconds without other writes. */
const MAXIMUM_DROPPED_ROWS = 1000
/** Maximum entries read for them; each has at least two rows. Rows of end users come on top. */
const MAXIMUM_DROPPED_ENTRIES = MAXIMUM_DROPPED_ROWS / 2

/** A prune point in its stored form. */
interface StoredPrunePoint extends Pick<PrunePoint, 'firstSeq' | 'frontier'> {
  readonly saidBy: number | null
}

/** A later prune point, not sealed yet, with the hash of the entry before it. */
export interface NextPrunePoint extends Omit<PrunePoint, 'pruneSeq'> {
  readonly head: string
}

export function readPrunePoint({ meta }: StoreTables): PrunePoint {
  const bytes = meta.get(PRUNE_POINT_KEY)
  if (bytes === undefined) return { firstSeq: 0, frontier: [], pruneSeq: null }
  const { firstSeq, frontier, saidBy } = readJson<StoredPrunePoint>(bytes)
  return { firstSeq, frontier, pruneSeq: saidBy }
}

/** Call it in the transaction of the `prune` entry. */
export function writePrunePoint({ meta }: StoreTables, { firstSeq, frontier, pruneSeq }: PrunePoint): void {
  const stored: StoredPrunePoint = { firstSeq, frontier, saidBy: pruneSeq }
  meta.put(PRUNE_POINT_KEY, writeJson(stored))
}

/** Returns the oldest stored entry; null in an empty log. */
export function oldestSeq({ entries }: StoreTables): number | null {
  const [key] = entries.keys({ limit: 1 })
  return key === undefined ? null : readU64(key)
}

/** Moves a prune point forward, entry by entry. */
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

  /**
   * @throws Error when the entry is not the next one: missing entries must not be sealed as pruned
   */
  pass(seq: number, hash: string): void {
    if (seq !== this.#frontier.size) throw new Error(`entry ${this.#frontier.size} of the log is missing`)
    this.#frontier.push(leafHash(hash))
    this.#head = hash
  }

  /** Null until an entry was passed. */
  get next(): NextPrunePoint | null {
    if (this.#head === null) return null
    return { firstSeq: this.#frontier.size, frontier: this.#frontier.encoded(), head: this.#head }
  }
}

/** The day counts of the running transaction. */
interface DayCountsView {
  read(day: number): DayCounts
  write(day: number, counts: DayCounts): void
}

/**
 * Removes the oldest entries before `firstSeq`, each with its exchange, its list rows and its
 * security events; at most MAXIMUM_DROPPED_ROWS. Runs inside a transaction.
 * @returns the new state of the log, and the number of entries removed
 */
export function dropOldest(
  tables: StoreTables,
  state: LogState,
  days: DayCountsView,
  firstSeq: number,
): { readonly state: LogState; readonly dropped: number } {
  const rows = tables.entries.rows({ end: u64(firstSeq), limit: MAXIMUM_DROPPED_ENTRIES })
  let { firstRequest } = state
  let removed = 0
  let dropped = 0
  for (const { key, value } of rows) {
    const entry = readJson<SealedEntry>(Buffer.from(unpackEntry(readU64(key), value).bytes))
    const paths: [SubDatabase, Buffer][] = [['entries', key]]
    if (entry.type === 'request') {
      if (entry.content_hash !== null) paths.push(['content', key])
      if (tables.storedchanges.get(key) !== undefined) paths.push(['storedchanges', key])
      paths.push(['ids', Buffer.from(entry.id)], ['requests', u64(firstRequest)])
    }
    const events = entry.type === 'request' ? securityEvents({ ...entry, hash: '' }) : []
    if (dropped > 0 && removed + paths.length + events.length > MAXIMUM_DROPPED_ROWS) break
    for (const [table, path] of paths) tables[table].remove(path)
    if (entry.type === 'request') {
      if (entry.has_user === true) removeUser(tables, entry.seq)
      firstRequest++
      const day = dayOf(Date.parse(entry.created_at))
      for (const { type } of events) dropEvent(tables, days, day, { seq: entry.seq, type })
    }
    dropNode(tables, readU64(key))
    removed += paths.length + events.length
    dropped++
  }
  return { state: { ...state, firstRequest }, dropped }
}

/**
 * A day's events are numbered in the order of entries, so the oldest entry has the lowest ordinals
 * left. An older release indexed no refusal by a limit, and counted the other ones as blocked.
 */
function dropEvent(
  { security }: StoreTables,
  days: DayCountsView,
  day: number,
  event: { readonly seq: number; readonly type: SecurityEventType },
): void {
  const { counts, next } = days.read(day)
  const key = securityKey(day, next - countEvents(counts))
  const row = security.get(key)
  if (row === undefined || unpackEventLocation(row).seq !== event.seq) return
  security.remove(key)
  const isOld = event.type === 'refused_request' && counts.refused_request === 0
  const type = isOld ? 'blocked_request' : event.type
  days.write(day, { counts: { ...counts, [type]: counts[type] - 1 }, next })
}

const countEvents = (counts: DayCounts['counts']): number =>
  SECURITY_EVENT_TYPES.reduce((sum, type) => sum + counts[type], 0)

/** Writes a day's counts; a day without events has no row. */
export function writeDay({ days }: StoreTables, day: number, counts: DayCounts): void {
  if (countEvents(counts.counts) === 0) days.remove(u64(day))
  else days.put(u64(day), writeJson(counts))
}
