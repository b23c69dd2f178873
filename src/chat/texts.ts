// Which texts of a request a model will read, and which of an answer a client will: all of them, but for what walk.ts
// lists. Knows the outline of both bodies and nothing of what is looked for.

import { isObject, type JsonObject } from '../core/json.ts'
import { BodyWalk } from './body-walk.ts'
import type { PathNode } from './json-path.ts'
import type { Text } from './text.ts'

export type { Text } from './text.ts'

/** All texts of one body. */
export interface Texts {
  readonly texts: readonly Text[]
  /** Images, sound and files, which are not text. */
  readonly binaryParts: number
  /** To be called after the last `replace`: names of members are changed together, once an object. */
  commit(): void
}

/**
 * Every text of a chat request, in document order, linear in the body: strings, long numbers and names of members
 * wherever they stand. Left out are words of the wire format, ids that look like ids, the top-level `model`, and
 * payloads, which are counted.
 * @throws GatewayError `invalid_body` for more than MAX_DEPTH levels or MAX_TEXTS texts
 */
export function requestTexts(body: JsonObject): Texts {
  const walk = new BodyWalk('request')
  for (const key of Object.keys(body)) {
    const value = body[key]
    if (key === 'prediction' && isObject(value)) {
      walk.separate(value, { parent: null, key }, 2)
      continue
    }
    if (key !== 'messages' || !Array.isArray(value)) {
      walk.member(body, key, null, 1)
      continue
    }
    const list: PathNode = { parent: null, key }
    value.forEach((message, index) => {
      if (isObject(message)) walk.message(message, { parent: list, key: index }, 3)
      else walk.value(value, index, list, 2)
    })
  }
  return walk
}

/**
 * Every text of a whole answer or of an upstream's error: content, refusal, reasoning, tool calls, annotations,
 * transcripts and unknown fields of every choice.
 * @throws GatewayError `upstream_unavailable` for more than MAX_DEPTH levels or MAX_TEXTS texts
 */
export function responseTexts(body: JsonObject): Texts {
  const walk = new BodyWalk('response')
  walk.object(body, null, 1)
  return walk
}

/** Takes the token probabilities and numbers, which repeat the text, out of an answer or a chunk, wherever servers put them. */
export function dropLogprobs(body: JsonObject): void {
  dropLogprobsOf(body)
  for (const choice of Array.isArray(body['choices']) ? body['choices'] : []) {
    if (!isObject(choice)) continue
    for (const part of [choice, choice['delta'], choice['message']]) if (isObject(part)) dropLogprobsOf(part)
    dropTokenIds(choice)
  }
}

/** @returns whether there were any */
export function dropLogprobsOf(part: JsonObject): boolean {
  if (part['logprobs'] == null) return false
  part['logprobs'] = null
  return true
}

/** Where servers write the text once more as numbers of a public vocabulary, beside it or in the choice. */
const TOKEN_IDS = ['token_ids', 'token_id'] as const

/** @returns whether there were any */
export function dropTokenIds(choice: JsonObject): boolean {
  let dropped = false
  for (const part of [choice, choice['delta'], choice['message']]) {
    if (!isObject(part)) continue
    for (const name of TOKEN_IDS) {
      if (part[name] == null) continue
      part[name] = null
      dropped = true
    }
  }
  return dropped
}
