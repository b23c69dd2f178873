// Rules for tests, in one line each.

import type { Direction } from '../../src/core/finding.ts'
import { compileRules as compileParsed, type RuleSet, type Selection } from '../../src/policy/compile.ts'
import { type ParsedRule, parseRule } from '../../src/policy/parse-rule.ts'
import type { Rule, RuleReference } from '../../src/policy/rule.ts'
import { keyOf } from './keys.ts'

/** A keyword rule by default; the id is the name. */
export const rule = (name: string, pattern: Rule['pattern'], more: Partial<Rule> = {}): Rule => ({
  id: name,
  name,
  type: 'keyword_block',
  pattern,
  action: 'block',
  enabled: true,
  ...more,
})

/** A rule as it is declared for a type that takes no action. */
export const withoutAction = (type: Rule['type'], pattern: string, name = 'r'): Rule => {
  const { action: _, ...declared } = rule(name, pattern, { type })
  return declared
}

/** @throws Error for a rule that is refused */
export function parsed(declared: Rule): ParsedRule {
  const result = parseRule(declared)
  if ('problems' in result) throw new Error(JSON.stringify(result.problems))
  return result
}

/** Parses and compiles rules. */
export const compileRules = (rules: readonly Rule[], revision: string): RuleSet =>
  compileParsed(rules.map(parsed), revision)

export const select = (rules: readonly Rule[], model = 'gpt-4o', key = 'app'): Selection =>
  compileRules(rules, 'test').select([model], keyOf(key))

/** The keyword rules that fire on a text, in order. */
export function fired(selection: Selection, text: string, direction: Direction = 'request'): RuleReference[] {
  const keywords = selection.keywords(direction)
  return keywords?.matcher.match(text).map(({ pattern }) => keywords.rules[pattern]!) ?? []
}

/** The names of the keyword rules that fire on a text, in order. */
export const firedNames = (selection: Selection, text: string, direction?: Direction): string[] =>
  fired(selection, text, direction).map(({ name }) => name)
