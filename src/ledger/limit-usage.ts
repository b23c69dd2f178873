// What sidecars have of limits that the hubs keep, summed over the fleet: used, or lent to them.

import type { Milliseconds } from '../core/clock.ts'
import { bucketAt, bucketLength, countsUntil, liveRange } from '../policy/limit.ts'
import type { Queries } from './database.ts'

/** What counts of a limit for one subject now. */
export interface FleetCount {
  readonly ruleId: string
  readonly subject: string
  readonly windowMs: Milliseconds
  readonly used: number
  /** Time until nothing of it counts. */
  readonly resetMs: Milliseconds
}

/** @throws GatewayError (rejects) `fleet_unavailable` */
export async function limitsInUseOf(queries: Queries, nowMs: Milliseconds): Promise<FleetCount[]> {
  const windows = await queries.rows<{ window_ms: number }>(
    'select distinct window_ms from limit_subject where window_ms > 0',
  )
  const live = windows.map(({ window_ms: windowMs }) => {
    const bucketMs = bucketLength(windowMs)
    return [windowMs, ...liveRange(bucketMs, bucketAt(bucketMs, nowMs))] as const
  })
  const rows = await queries.rows<{
    count: string
    subject: string
    window_ms: number
    used: number
    newest: number
  }>(
    `select b.count, b.subject, b.window_ms, sum(b.amount)::bigint as used, max(b.bucket) as newest
     from limit_bucket b
     join unnest($1::bigint[], $2::bigint[], $3::bigint[]) as w(window_ms, first, last)
       on b.window_ms = w.window_ms and b.bucket between w.first and w.last
     where b.amount > 0 group by 1, 2, 3`,
    [0, 1, 2].map((column) => live.map((window) => window[column])),
  )
  return rows.map(({ count: ruleId, subject, window_ms: windowMs, used, newest }) => ({
    ...{ ruleId, subject, windowMs, used },
    resetMs: Math.max(0, countsUntil(bucketLength(windowMs), newest) - nowMs),
  }))
}
