// One segment while it is searched: the text with a little before it, what was found, the words before a place.

import type { Finding, PiiKind } from '../../core/finding.ts'
import { isLetter, isUnspaced } from './characters.ts'
import { Context } from './context.ts'
import { CONTEXT_CHARACTERS } from './cuts.ts'
import { hasKind, type KindSet } from './kinds.ts'

/** Of a place that has numbers alone before it. */
const NO_WORDS = new Context('', 0)
const isOfWord = (code: number): boolean => isLetter(code) || isUnspaced(code)

export class Segment {
  /** Context and segment; nothing behind the segment's end may be looked at. */
  readonly text: string
  /** Where the segment begins in the text: no finding begins before. */
  readonly from: number
  readonly kinds: KindSet
  /** Up to here secrets have been looked for: one look a word. */
  tokenEnd = 0
  /** Up to here colons have been looked at: one look a run of hexadecimal digits and colons. */
  colonsEnd = 0
  readonly #base: number
  readonly #findings: Finding[]
  /** End of the last value, in the text. */
  #end: number
  #context: Context | null = null
  #letterEnd = 0
  #lettersKnown = 0
  readonly #mentioned = new Map<RegExp, boolean>()

  /** @param base offset of `text` in what the findings are offsets of */
  constructor(text: string, from: number, base: number, kinds: KindSet, findings: Finding[]) {
    this.text = text
    this.from = from
    this.kinds = kinds
    this.#base = base
    this.#findings = findings
    this.#end = from
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
    if (hasKind(this.kinds, kind))
      this.#findings.push({ kind, start: this.#base + start, end: this.#base + end })
    return true
  }

  /** The words before a place. */
  before(at: number): Context {
    if (this.#context?.at === at) return this.#context
    if (at - this.#lastLetterBefore(at) >= CONTEXT_CHARACTERS) return NO_WORDS
    this.#context = new Context(this.text, at, this.#context)
    return this.#context
  }

  /** End of the last letter before a place; remembered, as in tables of numbers every number asks. */
  #lastLetterBefore(at: number): number {
    const known = at >= this.#lettersKnown ? this.#lettersKnown : 0
    let end = at
    while (end > known && !isOfWord(this.text.charCodeAt(end - 1))) end--
    this.#letterEnd = end > known || known === 0 ? end : this.#letterEnd
    this.#lettersKnown = at
    return this.#letterEnd
  }

  /** Whether a pattern occurs anywhere in context and segment: asked once, remembered. */
  mentions(pattern: RegExp): boolean {
    let known = this.#mentioned.get(pattern)
    if (known === undefined) {
      known = pattern.test(this.text)
      this.#mentioned.set(pattern, known)
    }
    return known
  }

  /** The text before a place, for patterns that end there; small letters. */
  windowBefore(at: number, characters = CONTEXT_CHARACTERS): string {
    return this.text.slice(Math.max(0, at - characters), at).toLowerCase()
  }
}
