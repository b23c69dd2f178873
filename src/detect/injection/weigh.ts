// Adds up the weights of a text's features in one pass: over the whole text and over its best
// window, in bounded memory.

import type { Steps } from '../../core/steps.ts'
import { CharacterClasses } from './character-classes.ts'
import { ContextReader, normalisedSum, WINDOW_DIVISORS } from './features.ts'
import {
  characterEnd,
  createFoldedText,
  type FoldedText,
  foldPiece,
  originOf,
  pieceEnd,
} from './folded-text.ts'
import { LeetView } from './leet-view.ts'
import type { Lexicon } from './lexicon.ts'
import {
  COLUMN_FIRST,
  COLUMN_LAST,
  COLUMN_TOTAL,
  createTokenList,
  ROW_COLUMNS,
  TOTAL_COUNT_MASK,
  TOTAL_SUM_SHIFT,
  type TokenList,
} from './token-list.ts'
import { Tokeniser } from './tokens.ts'

/**
 * Words that mix digits and letters before the text is also read as leet. One word in fifty may be
 * a part number, so a single one does not count.
 */
const LEET_WORDS_MIN = 2
/** Sizes of the windows, in tokens: a sentence and a paragraph. */
const SENTENCE_TOKENS = 16
const PARAGRAPH_TOKENS = 48
export const WINDOW_TOKENS = [SENTENCE_TOKENS, PARAGRAPH_TOKENS] as const
/** A window ends at every second token. */
const STRIDE_TOKENS = 2
/** Cumulative sums that are kept: a power of two larger than the longest window. */
const RING = 64
const RING_MASK = RING - 1
/** Larger than any rounding error of a sum, smaller than the difference of two sums. */
const ROUNDING_ERROR_MAX = 1e-3

/** The normalised sum over a span of the text. */
export interface WeighedSpan {
  /** Dimensionless and unbounded. Does not include the bias. */
  readonly value: number
  /** UTF-16 offset in the weighed text. */
  readonly start: number
  /** UTF-16 offset after the last character. */
  readonly end: number
}

/** Sums over one view of a text. */
export interface WeighedView {
  readonly whole: WeighedSpan
  /** The best window; the whole text if that is shorter than a window. */
  readonly window: WeighedSpan
  readonly tokens: number
}

export interface WeighedViews {
  readonly plain: WeighedView
  /**
   * The view in which digits and signs inside words are read as letters; null if too few words mix
   * them.
   */
  readonly leet: WeighedView | null
}

/**
 * Weighs texts piece by piece with reused buffers. Takes time linear in the text and constant
 * memory.
 */
export class Weigher {
  readonly #folded = createFoldedText()
  readonly #tokens = createTokenList(this.#folded.units.length)
  readonly #tokeniser = new Tokeniser(new CharacterClasses())
  readonly #leetView = new LeetView(this.#tokeniser)
  /** Sums of texts that are finished, for reuse. Several texts may be weighed in turns. */
  readonly #views: ViewSums[] = [];

  /** Weighs a text with the weights of a lexicon, one piece per step. */
  *weigh(text: string, lexicon: Lexicon): Steps<WeighedViews> {
    const views = this.#views.pop() ?? new ViewSums()
    views.reset()
    let mixedWords = 0
    for (let start = 0; start < text.length; ) {
      if (start > 0) yield
      const end = pieceEnd(text, start)
      foldPiece(text, start, end, this.#folded)
      this.#tokeniser.tokenise(this.#folded, false, lexicon, this.#tokens)
      mixedWords += this.#tokens.mixedWords
      // Only the end of the text shows whether enough words mix digits and letters.
      if (end < text.length || mixedWords >= LEET_WORDS_MIN) {
        if (this.#tokens.rewritten) foldPiece(text, start, end, this.#folded)
        this.#addLeet(views, lexicon)
      }
      views.plain.add(this.#tokens, 0, this.#folded, lexicon)
      start = end
    }
    const plain = views.plain.close(text)
    const leet = mixedWords >= LEET_WORDS_MIN ? views.leet.close(text) : null
    this.#views.push(views)
    return { plain, leet }
  }

  #addLeet(views: ViewSums, lexicon: Lexicon): void {
    const folded = this.#folded
    if (views.isSame) {
      const { units, length } = folded
      if (this.#tokens.leetWords === 0 && this.#tokeniser.leetSign(units, 0, length) === length) return
      views.isSame = false
      views.leet.copy(views.plain)
    }
    this.#leetView.read(folded, this.#tokens, lexicon, (tokens, from) =>
      views.leet.add(tokens, from, folded, lexicon),
    )
  }
}

/** The sums over both views of a text so far. */
class ViewSums {
  readonly plain = new RunningSums()
  readonly leet = new RunningSums()
  /** Whether both views are equal so far; then only the plain sums are kept. */
  isSame = true

  reset(): void {
    this.plain.reset()
    this.isSame = true
  }
}

/** Sums over one view of a text, added up piece by piece. */
class RunningSums {
  readonly #context = new ContextReader()
  /**
   * Cumulative sum and count of features after each of the last tokens, modulo 2 ** 32. Their
   * differences are exact.
   */
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

  /** Takes over the sums of another view. */
  copy(other: RunningSums): void {
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

  /** Adds the tokens from index `from` on. */
  add(tokens: TokenList, from: number, folded: FoldedText, lexicon: Lexicon): void {
    const { rows, length } = tokens
    if (length === from) return
    this.#context.read(tokens, from, lexicon.weights, null)
    if (this.#read === 0) this.#first = originOf(folded, rows[from * ROW_COLUMNS + COLUMN_FIRST] as number)
    this.#last = originOf(folded, rows[(length - 1) * ROW_COLUMNS + COLUMN_LAST] as number)
    this.#tryWindows(tokens, from, folded)
    for (let index = Math.max(from, length - PARAGRAPH_TOKENS); index < length; index++) {
      const slot = (this.#read - length + index) & RING_MASK
      this.#starts[slot] = originOf(folded, rows[index * ROW_COLUMNS + COLUMN_FIRST] as number)
    }
  }

  /** Returns the sums of the text, which ends here. */
  close(text: string): WeighedView {
    if (this.#read === 0) return NO_TOKENS
    const whole = {
      value: normalisedSum(this.#sum, this.#count),
      start: this.#first,
      end: characterEnd(text, this.#last),
    }
    this.#closeWindows()
    const window = { value: this.#best, start: this.#bestStart, end: characterEnd(text, this.#bestLast) }
    return { whole, window, tokens: this.#read }
  }

  /** Adds up tokens and tries the windows that end with them. */
  #tryWindows(tokens: TokenList, from: number, folded: FoldedText): void {
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
      const sentenceSum = (sum - (ring[sentence] as number)) | 0
      const sentenceCount = (count - (ring[sentence + 1] as number)) | 0
      if (sentenceSum > this.#best * (divisors[sentenceCount] as number) - ROUNDING_ERROR_MAX) {
        this.#tryWindow(SENTENCE_TOKENS, sentenceSum, sentenceCount, tokens, row, from, read, folded)
      }
      if (read < PARAGRAPH_TOKENS) continue
      const paragraph = ((read - PARAGRAPH_TOKENS) & RING_MASK) * 2
      const paragraphSum = (sum - (ring[paragraph] as number)) | 0
      const paragraphCount = (count - (ring[paragraph + 1] as number)) | 0
      if (paragraphSum > this.#best * (divisors[paragraphCount] as number) - ROUNDING_ERROR_MAX) {
        this.#tryWindow(PARAGRAPH_TOKENS, paragraphSum, paragraphCount, tokens, row, from, read, folded)
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
    { rows }: TokenList,
    row: number,
    from: number,
    read: number,
    folded: FoldedText,
  ): void {
    const value = normalisedSum(sum, count)
    if (value <= this.#best) return
    this.#best = value
    const first = row - (size - 1) * ROW_COLUMNS
    // The starts of tokens in earlier pieces are in the ring.
    this.#bestStart =
      first >= from * ROW_COLUMNS
        ? originOf(folded, rows[first + COLUMN_FIRST] as number)
        : (this.#starts[(read - size) & RING_MASK] as number)
    this.#bestLast = originOf(folded, rows[row + COLUMN_LAST] as number)
  }

  /**
   * Tries the windows that end with the text, which the stride may have skipped. A text shorter
   * than a window counts as one.
   */
  #closeWindows(): void {
    const ring = this.#ring
    const end = (this.#read & RING_MASK) * 2
    for (const size of WINDOW_TOKENS) {
      const from = (this.#read - Math.min(size, this.#read)) & RING_MASK
      const sum = ((ring[end] as number) - (ring[2 * from] as number)) | 0
      const count = ((ring[end + 1] as number) - (ring[2 * from + 1] as number)) | 0
      const value = normalisedSum(sum, count)
      if (value <= this.#best) continue
      this.#best = value
      this.#bestStart = this.#starts[from] as number
      this.#bestLast = this.#last
    }
  }
}

const NO_TOKENS: WeighedView = {
  whole: { value: -Infinity, start: 0, end: 0 },
  window: { value: -Infinity, start: 0, end: 0 },
  tokens: 0,
}
