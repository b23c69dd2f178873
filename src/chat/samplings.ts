// Reads the samplings of one call where the provider counts each alone. The counts at the top leave
// some out: compactions and the advice of other models
// (https://platform.claude.com/docs/en/build-with-claude/compaction), and images that a tool of the
// Responses API makes.

import { isObject, type JsonObject, type JsonValue, objectsIn } from '../core/json.ts'
import { PARTS, partsFrom, readCount, readParts, type UsagePart } from './token-counts.ts'

/** What one sampling used, its cache included. */
export interface Sampling extends Readonly<Record<UsagePart, number>> {
  /** Null for the model of the call. */
  readonly model: string | null
  readonly promptTokens: number
  readonly completionTokens: number
}

type Count = UsagePart | 'promptTokens' | 'completionTokens'
type Counts = Readonly<Record<Count, number>>

/** Samplings that are kept one by one. Further ones count in the sums. */
const MAXIMUM_SAMPLINGS = 64
const MAXIMUM_MODEL_CHARACTERS = 256

/** Members of a usage that make up its prompt, in the form of Anthropic. */
const PROMPT_PARTS = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const

export const promptOf = (usage: JsonObject): number =>
  PROMPT_PARTS.reduce((sum, name) => sum + countOf(usage[name]), 0)

export const countOf = (value: JsonValue | undefined): number => readCount(value) ?? 0

/**
 * Adds to a usage the samplings that its counts leave out: all but those of the message itself.
 * @param usage with the counts of `written`
 */
export function withSamplings<T extends Counts & { readonly totalTokens: number }>(
  usage: T,
  written: JsonObject,
): T & { readonly samplings?: readonly Sampling[] } {
  const { iterations } = written
  const listed = objectsIn(iterations)
  if (listed.length === 0) return usage
  const samplings = listed.map(readSampling)
  const own = samplings.filter((_, index) => listed[index]!['type'] === 'message')
  const others = samplings.filter((_, index) => listed[index]!['type'] !== 'message')
  // Those of the message are counted at the top, some of them in part.
  const total = (count: Count) => Math.max(usage[count], sumOf(own, count)) + sumOf(others, count)
  const [promptTokens, completionTokens] = [total('promptTokens'), total('completionTokens')]
  return {
    ...usage,
    ...partsFrom(total),
    promptTokens,
    completionTokens,
    totalTokens: Math.max(usage.totalTokens, promptTokens + completionTokens),
    samplings: samplings.slice(0, MAXIMUM_SAMPLINGS),
  }
}

/** The tool whose model makes images, and its member of `tool_usage`. */
const IMAGE_TOOL = 'image_generation'
const IMAGE_USAGE = 'image_gen'

/** Adds to a usage what the tools of an answer used in models of their own. */
export function withTools<T extends Counts & { readonly totalTokens: number }>(
  usage: T & { readonly samplings?: readonly Sampling[] },
  { tool_usage: used, tools }: JsonObject,
): T & { readonly samplings?: readonly Sampling[] } {
  const images = isObject(used) ? used[IMAGE_USAGE] : null
  if (!isObject(images)) return usage
  const listed = objectsIn(tools)
  const model = listed.find(({ type }) => type === IMAGE_TOOL)?.['model'] ?? null
  const sampling = readSampling({ ...images, model })
  const total = (count: Count) => usage[count] + sampling[count]
  return {
    ...usage,
    ...partsFrom(total),
    promptTokens: total('promptTokens'),
    completionTokens: total('completionTokens'),
    totalTokens: usage.totalTokens + sampling.promptTokens + sampling.completionTokens,
    samplings: [...(usage.samplings ?? []), sampling],
  }
}

function readSampling(written: JsonObject): Sampling {
  const { model } = written
  return {
    ...readParts(written),
    model: typeof model === 'string' && model.length <= MAXIMUM_MODEL_CHARACTERS ? model : null,
    promptTokens: promptOf(written),
    completionTokens: countOf(written['output_tokens']),
  }
}

const sumOf = (samplings: readonly Sampling[], count: Count): number =>
  samplings.reduce((sum, sampling) => sum + sampling[count], 0)

/** The part of a call's counts that no sampling has. */
export function withoutSamplings<T extends Counts>(counts: T, samplings: readonly Sampling[]): T {
  const rest = (count: Count) => Math.max(0, counts[count] - sumOf(samplings, count))
  return {
    ...counts,
    ...Object.fromEntries(
      ['promptTokens' as const, 'completionTokens' as const, ...PARTS].map((count) => [count, rest(count)]),
    ),
  }
}
