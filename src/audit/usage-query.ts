// What the usage API asks of calls and what it answers: of one log at a gateway, of all logs at a
// hub.

import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonValue } from '../core/json.ts'
import type { Outcome, UsageView } from './entry-fields.ts'
import type { SecurityEvent, SecurityEventType } from './security.ts'

/** Null accepts any value; both times are inclusive. */
export interface UsageFilter {
  readonly keyId?: string | null
  readonly model?: string | null
  readonly blocked?: boolean | null
  readonly piiDetected?: boolean | null
  readonly sinceMs?: Milliseconds | null
  readonly untilMs?: Milliseconds | null
}

export interface UsageQuery {
  readonly limit: number
  /** Matching entries to skip; ignored with a cursor. */
  readonly offset: number
  readonly filter?: UsageFilter
  /** The end user whose calls to list, by name or by hash; null for all calls. */
  readonly user?: string | null
  /** Null for any. */
  readonly outcome?: Outcome | null
  /** A tool that calls defined or called, by its name; null for any call. */
  readonly tool?: string | null
  /** The hashes that a run may have; null for any call. */
  readonly runs?: readonly string[] | null
  /** Id or name of the sidecar whose calls to list, at a hub; null for all. */
  readonly sidecar?: string | null
  /** `next_cursor` of a page. Continues there, with the filter of that page. */
  readonly cursor?: string | null
}

/** What a hub says of a call besides: the name of its sidecar. */
type OfSidecar = { sidecar?: string | null }

export type UsagePage = {
  logs: (UsageView & OfSidecar)[]
  /** Number of matching entries on all pages. */
  total: number
  /** There may be more: the scan did not reach the end. Absent when the total is exact. */
  total_is_lower_bound?: true
  /** Cursor of the next page; absent on the last. */
  next_cursor?: string
}

/**
 * The entry's fields and the captured exchange; both parts are null when none was captured or it
 * was erased.
 */
export type UsageDetail = UsageView &
  OfSidecar & {
    request: JsonValue
    response: JsonValue
    /** Whether an exchange was captured and is gone. */
    erased: boolean
  }

export interface SecurityQuery {
  /** UTC days, today included. */
  readonly days: number
  readonly limit: number
  readonly offset: number
  readonly nowMs: Milliseconds
}

export type SecurityTotals = Readonly<Record<(typeof TOTAL_OF)[SecurityEventType], number>>

/** Names the total of each type of event. */
export const TOTAL_OF = {
  blocked_request: 'blocked_requests',
  refused_request: 'refused_requests',
  pii_detection: 'pii_detections',
  rule_trigger: 'rule_triggers',
} as const satisfies Record<SecurityEventType, string>

const TOTALS = Object.values(TOTAL_OF)

/** Adds up days. */
export const sumTotals = (days: readonly SecurityTotals[]): SecurityTotals =>
  Object.fromEntries(
    TOTALS.map((name) => [name, days.reduce((sum, day) => sum + day[name], 0)]),
  ) as SecurityTotals

/** The number of events. */
export const countEvents = (totals: SecurityTotals): number =>
  TOTALS.reduce((sum, name) => sum + totals[name], 0)

export type SecurityReport = {
  days: number
  /** Midnight at the beginning of the first day, RFC 3339. */
  since: string
  totals: SecurityTotals
  /** One row a day, oldest first, days without events included. */
  by_day: ({ date: string } & SecurityTotals)[]
  /** Newest first. */
  events: SecurityEvent[]
  total: number
}

/** A cursor that no page has. */
export const badCursor = (): GatewayError =>
  new GatewayError('invalid_parameter', 'cursor must be the next_cursor of an answer.', { param: 'cursor' })
