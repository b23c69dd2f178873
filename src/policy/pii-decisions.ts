// Decides what is done with each kind of personal data in each place of a call.

import type { PiiKind } from '../core/finding.ts'
import type { PlaceholderStyle } from '../core/placeholder-style.ts'
import type { RuleAction } from '../core/rule-action.ts'
import { TEXT_PLACES, type TextPlace } from '../core/text-part.ts'
import type { ExceptionTest } from './exceptions.ts'
import { concernsPlace, isRestoring, type Rule, type RuleReference, strictnessOf } from './rule.ts'

/** The action for one kind of personal data; `rule` is null where no rule names the kind. */
export interface PiiDecision {
  readonly action: RuleAction
  readonly rule: RuleReference | null
  /** Null where the configuration says it. */
  readonly placeholders: PlaceholderStyle | null
  /** Whether the answer gets values back that were replaced in the prompt. */
  readonly restores: boolean
}

const NO_RULE: PiiDecision = Object.freeze({
  ...{ action: 'redact', rule: null, placeholders: null, restores: false },
})
/** For a value that every rule which decides on its kind leaves alone. */
const LEFT_ALONE: PiiDecision = Object.freeze({ ...NO_RULE, action: 'allow' })

/** A rule of any type; those on other things decide on no kind. */
interface PiiRule {
  readonly rule: Rule
  /** That it decides on; `*` for all, null for none. */
  readonly kinds: '*' | readonly PiiKind[] | null
  readonly reference: RuleReference
  readonly excepts: ExceptionTest | null
}

/** Says what is done with personal data in a place. */
export interface PiiDecisions {
  /** The decision on a value that is not known: as strict as on any value of the kind. */
  ofKind(kind: PiiKind, place: TextPlace): PiiDecision
  /** The decision on a value. @param value without escapes */
  ofValue(kind: PiiKind, place: TextPlace, value: string): PiiDecision
}

/**
 * Returns the decisions in every place.
 * @param byModel the rules that concern each model
 * @param kinds that may be found
 */
export function decideKinds(
  byModel: readonly (readonly PiiRule[])[],
  kinds: readonly PiiKind[],
): PiiDecisions {
  const claims = new Map(
    TEXT_PLACES.map((place) => [place, byModel.map((rules) => claimsIn(rules, place, kinds))]),
  )
  const decisions = new Map(
    TEXT_PLACES.map((place) => {
      const ofModels = claims.get(place)!
      return [place, new Map(kinds.map((kind) => [kind, strictest(ofModels, kind, null)]))]
    }),
  )
  const hasExceptions = byModel.some((rules) => rules.some(({ excepts }) => excepts !== null))
  const ofKind: PiiDecisions['ofKind'] = (kind, place) => decisions.get(place)!.get(kind) ?? NO_RULE
  return {
    ofKind,
    ofValue: hasExceptions
      ? (kind, place, value) => strictest(claims.get(place)!, kind, value)
      : (kind, place) => ofKind(kind, place),
  }
}

/** What a rule says of a kind. */
interface Claim {
  readonly decision: PiiDecision
  /** Values that the rule leaves alone; null for none. */
  readonly excepts: ExceptionTest | null
  readonly isForAll: boolean
  readonly isForAnswers: boolean
}

/** By kind: the claims that may decide, the strongest first. */
type Claims = ReadonlyMap<PiiKind, readonly Claim[]>

/** Collects claims from the weakest on. Those for all kinds yield to one that names the kind. */
function claimsIn(rules: readonly PiiRule[], place: TextPlace, every: readonly PiiKind[]): Claims {
  const named = rules
    .flatMap(({ rule, reference, kinds, excepts }) => {
      if (kinds === null || !concernsPlace(rule, place)) return []
      const { action } = reference
      const placeholders = rule.placeholders ?? null
      const decision = Object.freeze({ action, rule: reference, placeholders, restores: isRestoring(rule) })
      const isForAnswers = rule.match?.direction === 'response'
      const claim: Claim = { decision, excepts, isForAll: kinds === '*', isForAnswers }
      return [{ kinds, claim, strictness: strictnessOf(rule) }]
    })
    .reverse()
    .sort((a, b) => Number(b.claim.isForAll) - Number(a.claim.isForAll) || b.strictness - a.strictness)
  const claims = new Map<PiiKind, readonly Claim[]>()
  for (const { kinds, claim } of named) {
    for (const kind of kinds === '*' ? every : kinds) {
      const known = claims.get(kind) ?? []
      const weaker = known[0]?.isForAll === claim.isForAll ? known : []
      // Restoring concerns values of the prompt. A rule for answers decides on values new in one.
      const yields = claim.decision.restores && place === 'answer' && weaker[0]?.isForAnswers === true
      claims.set(kind, yields ? [weaker[0]!, claim, ...weaker.slice(1)] : [claim, ...weaker])
    }
  }
  return claims
}

/**
 * The strictest decision over all models: a model trusted with a kind must not expose it to one
 * that is not.
 * @param value null for one that is not known
 */
const strictest = (byModel: readonly Claims[], kind: PiiKind, value: string | null): PiiDecision =>
  byModel.length === 0
    ? NO_RULE
    : byModel.map((claims) => decisionOf(claims.get(kind), kind, value)).reduce(stricter)

/** An exception of one rule does not free a value from the others. */
function decisionOf(claims: readonly Claim[] | undefined, kind: PiiKind, value: string | null): PiiDecision {
  if (claims === undefined) return NO_RULE
  const deciding = claims.find(({ excepts }) => value === null || excepts?.(kind, value) !== true)
  return deciding?.decision ?? LEFT_ALONE
}

const strictnessOfDecision = ({ action, restores }: PiiDecision): number =>
  strictnessOf({ action, restore: restores })

/** The stricter decision; between equal actions, the one that names a rule. */
function stricter(one: PiiDecision, other: PiiDecision): PiiDecision {
  const difference = strictnessOfDecision(one) - strictnessOfDecision(other)
  if (difference !== 0) return difference < 0 ? one : other
  return one.rule !== null ? one : other
}
