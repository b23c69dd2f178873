// Step 2, and the evidence for step 3: every text a model will read is searched for personal data, rewritten, and
// then, as it would be forwarded, matched against keywords and scored for prompt injection (injection.ts).

import { decodeEscapes, decodeSteps } from '../../chat/json-text.ts'
import { requestTexts, type Text } from '../../chat/texts.ts'
import { GatewayError } from '../../core/errors.ts'
import { type Finding, PII_KINDS, type PiiKind } from '../../core/finding.ts'
import type { JsonObject } from '../../core/json.ts'
import { Pace, STEP_UNITS, type Steps } from '../../core/steps.ts'
import type { InjectionModel } from '../../detect/injection/score.ts'
import { detectSteps } from '../../detect/pii/detect.ts'
import { isOpenKey } from '../../detect/pii/keyblock.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { Selection } from '../../policy/compile.ts'
import type { KeywordRules } from '../../policy/keyword-rules.ts'
import { isReplacing, type RuleReference } from '../../policy/rule.ts'
import { Placeholders } from '../scan/placeholders.ts'
import { Restoration } from '../scan/restore.ts'
import { plainSpan, rawOf, rawRanges, replaceSteps, viewOf } from '../scan/spans.ts'
import { type InjectionEvidence, scoreInjection } from './injection.ts'
import { findRestsOfKeys, findSplitData, type JointPart, joinTexts, overlap } from './prompt-neighbours.ts'
import { CachedScan } from './scan-cache.ts'

/** Pieces of personal data in one body: each takes some 400 bytes, and no model reads as much as so many stand in. */
const MAX_FINDINGS = 200_000

/** One finding and where it was: offsets in the string at the path as the client sent it, escapes of JSON included. */
export interface LocatedFinding extends Finding {
  readonly path: string
}

/** What was learned of a prompt. */
export interface Inspection {
  /** Without kinds whose action is `allow`. */
  readonly findings: readonly LocatedFinding[]
  readonly keywordHits: readonly RuleReference[]
  /** Null when it was not scored; offsets are of the text as it is forwarded. */
  readonly injection: InjectionEvidence | null
  /** Makes the score, of the same texts; holds on to them until it is over. */
  score(): Steps<InjectionEvidence>
  /** Payloads that could not be scanned. */
  readonly binaryParts: number
  /** Numbering of this call's placeholders, to go on with in the answer. */
  readonly placeholders: Placeholders
  /** What is put back into the answer; null where nothing is. */
  readonly restoration: Restoration | null
}

/** What texts are searched for, and with what. */
export interface InspectOptions {
  readonly kinds: KindSet
  readonly injection: InjectionModel
  /** What is known of a text that was sent before; also, from then on, of one that was not. */
  readonly scanOf?: (text: string) => CachedScan
  /** Whether the prompt is scored for injection; by default when a rule asks for it. */
  readonly scored?: boolean
}

const newScan = () => new CachedScan()

/** A text with what is to be replaced in it. */
interface Item {
  readonly text: Text
  readonly joined: number
  /** As the model would read it; after `rewrite`, as it will. */
  view: string
  /** Of the view. */
  cached: CachedScan
  edits: Edit[]
}

interface Edit {
  readonly finding: Finding
  /** What the placeholder stands for; empty for the later parts of a datum that was split. */
  readonly value: string
}

/**
 * Searches a request body and rewrites it in place, in steps. Time is linear in its size.
 * @throws GatewayError `invalid_body` for more than MAX_FINDINGS pieces of personal data
 */
export function* inspect(
  body: JsonObject,
  selection: Selection,
  { kinds, injection, scanOf: cachedScan = newScan, scored = selection.injection.length > 0 }: InspectOptions,
): Steps<Inspection> {
  const walk = requestTexts(body)
  const placeholders = new Placeholders()
  const answered = walk.texts.findIndex(({ role }) => role === 'assistant')
  // Without an answer it is the first prompt of its conversation, and nothing in it was sent before.
  const scanOf = answered < 0 ? newScan : cachedScan
  const isForeign = foreignForms(answered)
  const restoring = PII_KINDS.filter((kind) => selection.pii(kind, 'request').action === 'restore')
  const pace = new Pace()
  const items: Item[] = []
  let found = 0
  for (const text of walk.texts) {
    if (pace.isOver(text.text.length)) yield
    const item = yield* open(text, kinds, scanOf)
    found += item.edits.length
    if (found > MAX_FINDINGS)
      throw new GatewayError(
        'invalid_body',
        `The body holds more than ${MAX_FINDINGS} pieces of personal data.`,
      )
    items.push(item)
  }
  const conversation = items.filter(({ text }) => text.joined !== null)
  for (const [index, { text, view }] of items.entries()) {
    if (pace.isOver(view.length)) yield
    if (isForeign(text, index)) placeholders.avoid(view)
    // Where values are put back no placeholder of ours is ever stored.
    else if (restoring.length > 0) placeholders.avoid(view, restoring)
  }
  yield* addSplitData(conversation, kinds)
  const restored = new Map<string, string>()
  const findings: LocatedFinding[] = []
  for (const [index, item] of items.entries()) {
    if (pace.isOver(item.view.length)) yield
    if (!isForeign(item.text, index)) placeholders.avoid(item.view)
    if (item.edits.length === 0) continue
    for (const finding of yield* rewrite(item, selection, placeholders, restored, scanOf))
      findings.push(finding)
  }
  walk.commit()
  const score = () => scoreInjection(items, injection, scanOf)
  return {
    findings,
    keywordHits: yield* matchKeywords(items, conversation, selection, pace),
    injection: scored ? yield* score() : null,
    score,
    binaryParts: walk.binaryParts,
    placeholders,
    restoration: restored.size === 0 ? null : new Restoration(restored),
  }
}

/**
 * Whether placeholders that stand in a text cannot be of this conversation, so that no value may get one of them. Those
 * behind the first answer are taken for what values before them were called then: an app that stores what it was answered
 * sends them back, and the same value keeps its number from turn to turn, as does all that a provider has cached. Values
 * after them get others.
 * @param answered the first text of an answer, less than 0 without one
 */
const foreignForms =
  (answered: number) =>
  ({ role }: Text, index: number): boolean =>
    answered < 0 || index < answered || role === null

function* open(text: Text, kinds: KindSet, scanOf: (text: string) => CachedScan): Steps<Item> {
  const view = text.encoding === 'plain' ? text.text : yield* decodeEscapes(text.text)
  const cached = scanOf(view)
  const findings = cached.findings ?? cached.keepFindings(yield* detectSteps(view, kinds))
  const edits = findings.map((finding) => ({ finding, value: view.slice(finding.start, finding.end) }))
  return { text, joined: text.joined ?? -1, view, cached, edits }
}

/** Where a part was already found by itself that finding stands, and the rest is no part of it. */
function* addSplitData(conversation: readonly Item[], kinds: KindSet): Steps<void> {
  const isFound = ({ item, finding }: JointPart<Item>) =>
    item.edits.some((edit) => overlap(edit.finding, finding))
  const found = yield* findSplitData(conversation, kinds)
  const split = found.filter((parts) => !parts.some(isFound))
  for (const { item, finding, value } of split.flat()) item.edits.push({ finding, value })
  for (const { item } of split.flat()) item.edits.sort((a, b) => a.finding.start - b.finding.start)
  for (const { item, finding, value } of findRestsOfKeys(conversation, endsInKey)) {
    // What was found in there by itself is a part of the key.
    item.edits = [{ finding, value }, ...item.edits.filter((edit) => edit.finding.start >= finding.end)]
  }
}

function endsInKey({ edits, view }: Item): boolean {
  const last = edits.at(-1)
  return last !== undefined && isOpenKey(last.value) && last.finding.end >= view.trimEnd().length
}

/** @param restored gets the placeholders that are undone in the answer, with their values */
function* rewrite(
  item: Item,
  selection: Selection,
  placeholders: Placeholders,
  restored: Map<string, string>,
  scanOf: (text: string) => CachedScan,
): Steps<LocatedFinding[]> {
  const { text, edits } = item
  // Of a short text all is done in one step.
  const isLong = text.text.length > STEP_UNITS
  // How what is said in it is written.
  const spans = text.encoding === 'plain' ? [plainSpan(text.text)] : yield* decodeSteps(text.text)
  const counted: Finding[] = []
  const replaced: Edit[] = []
  for (const edit of edits) {
    const { action } = selection.pii(edit.finding.kind, 'request')
    if (action === 'allow') continue
    if (edit.value !== '') counted.push(edit.finding)
    if (action === 'block' || isReplacing(action)) replaced.push(edit)
  }
  if (replaced.length > 0) {
    if (isLong) yield
    let next = 0
    const toReplace = replaced.map(({ finding }) => finding)
    const rewritten = yield* replaceSteps(spans, 0, toReplace, (finding) => {
      while (replaced[next]!.finding !== finding) next++
      const { value } = replaced[next]!
      if (value === '') return ''
      const form = placeholders.for(finding.kind, value)
      if (selection.pii(finding.kind, 'request').action === 'restore') {
        // As it was written first.
        if (!restored.has(form)) restored.set(form, value)
      }
      return form
    })
    if (isLong) yield
    item.view = viewOf(rewritten)
    if (isLong) yield
    item.cached = scanOf(item.view)
    text.replace(text.encoding === 'plain' ? item.view : rawOf(rewritten))
  }
  if (isLong) yield
  const ranges = rawRanges(spans, counted)
  if (isLong) yield
  const { path } = text
  return counted.map(({ kind }, index) => ({ kind, path, ...ranges[index]! }))
}

function* matchKeywords(
  items: readonly Item[],
  conversation: readonly Item[],
  selection: Selection,
  pace: Pace,
): Steps<RuleReference[]> {
  const keywords = selection.keywords('request')
  if (keywords === null) return []
  const hits = new Set<RuleReference>()
  // Nearly every conversation has nothing to find, which is told in one pass in place of three.
  const quiet = conversation.length > 1 && !(yield* keywords.matcher.mayMatchJoined(conversation))
  for (const { text, view } of items) {
    if (quiet && text.joined !== null) continue
    if (pace.isOver(view.length)) yield
    yield* matchInto(hits, keywords, view)
  }
  if (conversation.length > 1 && !quiet) {
    // A split may fall inside a word or between two.
    yield* matchInto(hits, keywords, joinTexts(conversation, ''))
    yield* matchInto(hits, keywords, joinTexts(conversation, ' '))
  }
  return [...hits]
}

function* matchInto(hits: Set<RuleReference>, { matcher, rules }: KeywordRules, text: string): Steps<void> {
  for (const { pattern } of yield* matcher.matchSteps(text)) hits.add(rules[pattern]!)
}

/** How often each kind was found, in order of first appearance. */
export function countKinds(findings: readonly { kind: PiiKind }[]): { kind: PiiKind; count: number }[] {
  if (findings.length === 0) return []
  const counts = new Map<PiiKind, number>()
  for (const { kind } of findings) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts].map(([kind, count]) => ({ kind, count }))
}
