// Drops the token probabilities of the Responses API.

import { isObject, type JsonValue } from '../../core/json.ts'

/** Members around the content parts of an answer and of its events. */
const AROUND = ['response', 'item', 'part', 'output', 'content'] as const

/**
 * Empties every list of probabilities in an answer or an event: in the event itself, and in the
 * parts of its content.
 * @returns whether there were any
 */
export function dropResponseProbabilities(value: JsonValue | undefined): boolean {
  let dropped = false
  if (Array.isArray(value)) {
    for (const item of value) dropped = dropResponseProbabilities(item) || dropped
    return dropped
  }
  if (!isObject(value)) return false
  const { logprobs } = value
  if (Array.isArray(logprobs) && logprobs.length > 0) {
    value['logprobs'] = []
    dropped = true
  }
  for (const name of AROUND) dropped = dropResponseProbabilities(value[name]) || dropped
  return dropped
}
