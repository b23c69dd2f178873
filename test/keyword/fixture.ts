// Matchers over keyword patterns, and their hits as text.

import { type KeywordHit, type KeywordMatcher, keywordMatcher } from '../../src/keyword/matcher.ts'
import { KeywordIndex, type ParsedPattern, parseKeywords } from '../../src/keyword/pattern-index.ts'

/** @throws Error for a pattern that is refused */
export function parsed(pattern: string): ParsedPattern {
  const result = parseKeywords(pattern)
  if ('messages' in result) throw new Error(result.messages.join('; '))
  return result
}

/**
 * A matcher for all patterns.
 * @param holding whether each holds text back; all of them by default
 */
export function matcher(patterns: readonly string[], holding = patterns.map(() => true)): KeywordMatcher {
  const index = new KeywordIndex(patterns.map(parsed))
  return keywordMatcher(index, { active: patterns.map(() => true), holding })!
}

/** `pattern@start-end` */
export const show = (hits: readonly KeywordHit[]): string[] =>
  hits.map(({ pattern, start, end }) => `${pattern}@${start}-${end}`)
