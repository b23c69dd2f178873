// Finds the values in the texts of a prompt, judges each as a whole by the rules, and settles which
// of them count.

import { decodeView } from '../../chat/inner-json/json-text.ts'
import type { Text } from '../../chat/texts.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Finding } from '../../core/finding.ts'
import { firstEndingAfter } from '../../core/ranges.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import { partOf, type TextPart } from '../../core/text-part.ts'
import { detectSteps } from '../../detect/pii/detect.ts'
import { isOpenKey } from '../../detect/pii/keyblock.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { Selection } from '../../policy/compile.ts'
import type { PiiDecision } from '../../policy/pii-decisions.ts'
import { detectNamed, labelOf } from '../scan/named-value.ts'
import { findNamedValues, findValues } from '../scan/open-kinds.ts'
import type { OutsideValues } from '../scan/outside-values.ts'
import { type DecideOnValue, judgeFindings, weightOf } from '../scan/overlaps.ts'
import { restorableValue } from '../scan/placeholders.ts'
import { formOfShape, shapesIn } from '../scan/shapes.ts'
import { type InspectedText, type PromptFinding, type SplitValue, settleText } from './numbering.ts'
import type { KeywordHits } from './prompt-keywords.ts'
import {
  EXCERPT_CHARACTERS,
  findRestsOfKeys,
  findSplitData,
  overlap,
  type SplitPart,
} from './prompt-neighbours.ts'
import type { ScanOf } from './scan-cache.ts'

/**
 * Maximum findings in one body. Each takes about 400 bytes; no model reads a prompt with that many.
 */
export const MAXIMUM_FINDINGS = 200_000

/** How the texts of a prompt are read. */
export interface Reading {
  readonly kinds: KindSet
  readonly selection: Selection
  readonly scanOf: ScanOf
  /** Whether texts may hold shaped placeholders, which are no personal data. */
  readonly readsShapes: boolean
  readonly outside: OutsideValues | null
}

/**
 * Reads the texts, and settles what counts of the values in them.
 * @throws GatewayError as `inspect`
 */
export function* readTexts(
  texts: readonly Text[],
  reading: Reading,
  maxFindings = MAXIMUM_FINDINGS,
): Steps<InspectedText[]> {
  const pace = new Pace()
  const items: InspectedText[] = []
  let found = 0
  for (const text of texts) {
    if (pace.isOver(text.text.length)) yield
    const item = yield* readText(text, reading)
    found += item.found.length
    if (found > maxFindings)
      throw new GatewayError(
        maxFindings < MAXIMUM_FINDINGS ? 'body_too_large' : 'invalid_body',
        `The body has more than ${maxFindings} values of personal data; send it in several requests.`,
      )
    items.push(item)
  }
  const { kinds, selection } = reading
  const conversation = items.filter(({ text }) => text.joined !== null)
  yield* addSplitData(conversation, kinds, selection)
  addRestsOfKeys(conversation, selection)
  for (const item of items) {
    if (pace.isOver(item.found.length)) yield
    settleText(item)
  }
  return items
}

function* readText(text: Text, reading: Reading): Steps<InspectedText> {
  const { kinds, selection, scanOf, readsShapes, outside } = reading
  const view = yield* decodeView(text, 'request')
  const cached = scanOf(view)
  const label = labelOf(text)
  const part = partOf(text.role)
  const builtIn =
    label === ''
      ? (cached.findings ?? cached.keepFindings(yield* detectSteps(view, kinds)))
      : yield* detectNamed(label, view, kinds)
  const open = yield* findNamedValues(selection.openKinds('request'), label, view, part)
  const recognised = outside?.of(text) ?? []
  const shapes = readsShapes && builtIn.length + open.length + recognised.length > 0 ? shapesIn(view) : []
  const decide = decideIn(selection, part)
  const judge = <One extends Finding>(found: readonly One[], source: 'detector' | 'recogniser') =>
    judgeFindings(
      readsShapes ? withoutShapes(found, view, shapes) : found,
      source,
      { start: 0, text: view },
      decide,
    )
  const found: PromptFinding[] = [
    ...judge(builtIn, 'detector'),
    ...judge(open, 'detector'),
    ...judge(recognised, 'recogniser'),
  ]
  const joined = text.joined ?? -1
  return { text, part, joined, view, cached, found, replacements: [], keywordView: null, isRewritten: false }
}

/** Decides on values of a part of a prompt. */
function decideIn({ hasExceptions, pii, piiValue }: Selection, part: TextPart): DecideOnValue {
  if (!hasExceptions) return (kind) => pii(kind, part)
  return (kind, value) => piiValue(kind, part, restorableValue(kind, value))
}

/**
 * Leaves out shaped placeholders, which are no values. A value that holds one is a value.
 * @param shapes in order, without overlap
 */
function withoutShapes<One extends Finding>(
  found: readonly One[],
  view: string,
  shapes: readonly { readonly start: number; readonly end: number }[],
): readonly One[] {
  return found.filter(({ start, end }) => {
    const shape = shapes[firstEndingAfter(shapes, start)]
    const isFree = shape === undefined || shape.start >= end
    const isAround = shape !== undefined && start <= shape.start && shape.end < end
    // After a sign or a dot a shape is not read as one. It is no value either.
    return (isFree || isAround) && formOfShape(view.slice(start, end)) === null
  })
}

/** Adds the parts of values that span several texts. */
function* addSplitData(
  conversation: readonly InspectedText[],
  kinds: KindSet,
  selection: Selection,
): Steps<void> {
  type Part = SplitPart<InspectedText>
  // Each part is judged where it is, by the whole value.
  const decisions = new Map<Part, PiiDecision>()
  const weightIn = (part: Part) => weightOf(decisions.get(part)!.action)
  const weigh = (parts: readonly Part[]): number => {
    const value = restorableValue(parts[0]!.finding.kind, parts[0]!.value)
    for (const part of parts)
      decisions.set(part, selection.piiValue(part.finding.kind, part.item.part, value))
    return Math.min(...parts.map(weightIn))
  }
  const split = yield* findSplitData(conversation, kinds, selection.openKinds('request'), weigh)
  const inner = new Map(split.flatMap(({ parts }) => parts.map(({ item }) => [item, atEnds(item)])))
  for (const { parts, isOpen } of split) {
    // Two values that touch may look like another one. What a rule defines is exact.
    const isLike = (one: PromptFinding, { finding }: Part) =>
      one.kind === finding.kind || (!isOpen && one.source === 'detector' && one.pattern === undefined)
    const hides = (one: PromptFinding, part: Part) =>
      overlap(one, part.finding) && isLike(one, part) && weightOf(one.decision.action) <= weightIn(part)
    if (parts.some((part) => inner.get(part.item)!.some((one) => hides(one, part)))) continue
    const value: SplitValue = { value: parts[0]!.value, standsFor: null }
    for (const part of parts) {
      const decision = decisions.get(part)!
      if (decision.action === 'allow') continue
      const { item, finding } = part
      item.found.push({ ...finding, decision, source: 'neighbours', split: value })
    }
  }
}

/** What was found where a split value may be. */
const atEnds = ({ found, view }: InspectedText): readonly PromptFinding[] =>
  found.filter(({ start, end }) => start < EXCERPT_CHARACTERS || end > view.length - EXCERPT_CHARACTERS)

/** Adds the rests of keys. What is found inside one is a part of the key. */
function addRestsOfKeys(conversation: readonly InspectedText[], selection: Selection): void {
  for (const { item, finding, value } of findRestsOfKeys(conversation, endsInKey)) {
    const decision = selection.pii(finding.kind, item.part)
    if (decision.action === 'allow') continue
    const split: SplitValue = { value, standsFor: null }
    item.found.push({ ...finding, decision, source: 'detector', split })
  }
}

const endsInKey = ({ found, view }: InspectedText): boolean => {
  const length = view.trimEnd().length
  return found.some(({ start, end }) => end >= length && isOpenKey(view.slice(start, end)))
}

/**
 * Adds the keywords that rules replace, where no personal data is replaced.
 * @param readsShapes as in Reading
 */
export function* addKeywords(
  items: readonly InspectedText[],
  selection: Selection,
  readsShapes: boolean,
): Steps<void> {
  const rules = selection.replacedKeywords('request')
  if (rules === null) return
  for (const item of items) {
    const all = yield* findValues(rules, item.view, item.part)
    const found = readsShapes && all.length > 0 ? withoutShapes(all, item.view, shapesIn(item.view)) : all
    if (found.length === 0) continue
    const keywords = found.map((one): PromptFinding => {
      const keyword = rules.rules[one.pattern]!
      const decision = { ...{ action: keyword.action, rule: keyword }, placeholders: null, restores: false }
      return { ...one, source: 'keyword', decision, keyword }
    })
    settleText(item, [...item.found, ...keywords])
  }
}

/** Adds the rules that replaced keywords to the hits. */
export function withReplaced(hits: KeywordHits, items: readonly InspectedText[]): KeywordHits {
  for (const item of items)
    for (const { keyword } of item.replacements)
      if (keyword !== undefined && !hits.has(keyword)) hits.set(keyword, item)
  return hits
}
