// Tokens: as the upstream reports them, or estimated where it does not.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'

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
/** Role and separators of one message. */
const TOKENS_A_MESSAGE = 4
const MICROS = 1_000_000

const count = (value: JsonValue | undefined): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null

/** The `usage` of an answer or chunk; null when there is none or it makes no sense. */
export function readUsage(body: JsonObject): Usage | null {
  const usage = body['usage']
  if (!isObject(usage)) return null
  const promptTokens = count(usage['prompt_tokens'])
  const completionTokens = count(usage['completion_tokens'] ?? 0)
  if (promptTokens === null || completionTokens === null) return null
  const sum = promptTokens + completionTokens
  const cost = usage['cost']
  const costMicros = typeof cost === 'number' ? count(Math.round(cost * MICROS)) : null
  return { promptTokens, completionTokens, totalTokens: count(usage['total_tokens']) ?? sum, costMicros }
}

/** There is no tokenizer here: a rough, slightly generous count of a text's tokens. */
export function estimateTokens(text: string): number {
  const other = Buffer.byteLength(text) === text.length ? 0 : text.replace(/[\u0000-\u007f]+/g, '').length
  return Math.ceil((text.length - other) / ASCII_CHARACTERS_A_TOKEN + other / OTHER_CHARACTERS_A_TOKEN)
}

/** As estimateTokens, for everything in a request that a model reads; payloads of images and sound count little. */
export function estimatePromptTokens(body: JsonObject): number {
  const messages = Array.isArray(body['messages']) ? body['messages'] : []
  let tokens = messages.length * TOKENS_A_MESSAGE
  const add = (value: JsonValue | undefined): void => {
    if (typeof value === 'string')
      tokens += value.startsWith('data:') ? TOKENS_A_PAYLOAD : estimateTokens(value)
    else if (Array.isArray(value)) value.forEach(add)
    else if (isObject(value)) {
      for (const [key, child] of Object.entries(value)) {
        if (key === 'data' || key === 'file_data') tokens += TOKENS_A_PAYLOAD
        else add(child)
      }
    }
  }
  for (const message of messages) add(message)
  add(body['tools'])
  add(body['functions'])
  add(body['response_format'])
  return tokens
}

/** What providers charge for a picture of ordinary size. */
const TOKENS_A_PAYLOAD = 1000
