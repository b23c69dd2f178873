// Reads the arguments of tool calls as rules judge them.

import { parseUnambiguous } from '../../chat/strict-json.ts'
import type { WrittenArguments } from '../../chat/tool-format.ts'
import { type CallArguments, MAXIMUM_ARGUMENT_CHARACTERS, UNREADABLE } from '../../policy/tool-arguments.ts'

/**
 * Reads arguments. What a client may read in another way, such as JSON with equal names, is not
 * readable.
 */
export function readArguments(given: WrittenArguments): CallArguments {
  if (given.type === 'value') {
    const written = writtenText(given)
    return written === null ? UNREADABLE : readArguments({ type: 'written', text: written })
  }
  const { text } = given
  if (text.length > MAXIMUM_ARGUMENT_CHARACTERS) return UNREADABLE
  const parsed = parseUnambiguous(text)
  const isContainer = parsed === null || (typeof parsed?.value === 'object' && parsed.value !== null)
  if (given.type === 'text' && !isContainer) return { type: 'text', text }
  // Some models write nothing for no arguments.
  if (text.trim() === '') return { type: 'json', value: {} }
  return parsed ? { type: 'json', value: parsed.value } : UNREADABLE
}

/** Arguments as one text; null for a value that is nested too deeply to be written. */
export function writtenText(given: WrittenArguments): string | null {
  if (given.type !== 'value') return given.text
  try {
    return JSON.stringify(given.value)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
