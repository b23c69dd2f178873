// How much of each limit is used now, over REST.

import type { Clock, Milliseconds } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { toUsd } from '../../core/money.ts'
import { text } from '../../core/schema-builders.ts'
import { isoTime } from '../../core/time.ts'
import type { KeyRecord } from '../../keys/key-record.ts'
import type { FleetQuota } from '../../pipeline/limits/fleet-quota.ts'
import { type LimitInUse, limitsInUse, subjectText } from '../../pipeline/limits/limits-in-use.ts'
import type { LimitRule, RuleSet } from '../../policy/compile.ts'
import { windowEnd, windowLength } from '../../policy/limit.ts'
import { countOf } from '../../policy/limit-scope.ts'
import { type UsageLimit, windowText } from '../../policy/types/rate-limit.ts'
import type { EffectiveRules } from '../../rules/effective.ts'
import type { CountInUse } from '../../store/limits/counters.ts'
import type { Store } from '../../store/store.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

const SECOND_MS: Milliseconds = 1000

/** The limits, what counts of them, and the keys there are. */
export interface LimitSource {
  rules(): Pick<RuleSet, 'limits'>
  keys(): Promise<readonly KeyRecord[]>
  /** @throws GatewayError (rejects) `fleet_unavailable` */
  counts(nowMs: Milliseconds): Promise<readonly CountInUse[]> | readonly CountInUse[]
  readonly hub: HubLimits | null
}

/** Which limits a hub keeps, and whether this gateway counts them alone, as no hub answers. */
type HubLimits = Pick<FleetQuota, 'isOfHub' | 'isAlone'>

/** The limits that a hub keeps. */
export type HubCounts = HubLimits & Pick<FleetQuota, 'inUse'>

/** @param hub the limits that a hub keeps; null without one */
export const limitsOfGateway = (
  rules: Pick<EffectiveRules, 'current'>,
  { keys, counters }: Pick<Store, 'keys' | 'counters'>,
  hub: HubCounts | null,
): LimitSource => ({
  rules: () => rules.current,
  keys: () => keys.list(),
  counts: (nowMs) => countsOf(counters, hub, nowMs),
  hub,
})

/** @param errors statuses of errors besides those of a gateway */
export const usageLimitsRoute = (
  source: LimitSource,
  clock: Clock,
  errors: readonly number[] = [],
): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/usage/limits',
  access: 'viewer',
  operation: operation(
    'Lists how much of each limit of tokens, requests or money is used now, highest share first. A limit that nothing counts against is left out.',
    {
      answer: 'UsageLimits',
      query: {
        key_id: text('Id of a key: lists every limit that counts its calls, also those not used yet.'),
      },
      errors: [400, ...errors],
    },
  ),
  async answer({ search }) {
    const keyId = new QueryString(search, ['key_id']).text('key_id')
    const keys = await source.keys()
    const key = keys.find(({ id }) => id === keyId) ?? null
    // No call counts against a limit by a key that does not exist.
    if (keyId !== null && key === null) return ok({ limits: [], truncated: false })
    const nowMs = clock.now()
    const counts = await source.counts(nowMs)
    const { limits, truncated } = limitsInUse(source.rules(), counts, { keys, key }, nowMs)
    return ok({ limits: limits.map((use) => describeUse(use, source.hub, nowMs)), truncated })
  },
})

/** What is counted here, and what the hub counts over the fleet. */
export function countsOf(
  counters: Pick<Store['counters'], 'inUse'>,
  hub: HubCounts | null,
  nowMs: Milliseconds,
): CountInUse[] {
  if (hub === null) return counters.inUse(nowMs)
  return [...counters.inUse(nowMs).filter(({ ruleId }) => !hub.isOfHub(ruleId)), ...hub.inUse()]
}

/** Rounded up: the time of windows is some milliseconds ahead of the clock. */
const wholeSecond = (timeMs: Milliseconds): Milliseconds => Math.ceil(timeMs / SECOND_MS) * SECOND_MS

/** A limit with what is used of it, and the end of its window. */
interface UseOfLimit extends Pick<LimitInUse, 'resetMs'> {
  readonly limit: UsageLimit
  /** Null when it is not counted in one number. */
  readonly used: number | null
}

/** The fields of a limit in an answer that say how much is left, and until when. */
export function describeLeft({ limit, used, resetMs }: UseOfLimit, nowMs: Milliseconds) {
  const { unit, amount, windowMs } = limit
  const shown = (value: number) => (unit === 'usd' ? toUsd(value) : value)
  const endMs = windowEnd(windowMs, nowMs) ?? (resetMs === null ? null : wholeSecond(nowMs + resetMs))
  return {
    limit: shown(amount),
    used: used === null ? null : shown(used),
    left: used === null ? null : shown(Math.max(0, amount - used)),
    window: windowText(windowMs),
    resetsAt: endMs === null ? null : isoTime(endMs),
  }
}

/** Who counts a limit. */
function counterOf(limit: UsageLimit & Pick<LimitRule, 'rule'>, hub: HubLimits | null): string {
  if (hub === null || !hub.isOfHub(countOf(limit))) return 'gateway'
  return hub.isAlone ? 'local' : 'hub'
}

/** Returns a limit in use as fields of an answer. */
export function describeUse(use: LimitInUse, hub: HubLimits | null, nowMs: Milliseconds): JsonObject {
  const { limit, subject } = use
  const { rule, unit, windowMs } = limit
  const { limit: allowed, used, left, window, resetsAt } = describeLeft(use, nowMs)
  return {
    rule_id: rule.id,
    rule_name: rule.name,
    source: counterOf(limit, hub),
    unit,
    scope: subject.scope,
    subject: subject.subject,
    key_name: subject.keyName,
    subject_name: subjectText(limit, subject),
    used,
    allowed,
    left,
    window,
    window_seconds: windowLength(windowMs, nowMs) / SECOND_MS,
    resets_at: resetsAt,
  }
}
