// Checks that a JSON value is a chat request, and makes the bodies that are sent upstream.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { StreamUsage } from '../core/upstream-config.ts'
import { invalid, readBody } from './body-fields.ts'
import { rewrite } from './json-rewrite.ts'
import {
  type ModelRequest,
  readMadeChoices,
  readMaxTokens,
  readMessages,
  readModels,
  readStream,
  refuseTokenIds,
  tokensOfAll,
} from './model-request.ts'
import { REQUEST_FIELDS } from './vocabulary.ts'

/** Top-level fields that may hold token ids, which cannot be scanned. */
const PROMPT_FIELDS = ['prompt', 'input', 'suffix', 'prompt_token_ids'] as const

/**
 * Reads a chat request from a parsed body.
 * @throws GatewayError `missing_required_parameter` or `invalid_body`; `param` names the field
 */
export function readChatRequest(json: JsonValue): ModelRequest {
  const body = readBody(json, REQUEST_FIELDS.chat)
  const models = readModels(body)
  readMessages(body)
  const stream = readStream(body)
  for (const name of PROMPT_FIELDS) refuseTokenIds(body[name], name)
  if (isObject(body['prediction'])) refuseTokenIds(body['prediction']['content'], 'prediction.content')
  const choices = readMadeChoices(body)
  return {
    body,
    ...models,
    stream,
    includeUsage: hasUsageOption(body) || (isObject(body['usage']) && body['usage']['include'] === true),
    asksForJson: asksForJson(body),
    maxTokens: tokensOfAll(readMaxTokens(body), choices),
    choices,
  }
}

const JSON_FORMATS: readonly unknown[] = ['json_object', 'json_schema']

/** As OpenAI or vLLM define it. */
const asksForJson = ({
  response_format: format,
  structured_outputs: outputs,
  guided_json: schema = null,
}: JsonObject): boolean =>
  (isObject(format) && JSON_FORMATS.includes(format['type'])) ||
  (isObject(outputs) && outputs['json'] != null) ||
  schema !== null

const ASKING_FOR_USAGE = Buffer.from(',"stream_options":{"include_usage":true}}')

/**
 * Returns the bodies to send upstream, in order. A stream first asks for its usage, because tokens
 * are counted for every call; the plain body is for upstreams that refuse `stream_options`.
 * @param json the redacted body, serialised
 * @param streamUsage `always` has no plain body, `never` only that
 */
export function upstreamBodies(
  request: ModelRequest,
  json: Buffer,
  streamUsage: StreamUsage,
): readonly [Buffer, ...Buffer[]] {
  const { body, stream } = request
  if (!stream || streamUsage === 'never' || hasUsageOption(body)) return [json]
  const asking = askForUsage(body, json)
  return streamUsage === 'always' ? [asking] : [asking, json]
}

function askForUsage(body: JsonObject, json: Buffer): Buffer {
  if (!Object.hasOwn(body, 'stream_options'))
    return Buffer.concat([json.subarray(0, json.lastIndexOf('}')), ASKING_FOR_USAGE])
  const options = isObject(body['stream_options']) ? body['stream_options'] : {}
  return rewrite(json, { ...body, stream_options: { ...options, include_usage: true } })
}

/** @throws GatewayError `invalid_body` */
export function hasUsageOption(body: JsonObject): boolean {
  const options = body['stream_options']
  if (options === undefined || options === null) return false
  if (!isObject(options)) throw invalid('stream_options', 'must be an object.')
  return options['include_usage'] === true
}
