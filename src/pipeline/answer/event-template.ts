// Reads an event of a stream by comparing it with the one before. Most events differ in one text
// only, so the rest is parsed once. Knows neither scans nor sockets.

import { readStreamChunk, type StreamChunk } from '../../chat/stream-chunk.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ScanOutput } from '../scan/scan-output.ts'

/** Texts of `choices[0].delta` whose channel is their member's name. */
const CHANNELS: ReadonlySet<string> = new Set(['content', 'reasoning', 'reasoning_content'])

/** Characters that JSON strings hold unescaped (RFC 8259 §7). */
const PLAIN = /^[^"\\\u0000-\u001f]+$/
/** Longest text in UTF-16 units. An event with a longer one is parsed, which checks its size. */
const MAX_TEXT_UNITS = 64 * 1024
/**
 * Replaces the text in the proof of a template. An event whose text equals it makes no template.
 */
const PROBE = '\ufffesidegate probe\ufffe'

/** An event divided at its only growing text: `head`, the text as written in JSON, `tail`. */
export interface EventTemplate {
  readonly head: string
  readonly tail: string
  readonly choice: number
  readonly channel: string
  /** A chunk of this form. New events copy its id, model and time. */
  readonly envelope: JsonObject
  /** True when the event carries nothing but its text. */
  readonly droppable: boolean
}

type EventFrame = Pick<EventTemplate, 'head' | 'tail'>

/** The current template of one stream. */
export class EventTemplateMatcher {
  #template: EventTemplate | null = null
  /** The last frame, not proved yet. A frame is proved when it occurs twice in a row. */
  #seen: EventFrame | null = null

  get template(): EventTemplate | null {
    return this.#template
  }

  /** Returns the text of an event that fits the template; null when it does not fit. */
  match(data: string): string | null {
    if (this.#template === null) return null
    const { head, tail } = this.#template
    const end = data.length - tail.length
    if (end <= head.length || end - head.length > MAX_TEXT_UNITS) return null
    if (!data.startsWith(head) || !data.endsWith(tail)) return null
    const text = data.slice(head.length, end)
    return PLAIN.test(text) ? text : null
  }

  /**
   * Learns from a parsed event.
   * @param chunk as read from `data`, before any replacement
   */
  learn(data: string, chunk: StreamChunk): void {
    const members = deltaOf(chunk)
    const frame = members === null ? null : frameOf(data, chunk)
    const again = frame !== null && this.#seen?.head === frame.head && this.#seen.tail === frame.tail
    this.#seen = frame
    if (members === null || frame === null || !again) return
    const { choice, channel } = chunk.deltas[0]!
    const { role = null } = members
    const [only] = chunk.body['choices'] as JsonObject[]
    const droppable = (role === null || role === '') && hasOnlyDelta(only!)
    const template = { ...frame, choice, channel, envelope: chunk.body, droppable }
    this.#template = isProved(template) ? template : null
  }
}

/** Returns the data of an event of this form with another text. */
export const writeEvent = ({ head, tail }: EventTemplate, text: string): string =>
  head + JSON.stringify(text).slice(1, -1) + tail

/** Returns the delta of a chunk whose only change is one growing text; null for any other chunk. */
function deltaOf({ body, deltas, others, finished, usage, error }: StreamChunk): JsonObject | null {
  const [delta] = deltas
  if (deltas.length !== 1 || delta === undefined || !CHANNELS.has(delta.channel)) return null
  if (others.length > 0 || finished.length > 0 || usage !== null || error || body['error'] !== undefined) {
    return null
  }
  const { choices } = body
  if (isObject(body['usage']) || !Array.isArray(choices) || choices.length !== 1) return null
  const [choice] = choices
  if (!isObject(choice) || isObject(choice['logprobs']) || choice['message'] !== undefined) return null
  if (choice['token_ids'] != null) return null
  const members = choice['delta']
  return isObject(members) && Object.entries(members).every(isFixed(delta.channel)) ? members : null
}

/**
 * Reports whether a member repeats the same value in every chunk, so that adding it again changes
 * nothing.
 */
const isFixed =
  (channel: string) =>
  ([name, value]: [string, unknown]): boolean =>
    name === channel || value === null || value === '' || (name === 'role' && typeof value === 'string')

function frameOf(data: string, { deltas }: StreamChunk): EventFrame | null {
  const { channel, text } = deltas[0]!
  // A line break in the data would belong to several `data` lines.
  if (!PLAIN.test(text) || text === PROBE || data.includes('\n') || data.includes('\r')) return null
  const before = `"${channel}":"`
  const at = data.indexOf(`${before}${text}"`)
  if (at < 0) return null
  const start = at + before.length
  return { head: data.slice(0, start), tail: data.slice(start + text.length) }
}

/**
 * Where the parser reads the probe as the text, it reads any text without quotes, escapes and
 * control characters.
 */
function isProved({ head, tail, choice, channel }: EventTemplate): boolean {
  const chunk = readStreamChunk(head + PROBE + tail)
  if (chunk === null || deltaOf(chunk) === null) return false
  const [delta] = chunk.deltas
  return delta?.text === PROBE && delta.choice === choice && delta.channel === channel
}

/** Reports whether an event may be dropped: it has only text, and all of that is held back. */
export const isDroppable = (chunk: StreamChunk, deltas: readonly ScanOutput[]): boolean =>
  chunk.finished.length === 0 &&
  chunk.usage === null &&
  deltas.every(({ sent }) => sent === '') &&
  chunk.deltas.length > 0 &&
  chunk.others.length === 0 &&
  choicesOf(chunk.body).every(
    (choice) => isObject(choice['delta']) && hasOnlyText(choice['delta']) && hasOnlyDelta(choice),
  )

/** Reports whether a choice of a chunk carries nothing but its delta. */
function hasOnlyDelta({ index: _index, delta: _delta, ...others }: JsonObject): boolean {
  return hasOnlyText(others)
}

/** Members of the usage event (`stream_options.include_usage`) that may be dropped with it. */
const AROUND_USAGE: ReadonlySet<string> = new Set(
  'id object created model system_fingerprint service_tier provider obfuscation choices x_groq'.split(' '),
)

/**
 * Removes the usage from a usage event.
 * @returns whether anything else worth sending is left
 */
export function stripUsage(body: JsonObject): boolean {
  delete body['usage']
  return Object.entries(body).some(([name, value]) => !AROUND_USAGE.has(name) && value !== null)
}

const choicesOf = (body: JsonObject): JsonObject[] =>
  Array.isArray(body['choices']) ? body['choices'].filter(isObject) : []

const hasOnlyText = (delta: JsonObject): boolean =>
  Object.values(delta).every((value) => value === '' || value === null)
