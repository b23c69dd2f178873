// What the effective rules ask of their surroundings: a place to keep what the API changed, and an ear for changes.

import type { ChangeDraft } from '../audit/entry.ts'
import type { Milliseconds } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'
import type { ApiRule, Rule, RuleOverride } from '../policy/rule.ts'
import type { OverrideEnd } from './merge.ts'

/**
 * What is kept of API rules and overrides. Each write is sealed in the log, both or neither. Promises resolve when both
 * are durable and reject with a GatewayError.
 */
export interface RuleState {
  apiRules(): readonly ApiRule[]
  overrides(): readonly RuleOverride[]
  putRule(rule: ApiRule, sealed: ChangeDraft): Promise<void>
  deleteRule(id: string, sealed: ChangeDraft): Promise<void>
  putOverride(override: RuleOverride, sealed: ChangeDraft): Promise<void>
  /** Another one that has been put in its place meanwhile stays. */
  deleteOverride(override: Pick<RuleOverride, 'ruleId' | 'createdAtMs'>, sealed: ChangeDraft): Promise<void>
}

/** A rule as it is after a change of it. */
type ChangedRule = Pick<Rule, 'id' | 'name' | 'enabled'>

/** Something other than the files changed what is in force. */
export type RuleChange =
  | {
      readonly type: 'rule_created' | 'rule_changed' | 'rule_deleted'
      readonly rule: ChangedRule
      /** `declared_in_file`: a file now declares a rule of that name, so the API's own gave way. */
      readonly cause: 'api' | 'declared_in_file'
    }
  | {
      readonly type: 'rule_override'
      readonly rule: ChangedRule
      readonly reason: string
      readonly expiresAtMs: Milliseconds | null
    }
  | {
      readonly type: 'rule_override_ended'
      readonly ruleId: string
      readonly ruleName: string
      readonly cause: OverrideEnd
    }
  /** What ended is no longer in force, but neither deleted nor sealed yet: that is tried again when rules change. */
  | { readonly type: 'state_write_failed'; readonly error: unknown }

export type SealedChange = Exclude<RuleChange, { type: 'state_write_failed' }>

/** As it is sealed. */
export function draftOf(change: SealedChange): ChangeDraft {
  if (change.type === 'rule_override_ended') {
    return { type: change.type, rule_id: change.ruleId, rule_name: change.ruleName, cause: change.cause }
  }
  const { id, name, enabled } = change.rule
  const named = { rule_id: id, rule_name: name, enabled }
  if (change.type !== 'rule_override') return { type: change.type, ...named }
  const expiresAt = change.expiresAtMs === null ? null : isoTime(change.expiresAtMs)
  return { type: change.type, ...named, reason: change.reason, expires_at: expiresAt }
}
