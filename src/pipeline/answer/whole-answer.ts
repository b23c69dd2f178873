// Delivers an answer that is not streamed: reads it whole, scans its texts and holds it until the
// entry is sealed.

import { isOneLine } from '../../audit/content.ts'
import type { AnswerFormat, StreamReader } from '../../chat/api-format.ts'
import { decodeView } from '../../chat/inner-json/json-text.ts'
import { rewriteSteps } from '../../chat/json-rewrite.ts'
import { type SignedThought, signedThoughts } from '../../chat/signed-thoughts.ts'
import { isErrorBody } from '../../chat/stream-chunk.ts'
import type { Text } from '../../chat/texts.ts'
import { estimateTokens } from '../../chat/token-usage.ts'
import { Pieces } from '../../core/chunks.ts'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { encodeSteps, jsonSteps } from '../../core/json-steps.ts'
import { atOnce, endOfTurn, inSlices, Pace, type Steps } from '../../core/steps.ts'
import type { InjectionModel } from '../../detect/injection/score.ts'
import { detectSteps } from '../../detect/pii/detect.ts'
import type { Selection } from '../../policy/compile.ts'
import { decideResponse } from '../../policy/decide.ts'
import type { RuleReference } from '../../policy/rule.ts'
import type { CallRules } from '../../policy/tool-rules.ts'
import { clientHeaders } from '../../upstream/headers.ts'
import { type UpstreamResponse, unusableStatus } from '../../upstream/response.ts'
import type { Call } from '../call/call.ts'
import { callHeaders, hasLimits } from '../call/call-headers.ts'
import type { Client } from '../call/client.ts'
import { countKinds } from '../prompt/inspect.ts'
import { isLongBody, type ScanMemory, waitToScanAnswer } from '../prompt/memory-turn.ts'
import { responseBlockedBy, toolCallRefused } from '../record/failure.ts'
import { type Delivered, formatReceipt, type Receipt } from '../record/record.ts'
import { removeFromBytes } from '../scan/credential-filter.ts'
import { rulesFor } from '../scan/followed-rules.ts'
import { detectAfter, labelOf } from '../scan/named-value.ts'
import { findAnywhere } from '../scan/open-kinds.ts'
import type { Placeholders } from '../scan/placeholders.ts'
import { mayBeRestored, type Restoration } from '../scan/restore.ts'
import { isRestored, loggedBody, replaceTexts, type ScanOutput } from '../scan/scan-output.ts'
import type { TextEdit } from '../scan/text-edits.ts'
import type { ScanResult, ScanRules, TextScanner } from '../scan/text-scanner.ts'
import type { GivenIds } from './given-ids.ts'
import { type DocumentEdits, keepEdits, moveCitationsIn, moveInDocuments } from './moved-citations.ts'
import { decodeAnswer, parseAnswerSteps, reasonIn } from './received-body.ts'
import { recogniseAnswer } from './recognise-answer.ts'
import { scanGroup } from './scan-group.ts'
import type { ThoughtMemory } from './thought-memory.ts'
import { judgeCalls } from './tool-calls.ts'

/** Largest answer that is read into memory. */
const MAXIMUM_ANSWER_BYTES = 64 * 1024 * 1024

/** What delivering an answer needs, whole or streamed. */
export interface Answer {
  readonly call: Call
  readonly client: Client
  readonly response: UpstreamResponse
  readonly scan: ScanRules
  readonly selection: Selection
  /** As in Permitted. */
  readonly calls: CallRules | null
  readonly placeholders: Placeholders
  /** As in Pipeline. */
  readonly injection: InjectionModel
  /** As in Pipeline. */
  readonly givenIds: GivenIds
  /** As in Permitted. */
  readonly documents: DocumentEdits
  /** As in Pipeline. */
  readonly thoughts: ThoughtMemory
  /** As in Pipeline. */
  readonly searches: ScanMemory
  readonly clock: Pick<Clock, 'monotonic'>
  /** Takes bytes of the call's memory budget. @throws GatewayError `overloaded` without room */
  keep(bytes: number): void
  /** To be called when a stream to the client begins. */
  streamBegan(): void
}

/** Begins to read a stream of the answer. */
export const readerOf = ({ call, selection }: Pick<Answer, 'call' | 'selection'>): StreamReader =>
  call.api.readStream(call.record.asksForJson, selection.readsNumbers('response'))

/**
 * Reads, scans and prepares a whole answer, including an error of the upstream.
 * @throws GatewayError `upstream_*` or `response_blocked_by_policy`
 */
export async function deliverWholeAnswer(answer: Answer): Promise<Delivered> {
  return deliverBytes(answer, await readWhole(answer), answer.response.status)
}

/** Reads an answer to its end, without the credential. @throws GatewayError as `readAll` */
export async function readWhole({ call, response, scan, keep, clock }: Answer): Promise<Buffer> {
  const pieces = await call.waitForUpstream(readPieces(response, keep, MAXIMUM_ANSWER_BYTES))
  const received = isLongBody(pieces.bytes) ? await inSlices(pieces.takeSteps(), clock) : pieces.take()
  return removeFromBytes(received, scan.credential)
}

/**
 * Scans and prepares the bytes of an answer. @param status for the client
 * @throws GatewayError as `deliverWholeAnswer`
 */
export async function deliverBytes(answer: Answer, received: Buffer, status: number): Promise<Delivered> {
  const { call, response } = answer
  call.record.responseBytes = received.length
  await endOfTurn()
  if (answer.scan.outside !== undefined) await recogniseAnswer(answer, answer.scan.outside, received)
  const steps = scanAnswer(answer, received)
  const sent = isLongBody(received.length)
    ? await scanLong(answer, received, steps)
    : call.measure('response', () => atOnce(steps))
  const ok = response.status < 400 && !isFailure(call.api.answer, call.record.response)
  return {
    ending: { outcome: ok ? 'ok' : 'upstream_error', status, errorCode: null },
    finish: (receipt) => respondWhole(answer, status, sent, receipt),
  }
}

const JSON_TYPE = /^(?:application\/|[a-z]+\/[\w.-]+\+)json(?:;|$)/

/** Sends a whole answer of JSON with the headers of the call. */
export function respondWhole(
  { call, client, response }: Answer,
  status: number,
  body: string | Buffer,
  receipt: Receipt,
): void {
  const headers = Object.assign(callHeaders(call), clientHeaders(response, hasLimits(call)))
  // The body is JSON even when a proxy sent a page; clients read no other types as JSON.
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) headers['content-type'] = 'application/json'
  headers['x-sidegate-audit'] = formatReceipt(receipt)
  client.respond(status, headers, body)
}

/** Scans a long answer in slices, so that other calls run, within the memory budget. */
async function scanLong<T>(answer: Answer, received: Buffer, steps: Steps<T>): Promise<T> {
  const release = await waitToScanAnswer(answer, received)
  try {
    return await answer.call.measureSlices('response', steps, answer.client)
  } finally {
    release()
  }
}

/**
 * Reads an answer to its end.
 * @param keep as in Answer
 * @throws GatewayError `upstream_*`, also for more than `maxBytes`; and what `keep` throws
 */
export const readAll = async (
  response: UpstreamResponse,
  keep: (bytes: number) => void = () => {},
  maxBytes = MAXIMUM_ANSWER_BYTES,
): Promise<Buffer> => (await readPieces(response, keep, maxBytes)).take()

async function readPieces(
  response: UpstreamResponse,
  keep: (bytes: number) => void,
  maxBytes: number,
): Promise<Pieces> {
  const pieces = new Pieces()
  for (;;) {
    const piece = await response.read()
    if (piece === null) return pieces
    if (pieces.bytes + piece.length > maxBytes) {
      response.abort()
      throw new GatewayError(
        'upstream_unavailable',
        `The upstream's answer is larger than ${maxBytes} bytes.`,
      )
    }
    keep(piece.length)
    pieces.add(piece)
  }
}

/** Scans the answer and returns the bytes for the client, values restored. */
function* scanAnswer(answer: Answer, received: Buffer): Steps<Buffer> {
  const { call, response, selection } = answer
  const format = call.api.answer
  const { body: parsed, isList, isPlain } = yield* parseAnswerSteps(received)
  if ((parsed === null || isList) && response.status < 400) {
    throw new GatewayError('upstream_unavailable', "The upstream's answer is not a JSON object.")
  }
  const { status } = response
  const body = parsed ?? call.api.errors.failure({}, reasonIn(received) || unusableStatus(status), status)
  call.record.usage = response.status < 400 ? format.usage(body) : null
  if (call.record.usage !== null || FAILURES.has(format.finishReason(body))) call.record.isUseUnknown = false
  yield
  const thoughts = yield* signedThoughts(body)
  // Before values are put back into the arguments in place.
  const refused = yield* judgeCalls(answer, status < 400 ? (call.api.tools?.calls(body) ?? []) : [])
  const { scanners, outputs, changed } = yield* scanTexts(answer, body)
  if (scanners.some(({ redacted, blocked }) => redacted || blocked)) format.dropProbabilities(body)
  if (isFailure(format, body)) call.record.estimatedCompletionTokens = 0
  call.record.completeUsage()
  yield
  call.record.response = isRestored(outputs)
    ? loggedBody(
        format,
        (yield* parseAnswerSteps(received)).body ?? {},
        outputs,
        selection.readsNumbers('response'),
      )
    : body
  yield* keepThoughts(answer, thoughts)
  call.record.finishReason = format.finishReason(call.record.response)
  const blocking = decideOnAnswer(call, selection, scanners)
  if (blocking !== null) throw responseBlockedBy(blocking)
  if (refused !== null) throw toolCallRefused(refused)
  yield
  // Duplicate keys and bytes that are not UTF-8 were not scanned, so the body is written anew.
  if (parsed !== null && !changed && isPlain) {
    if (call.record.response === parsed && isOneLine(received)) call.record.received = received
    return received
  }
  const sent = isList ? [body] : body
  if (parsed === null || !isPlain) return yield* jsonSteps(sent)
  const text = decodeAnswer(received)
  yield
  const rewritten = yield* rewriteSteps(text, sent)
  yield
  return yield* encodeSteps(rewritten)
}

/**
 * Rewrites the texts of an answer. Returns an output for each, and the scanners of those that are
 * not clean.
 */
function* scanTexts(answer: Answer, body: JsonObject) {
  const { call, placeholders } = answer
  // Placeholders in errors are not restored, with any status.
  const rules = isErrorBody(body) ? { ...answer.scan, restoration: null } : answer.scan
  const walk = call.api.answer.texts(body, answer.selection.readsNumbers('response'))
  answer.givenIds.add(call.key.line, walk.ids)
  yield
  const groups = yield* call.api.answer.group(walk.texts, call.record.asksForJson)
  yield
  const scanners: TextScanner[] = []
  const outputs = new Array<ScanOutput>(walk.texts.length)
  const edits = new Map<string, readonly TextEdit[]>()
  const pace = new Pace()
  for (const group of groups) {
    const { parts, text, encoding } = group
    const ruled = rulesFor(group, rules)
    if (pace.isOver(text.length)) yield
    if (!call.record.isAnswerCounted) call.record.estimatedCompletionTokens += estimateTokens(text)
    // Most texts are clean; one look at the whole text costs a fraction of a scan.
    const isClear = yield* isClean({ text, encoding }, ruled)
    // A name may show what the value alone does not.
    const label = isClear ? labelOf(group) : ''
    if (isClear && (label === '' || !(yield* isNamedValue(group, label, rules)))) {
      for (const part of parts) outputs[part] = unchanged(walk.texts[part]!)
      continue
    }
    const blocks = parts.map((part) => walk.texts[part]!.text)
    const scan = yield* scanGroup(blocks, encoding, ruled, placeholders, label)
    const { scanner } = scan
    scanners.push(scanner)
    parts.forEach((part, index) => {
      outputs[part] = scan.outputs[index]!
    })
    if (scanner.edits.length > 0)
      keepEdits(
        edits,
        parts.map((part) => walk.texts[part]!),
        scanner.edits,
      )
  }
  yield
  const changed = replaceTexts(walk.texts, outputs, 'sent')
  if (rules.restoration !== null) restoreNumbers(walk.texts, outputs, rules.restoration)
  walk.commit()
  moveCitationsIn(body, edits)
  const moved = moveInDocuments(body, answer.documents)
  return { scanners, outputs, changed: changed || moved }
}

/** The input of a tool of Messages, which is JSON and no string. */
const TOOL_INPUT = /^content\[\d+\]\.input\./

/** Makes numbers of the strings that stand for numbers in the input of a tool. */
function restoreNumbers(
  texts: readonly Text[],
  outputs: readonly ScanOutput[],
  restoration: Restoration,
): void {
  for (const [index, text] of texts.entries())
    if (restoration.isNumber(text.text) && TOOL_INPUT.test(text.path))
      text.replaceByNumber(outputs[index]!.sent)
}

const unchanged = ({ text }: Text): ScanOutput => ({ sent: text, logged: text })

/** Remembers the signed reasoning of an answer whose logged form is complete. */
export function* keepThoughts(
  { call, thoughts: memory }: Pick<Answer, 'call' | 'thoughts'>,
  received: readonly Pick<SignedThought, 'signature' | 'text'>[],
): Steps<void> {
  if (received.length === 0) return
  const inLog = yield* signedThoughts(call.record.response)
  const logged = new Map(inLog.map(({ signature, text }) => [signature, text]))
  const pace = new Pace()
  for (const thought of received) {
    if (pace.isOver(thought.text.length + thought.signature.length)) yield
    memory.keep(call.key.line, thought, logged.get(thought.signature) ?? '')
  }
}

/** Reports whether a scan of the text would find nothing, at a fraction of its cost. */
export function* isClean(text: Pick<Text, 'text' | 'encoding'>, rules: ScanRules): Steps<boolean> {
  const { kinds, keywords, credential, outside, openKinds = null, replacedKeywords = null } = rules
  // A string may hold several JSON texts, and each is scanned alone.
  if (text.encoding === 'json' && !isOneJson(text.text)) return false
  const view = yield* decodeView(text, 'response')
  return (
    (credential === null || !view.includes(credential)) &&
    !mayBeRestored(rules, view) &&
    (outside === undefined || outside.of(text).length === 0) &&
    (yield* detectSteps(view, kinds)).length === 0 &&
    (openKinds === null || (yield* findAnywhere(openKinds, view)).length === 0) &&
    (replacedKeywords === null || (yield* findAnywhere(replacedKeywords, view)).length === 0) &&
    (keywords === null || (yield* keywords.matcher.matchSteps(view)).length === 0)
  )
}

/** Reports whether a text that is clean alone is a value after its label. */
function* isNamedValue(
  text: Pick<Text, 'text' | 'encoding'>,
  label: string,
  { kinds, openKinds = null }: ScanRules,
): Steps<boolean> {
  const view = yield* decodeView(text, 'response')
  return (
    (openKinds !== null && (yield* findAnywhere(openKinds, label + view)).length > 0) ||
    (yield* detectAfter(label, view, kinds)).length > 0
  )
}

function isOneJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * Decides on an answer and records findings and hits on the call.
 * @returns the rule that blocks the answer, or null
 */
export function decideOnAnswer(
  call: Call,
  selection: Selection,
  results: readonly ScanResult[],
): RuleReference | null {
  if (results.length === 0) return null
  const findings = countKinds(
    results.flatMap((one) => one.findings.map((found) => ({ ...found, place: 'answer' as const }))),
  )
  const keywordHits = [...new Set<RuleReference>(results.flatMap((one) => one.keywordHits))]
  const decision = decideResponse(selection, { findings, keywordHits })
  call.record.addFindings(findings, selection)
  call.record.hits.push(...decision.hits)
  return decision.blocked
}

/** Finish reasons of aggregators and of the Responses API. */
const FAILURES: ReadonlySet<string | null> = new Set(['error', 'failed'])

/**
 * Reports whether a body describes a failure. Aggregators may answer 200 and report a provider's
 * failure in the body.
 */
const isFailure = (format: AnswerFormat, body: JsonObject | null): boolean =>
  body !== null && (isErrorBody(body) || FAILURES.has(format.finishReason(body)))
