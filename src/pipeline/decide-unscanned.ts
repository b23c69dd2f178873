// Decides on a call that is not scanned: on a path that passes through, or about an answer that a
// provider keeps. Models, terms of the key and limits decide; no rule on content has anything to
// judge.

import type { Selection } from '../policy/compile.ts'
import { decide, NOTHING_SCANNED, type Permit, type PermittedRequest } from '../policy/decide.ts'
import type { Call } from './call/call.ts'
import { reserveLimits } from './call/reserve-limits.ts'
import type { Demand } from './limits/quota.ts'
import type { Pipeline } from './pipeline.ts'
import { denialError } from './record/failure.ts'

/**
 * Decides on a call and notes the rules that fire.
 * @param models that the call concerns; null when none is known
 * @throws GatewayError `model_not_allowed`, `rate_limit_exceeded` or `budget_exceeded`
 */
export function decideUnscanned(
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
): Permit {
  const noted = call.record
  const { evidence: limits } = reserveLimits(pipeline, call, selection, demand)
  const keyModels = call.key.terms.models
  const decision = decide({ ...NOTHING_SCANNED, selection, limits, models, keyModels }, () => [request])
  noted.hits.push(...decision.hits)
  if (decision.outcome === 'denial') throw denialError(decision, noted.quota, call.id)
  return decision.permit
}
