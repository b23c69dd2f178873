// Compares the scopes of rules: which calls, places and kinds of one rule another covers. Knows
// no texts.

import { PII_KINDS, type PiiKind } from '../core/finding.ts'
import { TEXT_PLACES, type TextPlace } from '../core/text-part.ts'
import type { ParsedRule } from '../policy/parse-rule.ts'
import { concernsPlace, type Rule, strictnessOf } from '../policy/rule.ts'

/**
 * Whether every call and place that `inner` concerns, `outer` concerns too; false where globs do
 * not show it.
 */
export const covers = (outer: Rule, inner: Rule): boolean =>
  coversCalls(outer, inner) && placesOf(inner).every((place) => concernsPlace(outer, place))

const placesOf = (rule: Rule): readonly TextPlace[] =>
  TEXT_PLACES.filter((place) => concernsPlace(rule, place))

const coversCalls = (outer: Rule, inner: Rule): boolean =>
  coversLabels(outer, inner) &&
  coversApis(outer, inner) &&
  (['models', 'keys'] as const).every((list) => {
    const wide = globsOf(outer, list)
    const narrow = globsOf(inner, list)
    if (wide === undefined || wide.includes('*')) return true
    return narrow?.every((glob) => wide.includes(glob)) ?? false
  })

const coversLabels = (outer: Rule, inner: Rule): boolean =>
  Object.entries(outer.match?.labels ?? {}).every(([name, value]) => inner.match?.labels?.[name] === value)

const coversApis = ({ match: outer }: Rule, { match: inner }: Rule): boolean =>
  outer?.apis === undefined || inner?.apis?.every((api) => outer.apis!.includes(api)) === true

const globsOf = ({ match }: Rule, list: 'models' | 'keys'): readonly string[] | undefined =>
  match?.[list]?.map((glob) => (list === 'models' ? glob.toLowerCase() : glob))

/** Stands for the open kinds, which only a rule for all kinds names together. */
const OPEN_KINDS = '*'
const EVERY_KIND: readonly PiiKind[] = [...PII_KINDS, OPEN_KINDS]

/** The kinds that a pii rule names; none for a rule of another type. */
export function kindsOf({ pattern }: ParsedRule): readonly PiiKind[] {
  if (pattern.type !== 'pii') return []
  return pattern.kinds === '*' ? EVERY_KIND : pattern.kinds
}

const hasExceptions = ({ pattern }: ParsedRule): boolean =>
  pattern.type === 'pii' && pattern.exceptions !== null

const namesAllKinds = ({ pattern }: ParsedRule): boolean => pattern.type === 'pii' && pattern.kinds === '*'

/**
 * Whether `other` decides wherever both pii rules apply: a kind before `*`, then the stricter
 * action, then the first in order (policy/compile). Its exceptions leave values to rules that are
 * as specific.
 */
function outranks(other: ParsedRule, rule: ParsedRule, isEarlier: boolean): boolean {
  const specific = Number(namesAllKinds(rule)) - Number(namesAllKinds(other))
  const strict = strictnessOf(rule.rule) - strictnessOf(other.rule)
  const isFirst = strict > 0 || (strict === 0 && isEarlier)
  return specific > 0 || (specific === 0 && isFirst && !hasExceptions(other))
}

/**
 * The pii rules that together decide everything `rule` applies to; empty when `rule` decides
 * something itself.
 */
export function overruling(rule: ParsedRule, rules: readonly ParsedRule[]): ParsedRule[] {
  const position = rules.indexOf(rule)
  const stronger = rules.filter(
    (other, index) =>
      other !== rule &&
      other.pattern.type === 'pii' &&
      coversCalls(other.rule, rule.rule) &&
      outranks(other, rule, index < position),
  )
  const winners = new Set<ParsedRule>()
  for (const place of placesOf(rule.rule)) {
    for (const kind of kindsOf(rule)) {
      const winner = stronger.find(
        (other) => concernsPlace(other.rule, place) && kindsOf(other).includes(kind),
      )
      if (winner === undefined) return []
      winners.add(winner)
    }
  }
  return [...winners]
}
