// Names the texts of a choice that grow from chunk to chunk, and builds chunks that add to them.

import { isObject, type JsonObject } from '../core/json.ts'
import { setMember } from './text.ts'

/**
 * Path of a growing text in the delta. A list item is named by its `index`, a part without one by
 * its type: `content`, `tool_calls[0].function.arguments`, `content[thinking].thinking`.
 */
export type Channel = string

/** The `text` of a choice, which some servers send next to the delta, as in completions. */
export const CHOICE_TEXT: Channel = 'choice:text'

/** Reports whether clients read the first delta as the end of the text before. */
export const isToolCall = (channel: Channel): boolean => /^(?:tool_calls\[|function_call\b)/.test(channel)

/** Reports whether the text is reasoning, not answer. */
export const isReasoning = (channel: Channel): boolean =>
  /^(?:\w+\.)*(?:content\[)?(?:reasoning|thinking)/.test(channel)

const IN_TURN =
  /^(?:content|refusal|reasoning(?:_content|_details)?|thinking_blocks|tool_calls|function_call|audio|choice:text)\b/

/**
 * Reports whether the first delta of the text ends the texts before it. Servers send these one
 * after another.
 */
export const isSequential = (channel: Channel): boolean => IN_TURN.test(channel)

const ENVELOPE = ['id', 'object', 'created', 'model', 'system_fingerprint', 'provider'] as const

/** Text to add to a channel. */
export type ChannelText = readonly [channel: Channel, text: string]

/**
 * Builds a chunk with these texts only, in the envelope of another chunk.
 * @param pieces of compatible channels
 */
export function flushChunk(like: JsonObject, choice: number, pieces: readonly ChannelText[]): JsonObject {
  const texts: JsonObject = {}
  for (const [channel, text] of pieces)
    add(texts, channel === CHOICE_TEXT ? { delta: {}, text } : { delta: channelDelta(channel, text) })
  return { ...envelopeOf(like), choices: [{ index: choice, ...texts, finish_reason: null }] }
}

/** Merges an object into another: lists are appended, objects merged. Linear in `more`. */
function add(target: JsonObject, more: JsonObject): void {
  for (const [name, value] of Object.entries(more)) {
    const present = Object.hasOwn(target, name) ? target[name] : undefined
    if (Array.isArray(present) && Array.isArray(value)) present.push(...value)
    else if (isObject(present) && isObject(value)) add(present, value)
    else setMember(target, name, value)
  }
}

/** Builds a chunk that ends a choice and has nothing else. */
export const finishChunk = (like: JsonObject, choice: number, reason: string): JsonObject => ({
  ...envelopeOf(like),
  choices: [{ index: choice, delta: {}, finish_reason: reason }],
})

export function envelopeOf(like: JsonObject): JsonObject {
  const envelope: JsonObject = {}
  for (const name of ENVELOPE) if (like[name] !== undefined) envelope[name] = like[name]
  return envelope
}

/** A member name, and the list item after it. */
const STEP = /(\w+)(?:\[([^\]]*)\])?/g
const NUMBER = /^-?\d+$/

/**
 * Groups texts so that one chunk can hold each group. Two texts conflict when a member would be a
 * string for one and a container for the other.
 */
export function groupCompatible<P extends readonly [Channel, unknown]>(pieces: readonly P[]): P[][] {
  const groups: P[][] = []
  let kinds = new Map<string, string>()
  for (const piece of pieces) {
    const places = placesOf(piece[0])
    if (groups.length === 0 || places.some(([place, kind]) => (kinds.get(place) ?? kind) !== kind)) {
      groups.push([])
      kinds = new Map()
    }
    for (const [place, kind] of places) kinds.set(place, kind)
    groups.at(-1)?.push(piece)
  }
  return groups
}

/**
 * The paths a channel leads through, each with what follows: `.` an object, `[` a list, '' the
 * text.
 */
const placesOf = (channel: Channel): [place: string, kind: string][] =>
  [...channel.matchAll(STEP)].map(({ index, 1: name = '' }) => {
    const end = index + name.length
    return [channel.slice(0, end), channel.charAt(end)]
  })

function channelDelta(channel: Channel, text: string): JsonObject {
  const [last, ...around] = [...channel.matchAll(STEP)].reverse()
  return around.reduce<JsonObject>(
    (inside, [, name = '', item]) => ({
      [name]: item === undefined ? inside : [listItem(name, item, inside)],
    }),
    { [last?.[1] ?? '']: text },
  )
}

function listItem(list: string, item: string, inside: JsonObject): JsonObject {
  if (!NUMBER.test(item)) return item === '' ? inside : { type: item, ...inside }
  const type = itemType(list, inside)
  return { ...(type === null ? {} : { type }), index: Number(item), ...inside }
}

/** Clients read the type of reasoning in every chunk. */
function itemType(list: string, inside: JsonObject): string | null {
  if (list === 'reasoning_details') return 'summary' in inside ? 'reasoning.summary' : 'reasoning.text'
  return list === 'thinking_blocks' ? 'thinking' : null
}
