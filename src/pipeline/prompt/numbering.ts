// Decides which numbers the values of a prompt get, so that a text which a client sends again is
// written as before.

import type { Text } from '../../chat/texts.ts'
import type { Finding, PiiKind } from '../../core/finding.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { TextPart } from '../../core/text-part.ts'
import { foldedText } from '../../keyword/normalise.ts'
import type { Selection } from '../../policy/compile.ts'
import { isReplacing, type RuleReference } from '../../policy/rule.ts'
import { Placeholders } from '../scan/placeholders.ts'
import type { Pseudonyms } from '../scan/pseudonyms.ts'
import { overlap } from './prompt-neighbours.ts'
import type { CachedScan } from './scan-cache.ts'

/** A text with the replacements to make in it. */
export interface InspectedText {
  readonly text: Text
  readonly part: TextPart
  readonly joined: number
  /** The decoded text; the redacted one once `rewrite` has run. */
  view: string
  /** The cached scan of `view`. */
  cached: CachedScan
  replacements: Replacement[]
  /** The redacted text with its keywords, where rules replace some; null elsewhere. */
  keywordView: string | null
  isRewritten: boolean
}

export interface Replacement {
  readonly finding: Finding
  /** The value to replace. Empty for the later parts of a split value. */
  readonly value: string
  /** True for a text in the form of a placeholder that is the placeholder of another value. */
  readonly isForm?: true
  /** For a keyword: the rule that replaces it. */
  readonly keyword?: RuleReference
}

/**
 * Returns a function that reserves the placeholder forms of a text, and of the rest of its message,
 * before the first value of the message gets a number. Ask in the order of the texts. Forms in
 * later messages are not reserved: a client sends a conversation again with more at its end, and a
 * value must keep its number, or the provider's prompt cache misses. Forms outside messages stay
 * from turn to turn and are reserved first.
 */
export function formsToAvoid(
  items: readonly InspectedText[],
  placeholders: Placeholders,
): (index: number) => void {
  for (const { text, view } of items) if (text.role === null) placeholders.avoid(view)
  let next = 0
  return (index) => {
    if (index < next) return
    const { role, owner } = items[index]!.text
    next = index + 1
    if (role === null) return
    placeholders.avoid(items[index]!.view)
    for (; owner !== null && items[next]?.text.owner === owner; next++) placeholders.avoid(items[next]!.view)
  }
}

/**
 * Makes the placeholder of an earlier message, written in a text by somebody else, a value of its
 * own. As it is, an answer that repeats it would be restored to the other value.
 */
export function keepForms(item: InspectedText, selection: Selection, placeholders: Placeholders): void {
  const { view, replacements, part } = item
  const forms = placeholders
    .givenIn(view)
    .filter(({ kind }) => selection.pii(kind, part).action === 'restore')
    .map(
      (finding): Replacement => ({
        finding,
        value: view.slice(finding.start, finding.end),
        isForm: true,
      }),
    )
  if (forms.length === 0) return
  const sorted = [...replacements, ...forms].sort((a, b) => a.finding.start - b.finding.start)
  item.replacements = sorted.filter(
    ({ finding, isForm }, index) =>
      isForm !== true ||
      ![sorted[index - 1], sorted[index + 1]].some((near) => near && overlap(near.finding, finding)),
  )
}

/** What the hash of a value counts as, characters. */
const HASH_UNITS = 256

/** Which values of a prompt get pseudonyms, and which ones. */
export interface KeyedNames {
  /** Reports whether values of a kind in a part get one instead of a number. */
  has(kind: PiiKind, part: TextPart): boolean
  /** Whether keywords get one. */
  readonly hasKeywords: boolean
  /** The pseudonyms of the call; their key is read with the first one. */
  readonly pseudonyms: Pseudonyms
}

/**
 * Returns the names of a call; null when no value gets a pseudonym. All values are noted first, so
 * that names do not depend on the order of texts.
 * @param inEmbedding whether the prompt is one of embeddings whose values get them
 */
export function* keyedNames(
  items: readonly InspectedText[],
  selection: Selection,
  inEmbedding: boolean,
  placeholders: Placeholders,
): Steps<KeyedNames | null> {
  if (!inEmbedding && !selection.asksForPseudonyms) return null
  const has: KeyedNames['has'] = (kind, part) => {
    const { action } = selection.pii(kind, part)
    return action === 'pseudonym' || (inEmbedding && isReplacing(action))
  }
  const { pseudonyms } = placeholders
  const pace = new Pace()
  for (const { replacements, part } of items) {
    for (const { finding, value, keyword } of replacements) {
      const isNamed = keyword === undefined ? has(finding.kind, part) : inEmbedding
      if (value === '' || !isNamed) continue
      if (pace.isOver(value.length + HASH_UNITS)) yield
      pseudonyms.expect(finding.kind, keyword === undefined ? value : foldedText(value))
    }
  }
  return { has, hasKeywords: inEmbedding, pseudonyms }
}

const INPUT = /^\w+\[\d+\]/

/**
 * Returns the numbering of a text, when each input has one of its own (`Texts.numbersEachInput`).
 * Ask in the order of the texts.
 */
export function numberingByInput(
  items: readonly InspectedText[],
  placeholders: Placeholders,
  openLabels: ReadonlySet<string>,
): (index: number) => Placeholders {
  const nameOf = (index: number) => INPUT.exec(items[index]?.text.path ?? '')?.[0]
  let current: string | undefined
  const begin = () => new Placeholders(null, {}, false, openLabels)
  let numbering = begin()
  return (index) => {
    const name = nameOf(index)
    if (name === undefined) return placeholders
    if (name === current) return numbering
    current = name
    numbering = begin()
    let first = index
    while (first > 0 && nameOf(first - 1) === name) first--
    for (let at = first; at < items.length && nameOf(at) === name; at++) numbering.avoid(items[at]!.view)
    return numbering
  }
}
