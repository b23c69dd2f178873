// Reads an event of a stream by comparing it with the one before. Most events differ in one text
// only, so the rest is parsed once. Knows neither scans nor sockets.

import type { StreamReader } from '../../chat/api-format.ts'
import type { StreamChunk } from '../../chat/stream-chunk.ts'
import type { JsonObject } from '../../core/json.ts'

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
  readonly #reader: StreamReader
  #template: EventTemplate | null = null
  /** The last frame, not proved yet. A frame is proved when it occurs twice in a row. */
  #seen: EventFrame | null = null

  constructor(reader: StreamReader) {
    this.#reader = reader
  }

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
    const repeats = this.#reader.repeats(chunk)
    const frame = repeats === null ? null : frameOf(data, chunk)
    const again = frame !== null && this.#seen?.head === frame.head && this.#seen.tail === frame.tail
    this.#seen = frame
    if (repeats === null || frame === null || !again) return
    const { choice, channel } = chunk.deltas[0]!
    const template = { ...frame, choice, channel, envelope: chunk.body, droppable: repeats.isDroppable }
    this.#template = this.#isProved(template) ? template : null
  }

  /**
   * Where the parser reads the probe as the text, it reads any text without quotes, escapes and
   * control characters.
   */
  #isProved({ head, tail, choice, channel }: EventTemplate): boolean {
    const chunk = this.#reader.read(head + PROBE + tail)
    if (chunk === null || this.#reader.repeats(chunk) === null) return false
    const [delta] = chunk.deltas
    return delta?.text === PROBE && delta.choice === choice && delta.channel === channel
  }
}

/** Returns the data of an event of this form with another text. */
export const writeEvent = ({ head, tail }: EventTemplate, text: string): string =>
  head + JSON.stringify(text).slice(1, -1) + tail

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
