// Reads the arguments of tool calls as rules judge them.

import type { WrittenArguments } from '../../chat/tool-format.ts'
import {
  type CallArguments,
  MAXIMUM_ARGUMENT_CHARACTERS,
  parseArguments,
  UNREADABLE,
} from '../../policy/tool-arguments.ts'

/**
 * Reads arguments. What a client may read in another way, such as JSON with equal names, is not
 * readable.
 */
export function readArguments(given: WrittenArguments): CallArguments {
  if (given.type === 'value') return readArguments({ type: 'written', text: JSON.stringify(given.value) })
  const { text } = given
  if (text.length > MAXIMUM_ARGUMENT_CHARACTERS) return UNREADABLE
  const parsed = parseArguments(text)
  const isContainer = parsed === null || (typeof parsed?.value === 'object' && parsed.value !== null)
  if (given.type === 'text' && !isContainer) return { type: 'text', text }
  // Some models write nothing for no arguments.
  if (text.trim() === '') return { type: 'json', value: {} }
  return parsed ? { type: 'json', value: parsed.value } : UNREADABLE
}
