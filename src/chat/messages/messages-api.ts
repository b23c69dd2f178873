// Describes Anthropic's messages and the count of their tokens.

import type { JsonObject } from '../../core/json.ts'
import type { AnswerText } from '../answer-texts.ts'
import type { Api } from '../api-format.ts'
import { BodyWalk } from '../body-walk.ts'
import { anthropicErrors } from '../error-shapes.ts'
import type { Text, Texts } from '../texts.ts'
import { isMessage, messageEvents } from './message-events.ts'
import { estimateMessages, messagesTexts, readMessagesRequest } from './messages-request.ts'
import { MessagesStream } from './messages-stream.ts'
import { messagesUsage } from './messages-usage.ts'

function answerTexts(body: JsonObject): Texts {
  const walk = new BodyWalk('response')
  walk.object(body, null, 1)
  return walk
}

const BLOCK_TEXT = /^content\[\d+\]\.text$/

/** Each block is a text of its own, as in a stream. */
const groupTexts = (texts: readonly Text[], asksForJson: boolean): AnswerText[] =>
  texts.map(({ path, text, encoding, isFollowed }, index) => ({
    parts: [index],
    text,
    encoding: asksForJson && BLOCK_TEXT.test(path) ? 'json' : encoding,
    isFollowed,
  }))

const stopReason = ({ stop_reason: reason = null }: JsonObject): string | null =>
  typeof reason === 'string' ? reason : null

/** `POST /v1/messages` (https://docs.anthropic.com/en/api/messages). */
export const MESSAGES: Api = {
  name: 'messages',
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
    texts: answerTexts,
    group: groupTexts,
    isAnswer: isMessage,
    toEvents: messageEvents,
    dropProbabilities: () => {},
    usage: messagesUsage,
    finishReason: stopReason,
  },
  readStream: (asksForJson) => new MessagesStream(asksForJson),
}

/** `POST /v1/messages/count_tokens` (https://docs.anthropic.com/en/api/messages-count-tokens). */
export const COUNT_TOKENS: Api = {
  ...MESSAGES,
  name: 'count_tokens',
  target: '/messages/count_tokens',
  answer: { ...MESSAGES.answer, isAnswer: ({ input_tokens: count }) => typeof count === 'number' },
  usesTokens: false,
}
