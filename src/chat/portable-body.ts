// Makes a request fit for another provider than the one that a conversation began with. Signed and
// encrypted reasoning is readable for its provider alone, and so are the ids of files.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import type { RemovedItems } from './json-rewrite.ts'

/** Types of reasoning whose text is signed or encrypted, and the members that are. */
const OWN_PARTS: Readonly<Record<string, string>> = {
  thinking: 'signature',
  redacted_thinking: 'data',
  reasoning: 'encrypted_content',
  'reasoning.text': 'signature',
  'reasoning.encrypted': 'data',
  // A citation of a search that the provider made.
  web_search_result_location: 'encrypted_index',
}
/** A member next to the text or the call that it signs. */
const SIGNATURE = 'thought_signature'
/** Items that stand for a part of the conversation which no other provider has. */
const KEPT_ITEMS: ReadonlySet<unknown> = new Set(['compaction', 'item_reference'])
/** Members with the id of something that the provider keeps. */
const KEPT_IDS = ['file_id', 'container_id', 'skill_id'] as const
/** Types of results that hold text which only the provider of the search can read. */
const OWN_RESULTS: ReadonlySet<unknown> = new Set(['web_search_result'])

/** A request without what only one provider can read. */
export interface PortableBody {
  /** The request itself when nothing was removed. */
  readonly body: JsonObject
  /** The items removed from its lists. */
  readonly removed: RemovedItems
}

/**
 * Returns a request without what only one provider can read; null for one that no other provider
 * can serve.
 */
export function portableBody(request: JsonObject): PortableBody | null {
  if (typeof request['container'] === 'string' || needsThought(request) || hasStoredPrompt(request))
    return null
  const removed: Removed = new Map()
  const body = strip(request, removed)
  return isObject(body) ? { body, removed } : null
}

type Removed = Map<JsonValue[], ReadonlySet<number>>

/** Returns a value without what only one provider can read; undefined when it cannot go without. */
function strip(value: JsonValue, removed: Removed, isAnswer = false): JsonValue | undefined {
  if (Array.isArray(value)) return stripList(value, removed, isAnswer)
  return isObject(value) ? stripObject(value, removed) : value
}

function stripList(list: JsonValue[], removed: Removed, isAnswer: boolean): JsonValue[] | undefined {
  const kept: JsonValue[] = []
  const positions = new Set<number>()
  let isSame = true
  for (const [index, item] of list.entries()) {
    if (isOwnPart(item)) {
      positions.add(index)
      continue
    }
    const stripped = strip(item, removed)
    if (stripped === undefined) return undefined
    isSame &&= stripped === item
    kept.push(stripped)
  }
  // No provider takes a message without content.
  if (kept.length === 0 && positions.size > 0 && isAnswer) return undefined
  if (positions.size > 0) removed.set(kept, positions)
  return isSame && positions.size === 0 ? list : kept
}

function stripObject(object: JsonObject, removed: Removed): JsonObject | undefined {
  if (isKept(object)) return undefined
  let changed: JsonObject | null = null
  for (const name of Object.keys(object)) {
    const value = object[name]!
    const isSignature = name === SIGNATURE && typeof value === 'string'
    const isAnswer = name === 'content' && object['role'] === 'assistant'
    const stripped = isSignature ? null : strip(value, removed, isAnswer)
    if (stripped === undefined) return undefined
    if (stripped === value) continue
    changed ??= { ...object }
    if (isSignature) delete changed[name]
    else changed[name] = stripped
  }
  return changed ?? object
}

/** Reports whether an object stands for something that its provider keeps. */
function isKept(object: JsonObject): boolean {
  const { type, vector_store_ids: stores, audio, role } = object
  return (
    KEPT_ITEMS.has(type) ||
    (OWN_RESULTS.has(type) && typeof object['encrypted_content'] === 'string') ||
    KEPT_IDS.some((name) => typeof object[name] === 'string') ||
    (Array.isArray(stores) && stores.length > 0) ||
    // An earlier answer in sound, by its id.
    (role === 'assistant' && isObject(audio) && typeof audio['id'] === 'string')
  )
}

/** Reports whether the provider keeps the prompt of a request, as the Responses API allows. */
const hasStoredPrompt = ({ prompt }: JsonObject): boolean =>
  isObject(prompt) && typeof prompt['id'] === 'string'

function isOwnPart(item: JsonValue): boolean {
  if (!isObject(item) || typeof item['type'] !== 'string') return false
  const member = OWN_PARTS[item['type']]
  return member !== undefined && typeof item[member] === 'string' && item[member] !== ''
}

/**
 * Reports whether the last turn is between a call of a tool and its result with thinking on, in
 * which Messages wants the thought back.
 */
function needsThought({ thinking, messages }: JsonObject): boolean {
  if (!isObject(thinking) || thinking['type'] === 'disabled' || !Array.isArray(messages)) return false
  const last = messages.findLast((message) => isObject(message) && message['role'] === 'assistant')
  if (!isObject(last) || !Array.isArray(last['content'])) return false
  const { content } = last
  const calls = content.some((part) => isObject(part) && part['type'] === 'tool_use')
  return calls && content.some(isOwnPart)
}
