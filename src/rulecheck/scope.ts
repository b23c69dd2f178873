// What rules apply to, compared: which calls, directions and kinds one rule covers of another's. Knows no texts.

import { type Direction, PII_KINDS, type PiiKind } from '../core/finding.ts'
import { RULE_ACTIONS, type Rule } from '../policy/rule.ts'
import { parseKinds } from '../policy/rule-pattern.ts'

const DIRECTIONS: readonly Direction[] = ['request', 'response']

/** Whether every call and direction that concerns `inner` concerns `outer`; false where that cannot be told. */
export const covers = (outer: Rule, inner: Rule): boolean =>
  coversCalls(outer, inner) &&
  directionsOf(inner).every((direction) => directionsOf(outer).includes(direction))

function directionsOf({ match }: Rule): readonly Direction[] {
  const direction = match?.direction ?? 'both'
  return direction === 'both' ? DIRECTIONS : [direction]
}

const coversCalls = (outer: Rule, inner: Rule): boolean =>
  (['models', 'keys'] as const).every((list) => {
    const wide = outer.match?.[list]?.map((glob) => (list === 'models' ? glob.toLowerCase() : glob))
    const narrow = inner.match?.[list]?.map((glob) => (list === 'models' ? glob.toLowerCase() : glob))
    if (wide === undefined || wide.includes('*')) return true
    return narrow?.every((glob) => wide.includes(glob)) ?? false
  })

/** Kinds a valid pii rule speaks of. */
export function kindsOf(rule: Rule): readonly PiiKind[] {
  const kinds = parseKinds(rule.pattern)
  if ('message' in kinds) return []
  return kinds.value === '*' ? PII_KINDS : kinds.value
}

/**
 * Whether `other` decides wherever both pii rules speak: a kind before `*`, then the stricter action, then the first
 * in order (policy/compile).
 */
function outranks(other: Rule, rule: Rule, isEarlier: boolean): boolean {
  const specific = Number(rule.pattern.trim() === '*') - Number(other.pattern.trim() === '*')
  const strict = RULE_ACTIONS.indexOf(rule.action) - RULE_ACTIONS.indexOf(other.action)
  return specific > 0 || (specific === 0 && (strict > 0 || (strict === 0 && isEarlier)))
}

/** The pii rules that leave `rule` nothing to decide; empty when it has something. */
export function overruling(rule: Rule, rules: readonly Rule[]): Rule[] {
  const place = rules.indexOf(rule)
  const stronger = rules.filter(
    (other, index) =>
      other !== rule &&
      other.type === 'pii' &&
      coversCalls(other, rule) &&
      outranks(other, rule, index < place),
  )
  const winners = new Set<Rule>()
  for (const direction of directionsOf(rule)) {
    for (const kind of kindsOf(rule)) {
      const winner = stronger.find(
        (other) => directionsOf(other).includes(direction) && kindsOf(other).includes(kind),
      )
      if (winner === undefined) return []
      winners.add(winner)
    }
  }
  return [...winners]
}
