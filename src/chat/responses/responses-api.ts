// Describes OpenAI's Responses API.

import { joinBlocks } from '../answer-texts.ts'
import type { Api } from '../api-format.ts'
import { responsesErrors } from '../error-shapes.ts'
import { RESPONSES_REQUEST } from '../request-schemas.ts'
import { responseTexts } from '../texts.ts'
import { readUsage } from '../token-usage.ts'
import { isResponse, responseEvents } from './response-events.ts'
import { dropResponseProbabilities } from './response-probabilities.ts'
import { responseFinishReason } from './responses-assembler.ts'
import { estimateResponses, readResponsesRequest, responsesTexts } from './responses-request.ts'
import { ResponsesStream } from './responses-stream.ts'
import { STORED_RESPONSES } from './stored-responses.ts'

const PART_TEXT = /^(output\[\d+\]\.content)\[(\d+)\]\.text$/

/** `POST /v1/responses` (https://platform.openai.com/docs/api-reference/responses). */
export const RESPONSES: Api = {
  name: 'responses',
  document: {
    summary: 'Creates a response, whole or streamed, as in the OpenAI API.',
    request: RESPONSES_REQUEST,
  },
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
    texts: responseTexts,
    group: joinBlocks(PART_TEXT),
    isAnswer: isResponse,
    toEvents: responseEvents,
    dropProbabilities: dropResponseProbabilities,
    usage: readUsage,
    finishReason: responseFinishReason,
  },
  keepsAnswers: true,
  stored: STORED_RESPONSES,
  readStream: (asksForJson) => new ResponsesStream(asksForJson),
}
