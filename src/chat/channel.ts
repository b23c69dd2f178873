// The texts of a choice that grow from chunk to chunk, by name, and a chunk that brings more of one of them.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'

/**
 * Tells the growing texts of a choice apart: `content`, `refusal`, `tool:0`, `reasoning_details:0:text`, `field:NAME`,
 * and of an object in the delta that is like a delta itself `in:NAME:` before that.
 */
export type Channel = string

/** Of a text that some servers repeat beside the delta, as in answers without chat. */
export const CHOICE_TEXT: Channel = 'choice:text'

/** Callers take its first piece for the end of what was said before. */
export const isTool = (channel: Channel): boolean =>
  channel.startsWith('tool:') || channel === 'function_call'

/** What a model thinks, not what it says. */
export const isThought = (channel: Channel): boolean => /^(?:in:\w+:)*(?:reasoning|thinking)/.test(channel)

const ENVELOPE = ['id', 'object', 'created', 'model', 'system_fingerprint', 'provider'] as const

/** More of the text of a channel. */
export type Piece = readonly [channel: Channel, text: string]

/**
 * A chunk that carries only these texts, in the envelope of another: what was held back until a choice ended.
 * @param pieces of channels that may stand beside each other: what a model thinks, or one of the others alone
 */
export function flushChunk(like: JsonObject, choice: number, pieces: readonly Piece[]): JsonObject {
  const parts = pieces.map(([channel, text]) =>
    channel === CHOICE_TEXT ? { delta: {}, text } : { delta: channelDelta(channel, text) },
  )
  return {
    ...envelopeOf(like),
    choices: [{ index: choice, ...parts.reduce(merge, {}), finish_reason: null }],
  }
}

/** Lists go on, objects have the members of both. */
function merge(one: JsonObject, other: JsonObject): JsonObject {
  const merged: [string, JsonValue][] = Object.entries(one)
  for (const [name, value] of Object.entries(other)) {
    const place = merged.find(([known]) => known === name)
    if (place === undefined) merged.push([name, value])
    else if (Array.isArray(place[1]) && Array.isArray(value)) place[1] = [...place[1], ...value]
    else if (isObject(place[1]) && isObject(value)) place[1] = merge(place[1], value)
    else place[1] = value
  }
  return Object.fromEntries(merged)
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

function channelDelta(channel: Channel, text: string): JsonObject {
  const [kind = '', name = '', field = ''] = channel.split(':')
  switch (kind) {
    case 'in':
      return { [name]: channelDelta(channel.slice(`in:${name}:`.length), text) }
    case 'tool': {
      const piece: JsonObject =
        field === 'input' ? { custom: { input: text } } : { function: { arguments: text } }
      return { tool_calls: [{ index: Number(name), ...piece }] }
    }
    case 'function_call':
      return { function_call: { arguments: text } }
    case 'audio':
      return { audio: { transcript: text } }
    case 'reasoning_details':
      return { reasoning_details: [{ type: detailType(field), index: Number(name), [field]: text }] }
    case 'thinking_blocks':
      return { thinking_blocks: [{ type: 'thinking', index: Number(name), thinking: text }] }
    case 'thinking':
      return { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }
    case 'field':
      return { [name]: text }
    default:
      return { [kind]: text }
  }
}

const detailType = (field: string): string => (field === 'summary' ? 'reasoning.summary' : 'reasoning.text')
