// Represents text under scan as spans that pair decoded text (`view`) with its spelling (`raw`). In
// plain text both are equal; JSON in a string has escapes, numbers and punctuation that must stay
// valid.

import { type JsonSpan, plainSpan, viewOf } from '../../chat/inner-json/json-span.ts'
import type { Finding } from '../../core/finding.ts'
import { atOnce, type Steps } from '../../core/steps.ts'

/** A span of an answer. */
export interface TextSpan extends JsonSpan {
  /** The logged spelling of a restored value: its placeholder. Default: `raw`. */
  readonly logged?: string
  /** True for a span that was released before and is scanned again with the text after it. */
  readonly released?: true
}

export { plainSpan, rawOf, viewOf } from '../../chat/inner-json/json-span.ts'

export const releasedSpan = (text: string): TextSpan => ({ ...plainSpan(text), released: true })

/** Findings replaced in one step, about a millisecond. */
const STEP_FINDINGS = 1024

/** Joins the logged form of spans. */
export function loggedOf(spans: readonly TextSpan[]): string {
  let text = ''
  for (const { logged, raw } of spans) text += logged ?? raw
  return text
}

const isEscaped = (span: JsonSpan | undefined): span is JsonSpan =>
  span !== undefined && span.view !== span.raw

/**
 * Maps ranges of the view to ranges of the raw text.
 * @param ranges in order, not overlapping, not empty
 */
export function rawRanges(
  spans: readonly JsonSpan[],
  ranges: readonly { readonly start: number; readonly end: number }[],
): { start: number; end: number }[] {
  let index = 0
  let viewStart = 0
  let rawStart = 0
  /** The span that contains a view offset. */
  const seek = (offset: number): JsonSpan | undefined => {
    let span = spans[index]
    while (span !== undefined && viewStart + span.view.length <= offset) {
      viewStart += span.view.length
      rawStart += span.raw.length
      span = spans[++index]
    }
    return span
  }
  return ranges.map((range) => {
    // A span with escapes is one unit; any other has the same length in both forms.
    const first = seek(range.start)
    const start = isEscaped(first) ? rawStart : rawStart + range.start - viewStart
    const last = seek(range.end - 1)
    const end = isEscaped(last) ? rawStart + last.raw.length : rawStart + range.end - viewStart
    return { start, end }
  })
}

function textPart(span: TextSpan, start: number, end?: number): TextSpan {
  const part = plainSpan(span.view.slice(start, end), span.level)
  const { released, received } = span
  if (released === undefined && received === undefined) return part
  return {
    ...part,
    ...(released && { released }),
    ...(received !== undefined && { received: start === 0 ? received : 0 }),
  }
}

/** A queue of spans, taken from the front by view offset (UTF-16, from the start of the text). */
export class TextSpanQueue {
  #spans: TextSpan[] = []
  /** Index of the first span in the queue. */
  #first = 0
  #start = 0

  /** View offset of the first span in the queue. */
  get start(): number {
    return this.#start
  }

  get isEmpty(): boolean {
    return this.#first === this.#spans.length
  }

  /** The view of all spans in the queue. */
  get view(): string {
    return viewOf(this.#spans.slice(this.#first))
  }

  push(span: TextSpan): void {
    this.#spans.push(span)
  }

  /**
   * Takes all that ends at or before `offset`. Cuts a text span there; leaves any other span that
   * crosses it.
   */
  takeBefore(offset: number): TextSpan[] {
    let at = this.#first
    let end = this.#start
    for (; at < this.#spans.length; at++) {
      const span = this.#spans[at]!
      if (end + span.view.length > offset) break
      end += span.view.length
    }
    const next = this.#spans[at]
    return next?.kind === 'text' ? this.takeUntil(offset) : this.takeUntil(end)
  }

  /** Takes all that begins before `offset`. Cuts a text span there; takes any other span whole. */
  takeUntil(offset: number): TextSpan[] {
    let next = this.#first
    let end = this.#start
    while (next < this.#spans.length && end < offset) end += this.#spans[next++]!.view.length
    const taken = this.#spans.slice(this.#first, next)
    const last = taken.at(-1)
    if (last !== undefined && end > offset && last.kind === 'text') {
      const keep = last.view.length - (end - offset)
      taken[taken.length - 1] = textPart(last, 0, keep)
      this.#spans[--next] = textPart(last, keep)
      end = offset
    }
    this.#first = next
    this.#start = end
    this.#forget()
    return taken
  }

  /**
   * Drops taken spans once they are half of the array; dropping each at once would take quadratic
   * time.
   */
  #forget(): void {
    if (2 * this.#first < this.#spans.length) return
    this.#spans = this.#spans.slice(this.#first)
    this.#first = 0
  }
}

/** Length of a span in the text as received. */
export const lengthOf = ({ received, raw }: JsonSpan): number => received ?? raw.length

/** The sign of a number; '' without one. A placeholder in the place of a number keeps it. */
export const signOf = ({ kind, view }: JsonSpan): string =>
  kind === 'number' && view.startsWith('-') ? '-' : ''

/** Writes a text in the place of a number: without quotes only if it is a number too. */
function inPlaceOfNumber(value: string, number: JsonSpan): JsonSpan {
  const { quote = '"' } = number
  const raw = WHOLE_NUMBER.test(value) ? value : quote + value + quote
  return { ...number, view: value, raw, received: lengthOf(number) }
}

/** Returns what is written for a value. @param isNumber whether the value is a number of JSON */
type Replacing = (finding: Finding, value: string, isNumber: boolean) => string

/** Matches whole numbers as JSON writes them (RFC 8259 §6). */
export const WHOLE_NUMBER = /^-?(?:0|[1-9]\d*)$/

/**
 * Replaces every finding. JSON punctuation stays. A number becomes a string, unless it is replaced
 * by a whole number.
 * @param base view offset of the first span, on the scale of the findings
 * @param findings in order, not overlapping
 */
export const replaceFindings = (
  spans: readonly JsonSpan[],
  base: number,
  findings: readonly Finding[],
  replacement: Replacing,
): JsonSpan[] => atOnce(replaceSteps(spans, base, findings, replacement))

/** The same in steps. */
export function* replaceSteps(
  spans: readonly JsonSpan[],
  base: number,
  findings: readonly Finding[],
  replacement: Replacing,
): Steps<JsonSpan[]> {
  if (findings.length === 0) return spans as JsonSpan[]
  const view = viewOf(spans)
  const replaced: JsonSpan[] = []
  let next = 0
  let written: Finding | null = null
  let start = base
  for (const span of spans) {
    const end = start + span.view.length
    let at = start
    while (at < end) {
      while (next < findings.length && findings[next]!.end <= at) next++
      const finding = findings[next]
      if (span.kind === 'structure' || finding === undefined || finding.start >= end) {
        replaced.push(at === start ? span : plainSpan(span.view.slice(at - start), span.level))
        break
      }
      if (span.kind === 'text' && finding.start > at) {
        replaced.push(plainSpan(span.view.slice(at - start, finding.start - start), span.level))
        at = finding.start
        continue
      }
      const isNumber = span.kind === 'number'
      const replaces = view.slice(finding.start - base, finding.end - base)
      const value = finding === written ? '' : replacement(finding, replaces, isNumber)
      if (finding !== written && next % STEP_FINDINGS === STEP_FINDINGS - 1) yield
      written = finding
      const received = span.kind === 'text' ? Math.min(end, finding.end) - at : lengthOf(span)
      const sign = finding.start > start ? signOf(span) : ''
      replaced.push(
        isNumber ? inPlaceOfNumber(sign + value, span) : { ...plainSpan(value, span.level), received },
      )
      if (span.kind !== 'text') break
      at = Math.min(end, finding.end)
    }
    start = end
  }
  return replaced
}
