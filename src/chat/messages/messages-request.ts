// Checks that a JSON value is a request of Anthropic's messages API, and lists its texts.

import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Steps } from '../../core/steps.ts'
import { readBody } from '../body-fields.ts'
import { BodyWalk, readingOrder } from '../body-walk.ts'
import type { PathNode } from '../json-path.ts'
import { type ModelRequest, readMaxTokens, readMessages, readModels, readStream } from '../model-request.ts'
import type { Texts } from '../texts.ts'
import { estimateFields, TOKENS_A_MESSAGE } from '../token-usage.ts'
import { REQUEST_FIELDS } from '../vocabulary.ts'

/**
 * Reads a request of `POST /v1/messages` or of `/v1/messages/count_tokens`.
 * @throws GatewayError `missing_required_parameter` or `invalid_body`; `param` names the field
 */
export function readMessagesRequest(json: JsonValue): ModelRequest {
  const body = readBody(json, REQUEST_FIELDS.messages)
  const models = readModels(body)
  readMessages(body)
  return {
    body,
    ...models,
    stream: readStream(body),
    includeUsage: true,
    asksForJson: asksForJson(body),
    maxTokens: readMaxTokens(body),
    choices: 1,
  }
}

/** As Anthropic defines it, in its present and its first form. */
const asksForJson = ({ output_config: config, output_format: format }: JsonObject): boolean =>
  (isObject(config) && isObject(config['format'])) || isObject(format)

/**
 * Lists the texts of a request in the order in which it is read, in steps.
 * @throws GatewayError `invalid_body` as BodyWalk
 */
export function* messagesTexts(body: JsonObject, readsNumbers = false): Steps<Texts> {
  const walk = new BodyWalk('request', readsNumbers)
  for (const key of readingOrder(body)) {
    const value = body[key]
    if (key === 'system') yield* walk.spoken(body, key, 'system')
    else if (key === 'messages' && Array.isArray(value)) {
      const list: PathNode = { parent: null, key }
      for (const [index, message] of value.entries())
        yield* walk.message(message as JsonObject, { parent: list, key: index }, 3)
    } else walk.member(body, key, null, 1)
  }
  return walk
}

/** Fields that become part of the prompt. */
const PROMPT_FIELDS = ['system', 'messages', 'tools', 'output_config', 'output_format'] as const

export const estimateMessages = (body: JsonObject): number =>
  (Array.isArray(body['messages']) ? body['messages'].length : 0) * TOKENS_A_MESSAGE +
  estimateFields(body, PROMPT_FIELDS)
