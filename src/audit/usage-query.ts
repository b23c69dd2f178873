// What the usage API asks of calls and what it answers: of one log at a gateway, of all logs at a
// hub.

import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { Direction } from '../core/finding.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { Outcome, StoppedBy, UsageView } from './entry-fields.ts'
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
  /** How calls ended; null for any. */
  readonly outcomes?: readonly Outcome[] | null
  /** What stopped the calls; null for any. */
  readonly stopped?: StoppedBy | null
  /** A tool that calls defined or called, by its name; null for any call. */
  readonly tool?: string | null
  /** The hashes that a run may have; null for any call. */
  readonly runs?: readonly string[] | null
  /** The upstream that was asked last. */
  readonly upstream?: string | null
  /** Name of a rule that fired. */
  readonly rule?: string | null
  /** Kind of personal data that was found. */
  readonly kind?: string | null
  /** Direction in which something was found or a rule fired. */
  readonly direction?: Direction | null
  /** Whether only calls with a security event are listed. */
  readonly withEvents?: boolean
  /** `name=value` of a label of the key at the time of the call. */
  readonly label?: string | null
  /** Id or name of the sidecar whose calls to list, at a hub; null for all. */
  readonly sidecar?: string | null
  /** Id of the newest call to list, at a gateway; null for the newest of all. */
  readonly newest?: string | null
  /** `next_cursor` of a page. Continues there, with the filter of that page. */
  readonly cursor?: string | null
}

/** What an entry must hold. */
export interface WantedMembers {
  /** A text among the members, which tells most other entries apart. */
  readonly text: string
  /**
   * One of these. An object is held when each of its members is, a list when each of its items is.
   */
  readonly anyOf: readonly JsonObject[]
}

/**
 * Returns what a query asks for besides the fields of summaries: a list of alternatives for each
 * filter.
 */
export function wantedMembers(query: UsageQuery): readonly (readonly WantedMembers[])[] {
  const { tool = null, upstream = null, rule = null, kind = null } = query
  const { direction = null, label = null, runs = null } = query
  const wanted = (text: string | null, ...membersOf: readonly ((text: string) => JsonObject)[]) =>
    text === null ? [] : [[{ text, anyOf: membersOf.map((members) => members(text)) }]]
  return [
    ...wanted(tool, (name) => ({ tools: [{ name }] })),
    ...wanted(upstream, (name) => ({ upstream: name })),
    ...wanted(rule, (name) => ({ rules: [{ name }] })),
    ...wanted(kind, (name) => ({ pii: [{ kind: name }] })),
    ...wanted(
      direction,
      (one) => ({ pii: [{ direction: one }] }),
      (one) => ({ rules: [{ direction: one }] }),
    ),
    ...(label === null ? [] : [labelsOf(label)]),
    ...(runs === null ? [] : [runs.map((run) => ({ text: run, anyOf: [{ run }] }))]),
  ]
}

/** Places where `name=value` is parted: names and values may have the sign, too. */
const MAXIMUM_PARTINGS = 16

/** Returns the labels that a text can be, at most MAXIMUM_PARTINGS. */
function labelsOf(text: string): readonly WantedMembers[] {
  const labels: WantedMembers[] = []
  for (let at = text.indexOf('=', 1); at > 0 && labels.length < MAXIMUM_PARTINGS; ) {
    const value = text.slice(at + 1)
    labels.push({ text: value, anyOf: [{ labels: { [text.slice(0, at)]: value } }] })
    at = text.indexOf('=', at + 1)
  }
  return labels
}

/** Reports whether a value holds members, as WantedMembers says. */
export function holds(value: unknown, wanted: JsonValue): boolean {
  if (Array.isArray(wanted))
    return Array.isArray(value) && wanted.every((one) => value.some((item) => holds(item, one)))
  if (!isObject(wanted)) return value === wanted
  return (
    isObject(value) &&
    Object.entries(wanted).every(([name, one]) => Object.hasOwn(value, name) && holds(value[name], one))
  )
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
