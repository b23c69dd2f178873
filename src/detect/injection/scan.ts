// One pass over a text with a table of weights: the sum over the whole and the best windows, in bounded memory.

import { CharacterClasses } from './classes.ts'
import { FeatureReader, normalised } from './features.ts'
import { afterCharacter, createFolded, fold, pieceEnd } from './normalise.ts'
import { createTokens } from './token-list.ts'
import { Tokeniser } from './tokens.ts'

/** Tokens in a window: a sentence, and a paragraph. */
export const WINDOW_TOKENS = [16, 48] as const
/** Windows end at every so many tokens. */
const STRIDE_TOKENS = 2
/** Cumulative sums that are kept: a power of two above the longest window. */
const RING = 64
const RING_MASK = RING - 1

/** The normalised sum over a stretch of text, and where it is. */
export interface Stretch {
  /** Dimensionless, unbounded; the bias is not in it. */
  readonly value: number
  /** UTF-16 offset in the scanned text. */
  readonly start: number
  /** UTF-16 offset after the last character. */
  readonly end: number
}

export interface Scan {
  readonly whole: Stretch
  /** The best of all windows; the whole text where it is shorter than a window. */
  readonly window: Stretch
  readonly tokens: number
  /** Words in which a letter follows a digit: enough of them call for the leet view. */
  readonly mixedWords: number
}

/** Holds the buffers; one text at a time, never re-entered. Time is linear in the text, memory constant. */
export class Scanner {
  #weights!: Int8Array
  readonly #folded = createFolded()
  readonly #tokens = createTokens(this.#folded.units.length)
  readonly #tokeniser = new Tokeniser(new CharacterClasses())
  readonly #features = new FeatureReader()
  readonly #sums = new Float64Array(RING)
  readonly #counts = new Float64Array(RING)
  readonly #starts = new Float64Array(RING)
  #sum = 0
  #count = 0
  #read = 0
  #best = -Infinity
  #bestStart = 0
  #bestLast = 0

  /** Scans with a table of BUCKETS weights. In the leet view digits and signs inside words are read as letters. */
  scan(text: string, weights: Int8Array, leetView: boolean): Scan {
    this.#weights = weights
    this.#reset()
    let mixedWords = 0
    let first = -1
    let last = 0
    for (let start = 0; start < text.length; ) {
      const end = pieceEnd(text, start)
      fold(text, start, end, this.#folded)
      this.#tokeniser.tokenise(this.#folded, leetView, this.#tokens)
      mixedWords += this.#tokens.mixedWords
      this.#readTokens()
      if (this.#tokens.length > 0) {
        if (first < 0) first = this.#tokens.starts[0] as number
        last = this.#tokens.lasts[this.#tokens.length - 1] as number
      }
      start = end
    }
    if (this.#read === 0) return EMPTY
    const whole = {
      value: normalised(this.#sum, this.#count),
      start: first,
      end: afterCharacter(text, last),
    }
    this.#closeWindows(last)
    const window = { value: this.#best, start: this.#bestStart, end: afterCharacter(text, this.#bestLast) }
    return { whole, window, tokens: this.#read, mixedWords }
  }

  #reset(): void {
    this.#features.reset()
    this.#sums[0] = 0
    this.#counts[0] = 0
    this.#sum = 0
    this.#count = 0
    this.#read = 0
    this.#best = -Infinity
  }

  #readTokens(): void {
    const tokens = this.#tokens
    const features = this.#features
    const weights = this.#weights
    const { buckets } = features
    for (let index = 0; index < tokens.length; index++) {
      const count = features.read(tokens, index)
      let sum = 0
      for (let at = 0; at < count; at++) sum += weights[buckets[at] as number] as number
      this.#starts[this.#read & RING_MASK] = tokens.starts[index] as number
      this.#sum += sum
      this.#count += count
      const read = ++this.#read
      this.#sums[read & RING_MASK] = this.#sum
      this.#counts[read & RING_MASK] = this.#count
      if (read % STRIDE_TOKENS === 0) this.#tryWindows(tokens.lasts[index] as number)
    }
  }

  #tryWindows(last: number): void {
    for (const size of WINDOW_TOKENS) if (this.#read >= size) this.#tryWindow(size, last)
  }

  #tryWindow(size: number, last: number): void {
    const from = (this.#read - size) & RING_MASK
    const value = normalised(
      this.#sum - (this.#sums[from] as number),
      this.#count - (this.#counts[from] as number),
    )
    if (value <= this.#best) return
    this.#best = value
    this.#bestStart = this.#starts[from] as number
    this.#bestLast = last
  }

  /** The last windows end with the text, wherever the stride left off; short texts are windows themselves. */
  #closeWindows(last: number): void {
    for (const size of WINDOW_TOKENS) this.#tryWindow(Math.min(size, this.#read), last)
  }
}

const EMPTY: Scan = {
  whole: { value: -Infinity, start: 0, end: 0 },
  window: { value: -Infinity, start: 0, end: 0 },
  tokens: 0,
  mixedWords: 0,
}
