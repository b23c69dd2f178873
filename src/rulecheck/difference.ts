// Compares two rule sets: their declarations, and their effects on the same exchanges. Results hold
// positions, decisions and rule names, never the texts of exchanges.

import { canonicalize } from '../audit/canonical.ts'
import { GatewayError } from '../core/errors.ts'
import type { RuleSet } from '../policy/compile.ts'
import type { ParsedRule } from '../policy/parse-rule.ts'
import type { RuleDeclaration } from '../policy/rule.ts'
import { CONDITION_FIELDS } from '../policy/tool-conditions.ts'
import { VALUE_FIELDS } from '../policy/value-fields.ts'
import { ruleSetOf } from '../rules/rule-set.ts'
import type { RuleCase } from './cases.ts'
import { type CaseEnvironment, type CaseOutcome, runCase } from './run-case.ts'

const FIELDS = [
  'type',
  'pattern',
  ...CONDITION_FIELDS,
  ...VALUE_FIELDS,
  'per',
  'placeholders',
  'action',
  'restore',
  'enabled',
  'match',
  'description',
] as const

interface FieldChange {
  readonly field: (typeof FIELDS)[number]
  /** The value on one line; null where the field is absent. */
  readonly old: string | null
  readonly new: string | null
}

export interface RuleDifference {
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
  /** Empty unless `changed`. */
  readonly fields: readonly FieldChange[]
}

/** The effect of one rule set on an exchange, without its texts. */
interface ExchangeEffect {
  readonly decision: CaseOutcome['decision'] | 'invalid'
  readonly rules: readonly string[]
}

export interface ExchangeDifference {
  /** `file:line name`. */
  readonly where: string
  readonly old: ExchangeEffect
  readonly new: ExchangeEffect
  /** The model or the client would see another text. */
  readonly textDiffers: boolean
}

/** An exchange to run both rule sets on. */
export type RecordedExchange = Pick<RuleCase, 'api' | 'request' | 'key' | 'answer'> & {
  readonly where: string
}

export interface RuleSetDifference {
  readonly rules: readonly RuleDifference[]
  readonly exchanges: readonly ExchangeDifference[]
  /** Number of exchanges that both sets ran on. */
  readonly tried: number
}

/** Compares two rule sets, rules by name. */
export async function compareRuleSets(
  old: readonly ParsedRule[],
  next: readonly ParsedRule[],
  exchanges: readonly RecordedExchange[],
  environment: CaseEnvironment,
): Promise<RuleSetDifference> {
  const [oldSet, nextSet] = [ruleSetOf(old), ruleSetOf(next)]
  const changed: ExchangeDifference[] = []
  for (const exchange of exchanges) {
    const before = await effectOf(exchange, oldSet, environment)
    const after = await effectOf(exchange, nextSet, environment)
    const textDiffers = before.text !== null && after.text !== null && before.text !== after.text
    const isSame = JSON.stringify(before.effect) === JSON.stringify(after.effect)
    if (!isSame || textDiffers) {
      changed.push({ where: exchange.where, old: before.effect, new: after.effect, textDiffers })
    }
  }
  return { rules: compareDeclarations(old, next), exchanges: changed, tried: exchanges.length }
}

async function effectOf(
  exchange: RecordedExchange,
  rules: RuleSet,
  environment: CaseEnvironment,
): Promise<{ readonly effect: ExchangeEffect; readonly text: string | null }> {
  try {
    const { decision, rules: fired, redacted, answer } = await runCase(exchange, rules, environment)
    // Nobody sees the text of a refused call.
    const text = decision === 'block' ? null : JSON.stringify([redacted, answer])
    return { effect: { decision, rules: fired }, text }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { effect: { decision: 'invalid', rules: [] }, text: null }
  }
}

function compareDeclarations(old: readonly ParsedRule[], next: readonly ParsedRule[]): RuleDifference[] {
  const before = new Map(old.map(({ rule }) => [rule.name, rule]))
  const after = new Map(next.map(({ rule }) => [rule.name, rule]))
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name): RuleDifference[] => {
    const one = before.get(name)
    const other = after.get(name)
    if (one === undefined) return [{ name, change: 'added', fields: [] }]
    if (other === undefined) return [{ name, change: 'removed', fields: [] }]
    const fields = FIELDS.flatMap((field) => {
      const [was, is] = [show(one, field), show(other, field)]
      return was === is ? [] : [{ field, old: was, new: is }]
    })
    return fields.length === 0 ? [] : [{ name, change: 'changed', fields }]
  })
}

function show(rule: RuleDeclaration, field: (typeof FIELDS)[number]): string | null {
  const value = rule[field]
  if (value === undefined) return null
  return typeof value === 'object' ? canonicalize(value) : String(value)
}
