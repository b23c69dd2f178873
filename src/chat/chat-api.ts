// Describes chat completions: the OpenAI API that most apps use.

import { chunkEvents, hasChoices } from './answer-chunks.ts'
import { readAnswerTexts } from './answer-texts.ts'
import type { Api } from './api-format.ts'
import { ChatStream } from './chat-stream.ts'
import { CHAT_TOOLS } from './chat-tools.ts'
import { openAiErrors } from './error-shapes.ts'
import { readChatRequest, upstreamBodies } from './request.ts'
import { CHAT_REQUEST } from './request-schemas.ts'
import { firstFinishReason } from './stream-chunk.ts'
import { dropLogprobs, requestTexts, responseTexts } from './texts.ts'
import { estimatePromptTokens, readUsage } from './token-usage.ts'

/** `POST /v1/chat/completions` (https://platform.openai.com/docs/api-reference/chat). */
export const CHAT: Api = {
  name: 'chat',
  document: {
    summary: 'Creates a chat completion, whole or streamed, as in the OpenAI API.',
    request: CHAT_REQUEST,
  },
  target: '/chat/completions',
  keepsAnswers: true,
  usesTokens: true,
  family: 'openai',
  headers: {},
  errors: openAiErrors,
  readRequest: readChatRequest,
  requestTexts,
  estimatePromptTokens,
  upstreamBodies,
  answer: {
    texts: responseTexts,
    group: readAnswerTexts,
    isAnswer: hasChoices,
    toEvents: chunkEvents,
    dropProbabilities: dropLogprobs,
    usage: readUsage,
    finishReason: firstFinishReason,
  },
  tools: CHAT_TOOLS,
  readStream: (asksForJson, readsNumbers) => new ChatStream(asksForJson, readsNumbers),
}
