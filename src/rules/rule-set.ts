// Compiles parsed rules under the revision that names them.

import { compileRules, type RuleSet } from '../policy/compile.ts'
import type { ParsedRule } from '../policy/parse-rule.ts'
import { revisionOf } from './declaration.ts'

export const ruleSetOf = (rules: readonly ParsedRule[]): RuleSet =>
  compileRules(rules, revisionOf(rules.map(({ rule }) => rule)))
