// Reads the arguments of tool calls as rules judge them.

import { hasDuplicateKeys, isTooDeep, parseReceived } from '../../chat/strict-json.ts'
import type { WrittenArguments } from '../../chat/tool-format.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { type CallArguments, MAXIMUM_ARGUMENT_CHARACTERS, UNREADABLE } from '../../policy/tool-arguments.ts'

/**
 * Reads arguments. What a client may read in another way, such as JSON with equal names, is not
 * readable.
 */
export function readArguments(given: WrittenArguments): CallArguments {
  if (given.type === 'value') return readArguments({ type: 'written', text: JSON.stringify(given.value) })
  const { text } = given
  if (text.length > MAXIMUM_ARGUMENT_CHARACTERS) return UNREADABLE
  const value = parsedJson(text)
  if (given.type === 'text' && (value === undefined || typeof value !== 'object' || value === null))
    return { type: 'text', text }
  // Some models write nothing for no arguments.
  if (text.trim() === '') return { type: 'json', value: {} }
  return value === undefined || value === AMBIGUOUS ? UNREADABLE : { type: 'json', value }
}

const AMBIGUOUS: JsonObject = {}

/** The value of a JSON text; undefined for any other, and AMBIGUOUS for one with equal names. */
function parsedJson(text: string): JsonValue | undefined {
  if (isTooDeep(text)) return undefined
  try {
    const value = parseReceived(text)
    return isObject(value) && hasDuplicateKeys(text, value) ? AMBIGUOUS : value
  } catch {
    return undefined
  }
}
