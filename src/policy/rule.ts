// What a rule is, as people declare it in YAML or through the API. Knows neither files nor the store.

import type { Milliseconds } from '../core/clock.ts'
import type { Direction } from '../core/finding.ts'

export const RULE_TYPES = ['keyword_block', 'pii', 'prompt_injection', 'rate_limit'] as const
export type RuleType = (typeof RULE_TYPES)[number]

/**
 * What a rule can do, the strictest first. `restore` is `redact` that can be undone: the model sees placeholders, and
 * the client finds the values it sent back in their places in the answer.
 */
export const RULE_ACTIONS = ['block', 'redact', 'restore', 'monitor', 'allow'] as const
export type RuleAction = (typeof RULE_ACTIONS)[number]

/** The actions each type may take; the first is what most people mean. */
export const ACTIONS_OF: Readonly<Record<RuleType, readonly RuleAction[]>> = {
  keyword_block: ['block', 'monitor'],
  pii: ['redact', 'restore', 'block', 'monitor', 'allow'],
  prompt_injection: ['block', 'monitor'],
  rate_limit: ['block', 'monitor'],
}

/** Whether personal data leaves the text under this action, and a placeholder stands in its place. */
export const isReplacing = (action: RuleAction): boolean => action === 'redact' || action === 'restore'

interface RuleMatch {
  /** Globs over the requested model's name; any of them is enough. */
  readonly models?: readonly string[]
  /** Globs over the API key's name. */
  readonly keys?: readonly string[]
  /** Default `both`. */
  readonly direction?: Direction | 'both'
}

/** Whether a rule concerns prompts (`request`) or answers (`response`). */
export const concernsDirection = ({ match }: RuleDeclaration, direction: Direction): boolean =>
  match?.direction === undefined || match.direction === 'both' || match.direction === direction

/** A rule as it is written down. */
export interface RuleDeclaration {
  readonly name: string
  readonly type: RuleType
  readonly pattern: string
  readonly action: RuleAction
  readonly enabled: boolean
  readonly description?: string
  readonly match?: RuleMatch
}

/** A declared rule with its identity: UUIDv5 of the name for file rules, UUIDv7 for those made through the API. */
export interface Rule extends RuleDeclaration {
  readonly id: string
}

/** A rule made through the API. */
export interface ApiRule extends Rule {
  readonly createdAtMs: Milliseconds
  readonly updatedAtMs: Milliseconds
}

/** A rule switched on or off against its declaration. */
export interface RuleOverride {
  readonly ruleId: string
  /** What the rule is called, when it is gone as well. */
  readonly ruleName: string
  readonly enabled: boolean
  readonly reason: string
  /** Null: until the declaration changes. */
  readonly expiresAtMs: Milliseconds | null
  /** Of the declaration that is overridden: when it changes, the override ends. */
  readonly declaredHash: string
  readonly createdAtMs: Milliseconds
}

/** What a decision, an answer or a log entry says of a rule. */
export interface RuleReference {
  readonly id: string
  readonly name: string
  readonly type: RuleType
  readonly action: RuleAction
}

/** A rule that fired on one call. */
export interface RuleHit {
  readonly rule: RuleReference
  readonly direction: Direction
}
