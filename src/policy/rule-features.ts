// Names of what a sidecar must know to enforce a rule of a hub. A sidecar states those of its
// release when it connects, and a hub sends it no rule that needs another one.

import { RULE_ACTIONS } from '../core/rule-action.ts'
import type { RuleDeclaration } from './rule.ts'
import { RULE_TYPE_NAMES } from './rule-types.ts'
import { CONDITION_FIELDS } from './tool-conditions.ts'
import { VALUE_FIELDS } from './value-fields.ts'

/** The feature of sidecars that take rules, overrides and prices of a hub. */
export const POLICY_FEATURE = 'policy'

/** Fields that every release knows. */
const PLAIN_FIELDS = ['name', 'type', 'pattern', 'action', 'enabled', 'description', 'match']
/** The other fields of a rule, and those of `match`. */
export const OPTIONAL_FIELDS: readonly string[] = [
  'per',
  ...CONDITION_FIELDS,
  ...VALUE_FIELDS,
  ...['placeholders', 'restore'],
]
export const MATCH_FIELDS = ['models', 'keys', 'labels', 'direction', 'parts', 'apis']

/** Names of features have no capitals. */
const featureOf = (field: string): string => `rule_${field.toLowerCase()}`

/** What this release enforces. */
export const RULE_FEATURES: readonly string[] = [
  POLICY_FEATURE,
  ...RULE_TYPE_NAMES.map((name) => `rule_type_${name}`),
  ...RULE_ACTIONS.map((name) => `rule_action_${name}`),
  ...OPTIONAL_FIELDS.map(featureOf),
  ...MATCH_FIELDS.map((name) => `rule_match_${name}`),
]

/** Returns what a sidecar must know to enforce a rule. */
export const featuresOf = (declaration: RuleDeclaration): string[] => [
  POLICY_FEATURE,
  `rule_type_${declaration.type}`,
  ...(declaration.action === undefined ? [] : [`rule_action_${declaration.action}`]),
  ...Object.keys(declaration)
    .filter((name) => !PLAIN_FIELDS.includes(name))
    .map(featureOf),
  ...Object.keys(declaration.match ?? {}).map((name) => `rule_match_${name}`),
]
