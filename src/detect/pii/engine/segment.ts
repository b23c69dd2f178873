// Holds the state of one segment during a scan: its text with the context before it, the findings,
// and the words before an offset.

import type { BuiltInKind, Finding } from '../../../core/finding.ts'
import { isLetterBefore } from '../code-unit-classes.ts'
import { hasKind, type KindSet } from '../kinds.ts'
import type { NumberRuns } from '../number/run.ts'
import { ContextWords } from '../words/context.ts'
import { type Bounds, CONTEXT_CHARACTERS } from './segmenter.ts'

/** What the segments of one text share while they are scanned in order. */
export class SegmentSearch {
  readonly text: string
  /** Added to an offset in `text` to get the offset of a finding. */
  readonly base: number
  readonly kinds: KindSet
  readonly findings: Finding[]
  words: ContextWords
  readonly runs: NumberRuns
  #windows: Map<RegExp, TestedWindow> | null = null

  /** @param runs must not be in use by another search */
  constructor(text: string, base: number, kinds: KindSet, findings: Finding[], runs: NumberRuns) {
    this.text = text
    this.base = base
    this.kinds = kinds
    this.findings = findings
    this.words = new ContextWords(text)
    this.runs = runs
  }

  /** Prepares for offsets before the last one that was asked for. */
  rewind(): void {
    this.words = new ContextWords(this.text)
  }

  /**
   * Reports whether the window around an offset, or the one before it, matches a pattern. Each
   * window is tested once.
   */
  mentions(pattern: RegExp, at: number): boolean {
    const index = Math.floor(at / CONTEXT_CHARACTERS)
    this.#windows ??= new Map()
    const known = this.#windows.get(pattern)
    if (known?.index === index) return known.hasMatch
    const start = index * CONTEXT_CHARACTERS
    const hasMatch = pattern.test(
      this.text.slice(Math.max(0, start - CONTEXT_CHARACTERS), start + CONTEXT_CHARACTERS),
    )
    this.#windows.set(pattern, { index, hasMatch })
    return hasMatch
  }
}

/** The last window that a pattern was tested on; `index` counts units of CONTEXT_CHARACTERS. */
interface TestedWindow {
  readonly index: number
  readonly hasMatch: boolean
}

export class Segment {
  /** Context, segment and what is read after it, so a detector cannot read further. */
  readonly text: string
  /** Offset of `text` in the text of the search. */
  readonly offset: number
  /** Where the segment starts in `text`. No finding starts before. */
  readonly from: number
  /** Whether the text of a number may continue where `text` ends. */
  readonly continues: boolean
  /** Where no finding starts any more: later text decides those. */
  readonly #until: number
  readonly kinds: KindSet
  /** Refilled at every digit that may start a number. */
  readonly runs: NumberRuns
  /** End of the last token examined for secrets; each word is examined once. */
  tokenEnd = 0
  /**
   * End of the last run of base64 examined for keys without a prefix; each run is examined once.
   */
  keyEnd = 0
  /** End of the last run of hexadecimal digits and colons examined; each run is examined once. */
  colonsEnd = 0
  readonly #search: SegmentSearch
  /** End of the last value, in `text`. */
  #end: number
  /** The same, of the values that start before #until; the start of the row without one. */
  #last: number
  #rowStart: number
  /** The last offset asked for in `isAfterLetter`, and the answer. */
  #askedAt = -1
  #isAfterLetter = false

  /**
   * Offsets are those of the text of the search.
   * @param bounds see `Bounds`
   */
  constructor(search: SegmentSearch, { start, end, seen, rowStart }: Bounds) {
    const offset = Math.max(0, start - CONTEXT_CHARACTERS)
    this.text = search.text.slice(offset, seen)
    this.from = start - offset
    this.#until = end - offset
    this.kinds = search.kinds
    this.runs = search.runs
    this.runs.reset(this.text)
    this.#search = search
    this.offset = offset
    this.#end = this.from
    this.#last = rowStart - offset
    this.#rowStart = Math.max(0, rowStart - offset)
    this.continues = end < seen
  }

  /** End of the last recognised value, or the start of the segment. */
  get end(): number {
    return this.#end
  }

  /** End of the last value that belongs to the segment, or `Bounds.rowStart`. */
  get last(): number {
    return this.offset + this.#last
  }

  /** Where the text starts that may form a row with a number: after the last value. */
  get rowStart(): number {
    return this.#rowStart
  }

  /**
   * Records a value, offsets in `text`. Values come in order.
   * @returns false if it overlaps the value before; true otherwise, also for a kind that is not
   * enabled
   */
  add(kind: BuiltInKind, start: number, end: number): boolean {
    if (start < this.#end) return false
    this.#end = end
    this.#rowStart = end
    if (start >= this.#until) return true
    this.#last = end
    if (hasKind(this.kinds, kind)) {
      const base = this.#search.base + this.offset
      this.#search.findings.push({ kind, start: base + start, end: base + end })
    }
    return true
  }

  /** The context words before an offset. */
  before(at: number): ContextWords {
    return this.#search.words.before(this.offset + at)
  }

  /**
   * Reports whether a letter precedes, apart from white space and punctuation: the number may have
   * a label.
   */
  isAfterLetter(at: number): boolean {
    if (at !== this.#askedAt) {
      this.#askedAt = at
      this.#isAfterLetter = isLetterBefore(this.text, at)
    }
    return this.#isAfterLetter
  }

  /**
   * Prefilter for a pattern on `windowBefore`.
   * @returns false only if the window holds no match
   */
  mentions(pattern: RegExp, at: number): boolean {
    return this.#search.mentions(pattern, this.offset + at)
  }

  /** The text before an offset in lower case, for patterns that end there. */
  windowBefore(at: number, characters = CONTEXT_CHARACTERS): string {
    return this.text.slice(Math.max(0, at - characters), at).toLowerCase()
  }
}
