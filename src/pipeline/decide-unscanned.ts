// Decides on a call that is not scanned: on a path that passes through, or about an answer that a
// provider keeps. Models, terms of the key and limits decide; no rule on content has anything to
// judge.

import type { Selection } from '../policy/compile.ts'
import { decide, NOTHING_SCANNED, type PermittedRequest } from '../policy/decide.ts'
import type { Call } from './call/call.ts'
import { coverLimits, reserveLimits } from './call/reserve-limits.ts'
import type { Demand } from './limits/quota.ts'
import type { Permitted, Pipeline } from './pipeline.ts'
import { denialError } from './record/failure.ts'

/**
 * Decides on a call and notes the rules that fire.
 * @param models that the call concerns; null when none is known
 * @throws GatewayError (rejects) `model_not_allowed`, `rate_limit_exceeded` or `budget_exceeded`
 */
export async function decideUnscanned(
  pipeline: Pipeline,
  call: Call,
  {
    selection,
    demand,
    models,
  }: {
    readonly selection: Selection
    readonly demand: Demand
    readonly models: readonly string[] | null
  },
  request: PermittedRequest,
): Promise<Permitted['permit']> {
  const noted = call.record
  const { fleetLimits, clock } = pipeline
  const parts = fleetLimits === null ? pipeline : await coverLimits(fleetLimits, call, selection, demand)
  const { counters, parallel } = parts
  const { evidence: limits } = reserveLimits({ counters, parallel, clock }, call, selection, demand)
  const keyModels = call.key.terms.models
  const decision = decide({ ...NOTHING_SCANNED, selection, limits, models, keyModels }, () => [request])
  noted.hits.push(...decision.hits)
  if (decision.outcome === 'denial') throw denialError(decision, noted.quota, call.id)
  return decision.permit
}
