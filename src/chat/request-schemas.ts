// Schemas of request bodies, for the description of the gateway's API. What they leave out, the
// provider's own documents describe.

import type { JsonObject } from '../core/json.ts'
import { object } from '../core/schema-builders.ts'
import type { ApiDocument } from './api-format.ts'

const MODEL: JsonObject = { type: 'string', minLength: 1 }
const TEXTS: JsonObject = { type: ['string', 'array'] }

export const CHAT_REQUEST: ApiDocument['request'] = {
  name: 'ChatRequest',
  schema: object({ model: MODEL, messages: { type: 'array', minItems: 1 } }),
}

export const RESPONSES_REQUEST: ApiDocument['request'] = {
  name: 'ResponsesRequest',
  schema: object({ model: MODEL, input: TEXTS }, ['model', 'input']),
}

export const COMPLETIONS_REQUEST: ApiDocument['request'] = {
  name: 'CompletionsRequest',
  schema: object({ model: MODEL, prompt: TEXTS }),
}

export const INPUT_REQUEST: ApiDocument['request'] = {
  name: 'InputRequest',
  schema: object({ model: MODEL, input: TEXTS }),
}

export const MODERATION_REQUEST: ApiDocument['request'] = {
  name: 'ModerationRequest',
  schema: object({ model: MODEL, input: TEXTS }, ['model']),
}
