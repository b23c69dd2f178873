// Maps the keyword engine's pattern indices to rules.

import type { TextPlace } from '../core/text-part.ts'
import { type KeywordMatcher, keywordMatcher } from '../keyword/matcher.ts'
import { KeywordIndex, type ParsedPattern } from '../keyword/pattern-index.ts'
import { concernsPlace, partsOf, type Rule, type RuleParts, type RuleReference } from './rule.ts'

/** The keyword rules that a text is matched against. */
export interface KeywordRules {
  readonly matcher: KeywordMatcher
  /** The rule of each pattern index of the matcher's hits. */
  readonly rules: readonly RuleReference[]
  /** The parts of a prompt that the rule of each pattern index looks at. */
  readonly parts: readonly RuleParts[]
}

/** A keyword rule with its pattern parsed. */
interface KeywordRule {
  readonly rule: Rule
  readonly reference: RuleReference
  readonly keywords: ParsedPattern
}

/** All keyword rules of a rule set, compiled once for every selection of them. */
export class KeywordRuleIndex {
  readonly #index: KeywordIndex
  readonly #rules: readonly Rule[]
  readonly #references: readonly RuleReference[]
  readonly #parts: readonly RuleParts[]

  constructor(rules: readonly KeywordRule[]) {
    this.#index = new KeywordIndex(rules.map(({ keywords }) => keywords))
    this.#rules = rules.map(({ rule }) => rule)
    this.#references = rules.map(({ reference }) => reference)
    this.#parts = rules.map(({ rule }) => partsOf(rule))
  }

  /**
   * The chosen rules that concern one of the places; null when none does. Rules that block hold
   * text back.
   */
  select(chosen: ReadonlySet<Rule>, places: readonly TextPlace[]): KeywordRules | null {
    const active = this.#rules.map(
      (rule) => chosen.has(rule) && places.some((place) => concernsPlace(rule, place)),
    )
    const holding = this.#rules.map(({ action }, pattern) => active[pattern] === true && action === 'block')
    const matcher = keywordMatcher(this.#index, { active, holding })
    const parts = this.#parts.map((one, pattern) => (active[pattern] === true ? one : null))
    return matcher === null ? null : { matcher, rules: this.#references, parts }
  }
}
