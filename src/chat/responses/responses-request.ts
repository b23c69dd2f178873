// Checks that a JSON value is a request of the Responses API, and lists its texts.

import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Steps } from '../../core/steps.ts'
import { invalid, readBody } from '../body-fields.ts'
import { BodyWalk, readingOrder } from '../body-walk.ts'
import type { PathNode } from '../json-path.ts'
import { type ModelRequest, readMaxTokens, readModels, readStream, refuseTokenIds } from '../model-request.ts'
import type { Texts } from '../texts.ts'
import { estimateFields, TOKENS_A_MESSAGE } from '../token-usage.ts'
import { REQUEST_FIELDS } from '../vocabulary.ts'

/**
 * The model of a request that names none: a stored prompt chooses it. Rules for models apply to
 * this name.
 */
const STORED_PROMPT_MODEL = 'stored-prompt'

const JSON_FORMATS: readonly unknown[] = ['json_object', 'json_schema']

/**
 * Reads a request of `POST /v1/responses`.
 * @throws GatewayError `missing_required_parameter` or `invalid_body`; `param` names the field
 */
export function readResponsesRequest(json: JsonValue): ModelRequest {
  const body = readBody(json, REQUEST_FIELDS.responses)
  const { input = null, prompt, text } = body
  const models = readModels(body, isObject(prompt) ? STORED_PROMPT_MODEL : undefined)
  if (input !== null && typeof input !== 'string' && !Array.isArray(input))
    throw invalid('input', 'must be a text or a list of items.')
  if (Array.isArray(input)) {
    refuseTokenIds(input, 'input')
    input.forEach((item, index) => {
      if (!isObject(item)) throw invalid(`input[${index}]`, 'must be an object.')
    })
  }
  return {
    body,
    ...models,
    stream: readStream(body),
    includeUsage: true,
    asksForJson: isObject(text) && isObject(text['format']) && JSON_FORMATS.includes(text['format']['type']),
    maxTokens: readMaxTokens(body),
    choices: 1,
  }
}

/**
 * Lists the texts of a request in the order in which it is read, in steps.
 * @throws GatewayError `invalid_body` as BodyWalk
 */
export function* responsesTexts(body: JsonObject, readsNumbers = false): Steps<Texts> {
  const walk = new BodyWalk('request', readsNumbers)
  for (const key of readingOrder(body)) {
    const value = body[key]
    if (key === 'instructions') yield* walk.spoken(body, key, 'system')
    else if (key !== 'input') walk.member(body, key, null, 1)
    else if (typeof value === 'string') yield* walk.spoken(body, key, 'user')
    else if (Array.isArray(value)) {
      const list: PathNode = { parent: null, key }
      for (const [index, item] of value.entries()) {
        if (isObject(item)) yield* walk.message(item, { parent: list, key: index }, 3, roleOf(item))
        else walk.value(value, index, list, 2)
      }
    } else walk.member(body, key, null, 1)
  }
  return walk
}

const BY_MODEL = /^(?:reasoning|compaction(?:_summary)?|\w*_?call|mcp_approval_request)$/
const BY_TOOL = /_output$|^mcp_list_tools$/

/** Who speaks in an item: its role, the model for its calls and reasoning, a tool for results. */
function roleOf({ role, type }: JsonObject): string {
  if (typeof role === 'string') return role
  if (typeof type !== 'string') return 'user'
  if (BY_TOOL.test(type)) return 'tool'
  return BY_MODEL.test(type) ? 'assistant' : 'user'
}

/** Fields that become part of the prompt. */
const PROMPT_FIELDS = ['instructions', 'input', 'tools', 'text', 'prompt'] as const

export const estimateResponses = (body: JsonObject): number =>
  (Array.isArray(body['input']) ? body['input'].length : 1) * TOKENS_A_MESSAGE +
  estimateFields(body, PROMPT_FIELDS)
