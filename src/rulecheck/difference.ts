// Two rule sets compared: what their files say, and what they do to the same exchanges. Texts of exchanges never
// leave this file; places, decisions and names of rules do.

import { GatewayError } from '../core/errors.ts'
import { compileRules, type RuleSet } from '../policy/compile.ts'
import type { Rule, RuleDeclaration } from '../policy/rule.ts'
import { revisionOf } from '../rules/declaration.ts'
import type { RuleCase } from './cases.ts'
import { type Bench, type CaseOutcome, exercise } from './run-case.ts'

const FIELDS = ['type', 'pattern', 'action', 'enabled', 'match', 'description'] as const

interface FieldChange {
  readonly field: (typeof FIELDS)[number]
  /** As YAML would have it on one line; null where the field is absent. */
  readonly old: string | null
  readonly new: string | null
}

export interface RuleDifference {
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
  /** Empty unless `changed`. */
  readonly fields: readonly FieldChange[]
}

/** What one rule set makes of an exchange, without its texts. */
interface Effect {
  readonly decision: CaseOutcome['decision'] | 'invalid'
  readonly rules: readonly string[]
}

export interface ExchangeDifference {
  /** `file:line name`. */
  readonly where: string
  readonly old: Effect
  readonly new: Effect
  /** The model or the client would see another text. */
  readonly textDiffers: boolean
}

/** An exchange to try both sets on. */
export type Exchange = Pick<RuleCase, 'request' | 'keyName' | 'answer'> & { readonly where: string }

export interface Difference {
  readonly rules: readonly RuleDifference[]
  readonly exchanges: readonly ExchangeDifference[]
  /** Exchanges that were tried. */
  readonly tried: number
}

/** Compares two sets of valid rules, by name. */
export async function compareRules(
  old: readonly Rule[],
  next: readonly Rule[],
  exchanges: readonly Exchange[],
  bench: Bench,
): Promise<Difference> {
  const sets = [compileRules(old, revisionOf(old)), compileRules(next, revisionOf(next))] as const
  const changed: ExchangeDifference[] = []
  for (const exchange of exchanges) {
    const [before, after] = [
      await effectOf(exchange, sets[0], bench),
      await effectOf(exchange, sets[1], bench),
    ]
    const textDiffers = before.text !== null && after.text !== null && before.text !== after.text
    const same = JSON.stringify(before.effect) === JSON.stringify(after.effect)
    if (!same || textDiffers) {
      changed.push({ where: exchange.where, old: before.effect, new: after.effect, textDiffers })
    }
  }
  return { rules: declaredDifferences(old, next), exchanges: changed, tried: exchanges.length }
}

async function effectOf(
  exchange: Exchange,
  rules: RuleSet,
  bench: Bench,
): Promise<{ readonly effect: Effect; readonly text: string | null }> {
  try {
    const { decision, rules: fired, redacted, answer } = await exercise(exchange, rules, bench)
    // Of a call that is refused nobody sees a text.
    const text = decision === 'block' ? null : JSON.stringify([redacted, answer])
    return { effect: { decision, rules: fired }, text }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { effect: { decision: 'invalid', rules: [] }, text: null }
  }
}

function declaredDifferences(old: readonly Rule[], next: readonly Rule[]): RuleDifference[] {
  const before = new Map(old.map((rule) => [rule.name, rule]))
  const after = new Map(next.map((rule) => [rule.name, rule]))
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
  if (field === 'match' && rule.match !== undefined) {
    const { models, keys, direction } = rule.match
    return JSON.stringify({ models, keys, direction })
  }
  const value = rule[field]
  return value === undefined ? null : String(value)
}
