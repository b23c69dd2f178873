// Reads counts of tokens: a single one, and those of the parts of a prompt and of an answer.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'

/** A larger count is an error of the upstream and would exhaust a limit for good. */
const MAXIMUM_PLAUSIBLE_TOKENS = 1_000_000_000

const whole = (value: JsonValue | undefined, maximum: number): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maximum ? value : null

/** A count of tokens; null for anything else. */
export const readCount = (value: JsonValue | undefined): number | null =>
  whole(value, MAXIMUM_PLAUSIBLE_TOKENS)

/** Places of the parts of a prompt and of an answer, the best first. */
const PART_PLACES = {
  // The provider had them in its cache. A part of the prompt, as the next two.
  cachedTokens: [
    ['prompt_tokens_details', 'cached_tokens'],
    ['input_tokens_details', 'cached_tokens'],
    ['cachedContentTokenCount'],
    ['prompt_cache_hit_tokens'],
    ['cached_tokens'],
    ['cache_read_input_tokens'],
  ],
  // The provider wrote them into its cache.
  cacheWriteTokens: [
    ['prompt_tokens_details', 'cache_write_tokens'],
    ['prompt_tokens_details', 'cache_creation_tokens'],
    ['input_tokens_details', 'cache_write_tokens'],
    ['cache_creation_input_tokens'],
  ],
  // The provider keeps these of `cacheWriteTokens` for an hour.
  cacheWrite1hTokens: [['cache_creation', 'ephemeral_1h_input_tokens']],
  audioInputTokens: [
    ['prompt_tokens_details', 'audio_tokens'],
    ['input_tokens_details', 'audio_tokens'],
  ],
  audioOutputTokens: [
    ['completion_tokens_details', 'audio_tokens'],
    ['output_tokens_details', 'audio_tokens'],
  ],
  // The model did not show them. A part of the answer.
  reasoningTokens: [
    ['completion_tokens_details', 'reasoning_tokens'],
    ['output_tokens_details', 'reasoning_tokens'],
    ['thoughtsTokenCount'],
  ],
} as const satisfies Readonly<Record<string, readonly (readonly string[])[]>>

/** The part of a prompt or of an answer that has a count of its own. */
export type UsagePart = keyof typeof PART_PLACES

/** Reads the parts of a prompt and of an answer; each is 0 without a count. */
export const readParts = (usage: JsonObject): Record<UsagePart, number> =>
  partsFrom((part) => readPart(usage, PART_PLACES[part]))

export const PARTS = Object.keys(PART_PLACES) as UsagePart[]

export const partsFrom = (count: (part: UsagePart) => number): Record<UsagePart, number> =>
  Object.fromEntries(PARTS.map((part) => [part, count(part)])) as Record<UsagePart, number>

/** The first count at one of these places; 0 without one. */
function readPart(usage: JsonObject, places: readonly (readonly string[])[]): number {
  for (const [first = '', second] of places) {
    const value = usage[first]
    const count = readCount(second === undefined ? value : isObject(value) ? value[second] : undefined)
    if (count !== null) return count
  }
  return 0
}
