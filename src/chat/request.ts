// What makes a JSON value a chat request we take on. Fields we do not know pass; fields of the wrong type do not.

import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'

export interface ChatRequest {
  /** The whole body; what is forwarded is made from it. */
  readonly body: JsonObject
  readonly model: string
  readonly stream: boolean
  /** The client asked for the usage event of a stream. */
  readonly includeUsage: boolean
  /** `max_completion_tokens` or `max_tokens`, times `n`; null when neither is given. */
  readonly maxTokens: number | null
}

/** Fields that would choose where we connect or with what credential. */
const REFUSED_FIELDS = new Set(['base_url', 'api_base', 'api_key', 'extra_headers'])

/** Fields whose meaning matters here. Some upstreams match names without regard to case, we do not. */
export const KNOWN_FIELDS = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'n',
  'stop',
  'max_tokens',
  'max_completion_tokens',
  'tools',
  'tool_choice',
  'functions',
  'function_call',
  'response_format',
  'user',
  'metadata',
  'prediction',
  'reasoning',
  'provider',
  'logprobs',
  'modalities',
  'audio',
  'models',
  'transforms',
  'seed',
  'top_k',
  'top_logprobs',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'parallel_tool_calls',
  'reasoning_effort',
  'service_tier',
  'store',
  'verbosity',
] as const
const KNOWN_BY_FOLDED = new Map<string, string>(KNOWN_FIELDS.map((name) => [name.toLowerCase(), name]))

const MAX_MODEL_CHARACTERS = 256
const MAX_ROLE_CHARACTERS = 64

const invalid = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_body', `${param}: ${message}`, { param })
const missing = (param: string): GatewayError =>
  new GatewayError('missing_required_parameter', `${param} is required.`, { param })

/**
 * Checks a body.
 * @throws GatewayError `missing_required_parameter` or `invalid_body`, `param` naming the field
 */
export function readChatRequest(body: JsonValue): ChatRequest {
  if (!isObject(body)) throw new GatewayError('invalid_body', 'The body must be a JSON object.')
  checkFieldNames(body)
  const { model, messages, stream } = body
  if (model === undefined) throw missing('model')
  if (typeof model !== 'string' || model.trim() === '' || model.length > MAX_MODEL_CHARACTERS) {
    throw invalid('model', `must be a string of 1 to ${MAX_MODEL_CHARACTERS} characters.`)
  }
  if (messages === undefined) throw missing('messages')
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid('messages', 'must be a non-empty array.')
  for (const [index, message] of messages.entries()) checkMessage(message, `messages[${index}]`)
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    throw invalid('stream', 'must be true or false.')
  }
  checkNumber(body, 'temperature', 0, 2)
  const n = checkWhole(body, 'n') ?? 1
  const perChoice = checkWhole(body, 'max_completion_tokens') ?? checkWhole(body, 'max_tokens')
  return {
    body,
    model,
    stream: stream === true,
    includeUsage: asksForUsage(body),
    maxTokens: perChoice === null ? null : perChoice * n,
  }
}

/** What is sent upstream. To be called when the texts have been rewritten. */
export function prepareUpstreamBody(request: ChatRequest): Buffer {
  const { body, stream, includeUsage } = request
  if (!stream || includeUsage) return Buffer.from(JSON.stringify(body))
  // Tokens are counted for every call; the extra event is taken out of the answer again.
  const options = isObject(body['stream_options']) ? body['stream_options'] : {}
  return Buffer.from(JSON.stringify({ ...body, stream_options: { ...options, include_usage: true } }))
}

function checkFieldNames(body: JsonObject): void {
  for (const name of Object.keys(body)) {
    const folded = name.toLowerCase()
    if (REFUSED_FIELDS.has(folded)) {
      throw invalid(folded, 'is not allowed; the gateway chooses the upstream and its credential.')
    }
    const known = KNOWN_BY_FOLDED.get(folded)
    if (known !== undefined && known !== name) throw invalid(known, 'must be written in lower case.')
  }
}

function checkMessage(message: JsonValue, path: string): void {
  if (!isObject(message)) throw invalid(path, 'must be an object.')
  const { role, content } = message
  if (role === undefined) throw missing(`${path}.role`)
  if (typeof role !== 'string' || role === '' || role.length > MAX_ROLE_CHARACTERS) {
    throw invalid(`${path}.role`, 'must be a string like user, assistant, system or tool.')
  }
  if (content === undefined || content === null || typeof content === 'string') return
  if (!Array.isArray(content))
    throw invalid(`${path}.content`, 'must be a string, null or an array of parts.')
  content.forEach((part, index) => {
    // Token ids would be text that cannot be read here.
    if (!isObject(part)) throw invalid(`${path}.content[${index}]`, 'must be a content part object.')
  })
}

function checkNumber(body: JsonObject, name: string, minimum: number, maximum: number): void {
  const value = body[name]
  if (value === undefined || value === null) return
  if (typeof value !== 'number' || value < minimum || value > maximum) {
    throw invalid(name, `must be a number from ${minimum} to ${maximum}.`)
  }
}

function checkWhole(body: JsonObject, name: string): number | null {
  const value = body[name]
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw invalid(name, 'must be a whole number of at least 1.')
  }
  return value
}

function asksForUsage(body: JsonObject): boolean {
  const options = body['stream_options']
  if (options === undefined || options === null) return false
  if (!isObject(options)) throw invalid('stream_options', 'must be an object.')
  return options['include_usage'] === true
}
