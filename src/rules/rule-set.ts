// Compiles parsed rules under the revision that names them.

import type { PiiKind } from '../core/finding.ts'
import { compileRules, type RuleSet } from '../policy/compile.ts'
import type { ParsedRule } from '../policy/parse-rule.ts'
import { revisionOf } from './declaration.ts'

/** @param openKinds that the configuration defines */
export const ruleSetOf = (rules: readonly ParsedRule[], openKinds: readonly PiiKind[] = []): RuleSet =>
  compileRules(rules, revisionOf(rules.map(({ rule }) => rule)), openKinds)
