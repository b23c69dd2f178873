// Which members of a delta grow from chunk to chunk, and which say the same in each, or something else. Read by what takes
// chunks apart and by what puts them together: what is not read as one text must not become one.

import type { JsonObject } from '../core/json.ts'
import { isWireValue } from './vocabulary.ts'

const names = (list: string): ReadonlySet<string> => new Set(list.split(/\s+/))

/** Strings that say the same in each chunk, or something else, but do not grow. */
const STATED = names(
  `role name type id object channel status phase state model provider language title format url data signature
  encrypted_content`,
)
/** The last word of a name that says as much, whatever comes before: `request_id`, `mediaType`. */
const STATED_LABEL = /_(?:id|type|name|url|uri|signature)$|[a-z](?:Id|Type|Name|Url|Uri|Signature)$/
/** Lists and objects that are all there in each chunk. */
const COMPLETE = names(
  `arguments input annotations citation citations images results search_results browser_results code_results sources
  documents references logprobs`,
)
/** Lists whose items have the number of their place where they do not say another. */
const NUMBERED = names('tool_calls reasoning_details thinking_blocks executed_tools')
/** What grows of a part, an item that has no number; everything else of it is all there. */
const PART_TEXTS = names('text content refusal thinking reasoning summary output')
/** A word or nothing: what is written again with each piece must be no datum. */
const PART_TYPE = /^[A-Za-z_.-]{0,32}$/
/** A name that can be one of a channel. */
const CHANNEL_NAME = /^[A-Za-z_]\w{0,63}$/

/** Whether a string is all there. */
export const isReplacedString = (key: string, value: string): boolean =>
  STATED.has(key) || STATED_LABEL.test(key) || isWireValue(key, value)

/** Whether a list or an object is all there. */
export const isWholeContainer = (key: string): boolean => COMPLETE.has(key)

/** Whether a member of a part grows. */
export const growsInPart = (key: string): boolean => PART_TEXTS.has(key)

/** Whether a member with this name can be told from others: no other grows. */
export const isChannelName = (key: string): boolean => CHANNEL_NAME.test(key)

/** What tells an item from the others of its list in every chunk: its number, or the type of a part; null for nothing. */
export function itemKey(item: JsonObject, list: string, position: number): number | string | null {
  const { type = '' } = item
  if (list !== 'content' && Number.isSafeInteger(item['index'])) return item['index'] as number
  if (NUMBERED.has(list)) return position
  return typeof type === 'string' && PART_TYPE.test(type) ? type : null
}
