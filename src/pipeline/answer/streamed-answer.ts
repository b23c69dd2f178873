// Delivers a streamed answer as it arrives. Only its end waits for the entry.

import { encodeComment, encodeData } from '../../chat/sse.ts'
import { responseTexts } from '../../chat/texts.ts'
import { estimateTokens } from '../../chat/token-usage.ts'
import type { JsonObject } from '../../core/json.ts'
import type { RuleReference } from '../../policy/rule.ts'
import { clientHeaders } from '../../upstream/headers.ts'
import { callHeaders } from '../call-headers.ts'
import { assertWaiting } from '../client.ts'
import { responseBlockedBy } from '../failure.ts'
import { type Delivered, formatReceipt } from '../record.ts'
import { DONE, StreamEvents } from './stream-events.ts'
import { type Answer, decideOnAnswer } from './whole-answer.ts'

/**
 * Relays a stream up to `[DONE]`, which `finish` sends after the entry is sealed.
 * @param includeUsage whether the client asked for the usage event
 * @throws GatewayError `upstream_*` or `response_blocked_by_policy`; safe text was sent before
 */
export async function deliverStreamedAnswer(answer: Answer, includeUsage: boolean): Promise<Delivered> {
  const { call, client, response, selection } = answer
  const relay = new StreamEvents(answer, includeUsage)
  client.startStream({ ...clientHeaders(response.headers), ...callHeaders(call) })
  let blocking: RuleReference | null
  try {
    await pump(answer, relay)
  } finally {
    // Record the answer on every path, also when the stream fails.
    blocking = decideOnAnswer(call, selection, relay.results)
    call.record.response = relay.assembler.result()
    call.record.finishReason = relay.assembler.finishReason
    if (!call.record.isAnswerCounted)
      call.record.estimatedCompletionTokens = estimateAnswer(call.record.response)
    call.record.completeUsage()
  }
  if (blocking !== null) throw responseBlockedBy(blocking)
  if (relay.failure !== null) throw relay.failure
  response.discard()
  return {
    ending: { outcome: 'ok', status: response.status, errorCode: null },
    finish: (receipt) =>
      client.end(encodeComment(`sidegate-audit ${formatReceipt(receipt)}`) + encodeData(DONE)),
  }
}

/**
 * Estimates the tokens of an answer without usage. An answer with too many texts counts by its
 * length.
 */
function estimateAnswer(response: JsonObject): number {
  try {
    return responseTexts(response).texts.reduce((sum, { text }) => sum + estimateTokens(text), 0)
  } catch {
    return estimateTokens(JSON.stringify(response))
  }
}

async function pump(answer: Answer, relay: StreamEvents): Promise<void> {
  const { call, client, response } = answer
  let counted = 0
  while (!relay.done) {
    const piece = await call.waitForUpstream(response.read())
    call.record.responseBytes += piece?.length ?? 0
    const steps = piece === null ? relay.end() : relay.take(piece)
    const text = await call.measureSlices('response', steps, client)
    answer.keep(relay.assembler.characters - counted)
    counted = relay.assembler.characters
    if (text !== '') {
      call.markFirstToken()
      const room = client.write(text)
      if (room !== undefined) await call.waitForClient(room)
    }
    assertWaiting(client)
  }
}

/**
 * Reports whether an answer is a stream. One without a telling content type is a stream if the
 * client asked for one.
 */
export function isEventStream(contentType: string | undefined, isAskedFor: boolean): boolean {
  const type = contentType?.toLowerCase() ?? 'text/plain'
  return type.startsWith('text/event-stream') || (isAskedFor && type.startsWith('text/plain'))
}
