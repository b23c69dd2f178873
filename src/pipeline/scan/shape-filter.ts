// Reads the shaped placeholders of a growing text as what they stand for: no detector finds them as
// personal data, and `[EMAIL_1]` is restored however it is written.

import type { JsonSpan } from '../../chat/inner-json/json-span.ts'
import { shapeBegins, shapesIn } from './shapes.ts'
import { rawOf, TextSpanQueue, viewOf } from './spans.ts'

/** Turns each shape into a span with the form as its view. Holds back what may begin one. */
export class ShapeFilter {
  #held = new TextSpanQueue()
  /** The view of the spans held back. */
  #view = ''
  /** The last character before it; '' at the beginning of a text. */
  #before = ''

  get holds(): boolean {
    return this.#view !== ''
  }

  push(spans: readonly JsonSpan[]): readonly JsonSpan[] {
    const view = this.#view + viewOf(spans)
    const keep = Math.max(0, shapeBegins(this.#before + view) - this.#before.length)
    for (const span of spans) this.#held.push(span)
    this.#view = view.slice(keep)
    return this.#take(view.slice(0, keep))
  }

  /** Flushes the spans held back. Later text counts as a new text. */
  finish(): readonly JsonSpan[] {
    const view = this.#view
    this.#view = ''
    const out = this.#take(view)
    this.#before = ''
    return out
  }

  /** @param view of the spans to take; none of them is cut, but text */
  #take(view: string): JsonSpan[] {
    const base = this.#held.start
    const out: JsonSpan[] = []
    const lead = this.#before.length
    for (const found of shapesIn(this.#before + view)) {
      const { form } = found
      const [start, end] = [found.start - lead, found.end - lead]
      out.push(...this.#held.takeBefore(base + start))
      // A number that only contains a shape is another number.
      if (this.#held.start !== base + start) continue
      const written = this.#held.takeBefore(base + end)
      if (this.#held.start === base + end) out.push(withForm(written, form))
      else out.push(...written)
    }
    out.push(...this.#held.takeBefore(base + view.length))
    if (view !== '') this.#before = view.slice(-1)
    return out
  }
}

/** One span for those of a shape. */
function withForm(written: readonly JsonSpan[], form: string): JsonSpan {
  const [first] = written
  const raw = rawOf(written)
  if (first!.kind === 'number') return { ...first!, view: form, raw }
  const level = Math.max(...written.map((span) => span.level))
  return { kind: 'atom', view: form, raw, level }
}
