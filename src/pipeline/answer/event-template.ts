// Reads an event of a stream by comparing it with the one before. Most events differ in one text
// only, and in what numbers or pads them, so the rest is parsed once. Knows neither scans nor
// sockets.

import type { StreamReader } from '../../chat/api-format.ts'
import { isBare } from '../../chat/event-names.ts'
import type { SseEvent } from '../../chat/sse.ts'
import type { StreamChunk } from '../../chat/stream-chunk.ts'
import { isLabel } from '../../chat/vocabulary.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'

/** Characters that JSON strings hold unescaped (RFC 8259 §7). */
const PLAIN = /^[^"\\\u0000-\u001f]+$/
/** Longest text in UTF-16 units. An event with a longer one is parsed, which checks its size. */
const MAXIMUM_TEXT_UNITS = 64 * 1024
/** Numbers that count events. */
const COUNT = /(?:0|[1-9]\d{0,5})(?!\d)/y
/**
 * What replaces the holes in the proof of a template. An event whose text equals the probe makes no
 * template.
 */
const PROBE = '\ufffesidegate probe\ufffe'
const PROBE_COUNT = 987_654
const PROBE_PADDING = 'sidegateProbe'

/** What an event of a template has in one place. */
interface Hole {
  /** The member of the event, or the channel of its text. */
  readonly name: string
  readonly kind: 'text' | 'count' | 'padding'
}

/** An event divided at what differs from event to event. */
export interface EventTemplate extends EventFrame {
  readonly choice: number
  readonly channel: string
  /** A chunk of this form. New events copy its id, model and time. */
  readonly envelope: JsonObject
  /** True when the event carries nothing but its text. */
  readonly droppable: boolean
}

/** What divides an event, and its lines other than data: its name or none. */
interface EventFrame {
  readonly otherLines: string
  /** In the order of the event; one is its only growing text. */
  readonly holes: readonly Hole[]
  /** What is before, between and after the holes: one more than holes. */
  readonly literals: readonly string[]
}

/** An event that fits a template: what its holes hold. */
export interface MatchedEvent {
  readonly template: EventTemplate
  readonly text: string
  /** As written, the text included. */
  readonly values: readonly string[]
}

/** The current template of one stream. */
export class EventTemplateMatcher {
  readonly #reader: StreamReader
  #template: EventTemplate | null = null
  /** The last frame, not proved yet. A frame is proved when it occurs twice in a row. */
  #seen: EventFrame | null = null

  constructor(reader: StreamReader) {
    this.#reader = reader
  }

  /** Reads an event that fits the template; null when it does not fit. Linear in the event. */
  match({ data, otherLines }: Pick<SseEvent, 'data' | 'otherLines'>): MatchedEvent | null {
    const template = this.#template
    if (template === null || data === null || otherLines !== template.otherLines) return null
    const { holes, literals } = template
    if (!data.startsWith(literals[0]!)) return null
    let at = literals[0]!.length
    let text = ''
    const values: string[] = []
    for (let index = 0; index < holes.length; index++) {
      const { kind } = holes[index]!
      const value = readHole(kind, data, at)
      if (value === null) return null
      if (kind === 'text') text = value
      values.push(value)
      at += value.length
      const literal = literals[index + 1]!
      if (!data.startsWith(literal, at)) return null
      at += literal.length
    }
    return at === data.length ? { template, text, values } : null
  }

  /**
   * Learns from a parsed event.
   * @param data of the event
   * @param otherLines its name or nothing; an event with other lines is not learned
   * @param chunk as read from `data`, before any replacement
   */
  learn(data: string, otherLines: string, chunk: StreamChunk): void {
    const repeats = this.#reader.repeats(chunk)
    const frame = repeats === null ? null : frameOf(data, otherLines, chunk, repeats.varying)
    // A later event of a text that ended belongs to another.
    if (chunk.finished.length > 0) this.#template = null
    const again = frame !== null && this.#seen !== null && isSame(this.#seen, frame)
    this.#seen = frame
    if (repeats === null || frame === null || !again) return
    const { choice, channel } = chunk.deltas[0]!
    const template = { ...frame, choice, channel, envelope: chunk.body, droppable: repeats.isDroppable }
    this.#template = this.#isProved(template) ? template : null
  }

  /**
   * Where the parser reads the probes in the holes, it reads any text without quotes, escapes and
   * control characters, any count and any padding.
   */
  #isProved(template: EventTemplate): boolean {
    const { holes, choice, channel } = template
    const chunk = this.#reader.read(fill(template, holes.map(probeOf)))
    if (chunk === null || this.#reader.repeats(chunk) === null) return false
    const [delta] = chunk.deltas
    const isRead = ({ name, kind }: Hole): boolean =>
      kind === 'text' || String(chunk.body[name]) === (kind === 'count' ? String(PROBE_COUNT) : PROBE_PADDING)
    return (
      delta?.text === PROBE && delta.choice === choice && delta.channel === channel && holes.every(isRead)
    )
  }
}

/**
 * Returns the data of an event of this form with another text.
 * @param counts members that count the event, where they changed
 */
export const writeEvent = ({ template, values }: MatchedEvent, text: string, counts: JsonObject): string =>
  fill(
    template,
    template.holes.map(({ name, kind }, index) => {
      if (kind === 'text') return JSON.stringify(text).slice(1, -1)
      return kind === 'count' ? String(counts[name]) : values[index]!
    }),
  )

/** Returns a chunk of the template's form with the counts of this event. */
export function countsOf({ template, values }: MatchedEvent): JsonObject {
  const counts: JsonObject = {}
  template.holes.forEach(({ name, kind }, index) => {
    if (kind === 'count') counts[name] = Number(values[index])
  })
  return counts
}

const fill = ({ literals }: Pick<EventFrame, 'literals'>, values: readonly string[]): string =>
  literals.reduce((written, literal, index) => written + values[index - 1]! + literal)

const isSame = (one: EventFrame, other: EventFrame): boolean =>
  one.otherLines === other.otherLines &&
  one.literals.length === other.literals.length &&
  one.literals.every((literal, index) => literal === other.literals[index])

function probeOf({ kind }: Hole): string {
  if (kind === 'text') return PROBE
  return kind === 'count' ? String(PROBE_COUNT) : PROBE_PADDING
}

/** Returns what a hole at this place holds; null for anything that only a parser can judge. */
function readHole(kind: Hole['kind'], data: string, at: number): string | null {
  if (kind === 'count') {
    COUNT.lastIndex = at
    return COUNT.exec(data)?.[0] ?? null
  }
  const end = data.indexOf('"', at)
  if (end <= at || end - at > MAXIMUM_TEXT_UNITS) return null
  const value = data.slice(at, end)
  return (kind === 'text' ? PLAIN.test(value) : isLabel(value)) ? value : null
}

/** Divides an event; null when its text or a member is not where the event says. */
function frameOf(
  data: string,
  otherLines: string,
  { body, deltas }: StreamChunk,
  varying: readonly string[],
): EventFrame | null {
  const { channel, text } = deltas[0]!
  // A line break in the data would belong to several `data` lines.
  if (
    !isBare(otherLines) ||
    !PLAIN.test(text) ||
    text === PROBE ||
    data.includes('\n') ||
    data.includes('\r')
  )
    return null
  const places = [
    place(data, { name: channel, kind: 'text' }, text),
    ...varying.map((name) => place(data, holeOf(name, body[name]), String(body[name]))),
  ].sort((one, other) => one.start - other.start)
  if (places[0]!.start < 0) return null
  const ends = [0, ...places.map(({ end }) => end)]
  const literals = ends.map((end, index) => data.slice(end, places[index]?.start ?? data.length))
  return { otherLines, holes: places.map(({ hole }) => hole), literals }
}

const holeOf = (name: string, value: JsonValue | undefined): Hole => ({
  name,
  kind: typeof value === 'number' ? 'count' : 'padding',
})

/** Finds a member's value in an event; `start` is negative where it is not found. */
function place(
  data: string,
  hole: Hole,
  value: string,
): { readonly hole: Hole; readonly start: number; readonly end: number } {
  const quote = hole.kind === 'count' ? '' : '"'
  const before = `"${hole.name}":${quote}`
  const at = data.indexOf(before + value + quote)
  const start = at < 0 ? at : at + before.length
  return { hole, start, end: start + value.length }
}
