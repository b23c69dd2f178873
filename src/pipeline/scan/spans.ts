// Text on its way through a scan, as runs: what it says (view) beside how it is written (raw). Plain text is one
// run with both alike; JSON inside a string has escapes, numbers and punctuation that must stay valid JSON.

import type { JsonRun } from '../../chat/json-text.ts'
import type { Finding } from '../../core/finding.ts'
import { atOnce, type Steps } from '../../core/steps.ts'

/** A run that leaves: a value that was put back is kept as the placeholder it stands for. */
export interface TextSpan extends JsonRun {
  /** How it is written where the answer is kept; as `raw` where it is not said. */
  readonly kept?: string
  /** It has left before, and is read again for what comes behind it. */
  readonly told?: true
}

export const plainRun = (text: string): JsonRun => ({ kind: 'text', view: text, raw: text })
export const toldRun = (text: string): TextSpan => ({ ...plainRun(text), told: true })

export function rawOf(runs: readonly JsonRun[]): string {
  let raw = ''
  for (const run of runs) raw += run.raw
  return raw
}

/** What is replaced in one step: about a millisecond. */
const STEP_FINDINGS = 1024

const QUOTE: JsonRun = { kind: 'structure', view: '"', raw: '"' }

/** How runs are written where the answer is kept. */
export function keptOf(runs: readonly TextSpan[]): string {
  let text = ''
  for (const { kept, raw } of runs) text += kept ?? raw
  return text
}

export function viewOf(runs: readonly JsonRun[]): string {
  let view = ''
  for (const run of runs) view += run.view
  return view
}

/**
 * Where in what is written the parts of what is said stand.
 * @param spans of what is said, in order, not overlapping, not empty
 */
export function writtenSpans(
  runs: readonly JsonRun[],
  spans: readonly { readonly start: number; readonly end: number }[],
): { start: number; end: number }[] {
  let index = 0
  let viewStart = 0
  let rawStart = 0
  /** The run that says the character at an offset. */
  const seek = (offset: number): JsonRun | undefined => {
    let run = runs[index]
    while (run !== undefined && viewStart + run.view.length <= offset) {
      viewStart += run.view.length
      rawStart += run.raw.length
      run = runs[++index]
    }
    return run
  }
  return spans.map((span) => {
    // An escape stands or falls whole; everything else is written as it is said.
    const start = seek(span.start)?.kind === 'atom' ? rawStart : rawStart + span.start - viewStart
    const last = seek(span.end - 1)
    const end = last?.kind === 'atom' ? rawStart + last.raw.length : rawStart + span.end - viewStart
    return { start, end }
  })
}

/** Runs in order, taken from the front by view offset (UTF-16, from the beginning of the text). */
export class TextSpanQueue {
  #runs: TextSpan[] = []
  /** Of the first run held: those before it have left. */
  #first = 0
  #start = 0

  /** View offset of the first run held. */
  get start(): number {
    return this.#start
  }

  get isEmpty(): boolean {
    return this.#first === this.#runs.length
  }

  /** What is said in all that is held. */
  get view(): string {
    return viewOf(this.#runs.slice(this.#first))
  }

  push(run: TextSpan): void {
    this.#runs.push(run)
  }

  /** Everything that ends at or before `offset`; a plain run is cut there, any other that goes on beyond it stays. */
  takeBefore(offset: number): TextSpan[] {
    let at = this.#first
    let end = this.#start
    for (; at < this.#runs.length; at++) {
      const run = this.#runs[at]!
      if (end + run.view.length > offset) break
      end += run.view.length
    }
    const next = this.#runs[at]
    return next?.kind === 'text' ? this.takeUntil(offset) : this.takeUntil(end)
  }

  /** Everything that begins before `offset`; a plain run is cut there, any other leaves whole. */
  takeUntil(offset: number): TextSpan[] {
    let next = this.#first
    let end = this.#start
    while (next < this.#runs.length && end < offset) end += this.#runs[next++]!.view.length
    const taken = this.#runs.slice(this.#first, next)
    const last = taken.at(-1)
    if (last !== undefined && end > offset && last.kind === 'text') {
      const keep = last.view.length - (end - offset)
      const part = last.told === true ? toldRun : plainRun
      taken[taken.length - 1] = part(last.view.slice(0, keep))
      this.#runs[--next] = part(last.view.slice(keep))
      end = offset
    }
    this.#first = next
    this.#start = end
    this.#forget()
    return taken
  }

  /** Lets go of runs that have left, once they are half of all: moving the rest for each that leaves is quadratic. */
  #forget(): void {
    if (2 * this.#first < this.#runs.length) return
    this.#runs = this.#runs.slice(this.#first)
    this.#first = 0
  }
}

/**
 * The runs with every finding's text replaced. Punctuation of the JSON around it stays; a number becomes a string.
 * @param base view offset of the first run, in the same count as the findings' offsets
 * @param findings in order, not overlapping
 */
export const replaceFindings = (
  runs: readonly JsonRun[],
  base: number,
  findings: readonly Finding[],
  replacement: (finding: Finding, value: string) => string,
): JsonRun[] => atOnce(replaceSteps(runs, base, findings, replacement))

/** As `replaceFindings`, in steps. */
export function* replaceSteps(
  runs: readonly JsonRun[],
  base: number,
  findings: readonly Finding[],
  replacement: (finding: Finding, value: string) => string,
): Steps<JsonRun[]> {
  if (findings.length === 0) return runs as JsonRun[]
  const view = viewOf(runs)
  const replaced: JsonRun[] = []
  let next = 0
  let written: Finding | null = null
  let start = base
  for (const run of runs) {
    const end = start + run.view.length
    let at = start
    while (at < end) {
      while (next < findings.length && findings[next]!.end <= at) next++
      const finding = findings[next]
      if (run.kind === 'structure' || finding === undefined || finding.start >= end) {
        replaced.push(at === start ? run : plainRun(run.view.slice(at - start)))
        break
      }
      if (run.kind === 'text' && finding.start > at) {
        replaced.push(plainRun(run.view.slice(at - start, finding.start - start)))
        at = finding.start
        continue
      }
      const value =
        finding === written ? '' : replacement(finding, view.slice(finding.start - base, finding.end - base))
      if (finding !== written && next % STEP_FINDINGS === STEP_FINDINGS - 1) yield
      written = finding
      // A number stands outside a JSON string; what takes its place must be one.
      if (run.kind === 'number') replaced.push(QUOTE, plainRun(value), QUOTE)
      else replaced.push(plainRun(value))
      if (run.kind !== 'text') break
      at = Math.min(end, finding.end)
    }
    start = end
  }
  return replaced
}
