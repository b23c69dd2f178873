// Reports the security events of all logs: totals from the columns of entries, events from their
// bodies. The columns count the events that a body has.

import type { SealedRequest } from '../audit/entry.ts'
import { type SecurityEvent, securityEvents } from '../audit/security.ts'
import {
  countEvents,
  type SecurityQuery,
  type SecurityReport,
  type SecurityTotals,
  sumTotals,
} from '../audit/usage-query.ts'
import type { Milliseconds } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'
import type { Queries } from './database.ts'
import { NEWEST_FIRST } from './log-scope.ts'

const DAY_MS: Milliseconds = 86_400_000
const DATE_CHARACTERS = 'YYYY-MM-DD'.length

/** Calls with events that arrived in a time; an index has them alone. */
const WITH_EVENTS = `e.call_id is not null and (e.blocked or e.refused or e.pii or e.rule_triggers > 0)
  and e.created_at >= $1::timestamptz and e.created_at < $2::timestamptz`
/** Events of a call. */
const EVENTS = '(e.blocked or e.refused)::integer + e.pii_detections + e.rule_triggers'

interface DayRow extends SecurityTotals {
  /** Since the epoch. */
  readonly day: number
}

const NO_EVENTS = sumTotals([])

/** @throws GatewayError (rejects) `fleet_unavailable` */
export async function readSecurity(
  queries: Queries,
  { days, limit, offset, nowMs }: SecurityQuery,
): Promise<SecurityReport> {
  const today = Math.floor(nowMs / DAY_MS)
  const first = today - days + 1
  const rows = await queries.rows<DayRow>(
    `select floor(extract(epoch from e.created_at) / 86400)::integer as day,
       count(*) filter (where e.blocked and not e.refused) as blocked_requests,
       count(*) filter (where e.refused) as refused_requests,
       coalesce(sum(e.pii_detections), 0)::bigint as pii_detections,
       coalesce(sum(e.rule_triggers), 0)::bigint as rule_triggers
     from entry e where ${WITH_EVENTS} group by 1`,
    [startOf(first), startOf(today + 1)],
  )
  const known = new Map(rows.map(({ day, ...totals }) => [day, totals]))
  const byDay = Array.from({ length: days }, (_, index) => ({
    day: first + index,
    totals: known.get(first + index) ?? NO_EVENTS,
  }))
  const totals = sumTotals(byDay.map((day) => day.totals))
  // Whole days are skipped by their counts, so a late page costs no more than the first.
  let end = today + 1
  let skip = offset
  for (const day of byDay.toReversed()) {
    const events = countEvents(day.totals)
    if (skip < events) break
    skip -= events
    end = day.day
  }
  return {
    days,
    since: startOf(first),
    totals,
    by_day: byDay.map(({ day, totals: ofDay }) => ({
      date: startOf(day).slice(0, DATE_CHARACTERS),
      ...ofDay,
    })),
    events: end === first ? [] : await eventsIn(queries, [startOf(first), startOf(end)], skip, limit),
    total: countEvents(totals),
  }
}

/** An event, with the name of the sidecar. */
interface FleetSecurityEvent extends Readonly<SecurityEvent> {
  /** Its id for one that is not registered any more. */
  readonly sidecar: string | null
}

const startOf = (day: number): string => isoTime(day * DAY_MS)

/** Returns events of a time, newest first. Each of the calls that are read has one at least. */
async function eventsIn(
  queries: Queries,
  period: readonly [since: string, end: string],
  offset: number,
  limit: number,
): Promise<FleetSecurityEvent[]> {
  const rows = await queries.rows<{ body: Buffer; before: number; sidecar: string | null }>(
    `select body, before, (select coalesce(s.name, h.sidecar) from log_head h
       left join sidecar s on s.id = h.sidecar where h.log_id = e.log_id) as sidecar from (
       select e.body, e.events, e.created_at, e.log_id, e.seq, (sum(e.events) over
         (order by ${NEWEST_FIRST} rows unbounded preceding) - e.events)::bigint as before
       from (select e.created_at, e.log_id, e.seq, e.body, ${EVENTS} as events from entry e
         where ${WITH_EVENTS} and ${EVENTS} > 0 order by ${NEWEST_FIRST} limit $3) e) e
     where before + events > $4 and before < $3 order by ${NEWEST_FIRST}`,
    [...period, offset + limit, offset],
  )
  const [first] = rows
  const events = rows.flatMap(({ body, sidecar }) => eventsOf(body).map((event) => ({ ...event, sidecar })))
  const skip = first === undefined ? 0 : offset - first.before
  return events.slice(skip, skip + limit)
}

/** Returns the events of a call, the last one first; none of an entry made by other rules. */
function eventsOf(body: Buffer): SecurityEvent[] {
  try {
    return securityEvents(JSON.parse(body.toString()) as SealedRequest).reverse()
  } catch {
    return []
  }
}
