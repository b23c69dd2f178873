// The rules in force as the metrics page counts them.

import type { Milliseconds } from '../core/clock.ts'
import type { GatewayState } from '../metrics/registry.ts'
import type { EffectiveRules } from '../rules/effective.ts'

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
