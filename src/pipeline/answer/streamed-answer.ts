// Delivers a streamed answer as it arrives. Only its end waits for the entry.

import type { AnswerFormat } from '../../chat/api-format.ts'
import { MAXIMUM_EVENT_BYTES, SseParser, withComment } from '../../chat/sse.ts'
import { parseObject } from '../../chat/stream-chunk.ts'
import { estimateTokens } from '../../chat/token-usage.ts'
import type { JsonObject } from '../../core/json.ts'
import { atOnce, type Steps } from '../../core/steps.ts'
import type { RuleReference } from '../../policy/rule.ts'
import { clientHeaders } from '../../upstream/headers.ts'
import { callHeaders, hasLimits } from '../call/call-headers.ts'
import { assertWaiting } from '../call/client.ts'
import { responseBlockedBy, toolCallRefused } from '../record/failure.ts'
import { type Delivered, formatReceipt } from '../record/record.ts'
import { deliverScannedError } from './failed-answer.ts'
import { SentenceGate } from './sentence-gate.ts'
import { StreamEvents } from './stream-events.ts'
import { countCalls } from './tool-calls.ts'
import { type Answer, decideOnAnswer, keepThoughts } from './whole-answer.ts'

/** What the client asked for. */
interface AskedStream {
  /** Whether the stream ends with the usage event. */
  readonly includeUsage: boolean
  /** As in Permitted. */
  readonly after: number | null
}

/**
 * Relays a stream up to `[DONE]`, which `finish` sends after the entry is sealed. The answer to the
 * client begins with the first event, so that an error before it has a status.
 * @throws GatewayError `upstream_*` or `response_blocked_by_policy`; safe text was sent before
 */
export async function deliverStreamedAnswer(
  answer: Answer,
  { includeUsage, after }: AskedStream,
): Promise<Delivered> {
  const { call, response, selection } = answer
  const relay = new StreamEvents(answer, includeUsage)
  const resumed = after === null ? null : new EventsAfter(after)
  let blocking: RuleReference | null
  let isStarted: boolean
  try {
    isStarted = await pump(answer, relay, resumed)
  } finally {
    // Record the answer on every path, also when the stream fails.
    blocking = decideOnAnswer(call, selection, relay.results)
    call.record.response = relay.assembler.result()
    call.record.finishReason = relay.assembler.finishReason
    call.record.nextEvent = relay.nextNumber
    atOnce(keepThoughts(answer, relay.thoughts))
    if (answer.calls === null) countCalls(answer, call.api.tools?.calls(call.record.response) ?? [])
    if (!call.record.isAnswerCounted)
      call.record.estimatedCompletionTokens = estimateAnswer(call.api.answer, call.record.response)
    call.record.completeUsage()
    if (isUseKnown(answer, relay)) call.record.isUseUnknown = false
  }
  if (blocking !== null) throw responseBlockedBy(blocking)
  if (relay.refused !== null) throw toolCallRefused(relay.refused)
  if (relay.failure !== null) {
    if (relay.firstError === null || isStarted) throw relay.failure
    response.abort()
    return deliverScannedError(answer, relay.firstError)
  }
  response.discard()
  const last = resumed === null ? relay.last : resumed.of(relay.last)
  return {
    ending: { outcome: 'ok', status: response.status, errorCode: null },
    finish: (receipt) => answer.client.end(withComment(last, `sidegate-audit ${formatReceipt(receipt)}`)),
  }
}

/**
 * Reports whether no more is to be learnt of what a stream used: it was read to its end, all of its
 * answer was counted, or the upstream refused to begin one.
 */
const isUseKnown = (
  { call }: Pick<Answer, 'call'>,
  { last, failure, firstError, assembler }: StreamEvents,
): boolean =>
  (last !== '' && failure === null) ||
  (assembler.complete && call.record.isAnswerCounted) ||
  firstError !== null

/**
 * Estimates the tokens of an answer without usage. An answer with too many texts counts by its
 * length.
 */
function estimateAnswer(format: AnswerFormat, response: JsonObject): number {
  try {
    return format.texts(response).texts.reduce((sum, { text }) => sum + estimateTokens(text), 0)
  } catch {
    return estimateTokens(JSON.stringify(response))
  }
}

/** Relays the events. @returns whether the answer to the client has begun */
async function pump(answer: Answer, relay: StreamEvents, resumed: EventsAfter | null): Promise<boolean> {
  const { call, client, response, scan } = answer
  const gate = scan.outside === undefined ? null : new SentenceGate(answer, scan.outside)
  let counted = 0
  let isStarted = false
  while (!relay.done) {
    const piece = await call.waitForUpstream(response.read())
    call.record.responseBytes += piece?.length ?? 0
    // The only wait for what is in a stream. Without recognisers there is none.
    const passed = gate === null ? piece : await gate.take(piece)
    const text = await call.measurePiece('response', relayed(relay, passed, piece === null), client)
    const kept = relay.assembler.characters + relay.heldCharacters + (gate?.heldCharacters ?? 0)
    // What is released counts until the call ends, so that it is not asked for twice.
    if (kept > counted) answer.keep(kept - counted)
    counted = Math.max(counted, kept)
    if (!isStarted && hasBegun(relay, text)) {
      client.startStream({ ...clientHeaders(response, hasLimits(call)), ...callHeaders(call) })
      answer.streamBegan()
      isStarted = true
    }
    const sent = resumed === null ? text : resumed.of(text)
    if (sent !== '') {
      call.markFirstToken()
      const room = client.write(sent)
      if (room !== undefined) await call.waitForClient(room)
    }
    assertWaiting(client)
  }
  return isStarted
}

/** @param passed null for nothing */
function* relayed(relay: StreamEvents, passed: Buffer | null, isEnd: boolean): Steps<string> {
  const text = passed === null ? '' : yield* relay.take(passed)
  return isEnd && !relay.done ? text + (yield* relay.end()) : text
}

/** Reports whether the answer has begun, also when all of its text is held back or blocked. */
const hasBegun = ({ firstError, failure, done, assembler }: StreamEvents, text: string): boolean =>
  text !== '' || (firstError === null && (assembler.begun || (done && failure === null)))

/**
 * Leaves out the events that the client has. The upstream is asked for the whole stream: what is
 * sent of a text depends on its beginning, and so do the numbers of the events, of which some are
 * held back.
 */
class EventsAfter {
  readonly #parser = new SseParser(MAXIMUM_EVENT_BYTES)
  readonly #number: number

  /** @param number of the last event that the client has */
  constructor(number: number) {
    this.#number = number
  }

  /** Returns what is to be sent of a piece of the stream. */
  of(piece: string): string {
    let out = ''
    for (const { raw, data } of this.#parser.push(Buffer.from(piece))) if (!this.#isKnown(data)) out += raw
    return out
  }

  #isKnown(data: string | null): boolean {
    const number = data === null ? null : parseObject(data)?.['sequence_number']
    return typeof number === 'number' && number <= this.#number
  }
}
