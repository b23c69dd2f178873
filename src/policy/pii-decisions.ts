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
  /** Values that the rule leaves alone; null for none. */
  readonly excepts: ExceptionTest | null
}

const NO_RULE: PiiDecision = Object.freeze({
  ...{ action: 'redact', rule: null, placeholders: null, restores: false, excepts: null },
})

/** A rule of any type; those on other things decide on no kind. */
interface PiiRule {
  readonly rule: Rule
  /** That it decides on; `*` for all, null for none. */
  readonly kinds: '*' | readonly PiiKind[] | null
  readonly reference: RuleReference
  readonly excepts: ExceptionTest | null
}

/**
 * Returns the decision for a kind in a place.
 * @param byModel the rules that concern each model
 * @param kinds that may be found
 */
export function decideKinds(
  byModel: readonly (readonly PiiRule[])[],
  kinds: readonly PiiKind[],
): (kind: PiiKind, place: TextPlace) => PiiDecision {
  const decisions = new Map(
    TEXT_PLACES.map((place) => {
      const ofModels = byModel.map((rules) => piiDecisions(rules, place, kinds))
      return [place, strictest(ofModels, kinds)]
    }),
  )
  return (kind, place) => decisions.get(place)!.get(kind) ?? NO_RULE
}

/** Applies claims from the weakest to the strongest, so that the strongest remains. */
function piiDecisions(rules: readonly PiiRule[], place: TextPlace, every: readonly PiiKind[]): PiiDecisions {
  const claims = rules
    .flatMap(({ rule, reference, kinds, excepts }) =>
      kinds !== null && concernsPlace(rule, place)
        ? [
            {
              ...{ kinds, reference, placeholders: rule.placeholders ?? null, excepts },
              ...{ restores: isRestoring(rule), strictness: strictnessOf(rule) },
              isForAnswers: rule.match?.direction === 'response',
            },
          ]
        : [],
    )
    .reverse()
    .sort((a, b) => Number(b.kinds === '*') - Number(a.kinds === '*') || b.strictness - a.strictness)
  const decisions = new Map<PiiKind, PiiDecision>()
  const claimed = new Map<PiiKind, (typeof claims)[number]>()
  for (const claim of claims) {
    const { kinds, reference, placeholders, restores, excepts } = claim
    for (const kind of kinds === '*' ? every : kinds) {
      // Restoring concerns values of the prompt. A rule for answers decides on values new in one.
      const weaker = claimed.get(kind)
      const yields = restores && place === 'answer'
      if (yields && weaker?.isForAnswers && (weaker.kinds === '*') === (kinds === '*')) continue
      claimed.set(kind, claim)
      const { action } = reference
      decisions.set(kind, Object.freeze({ action, rule: reference, placeholders, restores, excepts }))
    }
  }
  return decisions
}

type PiiDecisions = ReadonlyMap<PiiKind, PiiDecision>

/**
 * The strictest decision over all models: a model trusted with a kind must not expose it to one
 * that is not.
 */
function strictest(byModel: readonly PiiDecisions[], kinds: readonly PiiKind[]): PiiDecisions {
  const [first = new Map<PiiKind, PiiDecision>(), ...others] = byModel
  if (others.length === 0) return first
  const decisions = kinds.map((kind) => byModel.map((one) => one.get(kind) ?? NO_RULE).reduce(stricter))
  return new Map(kinds.map((kind, index) => [kind, decisions[index]!]))
}

const strictnessOfDecision = ({ action, restores }: PiiDecision): number =>
  strictnessOf({ action, restore: restores })

/**
 * The stricter decision; between equal actions, the one without exceptions, then the one that names
 * a rule.
 */
function stricter(one: PiiDecision, other: PiiDecision): PiiDecision {
  const difference = strictnessOfDecision(one) - strictnessOfDecision(other)
  if (difference !== 0) return difference < 0 ? one : other
  if ((one.excepts === null) !== (other.excepts === null)) return one.excepts === null ? one : other
  return one.rule !== null ? one : other
}
