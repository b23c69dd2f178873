// Bounds what the keyword rules of one rule set cost together, in memory and in compile time.

import type { ParsedPattern } from '../keyword/pattern-index.ts'
import type { ParsedRule } from './parse-rule.ts'
import type { RuleDeclaration } from './rule.ts'
import type { RulePattern } from './rule-types.ts'

/** At these limits a rule set takes about 50 MiB and 50 ms to compile. */
const MAXIMUM_CHARACTERS = 262_144
const MAXIMUM_STEPS = 10_000

/** The words and expressions of a rule: of a keyword rule, and of arguments of tools. */
function keywordsOf(pattern: RulePattern): readonly Partial<ParsedPattern>[] {
  if (pattern.type === 'keyword_block') return [pattern.keywords]
  if (pattern.type === 'pii') return [pattern.exceptions ?? {}]
  if (pattern.type === 'pii_pattern') return [pattern, pattern.exceptions ?? {}]
  return pattern.type === 'tool_access' ? (pattern.arguments ?? []).map(({ keywords }) => keywords) : []
}

/** Adds up the words and expressions of the enabled rules. */
export class KeywordUsage {
  /** Normalised characters of all words. */
  #characters = 0
  /** Instructions of all expressions. */
  #steps = 0

  add(rules: Iterable<ParsedRule<RuleDeclaration>>): this {
    for (const { rule, pattern } of rules) {
      for (const { words = [], programs = [] } of rule.enabled ? keywordsOf(pattern) : []) {
        for (const { length } of words) this.#characters += length
        for (const { instructions } of programs) this.#steps += instructions.length
      }
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
