// Finds the open kinds that rules define, and those that rules name and nothing defines.

import type { PiiKind } from '../core/finding.ts'
import type { ParsedRule } from './parse-rule.ts'
import type { RuleDeclaration } from './rule.ts'
import { ruleTypeOf } from './rule-types.ts'
import { notAKind } from './types/pii.ts'

/** A rule as far as kinds need it. */
type KindRule = Pick<ParsedRule<RuleDeclaration>, 'pattern'>

/** Returns the kinds that rules define, whether they are enabled or not. */
export const openKindsOf = (rules: readonly KindRule[]): readonly PiiKind[] =>
  rules.flatMap(({ pattern }) => ruleTypeOf(pattern.type).definesKind?.(pattern) ?? [])

/** Returns the open kinds that a rule names and that are not among the defined ones. */
export const undefinedKindsOf = (
  { pattern }: KindRule,
  defined: { has(kind: PiiKind): boolean },
): readonly PiiKind[] =>
  (ruleTypeOf(pattern.type).namesKinds?.(pattern) ?? []).filter((kind) => !defined.has(kind))

/** Says that nothing defines a kind, and what may. Follows the name of a field. */
export const undefinedKind = (kind: PiiKind): string =>
  `names a kind that nothing defines: ${notAKind(kind)}; a recogniser of the configuration may define others`
