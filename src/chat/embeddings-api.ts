// Describes embeddings and moderations: APIs that read inputs and write no text.

import type { JsonObject, JsonValue } from '../core/json.ts'
import { readAnswerTexts } from './answer-texts.ts'
import type { Api } from './api-format.ts'
import { readBody } from './body-fields.ts'
import { BodyWalk } from './body-walk.ts'
import { ChatStream } from './chat-stream.ts'
import { openAiErrors } from './error-shapes.ts'
import { type ModelRequest, readModels } from './model-request.ts'
import { isBase64 } from './payload.ts'
import { INPUT_REQUEST, MODERATION_REQUEST } from './request-schemas.ts'
import type { Texts } from './texts.ts'
import { checkInput, estimateInput, inputTexts } from './token-input.ts'
import { readUsage } from './token-usage.ts'
import { REQUEST_FIELDS } from './vocabulary.ts'

/** The model that OpenAI uses for a moderation that names none. */
const DEFAULT_MODERATION_MODEL = 'omni-moderation-latest'

function readInputRequest(json: JsonValue, whenMissing?: string): ModelRequest {
  const body = readBody(json, REQUEST_FIELDS.input)
  const models = readModels(body, whenMissing)
  checkInput(body, 'input')
  return { body, ...models, stream: false, includeUsage: false, asksForJson: false, maxTokens: 0, choices: 0 }
}

/** Lists the texts of an answer without its vectors, which are numbers or base64. */
function vectorTexts(body: JsonObject, readsNumbers = false): Texts {
  const walk = new BodyWalk('response', readsNumbers)
  for (const key of Object.keys(body)) {
    if (key === 'data' && Array.isArray(body[key])) walk.items(body, key, isVector)
    else walk.member(body, key, null, 1)
  }
  return walk
}

const isVector = (name: string, value: JsonValue): boolean =>
  (name === 'embedding' || name === 'embeddings') &&
  (typeof value === 'string' ? isBase64(value) : isNumbers(value))

const isNumbers = (value: JsonValue): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'number' || isNumbers(item))

const hasResults = ({ data, results }: JsonObject): boolean => Array.isArray(data) || Array.isArray(results)

const nothing = () => {}
const noReason = () => null

const INPUT_API = {
  family: 'openai',
  headers: {},
  errors: openAiErrors,
  requestTexts: (body, readsNumbers) => inputTexts(body, 'input', readsNumbers),
  estimatePromptTokens: ({ input }) => estimateInput(input),
  upstreamBodies: (_request, json) => [json],
  answer: {
    texts: vectorTexts,
    group: readAnswerTexts,
    isAnswer: hasResults,
    toEvents: () => [],
    dropProbabilities: nothing,
    usage: readUsage,
    finishReason: noReason,
  },
  readStream: (asksForJson, readsNumbers) => new ChatStream(asksForJson, readsNumbers),
} as const satisfies Partial<Api>

/** `POST /v1/embeddings` (https://platform.openai.com/docs/api-reference/embeddings). */
export const EMBEDDINGS: Api = {
  ...INPUT_API,
  name: 'embeddings',
  document: {
    summary: 'Creates embeddings, as in the OpenAI API.',
    request: INPUT_REQUEST,
  },
  target: '/embeddings',
  usesTokens: true,
  requestTexts: (body, readsNumbers) => inputTexts(body, 'input', readsNumbers, true),
  readRequest: (json) => readInputRequest(json),
}

/** `POST /v1/moderations` (https://platform.openai.com/docs/api-reference/moderations). */
export const MODERATIONS: Api = {
  ...INPUT_API,
  name: 'moderations',
  document: {
    summary: 'Classifies inputs, as in the OpenAI API.',
    request: MODERATION_REQUEST,
  },
  target: '/moderations',
  usesTokens: false,
  readRequest: (json) => readInputRequest(json, DEFAULT_MODERATION_MODEL),
}
