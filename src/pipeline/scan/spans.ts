// Text on its way through a scan, as runs: what it says (view) beside how it is written (raw). Plain text is one
// run with both alike; JSON inside a string has escapes, numbers and punctuation that must stay valid JSON.

import type { JsonSpan } from '../../chat/json-text.ts'
import type { Finding } from '../../core/finding.ts'
import { atOnce, type Steps } from '../../core/steps.ts'

/** A run that leaves: a value that was put back is kept as the placeholder it stands for. */
export interface TextSpan extends JsonSpan {
  /** How it is written where the answer is kept; as `raw` where it is not said. */
  readonly logged?: string
  /** It has left before, and is read again for what comes behind it. */
  readonly released?: true
}

export const plainSpan = (text: string): JsonSpan => ({ kind: 'text', view: text, raw: text })
export const releasedSpan = (text: string): TextSpan => ({ ...plainSpan(text), released: true })

export function rawOf(spans: readonly JsonSpan[]): string {
  let raw = ''
  for (const span of spans) raw += span.raw
  return raw
}

/** What is replaced in one step: about a millisecond. */
const STEP_FINDINGS = 1024

const QUOTE: JsonSpan = { kind: 'structure', view: '"', raw: '"' }

/** How runs are written where the answer is kept. */
export function loggedOf(spans: readonly TextSpan[]): string {
  let text = ''
  for (const { logged, raw } of spans) text += logged ?? raw
  return text
}

export function viewOf(spans: readonly JsonSpan[]): string {
  let view = ''
  for (const span of spans) view += span.view
  return view
}

/**
 * Where in what is written the parts of what is said stand.
 * @param spans of what is said, in order, not overlapping, not empty
 */
export function rawRanges(
  spans: readonly JsonSpan[],
  ranges: readonly { readonly start: number; readonly end: number }[],
): { start: number; end: number }[] {
  let index = 0
  let viewStart = 0
  let rawStart = 0
  /** The run that says the character at an offset. */
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
    // An escape stands or falls whole; everything else is written as it is said.
    const start = seek(range.start)?.kind === 'atom' ? rawStart : rawStart + range.start - viewStart
    const last = seek(range.end - 1)
    const end = last?.kind === 'atom' ? rawStart + last.raw.length : rawStart + range.end - viewStart
    return { start, end }
  })
}

/** Runs in order, taken from the front by view offset (UTF-16, from the beginning of the text). */
export class TextSpanQueue {
  #spans: TextSpan[] = []
  /** Of the first run held: those before it have left. */
  #first = 0
  #start = 0

  /** View offset of the first run held. */
  get start(): number {
    return this.#start
  }

  get isEmpty(): boolean {
    return this.#first === this.#spans.length
  }

  /** What is said in all that is held. */
  get view(): string {
    return viewOf(this.#spans.slice(this.#first))
  }

  push(span: TextSpan): void {
    this.#spans.push(span)
  }

  /** Everything that ends at or before `offset`; a plain run is cut there, any other that goes on beyond it stays. */
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

  /** Everything that begins before `offset`; a plain run is cut there, any other leaves whole. */
  takeUntil(offset: number): TextSpan[] {
    let next = this.#first
    let end = this.#start
    while (next < this.#spans.length && end < offset) end += this.#spans[next++]!.view.length
    const taken = this.#spans.slice(this.#first, next)
    const last = taken.at(-1)
    if (last !== undefined && end > offset && last.kind === 'text') {
      const keep = last.view.length - (end - offset)
      const part = last.released === true ? releasedSpan : plainSpan
      taken[taken.length - 1] = part(last.view.slice(0, keep))
      this.#spans[--next] = part(last.view.slice(keep))
      end = offset
    }
    this.#first = next
    this.#start = end
    this.#forget()
    return taken
  }

  /** Lets go of runs that have left, once they are half of all: moving the rest for each that leaves is quadratic. */
  #forget(): void {
    if (2 * this.#first < this.#spans.length) return
    this.#spans = this.#spans.slice(this.#first)
    this.#first = 0
  }
}

/**
 * The runs with every finding's text replaced. Punctuation of the JSON around it stays; a number becomes a string.
 * @param base view offset of the first run, in the same count as the findings' offsets
 * @param findings in order, not overlapping
 */
export const replaceFindings = (
  spans: readonly JsonSpan[],
  base: number,
  findings: readonly Finding[],
  replacement: (finding: Finding, value: string) => string,
): JsonSpan[] => atOnce(replaceSteps(spans, base, findings, replacement))

/** As `replaceFindings`, in steps. */
export function* replaceSteps(
  spans: readonly JsonSpan[],
  base: number,
  findings: readonly Finding[],
  replacement: (finding: Finding, value: string) => string,
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
        replaced.push(at === start ? span : plainSpan(span.view.slice(at - start)))
        break
      }
      if (span.kind === 'text' && finding.start > at) {
        replaced.push(plainSpan(span.view.slice(at - start, finding.start - start)))
        at = finding.start
        continue
      }
      const value =
        finding === written ? '' : replacement(finding, view.slice(finding.start - base, finding.end - base))
      if (finding !== written && next % STEP_FINDINGS === STEP_FINDINGS - 1) yield
      written = finding
      // A number stands outside a JSON string; what takes its place must be one.
      if (span.kind === 'number') replaced.push(QUOTE, plainSpan(value), QUOTE)
      else replaced.push(plainSpan(value))
      if (span.kind !== 'text') break
      at = Math.min(end, finding.end)
    }
    start = end
  }
  return replaced
}
