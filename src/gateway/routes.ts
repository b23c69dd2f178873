// The management API: every route and the parts it works on.

import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import { evaluate } from '../pipeline/evaluate.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { RuleTrials } from '../pipeline/record/rule-trials.ts'
import type { RuleEditor } from '../rules/editor.ts'
import type { EffectiveRules } from '../rules/effective.ts'
import type { ApiRoute } from '../server/api.ts'
import type { LiveTail } from '../server/live-tail.ts'
import { auditRoutes } from '../server/routes/audit.ts'
import { candidateRoutes } from '../server/routes/candidate.ts'
import { changesRoute } from '../server/routes/changes.ts'
import { configRoute } from '../server/routes/config.ts'
import { effectiveTerms } from '../server/routes/effective-terms.ts'
import { eraseRoute } from '../server/routes/erase.ts'
import { exportRoute } from '../server/routes/export.ts'
import { keyRoutes } from '../server/routes/keys.ts'
import { openApiRoutes } from '../server/routes/openapi.ts'
import { overviewRoute } from '../server/routes/overview.ts'
import { priceRoutes } from '../server/routes/prices.ts'
import { ruleTrialRoute } from '../server/routes/rule-trial.ts'
import { gatewayRuleRoutes, ruleRoutes } from '../server/routes/rules.ts'
import { sessionRoutes } from '../server/routes/session.ts'
import { singleSignOnRoutes } from '../server/routes/single-sign-on.ts'
import { statusRoute } from '../server/routes/status.ts'
import { usageRoutes } from '../server/routes/usage.ts'
import { limitsOfGateway, usageLimitsRoute } from '../server/routes/usage-limits.ts'
import { usageLiveRoute } from '../server/routes/usage-live.ts'
import { usageReportRoute } from '../server/routes/usage-report.ts'
import { usageSeriesRoute } from '../server/routes/usage-series.ts'
import { checkRoutes } from '../server/routes/verify.ts'
import type { Store } from '../store/store.ts'
import type { AdminAccess } from './admin-access.ts'
import type { Attestation } from './attestation.ts'
import type { LivePrices } from './live-prices.ts'
import type { ShadowRules } from './shadow-rules.ts'

interface RouteParts {
  readonly clock: Clock
  readonly admin: AdminAccess
  readonly store: Store
  readonly rules: EffectiveRules
  readonly editor: RuleEditor
  readonly pipeline: () => Pipeline
  readonly prices: LivePrices | null
  readonly shadowRules: ShadowRules | null
  readonly attestation: Attestation
  readonly liveTail: LiveTail
  readonly status: () => JsonObject
  readonly config: () => JsonObject
}

export function managementRoutes(parts: RouteParts): ApiRoute[] {
  const { clock, store, pipeline, attestation } = parts
  const { gatekeeper, signOn } = parts.admin
  const { receipts, minutes, fleetLimits } = pipeline()
  const routes: ApiRoute[] = [
    ...sessionRoutes(gatekeeper, store.sessions),
    ...singleSignOnRoutes(gatekeeper, signOn),
    ...keyRoutes(store.keys, clock, effectiveTerms(pipeline, store.counters, fleetLimits)),
    ...gatewayRuleRoutes(store.policies, (body) => evaluate(pipeline(), body)),
    ...ruleRoutes(parts.rules, parts.editor),
    ruleTrialRoute(parts.rules, new RuleTrials({ log: store.log, pipeline })),
    ...candidateRoutes(parts.shadowRules),
    ...priceRoutes(parts.prices),
    eraseRoute(store.log, clock),
    ...usageRoutes(store.log, clock, (run) => pipeline().runs.hashesOf(run)),
    usageReportRoute(store.rollups, clock),
    changesRoute(store.log),
    ...auditRoutes({
      trustClock: (actor) => store.trustClock(actor),
      checkpoints: store.checkpoints,
      receipts,
      signatures: attestation.signatures,
    }),
    ...checkRoutes(attestation.check),
    exportRoute(store.sealed),
    usageLimitsRoute(limitsOfGateway(parts.rules, store, fleetLimits), clock),
    overviewRoute(minutes, parts.rules, store, clock, fleetLimits),
    usageSeriesRoute(minutes, store.rollups, clock),
    usageLiveRoute(parts.liveTail, gatekeeper),
    statusRoute(parts.status, () => routes),
    configRoute(parts.config),
  ]
  return [...routes, ...openApiRoutes(routes)]
}
