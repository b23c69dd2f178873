// Matches keywords in the texts of a prompt, alone and joined, for rules that look at their parts.

import { Pace, type Steps } from '../../core/steps.ts'
import type { KeywordRules } from '../../policy/keyword-rules.ts'
import type { RuleParts, RuleReference } from '../../policy/rule.ts'
import type { InspectedText } from './numbering.ts'
import { joinTexts } from './prompt-neighbours.ts'
import { CachedScan } from './scan-cache.ts'

/** The first text that each rule matches in; null for a match over several. */
export type KeywordHits = Map<RuleReference, InspectedText | null>

/**
 * Matches the rules in each text, and in the joined texts of the conversation.
 * @param keywords null without keyword rules
 */
export function* matchKeywords(
  items: readonly InspectedText[],
  conversation: readonly InspectedText[],
  keywords: KeywordRules | null,
): Steps<KeywordHits> {
  if (keywords === null) return new Map()
  const [all, spoken] = [items.map(withKeywords), conversation.map(withKeywords)]
  return yield* matchViews(all, spoken, keywords)
}

/** The text as it is before keywords are replaced: a rule that blocks one comes first. */
const withKeywords = (item: InspectedText): InspectedText =>
  item.keywordView === null ? item : { ...item, view: item.keywordView, cached: new CachedScan() }

function* matchViews(
  items: readonly InspectedText[],
  conversation: readonly InspectedText[],
  keywords: KeywordRules,
): Steps<KeywordHits> {
  const pace = new Pace()
  const hits: KeywordHits = new Map()
  // Most conversations match nothing; one pass of the prefilter replaces three searches.
  const matchesNothing = conversation.length > 1 && !(yield* keywords.matcher.mayMatchJoined(conversation))
  for (const item of items) {
    if (matchesNothing && item.text.joined !== null) continue
    if (pace.isOver(item.view.length)) yield
    const asked = (parts: RuleParts) => parts === null || parts.includes(item.part)
    yield* matchInto(hits, keywords, item.view, item, asked)
  }
  if (conversation.length > 1 && !matchesNothing) {
    for (const parts of differentParts(keywords)) {
      const texts = parts === null ? conversation : conversation.filter(({ part }) => parts.includes(part))
      const asked = (one: RuleParts) => one?.join() === parts?.join()
      // A split may fall inside a word or between two words.
      yield* matchInto(hits, keywords, joinTexts(texts, ''), null, asked)
      yield* matchInto(hits, keywords, joinTexts(texts, ' '), null, asked)
    }
  }
  return hits
}

/** Each list of parts once: at most 16. */
const differentParts = ({ parts }: KeywordRules): RuleParts[] => [
  ...new Map(parts.map((one) => [one?.join(), one])).values(),
]

function* matchInto(
  hits: KeywordHits,
  { matcher, rules, parts }: KeywordRules,
  text: string,
  item: InspectedText | null,
  isAsked: (parts: RuleParts) => boolean,
): Steps<void> {
  for (const { pattern } of yield* matcher.matchSteps(text)) {
    const rule = rules[pattern]!
    if (isAsked(parts[pattern]!) && !hits.has(rule)) hits.set(rule, item)
  }
}
