// Says which members of a delta grow from chunk to chunk and which are complete in each. Both the
// reader and the assembler of chunks use it, so that the log joins what was scanned as one text,
// and nothing else.

import type { JsonObject } from '../core/json.ts'
import { isWireValue } from './vocabulary.ts'

const names = (list: string): ReadonlySet<string> => new Set(list.split(/\s+/))

/** Strings that a later chunk replaces; they do not grow. */
const REPLACED = names(
  `role name type id object channel status phase state model provider language title format url data signature
  encrypted_content`,
)
/** Endings of names with the same meaning: `request_id`, `mediaType`. */
const REPLACED_NAME = /_(?:id|type|name|url|uri|signature)$|[a-z](?:Id|Type|Name|Url|Uri|Signature)$/
/** Lists and objects that are complete in each chunk. */
const WHOLE = names(
  `arguments input annotations citation citations images results search_results browser_results code_results sources
  documents references logprobs`,
)
/** Lists whose items are numbered by position when they have no `index`. */
const NUMBERED = names('tool_calls reasoning_details thinking_blocks executed_tools')
/** Members of a content part that grow; all others are complete in each chunk. */
const PART_TEXTS = names('text content refusal thinking reasoning summary output')
/** Type of a part, or ''. Flushed events repeat it, so it must not be personal data. */
const PART_TYPE = /^[A-Za-z_.-]{0,32}$/
/** Names that can be part of a channel. */
const CHANNEL_NAME = /^[A-Za-z_]\w{0,63}$/

/** Reports whether a later chunk replaces the string. */
export const isReplacedString = (key: string, value: string): boolean =>
  REPLACED.has(key) || REPLACED_NAME.test(key) || isWireValue(key, value)

/** Reports whether the list or object is complete in each chunk. */
export const isWholeContainer = (key: string): boolean => WHOLE.has(key)

/** Reports whether the member of a content part grows. */
export const growsInPart = (key: string): boolean => PART_TEXTS.has(key)

/** Reports whether a member's name can be part of a channel; only such members grow. */
export const isChannelName = (key: string): boolean => CHANNEL_NAME.test(key)

/**
 * Identifies an item of a list in every chunk: its number, or the type of a part. Null when nothing
 * does.
 */
export function itemKey(item: JsonObject, list: string, position: number): number | string | null {
  const { type = '' } = item
  if (list !== 'content' && Number.isSafeInteger(item['index'])) return item['index'] as number
  if (NUMBERED.has(list)) return position
  return typeof type === 'string' && PART_TYPE.test(type) ? type : null
}
