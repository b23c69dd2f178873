// Describes completions: the older OpenAI API, which continues a prompt.

import type { JsonObject, JsonValue } from '../core/json.ts'
import { hasChoices } from './answer-chunks.ts'
import { readAnswerTexts } from './answer-texts.ts'
import type { Api } from './api-format.ts'
import { readBody } from './body-fields.ts'
import { CompletionsStream, completionEvents } from './completions-stream.ts'
import { openAiErrors } from './error-shapes.ts'
import {
  type ModelRequest,
  readMadeChoices,
  readMaxTokens,
  readModels,
  readStream,
  tokensOfAll,
} from './model-request.ts'
import { hasUsageOption, upstreamBodies } from './request.ts'
import { COMPLETIONS_REQUEST } from './request-schemas.ts'
import { firstFinishReason } from './stream-chunk.ts'
import { dropLogprobs, responseTexts } from './texts.ts'
import { checkInput, estimateInput, inputTexts, isTokenList } from './token-input.ts'
import { estimateTokens, readUsage } from './token-usage.ts'
import { REQUEST_FIELDS } from './vocabulary.ts'

/** What a call uses that limits its answer by nothing: the API's own default. */
const DEFAULT_MAX_TOKENS = 16

function readCompletionsRequest(json: JsonValue): ModelRequest {
  const body = readBody(json, REQUEST_FIELDS.completions)
  const models = readModels(body)
  checkInput(body, 'prompt')
  const choices = promptsIn(body) * readMadeChoices(body)
  const perChoice = readMaxTokens(body, DEFAULT_MAX_TOKENS)
  return {
    body,
    ...models,
    stream: readStream(body),
    includeUsage: hasUsageOption(body),
    asksForJson: false,
    maxTokens: tokensOfAll(perChoice, choices),
    choices,
  }
}

/** Each prompt of a list gets answers of its own. */
const promptsIn = ({ prompt }: JsonObject): number =>
  isTokenList(prompt) || !Array.isArray(prompt) ? 1 : prompt.length

/** `POST /v1/completions` (https://platform.openai.com/docs/api-reference/completions). */
export const COMPLETIONS: Api = {
  name: 'completions',
  document: {
    summary: 'Creates a completion, whole or streamed, as in the OpenAI API.',
    request: COMPLETIONS_REQUEST,
  },
  target: '/completions',
  usesTokens: true,
  family: 'openai',
  headers: {},
  errors: openAiErrors,
  readRequest: readCompletionsRequest,
  requestTexts: (body, readsNumbers) => inputTexts(body, 'prompt', readsNumbers),
  estimatePromptTokens: ({ prompt, suffix }) =>
    estimateInput(prompt) + (typeof suffix === 'string' ? estimateTokens(suffix) : 0),
  upstreamBodies,
  answer: {
    texts: responseTexts,
    group: readAnswerTexts,
    isAnswer: hasChoices,
    toEvents: completionEvents,
    dropProbabilities: dropLogprobs,
    usage: readUsage,
    finishReason: firstFinishReason,
  },
  readStream: (_, readsNumbers) => new CompletionsStream(readsNumbers),
}
