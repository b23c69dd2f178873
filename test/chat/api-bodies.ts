// A request of each API, for what holds of all of them.

import type { JsonObject } from '../../src/core/json.ts'

const model = 'm'

const BODIES: Readonly<Record<string, (text: string) => JsonObject>> = {
  chat: (content) => ({ model, messages: [{ role: 'user', content }] }),
  responses: (input) => ({ model, input }),
  compact: (input) => ({ model, input }),
  input_tokens: (input) => ({ model, input }),
  completions: (prompt) => ({ model, prompt }),
  embeddings: (input) => ({ model, input: [input] }),
  moderations: (input) => ({ input }),
  messages: (content) => ({ model, max_tokens: 9, messages: [{ role: 'user', content }] }),
  count_tokens: (content) => ({ model, messages: [{ role: 'user', content }] }),
}

/**
 * A small body with a text that a model reads.
 * @param api its name
 * @throws Error that names the API when this file has no body of it
 */
export function requestBody(api: string, text: string): JsonObject {
  const bodyOf = BODIES[api]
  if (bodyOf === undefined)
    throw new Error(`test/chat/api-bodies.ts has no request of the API ${api}; add one`)
  return bodyOf(text)
}
