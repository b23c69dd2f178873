// Applies rules to the values of a prompt: drops those that a rule leaves alone, and adds keywords
// that a rule replaces.

import type { Finding } from '../../core/finding.ts'
import type { Steps } from '../../core/steps.ts'
import type { TextPart } from '../../core/text-part.ts'
import type { Selection } from '../../policy/compile.ts'
import { findValues, joinFindings } from '../scan/open-kinds.ts'
import { restorableValue } from '../scan/placeholders.ts'
import type { InspectedText } from './numbering.ts'
import type { KeywordHits } from './prompt-keywords.ts'
import { overlap } from './prompt-neighbours.ts'

/** Drops the values that the rules leave alone. */
export function withoutExceptions(
  findings: readonly Finding[],
  view: string,
  part: TextPart,
  { hasExceptions, excepts }: Selection,
): readonly Finding[] {
  if (!hasExceptions || findings.length === 0) return findings
  return findings.filter(
    ({ kind, start, end }) => !excepts(kind, part, restorableValue(kind, view.slice(start, end))),
  )
}

/** Adds the keywords that rules replace. Personal data that overlaps one is replaced instead. */
export function* addKeywords(items: readonly InspectedText[], selection: Selection): Steps<void> {
  const rules = selection.replacedKeywords('request')
  if (rules === null) return
  for (const item of items) {
    const { view, part, replacements } = item
    const found = joinFindings(yield* findValues(rules, view, part), [])
    const free = found.filter((one) => !replacements.some(({ finding }) => overlap(one, finding)))
    if (free.length === 0) continue
    const added = free.map((finding) => ({
      ...{ finding, value: view.slice(finding.start, finding.end) },
      keyword: rules.rules[finding.pattern]!,
    }))
    item.replacements = [...replacements, ...added].sort((a, b) => a.finding.start - b.finding.start)
  }
}

/** Adds the rules that replaced keywords to the hits. */
export function withReplaced(hits: KeywordHits, items: readonly InspectedText[]): KeywordHits {
  for (const item of items)
    for (const { keyword } of item.replacements)
      if (keyword !== undefined && !hits.has(keyword)) hits.set(keyword, item)
  return hits
}
