// Represents a part of a text in two forms: decoded, to be scanned, and as written, to be sent.

/**
 * A part of a text: decoded (`view`) and as written (`raw`).
 * - `text`: view and raw are equal, and it may be cut anywhere
 * - `atom`: escaped characters; never cut
 * - `number`: a whole number token of JSON
 * - `structure`: punctuation, quotes, white space, true, false, null of JSON; never replaced
 */
export interface JsonSpan {
  readonly kind: 'text' | 'atom' | 'number' | 'structure'
  readonly view: string
  readonly raw: string
  /** Number of JSON strings around it. Text in its place is escaped that often. */
  readonly level: number
  /** For a number, the quote of a string in its place, as written. Absent for other kinds. */
  readonly quote?: string
  /**
   * Length of what it replaces of the text as received, where it replaces some. Default: that of
   * `raw`.
   */
  readonly received?: number
  /** True for the quote that opens a string which is no name. */
  readonly opensValue?: true
}

export const plainSpan = (text: string, level = 0): JsonSpan => ({
  kind: 'text',
  view: text,
  raw: text,
  level,
})

export function rawOf(spans: readonly JsonSpan[]): string {
  let raw = ''
  for (const span of spans) raw += span.raw
  return raw
}

export function viewOf(spans: readonly JsonSpan[]): string {
  let view = ''
  for (const span of spans) view += span.view
  return view
}

/** Returns the text escaped for that many JSON strings, one in another. */
export function escapeForJson(text: string, levels: number): string {
  let escaped = text
  for (let level = 0; level < levels; level++) escaped = JSON.stringify(escaped).slice(1, -1)
  return escaped
}

/** Receives spans in the order of the text. */
export interface SpanSink {
  push(span: JsonSpan): void
}

/** A queue of spans. Takes them by length of the view. */
export class SpanBuffer {
  /** The view of all spans in the queue. */
  view = ''
  #spans: JsonSpan[] = []
  #first = 0
  /** Characters taken from the first span. */
  #taken = 0

  push(span: JsonSpan): void {
    if (this.#first === this.#spans.length) {
      this.#spans = []
      this.#first = 0
    }
    this.#spans.push(span)
    this.view += span.view
  }

  /** Takes spans from the front. Cuts text only. Leaves `view` to `drop`. */
  take(length: number): JsonSpan[] {
    const spans: JsonSpan[] = []
    for (let left = length; left > 0; ) {
      const span = this.#spans[this.#first]!
      const end = Math.min(span.view.length, this.#taken + left)
      const isWhole = this.#taken === 0 && end === span.view.length
      spans.push(isWhole ? span : plainSpan(span.view.slice(this.#taken, end), span.level))
      left -= end - this.#taken
      this.#taken = end
      if (end < span.view.length) break
      this.#first++
      this.#taken = 0
    }
    return spans
  }

  /** Drops the taken characters from the view. */
  drop(length: number): void {
    this.view = this.view.slice(length)
  }
}
