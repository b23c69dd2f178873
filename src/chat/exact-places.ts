// Knows which strings of a body a machine compares or follows: names of tools, values of schemas,
// settings, ids and URLs. With another character the request or the call of a tool breaks.

import type { PathNode } from './json-path.ts'
import { CONVERSATIONS } from './tool-places.ts'

type Key = string | number
const keys = (list: string): ReadonlySet<Key> => new Set<Key>(list.split(/\s+/))

/** Members of a body that say how to answer. Only what describes something in them is prose. */
const SETTINGS = keys(
  `model models stream_options stop stop_sequences tools tool_choice functions function_call response_format
  structured_outputs output_format output_config text logit_bias service_tier modalities audio reasoning thinking
  reasoning_effort verbosity provider plugins transforms route prompt_cache_retention include truncation truncate
  encoding_format input_type background conversation context_management container mcp_servers inference_geo
  cache_control chat_template guided_json guided_regex guided_choice guided_grammar web_search_options usage
  system_fingerprint object obfuscation`,
)
/** Objects that hold the members of a body. */
const BODIES = keys('extra_body response')
/** Objects of a schema whose member names people choose. */
const NAMED = keys('properties patternProperties $defs definitions dependentSchemas')
/** Members of a schema whose values an answer must have. */
const VALUES = keys('enum const default')
/** Members of settings that a model reads as prose. */
const PROSE = /^(?:\w*description|title|(?:input_)?examples?|\$comment)$/

/** Members around the input of a tool and other data of the caller, below the body. */
const DATA = keys('input arguments variables metadata')

/** Members that identify a person or a session, or an earlier answer. */
const IDENTIFIERS = keys('user safety_identifier prompt_cache_key previous_response_id')
const ID =
  /^(?:id|ids|type|role|status|phase|model|format|detail|signature)$|_(?:ids?|type)$|[a-z](?:Ids?|Type)$/
const REASON = /^(?:\w+_)?(?:finish|stop)_reason$/
const URL_NAME = /(?:^|_)(?:ur[il]s?|href)$|[a-z]Ur[il]s?$/
/** As in payload-places.ts, for a URL in any place. */
const URL_FORM = /^[a-z][a-z0-9+.-]*:\/\//i

const NAME = /^(?:(?:tool_|server_)?name|server_label|namespace)$/
/** Objects with the name of a tool or of who speaks. */
const CALLS = keys('function custom function_call tool item content_block message delta')
/** Lists of such objects. */
const LISTS = keys('messages input output content tool_calls executed_tools')

/** Reports whether a machine compares or follows a string, because of its place and its form. */
export function isExactPlace(text: string, key: Key, node: PathNode | null): boolean {
  const path: Key[] = [key]
  for (let at = node; at !== null; at = at.parent) path.unshift(at.key)
  while (path.length > 1 && BODIES.has(path[0]!)) path.shift()
  if (CONVERSATIONS.some((name) => name === path[0])) toDefinition(path)
  if (SETTINGS.has(path[0]!) && (path[0] !== 'text' || path.length > 1)) return isExactSetting(path)
  // What a machine compares has no white space.
  if (/\s/.test(text)) return false
  const name = String(path.findLast((one) => typeof one === 'string') ?? '')
  if (path.length === 1 && IDENTIFIERS.has(key)) return true
  if (path[0] === 'metadata') return key === 'user_id' && path.length === 2
  if (path.slice(1, -1).some((one) => DATA.has(one))) return false
  if (ID.test(name) || REASON.test(name)) return true
  if (URL_NAME.test(name)) return URL_FORM.test(text)
  if (node?.key === 'error') return key === 'code' || key === 'param'
  return typeof key === 'string' && NAME.test(key) && isCall(node)
}

/** Paths to a definition in a conversation, from the body on; `*` is a number. */
const DEFINITIONS = [
  ['*', '*', 'tools', '*'],
  ['messages', '*', 'content', '*', 'tool', 'definition'],
  ['messages', '*', 'content', '*', 'tool_changes', '*', 'tool', 'definition'],
]

/** Cuts the path of a string in such a definition, so that it begins as below the body. */
function toDefinition(path: Key[]): void {
  const found = DEFINITIONS.find(
    (names) =>
      path.length > names.length &&
      names.every(
        (name, at) => name === path[at] || (name === '*' && (at === 0 || typeof path[at] === 'number')),
      ),
  )
  if (found !== undefined) path.splice(0, found.length, 'tools', 0)
}

const isCall = (node: PathNode | null): boolean =>
  typeof node?.key === 'number' ? LISTS.has(node.parent?.key ?? '') : CALLS.has(node?.key ?? '')

/** @param path of a string in a setting, from the body down */
function isExactSetting(path: readonly Key[]): boolean {
  for (const [index, key] of path.entries()) {
    if (typeof key === 'number' || NAMED.has(path[index - 1] ?? '')) continue
    if (VALUES.has(key)) return true
    if (PROSE.test(key)) return false
  }
  return true
}
