// Reads the log for the management API: one entry with its exchange, and security events. Holds no
// read transaction across an await, which would keep old pages alive and grow the file.

import { SALT_BYTES } from '../../audit/content.ts'
import type { SealedEntry, SealedRequest } from '../../audit/entry.ts'
import type { UsageView } from '../../audit/entry-fields.ts'
import { SECURITY_EVENT_TYPES, type SecurityEvent, securityEvents } from '../../audit/security.ts'
import {
  countEvents,
  type SecurityQuery,
  type SecurityReport,
  type SecurityTotals,
  sumTotals,
  TOTAL_OF,
  type UsageDetail,
} from '../../audit/usage-query.ts'
import { toUsageView } from '../../audit/usage-view.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { isoTime } from '../../core/time.ts'
import {
  dayOf,
  readDay,
  readJson,
  readU64,
  securityKey,
  startOfDay,
  summarySeq,
  u64,
  unpackEntry,
  unpackEventLocation,
} from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { MAXIMUM_ID_BYTES } from './batch.ts'
import { readUser } from './user-rows.ts'

/** Returns one entry with its exchange; null for an unknown id. */
export function findUsage(tables: StoreTables, id: string): UsageDetail | null {
  const entryKey = entryKeyOf(tables, id)
  const entry = entryKey === undefined ? null : readRequest(tables, readU64(entryKey))
  if (entry === null || entryKey === undefined) return null
  const stored = tables.content.get(entryKey)
  const content = stored === undefined ? {} : readJson<Record<string, JsonValue>>(stored.subarray(SALT_BYTES))
  return {
    ...viewOf(tables, entry),
    request: content['request'] ?? null,
    response: content['response'] ?? null,
    erased: stored === undefined && entry.content_hash !== null,
  }
}

/** Returns the fields of an entry, with the end user that is kept apart from it. */
export const viewOf = (tables: StoreTables, entry: SealedRequest): UsageView =>
  toUsageView(entry, entry.has_user === true ? readUser(tables, entry.seq) : null)

/** Counts and lists the security events of the last days. */
export function reportSecurity(
  tables: StoreTables,
  { days, limit, offset, nowMs }: SecurityQuery,
): SecurityReport {
  const today = dayOf(nowMs)
  const first = today - days + 1
  const byDay: SecurityReport['by_day'] = []
  const sizes: { day: number; events: number; next: number }[] = []
  for (let day = first; day <= today; day++) {
    const { counts, next } = readDay(tables.days.get(u64(Math.max(0, day))))
    const date = new Date(startOfDay(day)).toISOString().slice(0, 10)
    const ofDay = Object.fromEntries(
      SECURITY_EVENT_TYPES.map((type) => [TOTAL_OF[type], counts[type]]),
    ) as SecurityTotals
    byDay.push({ date, ...ofDay })
    sizes.push({ day, events: countEvents(ofDay), next })
  }
  const totals = sumTotals(byDay)
  return {
    days,
    since: isoTime(startOfDay(first)),
    totals,
    by_day: byDay,
    events: readEvents(tables, sizes.reverse(), offset, limit),
    total: countEvents(totals),
  }
}

/** Skips whole days by their counts, so a late page costs no more than the first. */
function readEvents(
  tables: StoreTables,
  newestFirst: readonly { readonly day: number; readonly events: number; readonly next: number }[],
  offset: number,
  limit: number,
): SecurityEvent[] {
  const events: SecurityEvent[] = []
  let entry = { seq: -1, events: [] as SecurityEvent[] }
  let skip = offset
  for (const { day, events: count, next } of newestFirst) {
    if (events.length >= limit) break
    if (skip >= count) {
      skip -= count
      continue
    }
    const rows = Math.min(limit - events.length, count - skip)
    const range = { start: securityKey(day, next - 1 - skip), reverse: true, limit: rows }
    for (const { value } of tables.security.rows(range)) {
      const { seq, index } = unpackEventLocation(value)
      if (entry.seq !== seq) {
        const sealed = readRequest(tables, seq)
        entry = { seq, events: sealed === null ? [] : securityEvents(sealed) }
      }
      const event = entry.events[index]
      if (event !== undefined) events.push(event)
    }
    skip = 0
  }
  return events
}

/** Returns the sealed call with a sequence number, or null. */
export function readRequest(tables: StoreTables, seq: number): SealedRequest | null {
  const packed = tables.entries.get(u64(seq))
  if (packed === undefined) return null
  const { hash, bytes } = unpackEntry(seq, packed)
  const entry = readJson<SealedEntry>(Buffer.from(bytes))
  return entry.type === 'request' ? { ...entry, hash } : null
}

/** Returns the sequence numbers of the newest calls, newest first. */
export const newestSeqs = ({ requests }: StoreTables, limit: number): number[] =>
  requests.rows({ reverse: true, limit }).map(({ value }) => summarySeq(value))

/**
 * Returns a call with its exchange; null for an entry that is not there.
 * @param maximumBytes length from which the exchange is left out
 */
export function readExchange(
  tables: StoreTables,
  seq: number,
  maximumBytes: number,
): { readonly entry: SealedRequest; readonly exchange: JsonObject | null } | null {
  const entry = readRequest(tables, seq)
  if (entry === null) return null
  const stored = tables.content.get(u64(seq))
  const isRead = stored !== undefined && stored.length <= maximumBytes
  return { entry, exchange: isRead ? readJson<JsonObject>(stored.subarray(SALT_BYTES)) : null }
}

export const isSealed = (tables: StoreTables, id: string): boolean => entryKeyOf(tables, id) !== undefined

/** Returns the database key of a sealed call's entry; undefined for an unknown id. */
export function entryKeyOf(tables: StoreTables, id: string): Buffer | undefined {
  const key = Buffer.from(id)
  // The database rejects an empty key, and a long id was never stored.
  return key.length === 0 || key.length > MAXIMUM_ID_BYTES ? undefined : tables.ids.get(key)
}
