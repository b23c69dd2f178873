// The texts of a choice that grow from chunk to chunk, by name, and a chunk that brings more of one of them.

import { isObject, type JsonObject } from '../core/json.ts'
import { setMember } from './text.ts'

/**
 * Tells the growing texts of a choice apart: the place of each in the delta. An item of a list goes by its `index`, a part,
 * which has none, by its type: `content`, `tool_calls[0].function.arguments`, `content[thinking].thinking`.
 */
export type Channel = string

/** Of a text that some servers repeat beside the delta, as in answers without chat. */
export const CHOICE_TEXT: Channel = 'choice:text'

/** Callers take its first piece for the end of what was said before. */
export const isToolCall = (channel: Channel): boolean => /^(?:tool_calls\[|function_call\b)/.test(channel)

/** What a model thinks, not what it says. */
export const isReasoning = (channel: Channel): boolean =>
  /^(?:\w+\.)*(?:content\[)?(?:reasoning|thinking)/.test(channel)

const IN_TURN =
  /^(?:content|refusal|reasoning(?:_content|_details)?|thinking_blocks|tool_calls|function_call|audio|choice:text)\b/

/** One of those that servers say one after the other: with its first piece those before it have ended. */
export const isSequential = (channel: Channel): boolean => IN_TURN.test(channel)

const ENVELOPE = ['id', 'object', 'created', 'model', 'system_fingerprint', 'provider'] as const

/** More of the text of a channel. */
export type ChannelText = readonly [channel: Channel, text: string]

/**
 * A chunk that carries only these texts, in the envelope of another: what was held back until a choice ended.
 * @param pieces of channels that may stand beside each other: what a model thinks, or one of the others alone
 */
export function flushChunk(like: JsonObject, choice: number, pieces: readonly ChannelText[]): JsonObject {
  const texts: JsonObject = {}
  for (const [channel, text] of pieces)
    add(texts, channel === CHOICE_TEXT ? { delta: {}, text } : { delta: channelDelta(channel, text) })
  return { ...envelopeOf(like), choices: [{ index: choice, ...texts, finish_reason: null }] }
}

/** Adds the members of one object to another: lists go on, objects have the members of both. Linear in what is added. */
function add(target: JsonObject, more: JsonObject): void {
  for (const [name, value] of Object.entries(more)) {
    const present = Object.hasOwn(target, name) ? target[name] : undefined
    if (Array.isArray(present) && Array.isArray(value)) present.push(...value)
    else if (isObject(present) && isObject(value)) add(present, value)
    else setMember(target, name, value)
  }
}

/** A chunk that says why a choice ended, and nothing else. */
export const finishChunk = (like: JsonObject, choice: number, reason: string): JsonObject => ({
  ...envelopeOf(like),
  choices: [{ index: choice, delta: {}, finish_reason: reason }],
})

function envelopeOf(like: JsonObject): JsonObject {
  const envelope: JsonObject = {}
  for (const name of ENVELOPE) if (like[name] !== undefined) envelope[name] = like[name]
  return envelope
}

/** A name, and of a list the item that stands behind it. */
const STEP = /(\w+)(?:\[([^\]]*)\])?/g
const NUMBER = /^-?\d+$/

/**
 * Pieces in groups that a chunk can hold each: a place that is a text to one and holds another, as some servers have it,
 * parts them.
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

/** The places a channel leads through, and what stands at each: `.` an object, `[` a list, nothing its text. */
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

/** Of what a model thinks callers read the type in each chunk. */
function itemType(list: string, inside: JsonObject): string | null {
  if (list === 'reasoning_details') return 'summary' in inside ? 'reasoning.summary' : 'reasoning.text'
  return list === 'thinking_blocks' ? 'thinking' : null
}
