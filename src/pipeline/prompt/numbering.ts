// Decides which numbers the values of a prompt get, so that a text which a client sends again is
// written as before.

import type { Text } from '../../chat/texts.ts'
import type { Finding } from '../../core/finding.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { TextPart } from '../../core/text-part.ts'
import { foldedText } from '../../keyword/normalise.ts'
import type { Selection } from '../../policy/compile.ts'
import { isReplacing, type RuleReference } from '../../policy/rule.ts'
import { type JudgedFinding, settle } from '../scan/overlaps.ts'
import { Placeholders } from '../scan/placeholders.ts'
import type { Pseudonyms } from '../scan/pseudonyms.ts'
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
  /** What was found in the view, judged and not settled; findings may overlap. */
  found: PromptFinding[]
  /** What counts of it, in order, without overlap. */
  replacements: readonly Replacement[]
  /** The redacted text with its keywords, where rules replace some; null elsewhere. */
  keywordView: string | null
  isRewritten: boolean
}

/** A finding in a text of a prompt. */
export interface PromptFinding extends JudgedFinding {
  /** For the part of a value in this text: what its parts share. */
  readonly split?: SplitValue
  /** True for a text in the form of a placeholder that is the placeholder of another value. */
  readonly isForm?: true
  /** For a keyword: the rule that replaces it. */
  readonly keyword?: RuleReference
}

/** A value that is split over texts. */
export interface SplitValue {
  readonly value: string
  /** The first of its parts of which something counts: it stands for the value. */
  standsFor: PromptFinding | null
}

export interface Replacement extends Pick<PromptFinding, 'decision' | 'isForm' | 'keyword'> {
  readonly finding: Finding
  /**
   * The value to replace. Empty for a later part of a split value, unless that is a whole text.
   */
  readonly value: string
  /** Whether it is more of a finding that an earlier one counts for. */
  readonly isMore?: true
  /** Whether a recogniser found it. */
  readonly isGuess?: true
}

/** Settles what counts of the findings in a text. */
export function settleText(item: InspectedText, found: PromptFinding[] = item.found): void {
  const { view } = item
  item.found = found
  item.replacements = settle(found, view).map(({ kind, start, end, finding, isFirst }): Replacement => {
    const { decision, split, isForm, keyword } = finding
    let value = view.slice(start, end)
    let isMore = !isFirst
    if (split !== undefined) {
      split.standsFor ??= finding
      isMore ||= split.standsFor !== finding
      // Not every provider takes a part without a text.
      const isWhole = view.slice(0, start).trim() === '' && view.slice(end).trim() === ''
      value = isFirst && (!isMore || isWhole) ? split.value : ''
    }
    return {
      ...{ finding: { kind, start, end }, value, decision },
      ...(isForm && { isForm }),
      ...(keyword && { keyword }),
      ...(isMore && { isMore: true }),
      ...(finding.source === 'recogniser' && { isGuess: true }),
    }
  })
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
  const { view, found, replacements, part } = item
  const forms = placeholders.givenIn(view).flatMap((finding): PromptFinding[] => {
    const decision = selection.pii(finding.kind, part)
    return decision.action === 'restore' ? [{ ...finding, decision, source: 'form', isForm: true }] : []
  })
  const free = withoutOverlapping(
    forms,
    replacements.filter(isReplaced).map(({ finding }) => finding),
  )
  if (free.length > 0) settleText(item, [...found, ...free])
}

/** Whether a value is replaced or blocked, not only reported. */
export const isReplaced = ({ decision }: Pick<Replacement, 'decision'>): boolean =>
  decision.action === 'block' || isReplacing(decision.action)

/** Leaves out findings that overlap others. @param others in order, without overlap */
function withoutOverlapping<One extends Finding>(
  findings: readonly One[],
  others: readonly Finding[],
): readonly One[] {
  let next = 0
  return findings.filter(({ start, end }) => {
    while (next < others.length && others[next]!.end <= start) next++
    return next === others.length || others[next]!.start >= end
  })
}

/** What the hash of a value counts as, characters. */
const HASH_UNITS = 256

/** Which values of a prompt get pseudonyms, and which ones. */
export interface KeyedNames {
  /** Reports whether a value gets one instead of a number. */
  has(one: Replacement): boolean
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
  const has: KeyedNames['has'] = ({ decision: { action } }) =>
    action === 'pseudonym' || (inEmbedding && isReplacing(action))
  const { pseudonyms } = placeholders
  const pace = new Pace()
  for (const { replacements } of items) {
    for (const one of replacements) {
      const { finding, value, keyword } = one
      if (value === '' || !has(one)) continue
      if (pace.isOver(value.length + HASH_UNITS)) yield
      pseudonyms.expect(finding.kind, keyword === undefined ? value : foldedText(value))
    }
  }
  return { has, pseudonyms }
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
