// Tokens: as the upstream reports them, or estimated where it does not.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { isBase64, readDataUrl } from './payload.ts'

export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  /** Millionths of the upstream's currency unit; null when it does not say. */
  readonly costMicros: number | null
}

/** English averages about four characters a token in today's vocabularies. */
const ASCII_CHARACTERS_A_TOKEN = 4
/** Other scripts need about a token for one or two characters; counted as one and a half. */
const OTHER_CHARACTERS_A_TOKEN = 1.5
const ASCII_END = 0x80
/** Role and separators of one message. */
const TOKENS_A_MESSAGE = 4
/** What providers charge for a picture of ordinary size. */
const TOKENS_A_PAYLOAD = 1000
const MICROS = 1_000_000
/** No call uses more; an upstream's larger figure is a mistake and would use up a limit for good. */
const MAX_PLAUSIBLE_TOKENS = 1_000_000_000

const whole = (value: JsonValue | undefined, maximum: number): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maximum ? value : null

const count = (value: JsonValue | undefined): number | null => whole(value, MAX_PLAUSIBLE_TOKENS)

/** The `usage` of an answer or chunk; null when there is none or it makes no sense. */
export function readUsage(body: JsonObject): Usage | null {
  const usage = body['usage']
  if (!isObject(usage)) return null
  const promptTokens = count(usage['prompt_tokens'])
  const completionTokens = count(usage['completion_tokens'] ?? 0)
  if (promptTokens === null || completionTokens === null) return null
  const sum = promptTokens + completionTokens
  const cost = usage['cost']
  const micros = typeof cost === 'number' ? Math.round(cost * MICROS) : null
  const costMicros = whole(micros, Number.MAX_SAFE_INTEGER)
  return { promptTokens, completionTokens, totalTokens: count(usage['total_tokens']) ?? sum, costMicros }
}

/** There is no tokenizer here: a rough, slightly generous count of a text's tokens. */
export function estimateTokens(text: string): number {
  const other = Buffer.byteLength(text) === text.length ? 0 : charactersBeyondAscii(text)
  return Math.ceil((text.length - other) / ASCII_CHARACTERS_A_TOKEN + other / OTHER_CHARACTERS_A_TOKEN)
}

function charactersBeyondAscii(text: string): number {
  let found = 0
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) >= ASCII_END) found++
  return found
}

/** As estimateTokens, for everything in a request that a model reads; payloads of images and sound count little. */
export function estimatePromptTokens(body: JsonObject): number {
  const messages = Array.isArray(body['messages']) ? body['messages'] : []
  let tokens = messages.length * TOKENS_A_MESSAGE
  for (const message of messages) tokens += estimateValue(message, '')
  for (const field of PROMPT_FIELDS) tokens += estimateValue(body[field], field)
  return tokens
}

/** Fields beside the messages that end up in a prompt. */
const PROMPT_FIELDS = ['tools', 'functions', 'response_format', 'prediction', 'prompt', 'input'] as const

/** Depth is bounded by the parser. */
function estimateValue(value: JsonValue | undefined, key: string): number {
  if (typeof value === 'string') return isPayload(value, key) ? TOKENS_A_PAYLOAD : estimateTokens(value)
  let tokens = 0
  if (Array.isArray(value)) {
    for (const item of value) tokens += estimateValue(item, key)
  } else if (isObject(value)) {
    for (const [name, child] of Object.entries(value)) tokens += estimateValue(child, name)
  }
  return tokens
}

/** Judged by the bytes as well as by the place, so that no prompt passes for a picture. */
function isPayload(text: string, key: string): boolean {
  if (key === 'data') return isBase64(text)
  return (
    (key === 'url' || key === 'image_url' || key === 'file_data') &&
    (readDataUrl(text)?.isText === false || isBase64(text))
  )
}
