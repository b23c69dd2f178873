// The types of a rule, as files and the API declare it. Knows neither files nor the store.

import type { Milliseconds } from '../core/clock.ts'
import type { Direction } from '../core/finding.ts'
import type { KeyLabels } from '../core/key-terms.ts'
import type { PlaceholderStyle } from '../core/placeholder-style.ts'
import { RULE_ACTIONS, type RuleAction } from '../core/rule-action.ts'
import { TEXT_PARTS, type TextPart, type TextPlace } from '../core/text-part.ts'
import type { WrittenPattern } from './rule-type.ts'
import type { RuleTypeName } from './rule-types.ts'
import type { WrittenConditions } from './tool-conditions.ts'
import type { WrittenValueFields } from './value-fields.ts'

/** Whether the action replaces personal data by placeholders. */
export const isReplacing = (action: RuleAction): boolean => REPLACING.has(action)

const REPLACING: ReadonlySet<RuleAction> = new Set(['redact', 'restore', 'pseudonym'])

/** Whether an answer gets the values back that the rule replaced in the prompt. */
export const isRestoring = ({ action, restore }: Pick<RuleDeclaration, 'action' | 'restore'>): boolean =>
  action === 'restore' || restore === true

/**
 * Returns how strict the action of a rule is; a lower number is stricter. A rule without an action
 * is the least strict. To restore is less strict than not to.
 */
export const strictnessOf = ({ action = 'allow', restore }: Pick<RuleDeclaration, 'action' | 'restore'>) =>
  RULE_ACTIONS.indexOf(action) + (restore === true ? 1 / 2 : 0)

interface RuleMatch {
  /** Globs over the requested model's name; one match is enough. */
  readonly models?: readonly string[]
  /** Globs over the API key's name. */
  readonly keys?: readonly string[]
  /** Labels of the API key, each with this value. */
  readonly labels?: KeyLabels
  /** Default `both`. */
  readonly direction?: Direction | 'both'
  /** Parts of a call's texts; all when absent. An answer counts as `assistant`. */
  readonly parts?: readonly TextPart[]
  /** Names of the APIs that are called; all when absent. */
  readonly apis?: readonly string[]
}

/** Parts of a prompt that a rule looks at, in the order of TEXT_PARTS; null for all. */
export type RuleParts = readonly TextPart[] | null

export const partsOf = ({ match }: Pick<RuleDeclaration, 'match'>): RuleParts =>
  match?.parts === undefined ? null : TEXT_PARTS.filter((part) => match.parts!.includes(part))

/** Whether a rule concerns the texts of a place. */
export const concernsPlace = ({ match }: Pick<RuleDeclaration, 'match'>, place: TextPlace): boolean =>
  concernsDirection(match?.direction, place === 'answer' ? 'response' : 'request') &&
  (match?.parts === undefined || match.parts.includes(place === 'answer' ? 'assistant' : place))

const concernsDirection = (direction: Direction | 'both' = 'both', asked: Direction): boolean =>
  direction === 'both' || direction === asked

/** A rule without its identity. */
export interface RuleDeclaration extends WrittenConditions, WrittenValueFields {
  readonly name: string
  readonly type: RuleTypeName
  readonly pattern: WrittenPattern
  /** What shares one count, for a type that counts: `key` (default), `all` or `label:NAME`. */
  readonly per?: string
  /** How a pii rule that replaces values writes them; as `pii.placeholders` when absent. */
  readonly placeholders?: PlaceholderStyle
  /** Absent exactly for a type without actions. */
  readonly action?: RuleAction
  /** Whether an answer gets values back, for the action `pseudonym`. */
  readonly restore?: boolean
  readonly enabled: boolean
  readonly description?: string
  readonly match?: RuleMatch
}

/**
 * Returns the form in which names are compared: names that differ only in case or in Unicode form
 * are one name, because nobody can tell them apart in a log.
 */
export const nameKey = (name: string): string =>
  name.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')

/** How a name is written at its other place, for messages; nothing if both are the same text. */
export const spelledAs = (other: string, name: string): string =>
  other === name
    ? ''
    : ` as \`${other}\`, which differs only in ${other.normalize('NFKC') === name.normalize('NFKC') ? 'its Unicode form' : 'case'}`

/** A declared rule with its id: UUIDv5 of the name for file rules, UUIDv7 for API rules. */
export interface Rule extends RuleDeclaration {
  readonly id: string
}

/** A rule created through the API. */
export interface ApiRule extends Rule {
  /** At a hub, globs of the namespaces whose sidecars get the rule; absent for all. */
  readonly namespaces?: readonly string[]
  readonly createdAtMs: Milliseconds
  readonly updatedAtMs: Milliseconds
}

/** Enables or disables a rule against its declaration. */
export interface RuleOverride {
  readonly ruleId: string
  /** Known even when the rule no longer exists. */
  readonly ruleName: string
  readonly enabled: boolean
  readonly reason: string
  /** Null for an override that lasts until the declaration changes. */
  readonly expiresAtMs: Milliseconds | null
  /** Hash of the overridden declaration; the override ends when it changes. */
  readonly declaredHash: string
  readonly createdAtMs: Milliseconds
}

/** Identifies a rule in decisions, answers and log entries. */
export interface RuleReference {
  readonly id: string
  readonly name: string
  readonly type: RuleTypeName
  readonly action: RuleAction
}

/** A rule that fired on one call. */
export interface RuleHit {
  readonly rule: RuleReference
  readonly direction: Direction
}
