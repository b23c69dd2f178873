// Reads the token usage that upstreams report, or estimates it.

import { isJsonNumber, isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { NanoUsd } from '../core/money.ts'
import { isBase64, readDataUrl } from './payload.ts'
import { readCost } from './reported-cost.ts'
import { countOf, type Sampling, withSamplings, withTools } from './samplings.ts'
import { partsFrom, readCount, readParts, type UsagePart } from './token-counts.ts'

/** What a call used. Its parts are counted in the prompt and in the answer. */
export interface Usage extends Readonly<Record<UsagePart, number>> {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  /** Those that the counts consist of; absent when the provider lists none. */
  readonly samplings?: readonly Sampling[]
  /** As the upstream reports it; null when it does not. */
  readonly cost: NanoUsd | null
  /** Service tier that served the call, as the upstream names it; null when it does not. */
  readonly tier: string | null
  /** True when a count is estimated. */
  readonly isEstimated?: boolean
}

/** English averages about four characters a token in current vocabularies. */
const ASCII_CHARACTERS_A_TOKEN = 4
/** Other scripts need a token for one or two characters. */
const OTHER_CHARACTERS_A_TOKEN = 1.5
const ASCII_END = 0x80
/** Role and separators of a message or an item of the input. */
export const TOKENS_A_MESSAGE = 4
/** Usual price of an image of ordinary size. */
const TOKENS_A_PAYLOAD = 1000
/** Places of counts outside the choices, the best first. */
export const USAGE_PLACES = [
  ['usage'],
  ['response', 'usage'],
  ['x_groq', 'usage'],
  ['usageMetadata'],
  ['usage_metadata'],
  ['meta', 'tokens'],
  ['meta', 'billed_units'],
  ['amazon-bedrock-invocationMetrics'],
  ['timings'],
] as const

const PROMPT_NAMES = [
  'prompt_tokens',
  'input_tokens',
  'promptTokenCount',
  'inputTokenCount',
  'prompt_eval_count',
  'prompt_n',
] as const
const COMPLETION_NAMES = [
  'completion_tokens',
  'output_tokens',
  'candidatesTokenCount',
  'outputTokenCount',
  'eval_count',
  'predicted_n',
] as const
const TOTAL_NAMES = ['total_tokens', 'totalTokenCount'] as const
/**
 * Reads the usage in an answer or a chunk, wherever the known servers write it; null when it is
 * missing or invalid. A count of zero gives way to one from another place.
 */
export function readUsage(body: JsonObject): Usage | null {
  let usage: Usage | null = null
  for (const path of USAGE_PLACES) {
    let value: JsonValue | undefined = body
    for (const name of path) value = isObject(value) ? value[name] : undefined
    if (isObject(value)) usage = mergeUsage(readCounts(value), usage)
  }
  for (const answer of [body, body['response']])
    if (usage !== null && isObject(answer)) usage = withTools(usage, answer)
  if (usage !== null) usage = { ...usage, tier: usage.tier ?? tierOf(body) ?? tierOf(body['response']) }
  const { choices } = body
  for (const choice of Array.isArray(choices) ? choices : []) {
    // Moonshot counts in the choice.
    if (isObject(choice) && isObject(choice['usage'])) usage = mergeUsage(readCounts(choice['usage']), usage)
  }
  // Ollama counts next to the message.
  return body['eval_count'] === undefined ? usage : mergeUsage(readCounts(body), usage)
}

function readCounts(usage: JsonObject): Usage | null {
  const written = firstOf(usage, PROMPT_NAMES)
  const promptTokens = readPrompt(usage, written)
  const shownTokens = readCount(firstOf(usage, COMPLETION_NAMES) ?? 0)
  if (promptTokens === null || shownTokens === null) return null
  const total = readCount(firstOf(usage, TOTAL_NAMES)) ?? 0
  const cost = readCost(usage)
  if (written === undefined && shownTokens === 0 && total === 0 && cost === null) return null
  // Some providers count thoughts in the total alone. A prompt of 0 is not known, nor is the rest.
  const completionTokens = promptTokens > 0 ? Math.max(shownTokens, total - promptTokens) : shownTokens
  const counted = {
    promptTokens,
    completionTokens,
    totalTokens: Math.max(total, promptTokens + completionTokens),
    ...readParts(usage),
    cost,
    tier: tierOf(usage),
  }
  return withSamplings(counted, usage)
}

/**
 * The tokens of the prompt; null for an invalid count. In the form of Anthropic they leave out the
 * cache, and so they do where the cache has more.
 */
function readPrompt(usage: JsonObject, written: JsonValue | undefined): number | null {
  const tokens = readCount(written ?? 0)
  const cached = countOf(usage['cache_read_input_tokens']) + countOf(usage['cache_creation_input_tokens'])
  if (tokens === null) return null
  const isAnthropic = usage['prompt_tokens'] == null && usage['input_tokens'] != null
  return isAnthropic || cached > tokens ? tokens + cached : tokens
}

/** The service tier that an answer or its usage names. */
export function tierOf(value: JsonValue | undefined): string | null {
  const tier = isObject(value) ? value['service_tier'] : null
  return typeof tier === 'string' ? tier : null
}

/** The first of these members that is there. */
function firstOf(usage: JsonObject, names: readonly string[]): JsonValue | undefined {
  for (const name of names) if (usage[name] != null) return usage[name]
  return undefined
}

/** Replaces older counts by newer ones. A zero replaces nothing: servers send it for "unknown". */
export function mergeUsage(older: Usage | null, newer: Usage | null): Usage | null {
  if (older === null || newer === null) return newer ?? older
  const promptTokens = newer.promptTokens || older.promptTokens
  const completionTokens = newer.completionTokens || older.completionTokens
  const samplings = newer.samplings ?? older.samplings
  const isNew = newer.promptTokens > 0 && newer.completionTokens > 0
  return {
    promptTokens,
    completionTokens,
    totalTokens: isNew
      ? newer.totalTokens
      : Math.max(older.totalTokens, newer.totalTokens, promptTokens + completionTokens),
    ...partsFrom((part) => newer[part] || older[part]),
    cost: newer.cost || (older.cost ?? newer.cost),
    tier: newer.tier ?? older.tier,
    ...(samplings !== undefined && { samplings }),
  }
}

/** Estimates where the counts are zero although there is text. */
export function withEstimates(usage: Usage, prompt: number, completion: number): Usage {
  const completionTokens = usage.completionTokens || completion
  // Without an answer nothing may have been read either.
  const promptTokens = usage.promptTokens || (completionTokens > 0 ? prompt : 0)
  if (promptTokens === usage.promptTokens && completionTokens === usage.completionTokens) return usage
  const totalTokens = Math.max(usage.totalTokens, promptTokens + completionTokens)
  return { ...usage, promptTokens, completionTokens, totalTokens, isEstimated: true }
}

/** Estimates the tokens of a text, slightly too many rather than too few. There is no tokenizer. */
export function estimateTokens(text: string): number {
  const other = Buffer.byteLength(text) === text.length ? 0 : charactersBeyondAscii(text)
  return Math.ceil((text.length - other) / ASCII_CHARACTERS_A_TOKEN + other / OTHER_CHARACTERS_A_TOKEN)
}

function charactersBeyondAscii(text: string): number {
  let found = 0
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) >= ASCII_END) found++
  return found
}

/** Estimates the tokens of a request. An image or audio payload has a flat price. */
export function estimatePromptTokens(body: JsonObject): number {
  const messages = Array.isArray(body['messages']) ? body['messages'] : []
  let tokens = messages.length * TOKENS_A_MESSAGE
  for (const message of messages) tokens += estimateValue(withText(message), '')
  return tokens + estimateFields(body, PROMPT_FIELDS)
}

/** Replaces a content that is neither text nor parts with its JSON, which is what a model reads. */
function withText(message: JsonValue): JsonValue {
  if (!isObject(message)) return message
  const { content } = message
  const isOdd = isObject(content) || isJsonNumber(content)
  return isOdd ? { ...message, content: JSON.stringify(content) } : message
}

/** Fields outside `messages` that become part of the prompt. */
const PROMPT_FIELDS = ['tools', 'functions', 'response_format', 'prediction', 'prompt', 'input'] as const

/** Estimates the tokens of some fields of a body. */
export const estimateFields = (body: JsonObject, fields: readonly string[]): number =>
  fields.reduce((sum, field) => sum + estimateValue(body[field], field), 0)

/** Estimates the tokens of a value with all that is in it. The parser bounds the depth. */
export function estimateValue(value: JsonValue | undefined, key: string): number {
  if (typeof value === 'string') return isPayload(value, key) ? TOKENS_A_PAYLOAD : estimateTokens(value)
  let tokens = 0
  if (Array.isArray(value)) {
    for (const item of value) tokens += estimateValue(item, key)
  } else if (isObject(value)) {
    for (const [name, child] of Object.entries(value)) tokens += estimateValue(child, name)
  }
  return tokens
}

/** Checks bytes and place, so that no prompt is priced as an image. */
function isPayload(text: string, key: string): boolean {
  if (key === 'data') return isBase64(text)
  return (
    (key === 'url' || key === 'image_url' || key === 'file_data') &&
    (readDataUrl(text)?.isText === false || isBase64(text))
  )
}
