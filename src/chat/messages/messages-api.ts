// Describes Anthropic's messages and the count of their tokens.

import type { JsonObject } from '../../core/json.ts'
import { joinBlocks } from '../answer-texts.ts'
import type { Api } from '../api-format.ts'
import { anthropicErrors } from '../error-shapes.ts'
import { CHAT_REQUEST } from '../request-schemas.ts'
import { responseTexts } from '../texts.ts'
import { MESSAGE_CONTAINERS } from './message-containers.ts'
import { isMessage, messageEvents } from './message-events.ts'
import { MESSAGE_TOOLS } from './message-tools.ts'
import { estimateMessages, messagesTexts, readMessagesRequest } from './messages-request.ts'
import { MessagesStream } from './messages-stream.ts'
import { messagesUsage } from './messages-usage.ts'

const BLOCK_TEXT = /^(content)\[(\d+)\]\.text$/

const stopReason = ({ stop_reason: reason = null }: JsonObject): string | null =>
  typeof reason === 'string' ? reason : null

/** `POST /v1/messages` (https://docs.anthropic.com/en/api/messages). */
export const MESSAGES: Api = {
  name: 'messages',
  document: {
    summary: 'Creates a message, whole or streamed, as in the Anthropic API. The key may be in `x-api-key`.',
    request: CHAT_REQUEST,
  },
  target: '/messages',
  usesTokens: true,
  family: 'anthropic',
  headers: { 'anthropic-version': '2023-06-01' },
  errors: anthropicErrors,
  readRequest: readMessagesRequest,
  requestTexts: messagesTexts,
  estimatePromptTokens: estimateMessages,
  upstreamBodies: (_request, json) => [json],
  answer: {
    texts: responseTexts,
    group: joinBlocks(BLOCK_TEXT),
    isAnswer: isMessage,
    toEvents: messageEvents,
    dropProbabilities: () => {},
    usage: messagesUsage,
    finishReason: stopReason,
  },
  stored: MESSAGE_CONTAINERS,
  tools: MESSAGE_TOOLS,
  readStream: (asksForJson, readsNumbers) => new MessagesStream(asksForJson, readsNumbers),
}

/** `POST /v1/messages/count_tokens` (https://docs.anthropic.com/en/api/messages-count-tokens). */
export const COUNT_TOKENS: Api = {
  ...MESSAGES,
  name: 'count_tokens',
  document: {
    summary: 'Counts the tokens of a message, as in the Anthropic API.',
    request: CHAT_REQUEST,
  },
  target: '/messages/count_tokens',
  answer: { ...MESSAGES.answer, isAnswer: ({ input_tokens: count }) => typeof count === 'number' },
  usesTokens: false,
}
