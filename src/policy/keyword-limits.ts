// Bounds what the keyword rules of one rule set cost together, in memory and in compile time.

import type { ParsedRule } from './parse-rule.ts'
import type { RuleDeclaration } from './rule.ts'

/** At these limits a rule set takes about 50 MiB and 50 ms to compile. */
const MAXIMUM_CHARACTERS = 262_144
const MAXIMUM_STEPS = 10_000

/** Adds up the words and expressions of the enabled keyword rules. */
export class KeywordUsage {
  /** Normalised characters of all words. */
  #characters = 0
  /** Instructions of all expressions. */
  #steps = 0

  add(rules: Iterable<ParsedRule<RuleDeclaration>>): this {
    for (const { rule, pattern } of rules) {
      if (pattern.type !== 'keyword_block' || !rule.enabled) continue
      for (const { length } of pattern.keywords.words) this.#characters += length
      for (const { instructions } of pattern.keywords.programs) this.#steps += instructions.length
    }
    return this
  }

  /**
   * The exceeded limit as a sentence without its full stop; null when the rules fit.
   * @param share of each limit
   */
  exceeded(share = 1): string | null {
    if (this.#characters > MAXIMUM_CHARACTERS * share) {
      return `all keywords together have ${this.#characters} characters; at most ${MAXIMUM_CHARACTERS} are allowed`
    }
    if (this.#steps > MAXIMUM_STEPS * share) {
      return `all expressions together compile to ${this.#steps} steps; at most ${MAXIMUM_STEPS} are allowed`
    }
    return null
  }
}
