// Reads the usage of Anthropic's messages. Its `input_tokens` leave out what the cache served or
// stored, which is part of the prompt too (https://docs.anthropic.com/en/api/messages).

import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { readCost } from '../reported-cost.ts'
import { readCount, readParts, tierOf, type Usage } from '../token-usage.ts'

const PROMPT_PARTS = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const

/** The usage of a message or an event; null without one. A missing count is zero. */
export function messagesUsage({ usage }: JsonObject): Usage | null {
  if (!isObject(usage)) return null
  const promptTokens = PROMPT_PARTS.reduce((sum, name) => sum + countOf(usage[name]), 0)
  const completionTokens = countOf(usage['output_tokens'])
  return {
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    ...readParts(usage),
    cost: readCost(usage),
    tier: tierOf(usage),
  }
}

const countOf = (value: JsonValue | undefined): number => readCount(value) ?? 0
