// How the calls of the last hours ended and how long they took, and which budgets are nearly used,
// over REST.

import type { Clock } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { bounded } from '../../core/schema-builders.ts'
import { isoTime } from '../../core/time.ts'
import type { Percentiles } from '../../metrics/recent-calls.ts'
import type { UsageMinutes } from '../../metrics/usage-minutes.ts'
import { type LimitInUse, limitsInUse } from '../../pipeline/limits/limits-in-use.ts'
import { CALENDAR_MONTH } from '../../policy/limit.ts'
import type { EffectiveRules } from '../../rules/effective.ts'
import type { Store } from '../../store/store.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'
import { countsOf, describeUse, type HubCounts } from './usage-limits.ts'

const MAXIMUM_HOURS = 24
/** Maximum budgets that are listed, those with the highest share. */
const MAXIMUM_BUDGETS = 100
/** Share from which a budget is listed. */
const NEARLY_USED = 0.8
/** Microseconds in a millisecond: times are shown to the microsecond. */
const US_PER_MS = 1000

export const overviewRoute = (
  minutes: Pick<UsageMinutes, 'summary'>,
  rules: Pick<EffectiveRules, 'current'>,
  { keys: keyStore, counters }: Pick<Store, 'keys' | 'counters'>,
  clock: Clock,
  hub: HubCounts | null,
): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/overview',
  access: 'viewer',
  operation: operation(
    'Says how the calls of the last hours ended and how long they took, as this process saw them, and which budgets are used to 80 % or more.',
    { answer: 'Overview', query: { hours: bounded(1, MAXIMUM_HOURS, 1) }, errors: [400] },
  ),
  async answer({ search }) {
    const hours = new QueryString(search, ['hours']).integer('hours', 1, 1, MAXIMUM_HOURS)
    const keys = await keyStore.list()
    const nowMs = clock.now()
    const { sinceMs, outcomes, added, firstToken } = minutes.summary(nowMs, hours)
    const { limits } = limitsInUse(rules.current, countsOf(counters, hub, nowMs), { keys, key: null }, nowMs)
    const budgets = limits.filter(isNearlyUsed).slice(0, MAXIMUM_BUDGETS)
    return ok({
      since: isoTime(sinceMs),
      outcomes,
      added_latency_ms: shown(added),
      time_to_first_token_ms: shown(firstToken),
      budgets: budgets.map((use) => describeUse(use, hub, nowMs)),
    })
  },
})

/** A limit of money, or of a month. */
const isNearlyUsed = ({ limit, used }: LimitInUse): boolean =>
  (limit.unit === 'usd' || limit.windowMs === CALENDAR_MONTH) && used >= NEARLY_USED * limit.amount

const shown = (percentiles: Percentiles | null): JsonObject | null =>
  percentiles === null ? null : { p50: toUs(percentiles.p50), p95: toUs(percentiles.p95) }

const toUs = (ms: number): number => Math.round(ms * US_PER_MS) / US_PER_MS
