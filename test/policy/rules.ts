// Rules for tests, in one line each.

import type { KeywordHit, KeywordMatcher } from '../../src/keyword/matcher.ts'
import { compileRules, type Selection } from '../../src/policy/compile.ts'
import type { Rule } from '../../src/policy/rule.ts'

/** A keyword rule unless told otherwise; the id is the name. */
export const rule = (name: string, pattern: string, more: Partial<Rule> = {}): Rule => ({
  id: name,
  name,
  type: 'keyword_block',
  pattern,
  action: 'block',
  enabled: true,
  ...more,
})

export const select = (rules: readonly Rule[], model = 'gpt-4o', key = 'app'): Selection =>
  compileRules(rules, 'test').select([model], key)

/** A matcher for prompts; each pattern becomes a rule named by its place. */
export function matcher(patterns: readonly string[], action: Rule['action'] = 'block'): KeywordMatcher {
  const found = select(patterns.map((pattern, index) => rule(String(index), pattern, { action }))).keywords(
    'request',
  )
  if (found === null) throw new Error('no keyword rule')
  return found
}

/** `name@start-end` */
export const show = (hits: readonly KeywordHit[]): string[] =>
  hits.map(({ rule: { name }, start, end }) => `${name}@${start}-${end}`)
