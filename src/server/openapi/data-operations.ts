// The operations of the APIs that apps call.

import { type DescribedOperation, operation } from './operation-builders.ts'

/** An endpoint that is governed as every other: key, personal data, rules, limits, entry. */
const governed = (path: string, summary: string, body: string): DescribedOperation =>
  operation(`POST ${path}`, summary, { security: 'key', body, passesOn: true, errors: [403, 404, 429, 500] })

export const DATA_OPERATIONS: readonly DescribedOperation[] = [
  governed(
    '/v1/chat/completions',
    'Creates a chat completion, whole or streamed, as in the OpenAI API.',
    'ChatRequest',
  ),
  governed(
    '/v1/responses',
    'Creates a response, whole or streamed, as in the OpenAI API.',
    'ResponsesRequest',
  ),
  governed(
    '/v1/completions',
    'Creates a completion, whole or streamed, as in the OpenAI API.',
    'CompletionsRequest',
  ),
  governed('/v1/embeddings', 'Creates embeddings, as in the OpenAI API.', 'InputRequest'),
  governed('/v1/moderations', 'Classifies inputs, as in the OpenAI API.', 'ModerationRequest'),
  governed(
    '/v1/messages',
    'Creates a message, whole or streamed, as in the Anthropic API. The key may be in `x-api-key`.',
    'ChatRequest',
  ),
  governed(
    '/v1/messages/count_tokens',
    'Counts the tokens of a message, as in the Anthropic API.',
    'ChatRequest',
  ),
]
