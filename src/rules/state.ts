// What the effective rules ask of their surroundings: a place to keep what the API changed, and an ear for changes.

import type { Milliseconds } from '../core/clock.ts'
import type { ApiRule, EffectiveRule, OverrideEnd, RuleOverride } from './merge.ts'

/** What is kept of API rules and overrides. Promises resolve when durable and reject with a GatewayError. */
export interface RuleState {
  apiRules(): readonly ApiRule[]
  overrides(): readonly RuleOverride[]
  putRule(rule: ApiRule): Promise<void>
  deleteRule(id: string): Promise<void>
  putOverride(override: RuleOverride): Promise<void>
  deleteOverride(ruleId: string): Promise<void>
}

/** Something other than the files changed what is in force. */
export type RuleChange =
  | {
      readonly type: 'rule_created' | 'rule_changed' | 'rule_deleted'
      readonly rule: EffectiveRule
      /** `declared_in_file`: a file now declares a rule of that name, so the API's own gave way. */
      readonly cause: 'api' | 'declared_in_file'
    }
  | {
      readonly type: 'rule_override'
      readonly rule: EffectiveRule
      readonly reason: string
      readonly expiresAtMs: Milliseconds | null
    }
  | {
      readonly type: 'rule_override_ended'
      readonly ruleId: string
      /** Empty when the rule itself is gone. */
      readonly ruleName: string
      readonly cause: OverrideEnd
    }
  /** What ended is no longer in force, but may come back at the next start. */
  | { readonly type: 'state_write_failed'; readonly error: unknown }
