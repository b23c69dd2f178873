// Lists the texts that a model reads in a request and a client in an answer: all but those that
// body-walk.ts leaves out. Knows the outline of both bodies and no scans.

import { isObject, type JsonObject } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'
import { BodyWalk, readingOrder } from './body-walk.ts'
import type { PathNode } from './json-path.ts'
import type { Text } from './text.ts'

export type { Text } from './text.ts'

/** The texts of one body. */
export interface Texts {
  readonly texts: readonly Text[]
  /** Number of images, audio and files, which are not text. */
  readonly binaryParts: number
  /** Ids of an answer that do not have the form of an id, or that hold a long number. */
  readonly ids: readonly string[]
  /**
   * Whether the values of each input of a list have numbers of their own, so that what is sent of
   * an input depends on no other: vectors of many calls are compared.
   */
  readonly numbersEachInput: boolean
  /** Renames members, once for each object. Call it after the last `replace`. */
  commit(): void
}

/**
 * Lists the texts of a chat request in the order in which it is read: strings, long numbers and
 * member names anywhere, and with `readsNumbers` also small numbers that are no setting. Leaves out
 * words of the wire format, ids in the form of ids, the top-level `model`, and payloads, which it
 * counts. Runs in steps; time is linear in the body.
 * @throws GatewayError `invalid_body` for more than MAXIMUM_DEPTH levels or MAXIMUM_TEXTS texts
 */
export function* requestTexts(body: JsonObject, readsNumbers = false): Steps<Texts> {
  const walk = new BodyWalk('request', readsNumbers)
  for (const key of readingOrder(body)) {
    const value = body[key]
    if (key === 'prediction' && isObject(value)) {
      yield* walk.separate(value, { parent: null, key }, 2)
      continue
    }
    if (key !== 'messages' || !Array.isArray(value)) {
      walk.member(body, key, null, 1)
      continue
    }
    const list: PathNode = { parent: null, key }
    for (const [index, message] of value.entries()) {
      if (isObject(message)) yield* walk.message(message, { parent: list, key: index }, 3)
      else walk.value(value, index, list, 2)
    }
  }
  return walk
}

/**
 * Lists the texts of a whole answer or an upstream's error: content, refusal, reasoning, tool
 * calls, annotations, transcripts and unknown fields of every choice.
 * @throws GatewayError `upstream_unavailable` for more than MAXIMUM_DEPTH levels or MAXIMUM_TEXTS
 * texts
 */
export function responseTexts(body: JsonObject, readsNumbers = false): Texts {
  const walk = new BodyWalk('response', readsNumbers)
  walk.object(body, null, 1)
  return walk
}

/**
 * Drops token probabilities and token ids from an answer or a chunk, in every place servers use.
 * They repeat the text.
 */
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

/** Members with the text as token ids, in the message or in the choice. */
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
