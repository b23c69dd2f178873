// One segment while it is searched: the text with a little before it, what was found, the words before a place.

import type { Finding, PiiKind } from '../../../core/finding.ts'
import { isLetterBefore } from '../code-unit-classes.ts'
import { hasKind, type KindSet } from '../kinds.ts'
import type { NumberRuns } from '../number/run.ts'
import { ContextWords } from '../words/context.ts'
import { CONTEXT_CHARACTERS } from './segmenter.ts'

/** What the segments of one text share while they are searched, in order. */
export class SegmentSearch {
  readonly text: string
  /** Offset of `text` in what the findings are offsets of. */
  readonly base: number
  readonly kinds: KindSet
  readonly findings: Finding[]
  readonly words: ContextWords
  readonly runs: NumberRuns
  #windows: Map<RegExp, TestedWindow> | null = null

  /** @param runs a record that no other search is using */
  constructor(text: string, base: number, kinds: KindSet, findings: Finding[], runs: NumberRuns) {
    this.text = text
    this.base = base
    this.kinds = kinds
    this.findings = findings
    this.words = new ContextWords(text)
    this.runs = runs
  }

  /** Whether the stretch around a place has a match of a pattern: asked once a stretch. */
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

/** The last stretch that was asked about, counted in CONTEXT_CHARACTERS. */
interface TestedWindow {
  readonly index: number
  readonly hasMatch: boolean
}

export class Segment {
  /** Context and segment; nothing behind the segment's end may be looked at. */
  readonly text: string
  /** Of `text` in the text of the search. */
  readonly offset: number
  /** Where the segment begins in the text: no finding begins before. */
  readonly from: number
  readonly kinds: KindSet
  /** To be filled for every digit that may begin a number. */
  readonly runs: NumberRuns
  /** Up to here secrets have been looked for: one look a word. */
  tokenEnd = 0
  /** Up to here keys without a prefix have been looked for: one look a run of base64. */
  keyEnd = 0
  /** Up to here colons have been looked at: one look a run of hexadecimal digits and colons. */
  colonsEnd = 0
  readonly #search: SegmentSearch
  /** End of the last value, in the text. */
  #end: number
  /** Where was last asked for words right before, and the answer. */
  #askedAt = -1
  #isAfterLetter = false

  /** Offsets of the segment in the text of the search. */
  constructor(search: SegmentSearch, start: number, end: number) {
    const offset = Math.max(0, start - CONTEXT_CHARACTERS)
    this.text = search.text.slice(offset, end)
    this.from = start - offset
    this.kinds = search.kinds
    this.runs = search.runs
    this.runs.reset(this.text)
    this.#search = search
    this.offset = offset
    this.#end = this.from
  }

  /** End of the last value that was recognised, the segment's beginning if none was. */
  get end(): number {
    return this.#end
  }

  /**
   * Takes a value, offsets in `text`. Values come in order.
   * @returns whether it is one here: false if it begins in what was before; true also for a kind that is not looked for
   */
  add(kind: PiiKind, start: number, end: number): boolean {
    if (start < this.#end) return false
    this.#end = end
    if (hasKind(this.kinds, kind)) {
      const base = this.#search.base + this.offset
      this.#search.findings.push({ kind, start: base + start, end: base + end })
    }
    return true
  }

  /** The words before a place. */
  before(at: number): ContextWords {
    return this.#search.words.before(this.offset + at)
  }

  /** Whether what stands before the place, but for white space and punctuation, is a letter: it may be named. */
  isAfterLetter(at: number): boolean {
    if (at !== this.#askedAt) {
      this.#askedAt = at
      this.#isAfterLetter = isLetterBefore(this.text, at)
    }
    return this.#isAfterLetter
  }

  /**
   * A quick look before a pattern is tried on `windowBefore`: whether what it is made of stands around.
   * @returns false only if there is no match in the window
   */
  mentions(pattern: RegExp, at: number): boolean {
    return this.#search.mentions(pattern, this.offset + at)
  }

  /** The text before a place, for patterns that end there; small letters. */
  windowBefore(at: number, characters = CONTEXT_CHARACTERS): string {
    return this.text.slice(Math.max(0, at - characters), at).toLowerCase()
  }
}
