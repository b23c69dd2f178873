// Chooses how an answer reaches the client: by the form in which it arrives and the one that the
// client asked for. Neither depends on the content type.

import { isErrorBody } from '../../chat/stream-chunk.ts'
import { StreamCollector } from '../../chat/stream-collector.ts'
import { isTooDeep } from '../../chat/strict-json.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { STEP_UNITS } from '../../core/steps.ts'
import type { Delivered } from '../record/record.ts'
import { removeFromBytes } from '../scan/credential-filter.ts'
import { readForm, resumed } from './answer-form.ts'
import {
  deliverFailedAnswer,
  deliverReportedError,
  deliverUnreadableAnswer,
  isFailed,
  MAXIMUM_REASON_BYTES,
} from './failed-answer.ts'
import { parseAnswer } from './received-body.ts'
import { deliverStreamedAnswer } from './streamed-answer.ts'
import { type Answer, deliverBytes, deliverWholeAnswer, readerOf, readWhole } from './whole-answer.ts'

/** The form of answer that the client asked for. */
interface AskedForm {
  readonly stream: boolean
  /** True when a stream ends with its usage. */
  readonly includeUsage: boolean
  /** As in Permitted. */
  readonly after: number | null
}

/**
 * Delivers an answer in the form that the client asked for.
 * @throws GatewayError `upstream_*` or `response_blocked_by_policy`
 */
export async function deliverAnswer(answer: Answer, asked: AskedForm): Promise<Delivered> {
  const { stream } = asked
  if (isFailed(answer.response)) return deliverFailedAnswer(answer)
  // An error is one answer in every form: its status must reach the client.
  if (answer.response.status >= 400) return deliverWholeAnswer(answer)
  const { form, response } = await answer.call.waitForUpstream(readForm(answer.response))
  const formed = { ...answer, response }
  if (form === 'stream') return stream ? deliverStreamedAnswer(formed, asked) : deliverCollectedAnswer(formed)
  if (!stream) return deliverWhole(formed)
  if (form === 'whole') return deliverAsStream(formed, asked)
  if (form === 'unknown') return deliverUnreadableAnswer(formed)
  throw new GatewayError('upstream_unavailable', "The upstream's answer is empty.")
}

/** Delivers a whole answer to a client that asked for one. */
async function deliverWhole(answer: Answer): Promise<Delivered> {
  const received = await readWhole(answer)
  // Most answers do not have the word, so few are parsed for it.
  const mayBeError = received.length <= MAXIMUM_REASON_BYTES && received.includes('"error"')
  const body = mayBeError ? parseShallow(received) : null
  return body !== null && isErrorBody(body) && !answer.call.api.answer.isAnswer(body)
    ? deliverRefusal(answer, body)
    : deliverBytes(answer, received, answer.response.status)
}

/** Delivers the error of an upstream that began no answer. */
function deliverRefusal(answer: Answer, body: JsonObject): Promise<Delivered> {
  answer.call.record.isUseUnknown = false
  return deliverReportedError(answer, body)
}

/** Delivers a whole answer to a client that asked for a stream. */
async function deliverAsStream(answer: Answer, asked: AskedForm): Promise<Delivered> {
  const body = await readBody(answer)
  if (body === null)
    throw new GatewayError('upstream_unavailable', "The upstream's answer is not a JSON object.")
  const { api, record: noted } = answer.call
  if (!api.answer.isAnswer(body))
    return isErrorBody(body) ? deliverRefusal(answer, body) : deliverReportedError(answer, body)
  noted.addUsage(api.answer.usage(body))
  if (noted.usage !== null) noted.isUseUnknown = false
  const response = resumed(answer.response, encoded(api.answer.toEvents(body)))
  return deliverStreamedAnswer({ ...answer, response }, asked)
}

/** Reads and parses a whole answer; a long one within the memory budget. */
async function readBody(answer: Answer): Promise<JsonObject | null> {
  const { call, searches } = answer
  const received = await readWhole(answer)
  const release = received.length > STEP_UNITS ? await searches.wait(received.length) : () => {}
  try {
    return call.measure('response', () => parseShallow(received))
  } finally {
    release()
  }
}

function* encoded(events: Iterable<string>): Generator<Buffer> {
  for (const event of events) yield Buffer.from(event)
}

/** Delivers a stream to a client that asked for a whole answer. */
async function deliverCollectedAnswer(answer: Answer): Promise<Delivered> {
  const { call, response, scan, keep } = answer
  const collector = new StreamCollector(readerOf(answer))
  let counted = 0
  while (!collector.done) {
    const piece = await call.waitForUpstream(response.read())
    if (piece === null) break
    call.measure('response', () => collector.push(piece))
    keep(collector.characters - counted)
    counted = collector.characters
  }
  const body = collector.finish()
  response.discard()
  if (isErrorBody(body))
    return collector.begun ? deliverReportedError(answer, body) : deliverRefusal(answer, body)
  const received = removeFromBytes(Buffer.from(JSON.stringify(body)), scan.credential)
  return deliverBytes(answer, received, response.status)
}

/** Parses an answer; null when it is not a JSON object, or too deep to be serialised. */
const parseShallow = (received: Buffer): JsonObject | null =>
  isTooDeep(received.toString('utf8')) ? null : parseAnswer(received).body
