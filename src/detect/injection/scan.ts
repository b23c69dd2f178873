// One pass over a text with a table of weights: the sum over the whole and the best windows, in bounded memory.

import { CharacterClasses } from './classes.ts'
import { ContextReader, normalised } from './features.ts'
import type { Lexicon } from './lexicon.ts'
import { afterCharacter, createFolded, fold, originOf, pieceEnd } from './normalise.ts'
import { createTokens, type TOKEN, type TRAIT } from './token-list.ts'
import { Tokeniser } from './tokens.ts'

/** Tokens in a window: a sentence, and a paragraph. */
const SENTENCE_TOKENS = 16
const PARAGRAPH_TOKENS = 48
export const WINDOW_TOKENS = [SENTENCE_TOKENS, PARAGRAPH_TOKENS] as const
/** Windows end at every so many tokens. */
const STRIDE_TOKENS = 2
/** Cumulative sums that are kept: a power of two above the longest window. */
const RING = 64
const RING_MASK = RING - 1

// Copies, kept the same by their types: constants of this module are part of the machine code, those of others are fetched.
const SUM: typeof TOKEN.sum = 1
const TRAITS: typeof TOKEN.traits = 2
const FIRST: typeof TOKEN.first = 3
const LAST: typeof TOKEN.last = 4
const COLUMNS: typeof TOKEN.columns = 8
const COUNT_SHIFT: typeof TRAIT.countShift = 8

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
  readonly #folded = createFolded()
  readonly #tokens = createTokens(this.#folded.units.length)
  readonly #tokeniser = new Tokeniser(new CharacterClasses())
  readonly #context = new ContextReader()
  readonly #sums = new Float64Array(RING)
  readonly #counts = new Int32Array(RING)
  readonly #starts = new Int32Array(RING)
  #sum = 0
  #count = 0
  #read = 0
  #best = -Infinity
  #bestStart = 0
  #bestLast = 0

  /** Scans with the weights of a lexicon. In the leet view digits and signs inside words are read as letters. */
  scan(text: string, lexicon: Lexicon, leetView: boolean): Scan {
    this.#reset()
    let mixedWords = 0
    let first = -1
    let last = 0
    for (let start = 0; start < text.length; ) {
      const end = pieceEnd(text, start)
      fold(text, start, end, this.#folded)
      this.#tokeniser.tokenise(this.#folded, leetView, lexicon, this.#tokens)
      mixedWords += this.#tokens.mixedWords
      this.#context.read(this.#tokens, lexicon.weights, null)
      this.#tryWindows()
      const { length, rows } = this.#tokens
      if (length > 0) {
        if (first < 0) first = originOf(this.#folded, rows[FIRST] as number)
        last = originOf(this.#folded, rows[(length - 1) * COLUMNS + LAST] as number)
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
    this.#context.reset()
    this.#sums[0] = 0
    this.#counts[0] = 0
    this.#sum = 0
    this.#count = 0
    this.#read = 0
    this.#best = -Infinity
  }

  /** Adds up the tokens of a piece and tries the windows that end in it. */
  #tryWindows(): void {
    const { rows, length } = this.#tokens
    const { plain, base, origins } = this.#folded
    const sums = this.#sums
    const counts = this.#counts
    const starts = this.#starts
    let sum = this.#sum
    let count = this.#count
    let read = this.#read
    let best = this.#best
    for (let row = 0; row < length * COLUMNS; row += COLUMNS) {
      const first = rows[row + FIRST] as number
      starts[read & RING_MASK] = plain ? base + first : (origins[first] as number)
      sum += rows[row + SUM] as number
      count += (rows[row + TRAITS] as number) >> COUNT_SHIFT
      read++
      sums[read & RING_MASK] = sum
      counts[read & RING_MASK] = count
      if (read % STRIDE_TOKENS !== 0 || read < SENTENCE_TOKENS) continue
      let from = (read - SENTENCE_TOKENS) & RING_MASK
      let value = normalised(sum - (sums[from] as number), count - (counts[from] as number))
      if (value > best) {
        best = value
        this.#keep(from, originOf(this.#folded, rows[row + LAST] as number))
      }
      if (read < PARAGRAPH_TOKENS) continue
      from = (read - PARAGRAPH_TOKENS) & RING_MASK
      value = normalised(sum - (sums[from] as number), count - (counts[from] as number))
      if (value > best) {
        best = value
        this.#keep(from, originOf(this.#folded, rows[row + LAST] as number))
      }
    }
    this.#sum = sum
    this.#count = count
    this.#read = read
    this.#best = best
  }

  /** Notes where the best window is: from the token at this place of the rings to the one that begins at `last`. */
  #keep(from: number, last: number): void {
    this.#bestStart = this.#starts[from] as number
    this.#bestLast = last
  }

  /** The last windows end with the text, wherever the stride left off; short texts are windows themselves. */
  #closeWindows(last: number): void {
    for (const size of WINDOW_TOKENS) {
      const from = (this.#read - Math.min(size, this.#read)) & RING_MASK
      const sum = this.#sum - (this.#sums[from] as number)
      const value = normalised(sum, this.#count - (this.#counts[from] as number))
      if (value <= this.#best) continue
      this.#best = value
      this.#keep(from, last)
    }
  }
}

const EMPTY: Scan = {
  whole: { value: -Infinity, start: 0, end: 0 },
  window: { value: -Infinity, start: 0, end: 0 },
  tokens: 0,
  mixedWords: 0,
}
