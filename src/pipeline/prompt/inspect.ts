// Inspects a prompt: finds and redacts personal data, then matches keywords and scores injection on
// the redacted texts, because rules judge what would be forwarded.

import { decodeSteps } from '../../chat/inner-json/json-text.ts'
import { isDocumentPath } from '../../chat/messages/document-citations.ts'
import type { Texts } from '../../chat/texts.ts'
import type { Finding } from '../../core/finding.ts'
import type { PlaceholderStyle } from '../../core/placeholder-style.ts'
import { Pace, STEP_UNITS, type Steps } from '../../core/steps.ts'
import type { TextPart } from '../../core/text-part.ts'
import type { InjectionModel } from '../../detect/injection/score.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import { foldedText } from '../../keyword/normalise.ts'
import type { Selection } from '../../policy/compile.ts'
import type { FactsOfParts, PlacedKind } from '../../policy/decide.ts'
import type { PiiDecision } from '../../policy/pii-decisions.ts'
import { isReplacing, type RuleReference } from '../../policy/rule.ts'
import type { CountedKind, InjectionEvidence } from '../call/call-record.ts'
import type { OutsideValues } from '../scan/outside-values.ts'
import { Placeholders, restorableValue } from '../scan/placeholders.ts'
import type { PseudonymTerms } from '../scan/pseudonyms.ts'
import type { Restoration } from '../scan/restore.ts'
import { RestoredValues } from '../scan/restored-values.ts'
import { type ShapedKinds, shapedKinds } from '../scan/shaped-kinds.ts'
import { isReadBetween } from '../scan/shapes.ts'
import { rawOf, rawRanges, replaceSteps, viewOf } from '../scan/spans.ts'
import { editsIn, type TextEdit } from '../scan/text-edits.ts'
import { writtenPlaceholder } from '../scan/written-placeholder.ts'
import { type Identifiers, isIdentifierPlace } from './identifiers.ts'
import { type PromptScore, partsToScore, scoreInjection } from './injection.ts'
import { addKnownValues } from './known-values.ts'
import {
  formsToAvoid,
  type InspectedText,
  isReplaced,
  type KeyedNames,
  keepForms,
  keyedNames,
  numberingByInput,
  type Replacement,
} from './numbering.ts'
import { matchKeywords } from './prompt-keywords.ts'
import { addKeywords, readTexts, withReplaced } from './prompt-values.ts'
import { CachedScan, type ScanOf } from './scan-cache.ts'

/** A finding with its text. The offsets count in the string as received, JSON escapes included. */
export interface LocatedFinding extends Finding {
  readonly path: string
  readonly place: TextPart
  readonly decision: PiiDecision
}

/** The result of an inspection. */
export interface Inspection {
  /** Findings whose action is not `allow`. */
  readonly findings: readonly LocatedFinding[]
  /** Whether a text was replaced. */
  readonly isRewritten: boolean
  readonly keywordHits: readonly RuleReference[]
  /**
   * Path of the first text that fires a rule on content; null for a rule that needs several texts.
   */
  placeOf(rule: RuleReference): string | null
  /** Null when the prompt was not scored. Offsets count in the redacted text. */
  readonly injection: InjectionEvidence | null
  /** What rules judge besides the texts. */
  readonly facts: FactsOfParts
  /** The same with scores that were made later. */
  factsWith(scores: PromptScore): FactsOfParts
  /** Scores the same texts. Keeps them in memory until it ends. */
  score(): Steps<PromptScore>
  /** Number of payloads that cannot be scanned. */
  readonly binaryParts: number
  /** Where documents that an answer may cite were changed, by the paths of their texts. */
  readonly documentEdits: ReadonlyMap<string, readonly TextEdit[]>
  /** Numbers this call's placeholders; the answer continues the numbering. */
  readonly placeholders: Placeholders
  /** Values to restore in the answer; null when there are none. */
  readonly restoration: Restoration | null
}

export interface InspectOptions {
  readonly kinds: KindSet
  readonly injection: InjectionModel
  /** Returns the cached scan of a text; a new, empty one when the text is unknown. */
  readonly scanOf?: ScanOf
  /** Hides names of users and sessions; without it they are numbered. */
  readonly identifiers?: Identifiers
  /** Highest placeholders of the conversation that the prompt continues; none by default. */
  readonly continued?: Readonly<Record<string, number>> | undefined
  /** Whether to score the prompt for injection. Default: when a rule reads the score. */
  readonly scored?: boolean
  /** How values are replaced where no rule says it. Default: in brackets. */
  readonly placeholderStyle?: PlaceholderStyle
  /** Default: no key, and numbers in embeddings. */
  readonly pseudonyms?: PseudonymTerms
  /** Reports whether an answer gave the id; none by default. Such an id is not altered. */
  readonly isGivenId?: (id: string) => boolean
  /** Maximum findings that the process has memory for. Default: MAXIMUM_FINDINGS. */
  readonly maxFindings?: number
  /** What recognisers found in the decoded texts; null without any. */
  readonly outside?: OutsideValues | null
}

const newScan = () => new CachedScan()

/**
 * Redacts the texts of a request in its body, in steps. Time is linear in the size of the body.
 * @throws GatewayError `invalid_body` for more than MAXIMUM_FINDINGS findings, `body_too_large` for
 *   more than a lower `maxFindings`
 */
export function* inspect(walk: Texts, selection: Selection, options: InspectOptions): Steps<Inspection> {
  const { kinds, injection, scanOf: cachedScan = newScan } = options
  const { scored = asksForScore(selection), identifiers = null, outside = null } = options
  const { isGivenId = () => false, placeholderStyle = 'brackets', pseudonyms } = options
  const shapesOf = (part: TextPart) => shapedKinds(selection, placeholderStyle, part)
  const readsShapes = shapesOf('user') !== null
  const { openLabels, restores: isRestoring } = selection
  const placeholders = new Placeholders(null, options.continued, readsShapes, openLabels, pseudonyms?.key)
  // Without an assistant message this is a first turn, whose texts no earlier turn has cached.
  const scanOf = walk.texts.some(({ role }) => role === 'assistant') ? cachedScan : newScan
  const pace = new Pace()
  const reading = { kinds, selection, scanOf, readsShapes, outside }
  const items = yield* readTexts(walk.texts, reading, options.maxFindings)
  const conversation = items.filter(({ text }) => text.joined !== null)
  yield* addKeywords(items, selection, readsShapes)
  const avoidForms = formsToAvoid(items, placeholders)
  if (isRestoring) yield* addKnownValues(items, kinds, selection)
  const restored = new RestoredValues()
  const inEmbedding = walk.numbersEachInput && pseudonyms?.inEmbeddings === true
  const keyed = yield* keyedNames(items, selection, inEmbedding, placeholders)
  const documentEdits = new Map<string, readonly TextEdit[]>()
  const writing = { isGivenId, keyed, restored, documentEdits, scanOf, identifiers }
  const findings: LocatedFinding[] = []
  const numberingOf = walk.numbersEachInput
    ? numberingByInput(items, placeholders, openLabels)
    : () => placeholders
  for (const [index, item] of items.entries()) {
    if (pace.isOver(item.view.length)) yield
    avoidForms(index)
    if (isRestoring) keepForms(item, selection, placeholders)
    if (item.replacements.length === 0) continue
    const numbered = { placeholders: numberingOf(index), shapes: shapesOf(item.part) }
    for (const finding of yield* rewrite(item, { ...writing, ...numbered })) findings.push(finding)
  }
  walk.commit()
  const parts = partsToScore(selection, options.scored === true)
  const score = () => scoreInjection(items, parts, { injection, openLabels }, scanOf, cachedScan)
  const hits = withReplaced(yield* matchKeywords(items, conversation, selection.keywords('request')), items)
  const scores = scored ? yield* score() : null
  const factsWith =
    (made: PromptScore | null): FactsOfParts =>
    (parts) => ({
      injectionScore: made?.worst(parts).score ?? null,
      modelThreshold: injection.threshold,
    })
  return {
    findings,
    isRewritten: items.some(({ isRewritten }) => isRewritten),
    keywordHits: [...hits.keys()],
    placeOf: (rule) =>
      hits.get(rule)?.text.path ??
      findings.find(({ decision }) => decision.rule?.id === rule.id)?.path ??
      pathOfScore(selection, rule, scores),
    injection: scores?.worst(null) ?? null,
    facts: factsWith(scores),
    factsWith,
    score,
    binaryParts: walk.binaryParts,
    documentEdits,
    placeholders,
    restoration: restored.restoration(),
  }
}

/** Whether a rule reads the injection score. */
const asksForScore = ({ injection, tools }: Selection): boolean =>
  injection.length > 0 || tools?.asksForScore === true

function pathOfScore(
  { injection }: Selection,
  { id }: RuleReference,
  scores: PromptScore | null,
): string | null {
  const asking = injection.find(({ rule }) => rule.id === id)
  return asking === undefined || scores === null ? null : scores.worst(asking.parts).path
}

/** Reports whether a shape in the place of a value would be read as one. */
const mayBeShaped = (view: string, { start, end }: Finding): boolean =>
  isReadBetween(view.slice(Math.max(0, start - 1), start), view.slice(end, end + 2))

/** How the values of a text are written. */
interface Writing {
  readonly isGivenId: (id: string) => boolean
  readonly placeholders: Placeholders
  /** Null where no value of the call gets a pseudonym. */
  readonly keyed: KeyedNames | null
  readonly shapes: ShapedKinds | null
  /** Receives the changes of documents. */
  readonly documentEdits: Map<string, readonly TextEdit[]>
  /** Receives each placeholder to restore, with its value. */
  readonly restored: RestoredValues
  readonly scanOf: (text: string) => CachedScan
  readonly identifiers: Identifiers | null
}

/** Redacts one text and returns its findings. */
function* rewrite(
  item: InspectedText,
  { placeholders, keyed, shapes, restored, documentEdits, scanOf, identifiers, isGivenId }: Writing,
): Steps<LocatedFinding[]> {
  const { text, part, replacements } = item
  const isKept = text.isFollowed || (text.isId && isGivenId(text.text))
  // A short text is one step.
  const isLong = text.text.length > STEP_UNITS
  const spans = yield* decodeSteps(text, 'request')
  const counted: Replacement[] = []
  const replaced: Replacement[] = []
  for (const replacement of replacements) {
    const { value, isMore, isForm, keyword } = replacement
    if (isKept && isReplacing(replacement.decision.action)) continue
    if (value !== '' && !isMore && !isForm && keyword === undefined) counted.push(replacement)
    if (isReplaced(replacement)) replaced.push(replacement)
  }
  const namesOf = (one: Replacement) => (keyed?.has(one) === true ? keyed.pseudonyms : placeholders)
  // Pseudonyms tell users apart as well, and are the same for every replica.
  const hidesName = identifiers !== null && replaced.some((one) => namesOf(one) === placeholders)
  if (hidesName && isIdentifierPlace(text.path)) {
    item.view = identifiers.hide(item.view)
    item.cached = scanOf(item.view)
    text.replace(item.view)
    item.isRewritten = true
  } else if (replaced.length > 0) {
    if (isLong) yield
    let next = 0
    const toReplace = replaced.map(({ finding }) => finding)
    const rewritten = yield* replaceSteps(spans, 0, toReplace, (finding, _, isNumber) => {
      while (replaced[next]!.finding !== finding) next++
      const { value, keyword, decision } = replaced[next]!
      if (value === '') return ''
      const { kind } = finding
      const names = namesOf(replaced[next]!)
      // A keyword has one name in all its disguises.
      if (keyword !== undefined) return names.for(kind, foldedText(value))
      const form = names.for(kind, value)
      const wasNumber = isNumber || text.isNumber
      if (decision.restores) restored.add(form, restorableValue(kind, value), wasNumber)
      const isShaped = names === placeholders && shapes?.has(kind) === true && mayBeShaped(item.view, finding)
      return writtenPlaceholder(form, { kind, value, isShaped, isNumber: wasNumber })
    })
    if (isLong) yield
    item.view = viewOf(rewritten)
    if (replaced.some(({ keyword }) => keyword !== undefined)) {
      const others = toReplace.filter((_, index) => replaced[index]!.keyword === undefined)
      const form = (finding: Finding, value: string) => placeholders.for(finding.kind, value)
      item.keywordView = viewOf(yield* replaceSteps(spans, 0, others, form))
    }
    if (isLong) yield
    item.cached = scanOf(item.view)
    text.replace(rawOf(rewritten))
    if (isDocumentPath(text.path)) documentEdits.set(text.path, editsIn(rewritten))
    item.isRewritten = true
  }
  if (isLong) yield
  const ranges = rawRanges(
    spans,
    counted.map(({ finding }) => finding),
  )
  if (isLong) yield
  const { path } = text
  return counted.map(({ finding: { kind }, decision }, index) => ({
    ...{ kind, path, place: part, decision },
    ...ranges[index]!,
  }))
}

/** Counts the findings by kind, place and decision, in order of first appearance. */
export function countKinds(findings: readonly PlacedKind[]): CountedKind[] {
  if (findings.length === 0) return []
  const counts = new Map<string, CountedKind>()
  for (const { kind, place, decision } of findings) {
    const name = `${kind} ${place} ${decision?.rule?.id} ${decision?.action}`
    const count = (counts.get(name)?.count ?? 0) + 1
    counts.set(name, { kind, place, count, ...(decision && { decision }) })
  }
  return [...counts.values()]
}
