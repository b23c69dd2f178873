// Knows the places of bodies that hold no text: ids, signatures, payloads, tokens and the numbers
// of the provider. A place alone never leaves a text out; body-walk.ts also checks its form.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { PathNode } from './json-path.ts'
import { isOpaque } from './payload.ts'
import { isWireName } from './vocabulary.ts'

type Key = string | number
const keys = (list: string): ReadonlySet<Key> => new Set<Key>(list.split(' '))

/** Types of content parts that quote a document or the answer of a tool. */
const QUOTING_PART = /^(?:document|search_result|tool_result|\w+_tool_result)$/

/** A content part with one of these members is not text, even when it holds a URL or an id. */
const MEDIA_PARTS = [
  ...['image_url', 'video_url', 'video', 'audio_url', 'audio', 'input_audio', 'file', 'file_url'],
  ...['image', 'inline_data', 'inlineData', 'file_data', 'fileData'],
] as const

/** Signed or encrypted members of reasoning, and the types of the objects around them. */
const OPAQUE = keys('signature encrypted_content data')
const THOUGHT = /^(?:redacted_)?thinking$|^reasoning(?:$|\.)|^(?:signature_delta|compaction(?:_summary)?)$/
const SIGNATURE = 'thought_signature'

/** Reports whether a content part quotes a document or the answer of a tool. */
export const isQuoting = (part: JsonValue): boolean =>
  isObject(part) && typeof part['type'] === 'string' && QUOTING_PART.test(part['type'])

/** Items of the provider's tools, which hold call and result; results are in these members. */
const CALL = /_call$/
const RESULTS = keys('output outputs results result error')

/** Reports whether a member holds what a tool answered, in an object that also holds the call. */
export const isResult = ({ type }: JsonObject, key: Key, node: PathNode | null): boolean =>
  RESULTS.has(key) &&
  ((typeof type === 'string' && CALL.test(type)) || node?.parent?.key === 'executed_tools')

/** Reports whether a content part is no text. */
export function isMediaPart(part: JsonObject): boolean {
  const { source } = part
  // A document may be text.
  if (isObject(source) && source['type'] !== undefined && source['type'] !== 'text') return true
  return MEDIA_PARTS.some((name) => part[name] !== undefined)
}

/**
 * Reports whether a text is a signature or encrypted, in a place where providers write one. No text
 * is left out elsewhere because of its form.
 */
export function isSigned(
  text: string,
  container: JsonObject | JsonValue[],
  key: Key,
  node: PathNode | null,
): boolean {
  if (key === SIGNATURE) {
    const around = node?.key
    return (around === 'google' || around === 'function' || isInToolCall(node)) && isOpaque(text)
  }
  if (!OPAQUE.has(key) || !isObject(container)) return false
  const { type } = container
  return typeof type === 'string' && THOUGHT.test(type) && isOpaque(text)
}

const isInToolCall = (node: PathNode | null): boolean =>
  typeof node?.key === 'number' && node.parent?.key === 'tool_calls'

/** Lists whose items have an id. */
const WITH_ID = keys('tool_calls reasoning_details input output content')
/** Objects that are a file or refer to one by its id, besides items of a list. */
const WITH_FILE_ID = keys('file source output input_image_mask')
/** Ids of other items, in an item of a list. */
const REFERENCES = keys('call_id tool_use_id')

/**
 * The `id` of a tool call, an item or a content part, references to one, `tool_call_id` of a
 * message, the id of a file, `audio.id`, `previous_response_id`.
 */
export function isIdPlace(key: Key, node: PathNode | null): boolean {
  if (key === 'tool_call_id') return node?.parent?.key === 'messages'
  if (key === 'previous_response_id') return node === null
  if (isFileIdPlace(key, node)) return true
  const inItem = typeof node?.key === 'number' && WITH_ID.has(node.parent?.key ?? '')
  return (key === 'id' && (inItem || node?.key === 'audio')) || (inItem && REFERENCES.has(key))
}

/** `file_id` of a file, an item or a content part, and `file_ids[]`. */
export const isFileIdPlace = (key: Key, node: PathNode | null): boolean =>
  typeof key === 'number'
    ? node?.key === 'file_ids'
    : key === 'file_id' && (typeof node?.key === 'number' || WITH_FILE_ID.has(node?.key ?? ''))

/** `choices[].logprobs.content[].token`, `.refusal[]`, and `.top_logprobs[].token` of both. */
export function isTokenPlace(node: PathNode | null): boolean {
  let list = node?.parent ?? null
  if (list?.key === 'top_logprobs') list = list.parent?.parent ?? null
  if (list?.key !== 'content' && list?.key !== 'refusal') return false
  return list.parent?.key === 'logprobs' && isChoice(list.parent.parent)
}

const isChoice = (node: PathNode | null): boolean =>
  node?.parent?.key === 'choices' && node.parent.parent === null

/** Members that hold what a person or a model wrote, and values of schemas. */
const DATA = keys('input arguments variables metadata enum const default example examples input_examples')
/** Members of a request that say how to answer. */
const SETTINGS = keys(
  'tools functions tool_choice function_call response_format structured_outputs output_format output_config text logit_bias stream_options reasoning thinking provider plugins context_management container guided_json',
)
/** Members of an answer that count or measure. */
const MEASURES = keys(
  'usage x_groq timings logprobs top_logprobs embedding embeddings category_scores relevance_score',
)
/** Numbers of the places that an answer cites. */
const PLACE_NUMBER = /_(?:index|tokens|page_number)$/

/**
 * Reports whether a small number may be what a person or a model wrote. Settings, counts and places
 * are left out: with a text instead of one, servers refuse the request, and clients the answer.
 */
export function isReadNumber(side: 'request' | 'response', key: Key, node: PathNode | null): boolean {
  const path: Key[] = [key]
  for (let at = node; at !== null; at = at.parent) path.unshift(at.key)
  if (path[0] === 'metadata' || path.slice(1).some((one) => DATA.has(one))) return true
  if (side === 'request' ? SETTINGS.has(path[0]!) : path.some((one) => MEASURES.has(one))) return false
  const at = path.findLastIndex((one) => typeof one === 'string')
  const name = String(path[at])
  return !isWireName(name, path[at - 1] ?? null) && !PLACE_NUMBER.test(name)
}

const CREATED = keys('created created_at completed_at')

/** Numbers of the provider: creation time, seed, token counts, expiry of audio. */
export function isProviderNumber(key: Key, node: PathNode | null): boolean {
  if (node === null && CREATED.has(key)) return true
  if (key === 'seed') return isChoice(node)
  if (key === 'expires_at') return node?.key === 'audio'
  return node?.key === 'usage' && (node.parent === null || node.parent.key === 'x_groq')
}
