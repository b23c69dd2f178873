// Most events of a stream are the one before with another text in it. What stands around that text is read once, and
// the event is then taken apart by comparing it, not by parsing. Knows neither scans nor sockets.

import { readStreamChunk, type StreamChunk } from '../../chat/stream-chunk.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ScanOutput } from '../scan/scan-output.ts'

/** Texts that stand under their own name in `choices[0].delta`. */
const CHANNELS: ReadonlySet<string> = new Set(['content', 'reasoning', 'reasoning_content'])

/** Characters that a JSON string writes as themselves, and nothing else (RFC 8259 §7). */
const PLAIN = /^[^"\\\u0000-\u001f]+$/
/** UTF-16 units of a text. Longer ones are for whoever parses: how much may come in one event is looked at there. */
const MAX_TEXT_UNITS = 64 * 1024
/** Stands for the text while it is proved where that is. A text that says this is never cut out. */
const PROBE = '\ufffesidegate probe\ufffe'

/** An event cut at its only growing text: `head`, the text as a JSON string writes it, `tail`. */
export interface EventTemplate {
  readonly head: string
  readonly tail: string
  readonly choice: number
  readonly channel: string
  /** A chunk of this form: what other texts borrow their id, model and time from. */
  readonly envelope: JsonObject
  /** Without its text the event says nothing. */
  readonly droppable: boolean
}

type EventFrame = Pick<EventTemplate, 'head' | 'tail'>

/** The form that the events of one stream have now. */
export class EventTemplateMatcher {
  #template: EventTemplate | null = null
  /** Cut, but not proved: proving is worth it for a form that comes twice in a row. */
  #seen: EventFrame | null = null

  get template(): EventTemplate | null {
    return this.#template
  }

  /** The text of an event that has the form, and is the form in everything else; null for any other. */
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
   * Takes note of an event that was parsed.
   * @param chunk as it was read from `data`, before anything in it was replaced
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

/** The data of an event of the form with another text. */
export const writeEvent = ({ head, tail }: EventTemplate, text: string): string =>
  head + JSON.stringify(text).slice(1, -1) + tail

/** The delta of a chunk in which nothing grows, ends, counts or fails but one text; null for any other. */
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

/** A member that says the same in every chunk: to add it once more changes nothing in what is put together. */
const isFixed =
  (channel: string) =>
  ([name, value]: [string, unknown]): boolean =>
    name === channel || value === null || value === '' || (name === 'role' && typeof value === 'string')

function frameOf(data: string, { deltas }: StreamChunk): EventFrame | null {
  const { channel, text } = deltas[0]!
  // Line breaks would be those of several lines of data.
  if (!PLAIN.test(text) || text === PROBE || data.includes('\n') || data.includes('\r')) return null
  const before = `"${channel}":"`
  const at = data.indexOf(`${before}${text}"`)
  if (at < 0) return null
  const start = at + before.length
  return { head: data.slice(0, start), tail: data.slice(start + text.length) }
}

/** Where the probe is read as the text, every other is that holds no quote, no escape and no control character. */
function isProved({ head, tail, choice, channel }: EventTemplate): boolean {
  const chunk = readStreamChunk(head + PROBE + tail)
  if (chunk === null || deltaOf(chunk) === null) return false
  const [delta] = chunk.deltas
  return delta?.text === PROBE && delta.choice === choice && delta.channel === channel
}

/** All of its text is held back, and there was nothing but text: no event is needed to say so. */
export const isDroppable = (chunk: StreamChunk, deltas: readonly ScanOutput[]): boolean =>
  chunk.finished.length === 0 &&
  chunk.usage === null &&
  deltas.every(({ sent }) => sent === '') &&
  chunk.deltas.length > 0 &&
  chunk.others.length === 0 &&
  choicesOf(chunk.body).every(
    (choice) => isObject(choice['delta']) && hasOnlyText(choice['delta']) && hasOnlyDelta(choice),
  )

/** Whether a choice of a chunk says nothing beside its delta. */
export function hasOnlyDelta({ index: _index, delta: _delta, ...others }: JsonObject): boolean {
  return hasOnlyText(others)
}

/** What stands around the counts in the event that `stream_options.include_usage` asks for. */
const AROUND_USAGE: ReadonlySet<string> = new Set(
  'id object created model system_fingerprint service_tier provider obfuscation choices x_groq'.split(' '),
)

/** Takes the counts out of such an event. @returns whether anything is left that says something */
export function stripUsage(body: JsonObject): boolean {
  delete body['usage']
  return Object.entries(body).some(([name, value]) => !AROUND_USAGE.has(name) && value !== null)
}

const choicesOf = (body: JsonObject): JsonObject[] =>
  Array.isArray(body['choices']) ? body['choices'].filter(isObject) : []

const hasOnlyText = (delta: JsonObject): boolean =>
  Object.values(delta).every((value) => value === '' || value === null)
