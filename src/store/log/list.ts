// Lists usage entries in pages, newest first. A page without a filter is found by ordinal. With a
// filter, a bounded number of summaries is scanned, and a cursor marks where to continue.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Outcome, StoppedBy, UsageView } from '../../audit/entry-fields.ts'
import { securityEvents, stoppedBy } from '../../audit/security.ts'
import {
  badCursor,
  holds,
  type UsagePage,
  type UsageQuery,
  type WantedMembers,
  wantedMembers,
} from '../../audit/usage-query.ts'
import { GatewayError } from '../../core/errors.ts'
import { type LogState, readU64, summaryOutcome, summarySeq, summaryTest, u64 } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import type { Row } from '../tables/table.ts'
import { readLogState } from './batch.ts'
import { entryKeyOf, readRequest, viewOf } from './query.ts'
import { findUser, newestCalls } from './user-rows.ts'

/** Rows read before the event loop gets its turn: about a millisecond. */
const PAGE_ROWS = 500
/**
 * Maximum summaries scanned for one request, about a fifth of a second; the cursor leads to the
 * rest.
 */
export const MAXIMUM_SCANNED_ROWS = 100_000

/** The end of a page. Ordinals do not change when entries are added or pruned. */
export interface UsageCursor {
  /** Ordinal of the next summary to read; ordinals count down from there. */
  readonly next: number
  /** Matching entries still to skip. */
  readonly skip: number
  /** Matching entries on earlier pages, skipped ones included. */
  readonly seen: number
}

type SummaryTest = (bytes: Buffer) => boolean

const acceptAll: SummaryTest = () => true

/** Returns what a query asks for as a test of summaries; null if it accepts everything. */
function testOf(tables: StoreTables, query: UsageQuery): SummaryTest | null {
  const { filter = {}, outcomes = null, stopped = null } = query
  const test = summaryTest(filter)
  const { withEvents = false } = query
  const wanted = wantedMembers(query)
  if (outcomes === null && stopped === null && wanted.length === 0 && !withEvents) return test
  return (bytes) =>
    (test === null || test(bytes)) &&
    (outcomes === null || isOneOf(outcomes, outcomeOf(tables, bytes))) &&
    (stopped === null || isStoppedBy(tables, bytes, stopped)) &&
    (!withEvents || hasEvents(tables, bytes)) &&
    wanted.every((alternatives) => alternatives.some((one) => hasMembers(tables, summarySeq(bytes), one)))
}

/** Reads an entry only where its bytes hold the text. */
function hasMembers(tables: StoreTables, seq: number, { text, anyOf }: WantedMembers): boolean {
  const isThere = tables.entries.get(u64(seq))?.includes(JSON.stringify(text)) === true
  if (!isThere) return false
  const entry = readRequest(tables, seq)
  return anyOf.some((members) => holds(entry, members))
}

/** How an entry without findings and rules writes them, in canonical form. */
const NOTHING_FOUND = ['"pii":[]', '"rules":[]'] as const

/** Reports whether a call has security events. Parses only the entries that may have one. */
function hasEvents(tables: StoreTables, summary: Buffer): boolean {
  const seq = summarySeq(summary)
  const bytes = tables.entries.get(u64(seq))
  if (bytes === undefined) return false
  if (!NOTHING_FOUND.every((text) => bytes.includes(text))) return true
  // Nothing stopped it.
  if (summaryOutcome(summary) === 'ok') return false
  const entry = readRequest(tables, seq)
  return entry !== null && securityEvents(entry).length > 0
}

/** Reads the entry where a summary does not hold its outcome. */
const outcomeOf = (tables: StoreTables, bytes: Buffer): Outcome | undefined =>
  summaryOutcome(bytes) ?? readRequest(tables, summarySeq(bytes))?.outcome

const isFlaggedBlocked = summaryTest({ blocked: true })!

/** Reads the entry only of a call that its summary calls blocked, or that has no outcome in it. */
function isStoppedBy(tables: StoreTables, summary: Buffer, wanted: StoppedBy): boolean {
  const outcome = summaryOutcome(summary)
  if (outcome === 'rate_limited') return wanted === 'refused'
  if (outcome !== null && !isFlaggedBlocked(summary)) return false
  const entry = readRequest(tables, summarySeq(summary))
  return entry !== null && stoppedBy(entry) === wanted
}

const isOneOf = (outcomes: readonly Outcome[], outcome: Outcome | undefined): boolean =>
  outcome !== undefined && outcomes.includes(outcome)

interface UsageRows {
  readonly seqs: readonly number[]
  readonly total: number
  readonly exact: boolean
  readonly next: UsageCursor | null
}

const CURSOR = /^1:(\d{1,15}):(\d{1,15}):(\d{1,15})$/

/** Returns the text of a cursor, opaque to clients. */
export const writeCursor = ({ next, skip, seen }: UsageCursor): string =>
  Buffer.from(`1:${next}:${skip}:${seen}`).toString('base64url')

/** Returns null for any text that `writeCursor` does not produce. */
export function readCursor(text: string): UsageCursor | null {
  const [, next, skip, seen] = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? []
  return next === undefined ? null : { next: Number(next), skip: Number(skip), seen: Number(seen) }
}

function cursorOf({ cursor }: UsageQuery): UsageCursor | null {
  if (cursor == null) return null
  const read = readCursor(cursor)
  if (read === null) throw badCursor()
  return read
}

/** What a page has of the matching entries. */
interface Range {
  readonly limit: number
  readonly offset: number
  readonly cursor: UsageCursor | null
}

/**
 * Returns a page of usage entries, newest first by sequence. Without a filter the work depends on
 * `limit` only; for an end user, on the number of calls for that user.
 * @param userKeys as `findUser` takes it
 * @throws GatewayError (rejects) `invalid_parameter` for a cursor that no page has
 */
export async function listUsage(
  tables: StoreTables,
  query: UsageQuery,
  userKeys: readonly Buffer[] = [],
): Promise<UsagePage> {
  const range = { limit: query.limit, offset: query.offset, cursor: cursorOf(query) }
  const state = readLogState(tables)
  const users = query.user == null ? undefined : findUser(tables, userKeys, query.user)
  if (state === null || users?.length === 0) return { logs: [], total: 0 }
  const test = testOf(tables, query)
  const newest = query.newest == null ? state.nextRequest - 1 : ordinalOf(tables, query.newest, state)
  const read = users === undefined ? allCalls(tables) : callsOf(tables, users)
  const rows =
    test === null && users === undefined
      ? readPage(tables, newest, state.firstRequest, range)
      : await scan(read, newest, state.firstRequest, range, test ?? acceptAll)
  const logs: UsageView[] = []
  for (const [index, seq] of rows.seqs.entries()) {
    if (index > 0 && index % PAGE_ROWS === 0) await nextTurn()
    const entry = readRequest(tables, seq)
    if (entry !== null) logs.push(viewOf(tables, entry))
  }
  return {
    logs,
    total: rows.total,
    ...(rows.exact ? {} : { total_is_lower_bound: true }),
    ...(rows.next === null ? {} : { next_cursor: writeCursor(rows.next) }),
  }
}

/**
 * Finds the ordinal of a call: sequence numbers grow with ordinals.
 * @throws GatewayError `invalid_parameter` for a call that is not in the log
 */
function ordinalOf(
  tables: StoreTables,
  id: string,
  { firstRequest, nextRequest }: Pick<LogState, 'firstRequest' | 'nextRequest'>,
): number {
  const key = entryKeyOf(tables, id)
  const wanted = key === undefined ? -1 : readU64(key)
  let [low, high] = [firstRequest, nextRequest - 1]
  while (low <= high) {
    const ordinal = Math.floor((low + high) / 2)
    const row = tables.requests.get(u64(ordinal))
    const seq = row === undefined ? -1 : summarySeq(row)
    if (seq === wanted) return ordinal
    if (seq < wanted) low = ordinal + 1
    else high = ordinal - 1
  }
  throw new GatewayError('invalid_parameter', 'newest must be the id of a call in the log.', {
    param: 'newest',
  })
}

function readPage(
  tables: StoreTables,
  newest: number,
  oldest: number,
  { limit, offset, cursor }: Range,
): UsageRows {
  const from = cursor === null ? newest - offset : Math.min(newest, cursor.next - cursor.skip)
  const total = newest + 1 - oldest
  if (from < oldest) return { seqs: [], total, exact: true, next: null }
  const count = Math.min(limit, from - oldest + 1)
  const rows = tables.requests.rows({ start: u64(from), reverse: true, limit: count })
  const next = from - count
  return {
    seqs: rows.map((row) => summarySeq(row.value)),
    total,
    exact: true,
    next: next < oldest ? null : { next, skip: 0, seen: newest - next },
  }
}

/**
 * Reads rows of summaries at and below an ordinal, newest first. Fewer than `limit` are the last.
 */
type SummaryReader = (newest: number, limit: number) => readonly Row[]

const allCalls =
  (tables: StoreTables): SummaryReader =>
  (newest, limit) =>
    tables.requests.rows({ start: u64(newest), reverse: true, limit })

/** Reads only calls of one end user. @param users its hashes */
const callsOf =
  (tables: StoreTables, users: readonly Buffer[]): SummaryReader =>
  (newest, limit) =>
    users
      .flatMap((user) => newestCalls(tables, user, newest, limit))
      .sort((one, other) => other - one)
      .slice(0, limit)
      .flatMap((ordinal) => {
        const key = u64(ordinal)
        const value = tables.requests.get(key)
        return value === undefined ? [] : { key, value }
      })

/** Scans past the end of the page for the total, up to MAXIMUM_SCANNED_ROWS. */
async function scan(
  read: SummaryReader,
  newest: number,
  oldest: number,
  { limit, offset, cursor }: Range,
  test: SummaryTest,
): Promise<UsageRows> {
  const seqs: number[] = []
  let from = Math.min(newest, cursor?.next ?? newest)
  let left = MAXIMUM_SCANNED_ROWS
  let skip = cursor?.skip ?? offset
  let seen = cursor?.seen ?? 0
  /** The position after the page's last entry, once the page is full. */
  let end: UsageCursor | null = null
  while (from >= oldest && left > 0) {
    const wanted = Math.min(PAGE_ROWS, left)
    const rows = read(from, wanted)
    for (const { key, value } of rows) {
      if (!test(value)) continue
      seen++
      if (skip > 0) skip--
      else if (end === null) {
        seqs.push(summarySeq(value))
        if (seqs.length === limit) end = { next: readU64(key) - 1, skip: 0, seen }
      }
    }
    const last = rows.at(-1)
    from = last === undefined || rows.length < wanted ? oldest - 1 : readU64(last.key) - 1
    left -= rows.length
    await nextTurn()
  }
  const exact = from < oldest
  if (exact) return { seqs, total: seen, exact, next: end !== null && seen > end.seen ? end : null }
  return { seqs, total: seen, exact, next: end ?? { next: from, skip, seen } }
}
