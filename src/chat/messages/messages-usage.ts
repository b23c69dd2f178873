// Reads the usage of Anthropic's messages. Its `input_tokens` leave out what the cache served or
// stored, which is part of the prompt too (https://docs.anthropic.com/en/api/messages).

import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { readCost } from '../reported-cost.ts'
import { countOf, promptOf, withSamplings } from '../samplings.ts'
import { readParts } from '../token-counts.ts'
import { tierOf, type Usage } from '../token-usage.ts'

/** Members of a usage that events join; Anthropic has a dozen. */
const MAXIMUM_USAGE_MEMBERS = 64

/** The usage of a message or an event; null without one. A missing count is zero. */
export function messagesUsage({ usage }: JsonObject): Usage | null {
  if (!isObject(usage)) return null
  const promptTokens = promptOf(usage)
  const completionTokens = countOf(usage['output_tokens'])
  const counted = {
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    ...readParts(usage),
    cost: readCost(usage),
    tier: tierOf(usage),
  }
  return withSamplings(counted, usage)
}

/**
 * Joins the usage of a later event with an earlier one. A count that the later one leaves out, or
 * has as zero, stays.
 */
export function joinUsage(earlier: JsonValue | undefined, later: JsonObject): JsonObject {
  if (!isObject(earlier)) return later
  const known = Object.entries(later).filter(
    ([name, value]) => earlier[name] == null || (value !== null && value !== 0),
  )
  const joined = { ...earlier, ...Object.fromEntries(known) }
  return Object.keys(joined).length > MAXIMUM_USAGE_MEMBERS ? later : joined
}
