// Checks that a JSON value is a chat request. Unknown fields pass, and so do values that the
// gateway does not need; a field that it needs must have the right type.

import type { StreamUsage } from '../core/config.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, isRawNumber, type JsonObject, type JsonValue } from '../core/json.ts'
import { REQUEST_FIELDS } from './vocabulary.ts'

export interface ChatRequest {
  /** The whole body, from which the forwarded bytes are made. */
  readonly body: JsonObject
  /**
   * Without surrounding white space. Some upstreams trim it, and rules for the model must still
   * apply.
   */
  readonly model: string
  /** Every model that may answer: `model`, then the fallbacks in `models`. */
  readonly models: readonly string[]
  readonly stream: boolean
  /** Whether the client asked for the usage event, as OpenAI or OpenRouter define it. */
  readonly includeUsage: boolean
  /** Whether the client asked for JSON content. */
  readonly asksForJson: boolean
  /** `max_completion_tokens` or `max_tokens`, times `n`; null when neither is a positive number. */
  readonly maxTokens: number | null
  /** `n`, the number of answers. */
  readonly choices: number
}

/** Fields that would choose the upstream or its credential; compared without case, `_` and `-`. */
const REFUSED_FIELDS = new Set(['baseurl', 'apibase', 'apikey', 'extraheaders'])

/** Top-level fields that may hold token ids, which cannot be scanned. */
const PROMPT_FIELDS = ['prompt', 'input', 'suffix', 'prompt_token_ids'] as const

/** Most answers of one call; the limit of the providers. */
const MAX_CHOICES = 128
const MAX_MODEL_CHARACTERS = 256
/** Most fallback models; aggregators accept a handful. */
const MAX_FALLBACKS = 64
const MAX_ROLE_CHARACTERS = 64

const invalid = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_body', `${param}: ${message}`, { param })
const missing = (param: string): GatewayError =>
  new GatewayError('missing_required_parameter', `${param} is required.`, { param })

/**
 * Reads a chat request from a parsed body.
 * @throws GatewayError `missing_required_parameter` or `invalid_body`; `param` names the field
 */
export function readChatRequest(body: JsonValue): ChatRequest {
  if (!isObject(body)) throw new GatewayError('invalid_body', 'The body must be a JSON object.')
  checkFieldNames(body)
  const { model = null, messages = null, stream } = body
  if (model === null) throw missing('model')
  if (!isModelName(model)) throw invalid('model', `must be ${MODEL_NAME}.`)
  if (messages === null) throw missing('messages')
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid('messages', 'must be a non-empty array.')
  for (const [index, message] of messages.entries()) checkMessage(message, `messages[${index}]`)
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    throw invalid('stream', 'must be true or false.')
  }
  for (const name of PROMPT_FIELDS) refuseTokenIds(body[name], name)
  if (isObject(body['prediction'])) refuseTokenIds(body['prediction']['content'], 'prediction.content')
  const choices = readChoices(body)
  const perChoice = tokensOf(body['max_completion_tokens'] ?? body['max_tokens'])
  return {
    body,
    model: model.trim(),
    models: [model, ...readFallbacks(body)].map((name) => name.trim()),
    stream: stream === true,
    includeUsage: hasUsageOption(body) || (isObject(body['usage']) && body['usage']['include'] === true),
    asksForJson: asksForJson(body),
    maxTokens: perChoice === null ? null : Math.min(perChoice * choices, Number.MAX_SAFE_INTEGER),
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
  request: ChatRequest,
  json: Buffer = Buffer.from(JSON.stringify(request.body)),
  streamUsage: StreamUsage = 'auto',
): readonly [Buffer, ...Buffer[]] {
  const { body, stream } = request
  if (!stream || streamUsage === 'never' || hasUsageOption(body)) return [json]
  const asking = askForUsage(body, json)
  return streamUsage === 'always' ? [asking] : [asking, json]
}

function askForUsage(body: JsonObject, json: Buffer): Buffer {
  if (!Object.hasOwn(body, 'stream_options')) return Buffer.concat([json.subarray(0, -1), ASKING_FOR_USAGE])
  const options = isObject(body['stream_options']) ? body['stream_options'] : {}
  return Buffer.from(JSON.stringify({ ...body, stream_options: { ...options, include_usage: true } }))
}

function checkFieldNames(body: JsonObject): void {
  for (const name of Object.keys(body)) {
    if (REQUEST_FIELDS.has(name)) continue
    const folded = fold(name)
    if (REFUSED_FIELDS.has(folded.replace(/[_-]/g, ''))) {
      throw invalid(folded, 'is not allowed; the gateway chooses the upstream and its credential.')
    }
    // Some upstreams ignore the case of names and would read a field that was not scanned as one.
    if (REQUEST_FIELDS.has(folded)) throw invalid(folded, 'must be written in lower case.')
  }
}

/**
 * Folds a name as upstreams that ignore case do (Go's encoding/json): `ſ` is s, the Kelvin sign k.
 */
const fold = (name: string): string => name.toUpperCase().toLowerCase()

function refuseTokenIds(value: JsonValue | undefined, param: string): void {
  if (Array.isArray(value)) for (const item of value) refuseTokenId(item, param)
}

/** Refuses a number, and a list with one, in the place of a text. */
function refuseTokenId(item: JsonValue, param: string): void {
  const isNumber = (value: JsonValue) => typeof value === 'number' || isRawNumber(value)
  if (isNumber(item) || (Array.isArray(item) && item.some(isNumber)))
    throw invalid(param, 'must be text; token ids cannot be scanned.')
}

function checkMessage(message: JsonValue, path: string): void {
  if (!isObject(message)) throw invalid(path, 'must be an object.')
  const { role, content } = message
  if (role === undefined) throw missing(`${path}.role`)
  if (typeof role !== 'string' || role === '' || role.length > MAX_ROLE_CHARACTERS) {
    throw invalid(`${path}.role`, 'must be a string like user, assistant, system or tool.')
  }
  if (!Array.isArray(content)) return
  for (const [index, part] of content.entries()) refuseTokenId(part, `${path}.content[${index}]`)
}

/** Reads `n`. Token limits reserve for each answer, so that it must be known. */
function readChoices({ n = null }: JsonObject): number {
  if (n === null) return 1
  if (typeof n !== 'number' || !Number.isInteger(n) || n < 1 || n > MAX_CHOICES) {
    throw invalid('n', `must be a whole number from 1 to ${MAX_CHOICES}.`)
  }
  return n
}

/** A limit of tokens, rounded up; null for a value that limits nothing, such as -1. */
function tokensOf(value: JsonValue | undefined): number | null {
  const tokens = isRawNumber(value) ? Number(value.rawJSON) : value
  return typeof tokens === 'number' && tokens > 0
    ? Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER)
    : null
}

const MODEL_NAME = `a string of 1 to ${MAX_MODEL_CHARACTERS} characters`

const isModelName = (value: JsonValue): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= MAX_MODEL_CHARACTERS

/**
 * Reads OpenRouter's `models`. Rules for any of them apply to the call, and the strictest action on
 * personal data wins; otherwise the list would bypass them.
 */
function readFallbacks(body: JsonObject): readonly string[] {
  const { models = null } = body
  if (models === null) return []
  if (!Array.isArray(models) || models.length > MAX_FALLBACKS || !models.every(isModelName)) {
    throw invalid('models', `must be an array of at most ${MAX_FALLBACKS} models, each ${MODEL_NAME}.`)
  }
  return models
}

function hasUsageOption(body: JsonObject): boolean {
  const options = body['stream_options']
  if (options === undefined || options === null) return false
  if (!isObject(options)) throw invalid('stream_options', 'must be an object.')
  return options['include_usage'] === true
}
