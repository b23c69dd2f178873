// Maps the patterns of values that rules find to rules: kinds that they define, and keywords that
// they replace.

import type { PiiKind } from '../core/finding.ts'
import { TEXT_PARTS, type TextPart, type TextPlace } from '../core/text-part.ts'
import { type Checksum, checkDigits } from '../detect/pii/pattern-checksums.ts'
import type { SpanPattern } from '../keyword/spans/span-finder.ts'
import { SpanIndex, type SpanSearcher } from '../keyword/spans/span-search.ts'
import { encodedSearcher } from './encoded-search.ts'
import type { Rule, RuleReference } from './rule.ts'

/** The rules whose values a text is searched for. */
export interface ValueRules {
  readonly searcher: SpanSearcher
  /** By pattern index: its rule. */
  readonly rules: readonly RuleReference[]
  /** By pattern index: the kind of its values, or the label of their placeholders in lower case. */
  readonly kinds: readonly PiiKind[]
  /** By pattern index: the parts of a prompt in which its values count. */
  readonly parts: readonly (readonly TextPart[])[]
  /** Labels of placeholders besides those of built-in kinds. */
  readonly labels: ReadonlySet<string>
}

interface ValueRule {
  readonly rule: Rule
  readonly reference: RuleReference
  readonly kind: PiiKind
  readonly pattern: SpanPattern
}

/** Rules of a rule set, compiled once for every selection of them. */
export class ValueRuleIndex {
  readonly #rules: readonly ValueRule[]
  /** Null without rules. */
  readonly #index: SpanIndex | null
  readonly #readsEscapes: boolean
  readonly #labels: ReadonlySet<string>

  /**
   * @param labels as in ValueRules
   * @param readsEscapes whether values are found in encoded text as built-in kinds are
   */
  constructor(rules: readonly ValueRule[], labels: ReadonlySet<string>, readsEscapes: boolean) {
    this.#labels = labels
    this.#rules = rules
    this.#readsEscapes = readsEscapes
    this.#index = rules.length === 0 ? null : new SpanIndex(rules.map(({ pattern }) => pattern))
  }

  /**
   * The rules whose values count in one of the places; null when there are none.
   * @param counts whether values of a rule count in a place
   */
  select(
    counts: (one: ValueRule, place: TextPlace) => boolean,
    places: readonly TextPlace[],
  ): ValueRules | null {
    const active = this.#rules.map((one) => places.some((place) => counts(one, place)))
    const searcher = this.#searcher(active)
    if (searcher === null) return null
    return {
      searcher,
      rules: this.#rules.map(({ reference }) => reference),
      kinds: this.#rules.map(({ kind }) => kind),
      parts: this.#rules.map((one) => TEXT_PARTS.filter((part) => counts(one, part))),
      labels: this.#labels,
    }
  }

  #searcher(active: readonly boolean[]): SpanSearcher | null {
    if (this.#index === null || !this.#readsEscapes) return this.#index?.select(active) ?? null
    const patterns = this.#rules.map(({ pattern }) => pattern)
    return encodedSearcher(this.#index, patterns, active)
  }
}

/** Normalised characters before and after a value in which a context word counts. */
const CONTEXT_BEFORE = 64
const CONTEXT_AFTER = 32

/**
 * Returns when a value counts: with one of the words near it, and with its check digits.
 * @param context normalised words; null for none
 */
export function conditionOf(
  context: readonly string[] | null,
  checksum: Checksum | null,
): Pick<SpanPattern, 'condition'> {
  if (context === null && checksum === null) return {}
  const words = context?.map(codePointsOf)
  return {
    condition: {
      ...(words && { words: { words, before: CONTEXT_BEFORE, after: CONTEXT_AFTER } }),
      ...(checksum && { newCheck: () => checkDigits(checksum) }),
    },
  }
}

const codePointsOf = (word: string): readonly number[] =>
  Array.from(word, (character) => character.codePointAt(0)!)
