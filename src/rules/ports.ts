// What the effective rules need from outside: storage for API rules and overrides, and the changes
// they report.

import type { ChangeDraft } from '../audit/change-draft.ts'
import type { Actor } from '../core/actor.ts'
import type { Milliseconds } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'
import type { ApiRule, Rule, RuleOverride } from '../policy/rule.ts'
import type { OverrideEnd } from './merge.ts'

/**
 * Stores API rules and overrides. Each write and its log entry succeed or fail together. Promises
 * resolve when both are durable and reject with a GatewayError.
 */
export interface RuleStorage {
  apiRules(): readonly ApiRule[]
  overrides(): readonly RuleOverride[]
  putRule(rule: ApiRule, sealed: ChangeDraft): Promise<void>
  deleteRule(id: string, sealed: ChangeDraft): Promise<void>
  putOverride(override: RuleOverride, sealed: ChangeDraft): Promise<void>
  /** Leaves a newer override of the same rule alone. */
  deleteOverride(override: Pick<RuleOverride, 'ruleId' | 'createdAtMs'>, sealed: ChangeDraft): Promise<void>
}

/** The rule after the change. */
type ChangedRule = Pick<Rule, 'id' | 'name' | 'enabled'>

/** A change of the rules in force that did not come from the files alone. */
export type RuleChange =
  | SealedChange
  /**
   * A rule or override has ended, but deleting and sealing failed. Both are retried when rules
   * change.
   */
  | { readonly type: 'state_write_failed'; readonly error: unknown }

/** A change that has an entry in the log. */
export type SealedChange = ChangedState & {
  readonly actor: Actor
}

type ChangedState =
  | {
      readonly type: 'rule_created' | 'rule_changed' | 'rule_deleted'
      readonly rule: ChangedRule
      /** `declared_in_file`: a file now declares a rule of this name and replaces the API's. */
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

/** The log entry of a change. */
export function draftOf(change: SealedChange): ChangeDraft {
  if (change.type === 'rule_override_ended') {
    const { type, ruleId, ruleName, cause, actor } = change
    return { type, rule_id: ruleId, rule_name: ruleName, cause, actor }
  }
  const { id, name, enabled } = change.rule
  const named = { rule_id: id, rule_name: name, enabled, actor: change.actor }
  if (change.type !== 'rule_override') return { type: change.type, ...named }
  const expiresAt = change.expiresAtMs === null ? null : isoTime(change.expiresAtMs)
  return { type: change.type, ...named, reason: change.reason, expires_at: expiresAt }
}
