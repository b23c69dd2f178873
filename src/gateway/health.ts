// What readiness says: rules are loaded and the store takes writes, never whether the upstream is well.

import type { Milliseconds } from '../core/clock.ts'
import { formatProblem } from '../core/problem.ts'
import type { GatewayState } from '../metrics/registry.ts'
import type { AdmissionControl } from '../pipeline/admission.ts'
import type { EffectiveRules } from '../rules/effective.ts'
import type { Health } from '../server/ops.ts'

interface HealthParts {
  readonly admission: Pick<AdmissionControl, 'auditable' | 'draining'>
  readonly rules: EffectiveRules
  /** Logs set aside in the data folder. */
  readonly quarantines: number
}

export function healthOf({ admission, rules, quarantines }: HealthParts): Health {
  const { auditable, draining } = admission
  const errors = rules.errors().map(formatProblem)
  return {
    ready: auditable && !draining,
    detail: {
      store: auditable ? 'ok' : 'the usage log cannot be written',
      rules: errors.length === 0 ? 'ok' : 'the last good rules are in force',
      rule_errors: errors,
      revision: rules.revision,
      draining,
      quarantines,
    },
  }
}

type RuleState = Pick<GatewayState, 'policyRevision' | 'rules' | 'overrides' | 'oldestOverrideSeconds'>

export function stateOfRules(effective: EffectiveRules, nowMs: Milliseconds): RuleState {
  const rules = effective.list()
  const overrides = rules.filter((rule) => rule.override !== null)
  const oldestMs = Math.min(...overrides.map((rule) => rule.updatedAtMs), nowMs)
  return {
    policyRevision: effective.revision,
    rules: rules.map(({ source, enabled }) => ({ source: source.kind, enabled })),
    overrides: overrides.length,
    oldestOverrideSeconds: (nowMs - oldestMs) / 1000,
  }
}
