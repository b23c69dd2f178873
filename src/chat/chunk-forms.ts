// Says what a chunk of chat completions holds besides its text.

import { isObject, type JsonObject, objectsIn } from '../core/json.ts'
import type { RepeatedForm } from './api-format.ts'
import type { StreamChunk } from './stream-chunk.ts'

/** Texts of `choices[0].delta` whose channel is their member's name. */
const CHANNELS: ReadonlySet<string> = new Set(['content', 'reasoning', 'reasoning_content'])

/** Members that a provider fills with random characters, to hide the length of a piece. */
const PADDING = ['obfuscation'] as const

/** See `StreamReader.repeats`. */
export function repeatsIn(chunk: StreamChunk): RepeatedForm | null {
  const members = repeatedDelta(chunk)
  if (members === null) return null
  const { role = null } = members
  const [only] = objectsIn(chunk.body['choices'])
  const isDroppable = (role === null || role === '') && hasOnlyDelta(only!)
  return { isDroppable, varying: PADDING.filter((name) => typeof chunk.body[name] === 'string') }
}

/** Returns the delta of a chunk whose only change is one growing text; null for any other chunk. */
function repeatedDelta({ body, deltas, others, finished, usage, error }: StreamChunk): JsonObject | null {
  const [delta] = deltas
  if (deltas.length !== 1 || delta === undefined || !CHANNELS.has(delta.channel)) return null
  if (others.length > 0 || finished.length > 0 || usage !== null || error || body['error'] !== undefined) {
    return null
  }
  const { choices } = body
  if (isObject(body['usage']) || !Array.isArray(choices) || choices.length !== 1) return null
  const [choice] = choices
  if (!isObject(choice) || isObject(choice['logprobs']) || choice['message'] !== undefined) return null
  if (choice['token_ids'] != null) return null
  const members = choice['delta']
  return isObject(members) && Object.entries(members).every(isFixed(delta.channel)) ? members : null
}

/**
 * Reports whether a member repeats the same value in every chunk, so that adding it again changes
 * nothing.
 */
const isFixed =
  (channel: string) =>
  ([name, value]: [string, unknown]): boolean =>
    name === channel || value === null || value === '' || (name === 'role' && typeof value === 'string')

/** Reports whether a chunk has nothing but texts, all of which are empty now. */
export const isEmptyChunk = (body: JsonObject): boolean =>
  objectsIn(body['choices']).every(
    (choice) => isObject(choice['delta']) && hasOnlyText(choice['delta']) && hasOnlyDelta(choice),
  )

/** Reports whether a choice of a chunk carries nothing but its delta. */
function hasOnlyDelta({ index: _index, delta: _delta, ...others }: JsonObject): boolean {
  return hasOnlyText(others)
}

/** Members of the usage event (`stream_options.include_usage`) that may be dropped with it. */
const AROUND_USAGE: ReadonlySet<string> = new Set(
  'id object created model system_fingerprint service_tier provider obfuscation choices x_groq'.split(' '),
)

/**
 * Removes the usage from a usage event.
 * @returns whether anything else worth sending is left
 */
export function stripUsage(body: JsonObject): boolean {
  delete body['usage']
  return Object.entries(body).some(([name, value]) => !AROUND_USAGE.has(name) && value !== null)
}

const hasOnlyText = (delta: JsonObject): boolean =>
  Object.values(delta).every((value) => value === '' || value === null)
