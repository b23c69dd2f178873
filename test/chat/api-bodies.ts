// A request of each API, for what holds of all of them.

import type { JsonObject } from '../../src/core/json.ts'

const model = 'm'

/** Small bodies with a text that a model reads, by the name of the API. */
export const REQUEST_BODIES: Readonly<Record<string, (text: string) => JsonObject>> = {
  chat: (content) => ({ model, messages: [{ role: 'user', content }] }),
  responses: (input) => ({ model, input }),
  completions: (prompt) => ({ model, prompt }),
  embeddings: (input) => ({ model, input: [input] }),
  moderations: (input) => ({ input }),
  messages: (content) => ({ model, max_tokens: 9, messages: [{ role: 'user', content }] }),
  count_tokens: (content) => ({ model, messages: [{ role: 'user', content }] }),
}
