// Describes OpenAI's Responses API.

import type { JsonObject } from '../../core/json.ts'
import type { AnswerText } from '../answer-texts.ts'
import type { Api } from '../api-format.ts'
import { BodyWalk } from '../body-walk.ts'
import { responsesErrors } from '../error-shapes.ts'
import type { Text, Texts } from '../texts.ts'
import { readUsage } from '../token-usage.ts'
import { isResponse, responseEvents } from './response-events.ts'
import { dropResponseProbabilities } from './response-probabilities.ts'
import { responseFinishReason } from './responses-assembler.ts'
import { estimateResponses, readResponsesRequest, responsesTexts } from './responses-request.ts'
import { ResponsesStream } from './responses-stream.ts'
import { STORED_RESPONSES } from './stored-responses.ts'

function answerTexts(body: JsonObject): Texts {
  const walk = new BodyWalk('response')
  walk.object(body, null, 1)
  return walk
}

const PART_TEXT = /^output\[\d+\]\.content\[\d+\]\.text$/

/** Each part is a text of its own, as in a stream. */
const groupTexts = (texts: readonly Text[], asksForJson: boolean): AnswerText[] =>
  texts.map(({ path, text, encoding, isFollowed }, index) => ({
    parts: [index],
    text,
    encoding: asksForJson && PART_TEXT.test(path) ? 'json' : encoding,
    isFollowed,
  }))

/** `POST /v1/responses` (https://platform.openai.com/docs/api-reference/responses). */
export const RESPONSES: Api = {
  name: 'responses',
  target: '/responses',
  usesTokens: true,
  family: 'openai',
  headers: {},
  errors: responsesErrors,
  readRequest: readResponsesRequest,
  requestTexts: responsesTexts,
  estimatePromptTokens: estimateResponses,
  upstreamBodies: (_request, json) => [json],
  answer: {
    texts: answerTexts,
    group: groupTexts,
    isAnswer: isResponse,
    toEvents: responseEvents,
    dropProbabilities: dropResponseProbabilities,
    usage: readUsage,
    finishReason: responseFinishReason,
  },
  stored: STORED_RESPONSES,
  readStream: (asksForJson) => new ResponsesStream(asksForJson),
}
