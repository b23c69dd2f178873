// Reserves the limits of a call and notes them in its record.

import type { Clock } from '../../core/clock.ts'
import type { Selection } from '../../policy/compile.ts'
import type { FleetQuota } from '../limits/fleet-quota.ts'
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

/**
 * Covers what a call asks of limits that hold over a fleet. What it does not reserve is given back
 * when it ends. Never rejects.
 * @returns what its limits are counted in
 */
export async function coverLimits(
  limits: Pick<FleetQuota, 'cover'>,
  call: Call,
  selection: Selection,
  demand: Demand,
): Promise<QuotaParts> {
  const covered = await limits.cover(selection, call.key, demand)
  call.hold(() => covered.release())
  call.record.isCountedAlone = covered.isLocal
  return covered
}
