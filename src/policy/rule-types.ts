// Lists the rule types, and reads patterns by the type of their rule.

import { controlCharacterIn } from './control-character.ts'
import {
  type OtherFields,
  type PatternRefusal,
  type RuleType,
  refuse,
  type WrittenPattern,
} from './rule-type.ts'
import { CAPTURE } from './types/capture.ts'
import { KEYWORD_BLOCK } from './types/keyword-block.ts'
import { MODEL_ACCESS } from './types/model-access.ts'
import { PII } from './types/pii.ts'
import { PII_PATTERN } from './types/pii-pattern.ts'
import { PROMPT_INJECTION } from './types/prompt-injection.ts'
import { RATE_LIMIT } from './types/rate-limit.ts'
import { TOOL_ACCESS } from './types/tool-access.ts'

/** In the order of lists and documents. */
const TYPES = [
  KEYWORD_BLOCK,
  PII,
  PII_PATTERN,
  PROMPT_INJECTION,
  RATE_LIMIT,
  MODEL_ACCESS,
  TOOL_ACCESS,
  CAPTURE,
] as const

export const RULE_TYPES: readonly RuleType[] = TYPES

/** The parsed pattern of a rule. */
export type RulePattern = Exclude<ReturnType<(typeof TYPES)[number]['parse']>, PatternRefusal>
export type RuleTypeName = RulePattern['type']

export const RULE_TYPE_NAMES = TYPES.map(({ name }) => name)

const BY_NAME = new Map<RuleTypeName, RuleType>(TYPES.map((type) => [type.name, type]))

/** Names of the types with a list as their pattern. */
const LISTS = RULE_TYPES.filter(({ form }) => form.isList).map(({ name }) => name)

/** Names the types of which something is true, for messages: `a, b and c`. */
export function typeNames(isMeant: (type: RuleType) => boolean | undefined): string {
  const names = RULE_TYPES.filter(isMeant).map(({ name }) => name)
  return [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((one) => one !== '').join(' and ')
}

/** Returns the type of a name. */
export const ruleTypeOf = (name: RuleTypeName): RuleType => BY_NAME.get(name)!

/** Reads the pattern of a rule, with the fields that it depends on. */
export function parsePattern(
  name: RuleTypeName,
  written: WrittenPattern,
  fields: OtherFields = {},
): RulePattern | PatternRefusal {
  const type = ruleTypeOf(name)
  if (!type.form.isList) {
    if (typeof written !== 'string')
      return refuse(`must be a text; only ${LISTS.join(' and ')} rules have a list`)
    const control = controlCharacterIn(written)
    if (control !== null) return refuse(control)
  }
  return type.parse(written, fields) as RulePattern | PatternRefusal
}
