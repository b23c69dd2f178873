// Describes OpenAI's Responses API, and its compaction of a conversation and count of tokens.

import { joinBlocks } from '../answer-texts.ts'
import type { Api } from '../api-format.ts'
import { responsesErrors } from '../error-shapes.ts'
import { RESPONSES_REQUEST } from '../request-schemas.ts'
import { responseTexts } from '../texts.ts'
import { readUsage } from '../token-usage.ts'
import { isResponse, responseEvents } from './response-events.ts'
import { dropResponseProbabilities } from './response-probabilities.ts'
import { RESPONSE_TOOLS } from './response-tools.ts'
import { responseFinishReason } from './responses-assembler.ts'
import { estimateResponses, readResponsesRequest, responsesTexts } from './responses-request.ts'
import { ResponsesStream } from './responses-stream.ts'
import { STORED_BY_OTHERS, STORED_RESPONSES } from './stored-responses.ts'

/** The text of a part in a whole answer, or in an item alone. */
const PART_TEXT = /^((?:output\[\d+\]|item)\.(?:content|summary))\[(\d+)\]\.text$/

/** What the endpoints have in common. */
const SHARED = {
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
  stored: STORED_BY_OTHERS,
  tools: RESPONSE_TOOLS,
  readStream: (asksForJson, readsNumbers) => new ResponsesStream(asksForJson, readsNumbers),
} as const satisfies Partial<Api>

/** `POST /v1/responses` (https://platform.openai.com/docs/api-reference/responses). */
export const RESPONSES: Api = {
  ...SHARED,
  name: 'responses',
  document: {
    summary: 'Creates a response, whole or streamed, as in the OpenAI API.',
    request: RESPONSES_REQUEST,
  },
  target: '/responses',
  keepsAnswers: true,
  stored: STORED_RESPONSES,
}

/**
 * `POST /v1/responses/compact`
 * (https://platform.openai.com/docs/api-reference/responses/compact).
 */
export const COMPACT: Api = {
  ...SHARED,
  name: 'compact',
  document: {
    summary: 'Compacts a conversation for later calls, as in the OpenAI API.',
    request: RESPONSES_REQUEST,
  },
  target: '/responses/compact',
}

/**
 * `POST /v1/responses/input_tokens`
 * (https://platform.openai.com/docs/api-reference/responses/input-tokens).
 */
export const INPUT_TOKENS: Api = {
  ...SHARED,
  name: 'input_tokens',
  document: {
    summary: 'Counts the tokens of the input of a response, as in the OpenAI API.',
    request: RESPONSES_REQUEST,
  },
  target: '/responses/input_tokens',
  answer: { ...SHARED.answer, isAnswer: ({ input_tokens: count }) => typeof count === 'number' },
  usesTokens: false,
}
