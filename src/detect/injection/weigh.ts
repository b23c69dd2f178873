// One pass over a text with a table of weights: the sum over the whole and the best windows, in bounded memory.

import type { Steps } from '../../core/steps.ts'
import { CharacterClasses } from './character-classes.ts'
import { ContextReader, normalised, WINDOW_DIVISORS } from './features.ts'
import { afterCharacter, createFolded, type Folded, fold, originOf, pieceEnd } from './folded-text.ts'
import { LeetView } from './leet-view.ts'
import type { Lexicon } from './lexicon.ts'
import {
  COLUMN_FIRST,
  COLUMN_LAST,
  COLUMN_TOTAL,
  createTokens,
  ROW_COLUMNS,
  TOTAL_COUNT_MASK,
  TOTAL_SUM_SHIFT,
  type Tokens,
} from './token-list.ts'
import { Tokeniser } from './tokens.ts'

/** One word in fifty may be a part number; two such words call for a second look as leet. */
const LEET_WORDS_MIN = 2
/** Tokens in a window: a sentence, and a paragraph. */
const SENTENCE_TOKENS = 16
const PARAGRAPH_TOKENS = 48
export const WINDOW_TOKENS = [SENTENCE_TOKENS, PARAGRAPH_TOKENS] as const
/** Windows end at every so many tokens. */
const STRIDE_TOKENS = 2
/** Cumulative sums that are kept: a power of two above the longest window. */
const RING = 64
const RING_MASK = RING - 1
/** More than all that rounding can make of a sum, and less than sums differ by. */
const TRIFLE = 1e-3

/** The normalised sum over a stretch of text, and where it is. */
export interface WeighedSpan {
  /** Dimensionless, unbounded; the bias is not in it. */
  readonly value: number
  /** UTF-16 offset in the scanned text. */
  readonly start: number
  /** UTF-16 offset after the last character. */
  readonly end: number
}

/** What was found in one view of a text. */
export interface Scan {
  readonly whole: WeighedSpan
  /** The best of all windows; the whole text where it is shorter than a window. */
  readonly window: WeighedSpan
  readonly tokens: number
}

export interface Scans {
  readonly plain: Scan
  /** With digits and signs inside words read as letters; null where too few words call for it. */
  readonly leet: Scan | null
}

/** Holds the buffers, which are used anew for each piece of a text. Time is linear in the text, memory constant. */
export class Scanner {
  readonly #folded = createFolded()
  readonly #tokens = createTokens(this.#folded.units.length)
  readonly #tokeniser = new Tokeniser(new CharacterClasses())
  readonly #leetView = new LeetView(this.#tokeniser)
  /** Of texts that are over: what is kept of one is used again for another. */
  readonly #views: Views[] = [];

  /** Scans with the weights of a lexicon, a piece a step. */
  *scan(text: string, lexicon: Lexicon): Steps<Scans> {
    const views = this.#views.pop() ?? new Views()
    views.reset()
    let mixedWords = 0
    for (let start = 0; start < text.length; ) {
      if (start > 0) yield
      const end = pieceEnd(text, start)
      fold(text, start, end, this.#folded)
      this.#tokeniser.tokenise(this.#folded, false, lexicon, this.#tokens)
      mixedWords += this.#tokens.mixedWords
      // Whether there are enough such words is known at the end of the text.
      if (end < text.length || mixedWords >= LEET_WORDS_MIN) {
        if (this.#tokens.rewritten) fold(text, start, end, this.#folded)
        this.#readLeet(views, lexicon)
      }
      views.plain.add(this.#tokens, 0, this.#folded, lexicon)
      start = end
    }
    const plain = views.plain.close(text)
    const leet = mixedWords >= LEET_WORDS_MIN ? views.leet.close(text) : null
    this.#views.push(views)
    return { plain, leet }
  }

  #readLeet(views: Views, lexicon: Lexicon): void {
    const folded = this.#folded
    if (views.alike) {
      const { units, length } = folded
      if (this.#tokens.leetWords === 0 && this.#tokeniser.leetSign(units, 0, length) === length) return
      views.alike = false
      views.leet.copy(views.plain)
    }
    this.#leetView.read(folded, this.#tokens, lexicon, (tokens, from) =>
      views.leet.add(tokens, from, folded, lexicon),
    )
  }
}

/** What is kept of a text from one piece to the next. */
class Views {
  readonly plain = new Sums()
  readonly leet = new Sums()
  /** Whether both are the same so far. */
  alike = true

  reset(): void {
    this.plain.reset()
    this.alike = true
  }
}

/** The sums over one view of a text, piece by piece. */
class Sums {
  readonly #context = new ContextReader()
  /** Sum and count of features up to each of the last tokens, modulo 2 ** 32: their differences are exact. */
  readonly #ring = new Int32Array(2 * RING)
  readonly #starts = new Int32Array(RING)
  #sum = 0
  #count = 0
  #read = 0
  #first = 0
  #last = 0
  #best = -Infinity
  #bestStart = 0
  #bestLast = 0

  reset(): void {
    this.#context.reset()
    this.#ring[0] = 0
    this.#ring[1] = 0
    this.#sum = 0
    this.#count = 0
    this.#read = 0
    this.#best = -Infinity
  }

  /** Goes on where another one is. */
  copy(other: Sums): void {
    this.#context.copy(other.#context)
    this.#ring.set(other.#ring)
    this.#starts.set(other.#starts)
    this.#sum = other.#sum
    this.#count = other.#count
    this.#read = other.#read
    this.#first = other.#first
    this.#last = other.#last
    this.#best = other.#best
    this.#bestStart = other.#bestStart
    this.#bestLast = other.#bestLast
  }

  /** Takes in the tokens from an index on. */
  add(tokens: Tokens, from: number, folded: Folded, lexicon: Lexicon): void {
    const { rows, length } = tokens
    if (length === from) return
    this.#context.read(tokens, from, lexicon.weights, null)
    if (this.#read === 0) this.#first = originOf(folded, rows[from * ROW_COLUMNS + COLUMN_FIRST] as number)
    this.#last = originOf(folded, rows[(length - 1) * ROW_COLUMNS + COLUMN_LAST] as number)
    this.#tryWindows(tokens, from, folded)
    for (let index = Math.max(from, length - PARAGRAPH_TOKENS); index < length; index++) {
      const place = (this.#read - length + index) & RING_MASK
      this.#starts[place] = originOf(folded, rows[index * ROW_COLUMNS + COLUMN_FIRST] as number)
    }
  }

  /** What was found in the text that ends here. */
  close(text: string): Scan {
    if (this.#read === 0) return EMPTY
    const whole = {
      value: normalised(this.#sum, this.#count),
      start: this.#first,
      end: afterCharacter(text, this.#last),
    }
    this.#closeWindows()
    const window = { value: this.#best, start: this.#bestStart, end: afterCharacter(text, this.#bestLast) }
    return { whole, window, tokens: this.#read }
  }

  /** Adds up tokens and tries the windows that end in them. */
  #tryWindows(tokens: Tokens, from: number, folded: Folded): void {
    const { rows, length } = tokens
    const ring = this.#ring
    const divisors = WINDOW_DIVISORS
    const end = length * ROW_COLUMNS
    let read = this.#read
    const sumBefore = ring[(read & RING_MASK) * 2] as number
    const countBefore = ring[(read & RING_MASK) * 2 + 1] as number
    let sum = sumBefore
    let count = countBefore
    for (let row = from * ROW_COLUMNS; row < end; row += ROW_COLUMNS) {
      const total = rows[row + COLUMN_TOTAL] as number
      sum = (sum + (total >> TOTAL_SUM_SHIFT)) | 0
      count = (count + (total & TOTAL_COUNT_MASK)) | 0
      read++
      const at = (read & RING_MASK) * 2
      ring[at] = sum
      ring[at + 1] = count
      if (read % STRIDE_TOKENS !== 0 || read < SENTENCE_TOKENS) continue
      const sentence = ((read - SENTENCE_TOKENS) & RING_MASK) * 2
      const ofSentence = (sum - (ring[sentence] as number)) | 0
      const countOfSentence = (count - (ring[sentence + 1] as number)) | 0
      if (ofSentence > this.#best * (divisors[countOfSentence] as number) - TRIFLE) {
        this.#tryWindow(SENTENCE_TOKENS, ofSentence, countOfSentence, tokens, row, from, read, folded)
      }
      if (read < PARAGRAPH_TOKENS) continue
      const paragraph = ((read - PARAGRAPH_TOKENS) & RING_MASK) * 2
      const ofParagraph = (sum - (ring[paragraph] as number)) | 0
      const countOfParagraph = (count - (ring[paragraph + 1] as number)) | 0
      if (ofParagraph > this.#best * (divisors[countOfParagraph] as number) - TRIFLE) {
        this.#tryWindow(PARAGRAPH_TOKENS, ofParagraph, countOfParagraph, tokens, row, from, read, folded)
      }
    }
    this.#sum += (sum - sumBefore) | 0
    this.#count += (count - countBefore) | 0
    this.#read = read
  }

  /** Keeps the window that ends with the token at `row` if it is the best so far. */
  #tryWindow(
    size: number,
    sum: number,
    count: number,
    { rows }: Tokens,
    row: number,
    from: number,
    read: number,
    folded: Folded,
  ): void {
    const value = normalised(sum, count)
    if (value <= this.#best) return
    this.#best = value
    const first = row - (size - 1) * ROW_COLUMNS
    // Where tokens of pieces before began is kept.
    this.#bestStart =
      first >= from * ROW_COLUMNS
        ? originOf(folded, rows[first + COLUMN_FIRST] as number)
        : (this.#starts[(read - size) & RING_MASK] as number)
    this.#bestLast = originOf(folded, rows[row + COLUMN_LAST] as number)
  }

  /** The last windows end with the text, wherever the stride left off; short texts are windows themselves. */
  #closeWindows(): void {
    const ring = this.#ring
    const end = (this.#read & RING_MASK) * 2
    for (const size of WINDOW_TOKENS) {
      const from = (this.#read - Math.min(size, this.#read)) & RING_MASK
      const sum = ((ring[end] as number) - (ring[2 * from] as number)) | 0
      const count = ((ring[end + 1] as number) - (ring[2 * from + 1] as number)) | 0
      const value = normalised(sum, count)
      if (value <= this.#best) continue
      this.#best = value
      this.#bestStart = this.#starts[from] as number
      this.#bestLast = this.#last
    }
  }
}

const EMPTY: Scan = {
  whole: { value: -Infinity, start: 0, end: 0 },
  window: { value: -Infinity, start: 0, end: 0 },
  tokens: 0,
}
