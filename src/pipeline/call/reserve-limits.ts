// Reserves the limits of a call and notes them in its record.

import type { Clock } from '../../core/clock.ts'
import type { Selection } from '../../policy/compile.ts'
import { type Demand, Quota, type QuotaParts } from '../limits/quota.ts'
import type { Call } from './call.ts'

/** Reserves what a call asks of its limits. Its places among parallel calls end with the call. */
export function reserveLimits(
  parts: QuotaParts & { readonly clock: Clock },
  call: Call,
  selection: Selection,
  demand: Demand,
): Quota {
  const { run, user } = call.record
  const caller = { run, user: user?.hash.toString('hex') ?? null }
  const quota = new Quota(parts, selection, call.key, demand, parts.clock.now(), caller)
  call.hold(() => quota.release())
  call.record.quota = quota
  call.record.limits = quota.states
  return quota
}
