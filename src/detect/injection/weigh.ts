// Adds up the weights of a text's features in one pass: in every window of some tokens, and each
// once over the whole text. Uses bounded memory.

import type { Steps } from '../../core/steps.ts'
import { CELLS, CHECK_MASK, cellOf, FEATURES_MAX, FeatureReader, scaleOf } from './features.ts'
import {
  characterEnd,
  createFoldedText,
  type FoldedText,
  foldPiece,
  originOf,
  pieceEnd,
} from './folded-text.ts'
import type { DecodedTable } from './model.ts'
import {
  COLUMN_FIRST,
  COLUMN_LAST,
  createTokenList,
  ROW_COLUMNS,
  Tokeniser,
  type TokenList,
} from './tokens.ts'

/** Bits of a cell below its weight. */
const WEIGHT_SHIFT = 8
const SIGN_SHIFT = 31
/**
 * A sum of weights and the number of features are one integer, so that both are added at once. The
 * features of a window keep within 16 bits each.
 */
const SUM_SHIFT = 16
const COUNT_MASK = 0xffff
/** Sizes of the windows, in tokens: a sentence and a paragraph. */
export const WINDOW_TOKENS = [16, 48] as const
const [SENTENCE_TOKENS, PARAGRAPH_TOKENS] = WINDOW_TOKENS
/** A window ends at every second token. */
const STRIDE_TOKENS = 2
/** Cumulative sums that are kept: a power of two larger than the longest window. */
const RING = 64
const RING_MASK = RING - 1
/** Factors of windows by number of features. */
const SCALES = Float64Array.from({ length: PARAGRAPH_TOKENS * FEATURES_MAX + 1 }, (_, count) =>
  scaleOf(count),
)

/** The margin of a span of the text. */
export interface WeighedSpan {
  /** Logarithm of odds. */
  readonly margin: number
  /** UTF-16 offset in the weighed text. */
  readonly start: number
  /** UTF-16 offset after the last character. */
  readonly end: number
}

export interface WeighedWindows {
  /** The window with the largest margin; the whole text if that is shorter than a window. */
  readonly window: WeighedSpan
  /** Words that mix digits and letters. */
  readonly mixedWords: number
}

export interface WeighedText extends WeighedWindows {
  /** Every feature once. */
  readonly whole: WeighedSpan
}

/** Weighs texts piece by piece with reused buffers. Several texts may be weighed in turns. */
export class Weigher {
  readonly #folded = createFoldedText()
  readonly #tokens = createTokenList(this.#folded.units.length)
  readonly #tokeniser = new Tokeniser()
  /** Sums of texts that are finished. */
  readonly #free: TextSums[] = []

  /** Weighs the windows of a text; null for a text without tokens. */
  weighWindows(text: string, table: DecodedTable): Steps<WeighedWindows | null> {
    return this.#weigh(text, table, false)
  }

  /** Weighs a text as a whole, too. */
  weighWhole(text: string, table: DecodedTable): Steps<WeighedText | null> {
    return this.#weigh(text, table, true)
  }

  *#weigh(text: string, table: DecodedTable, asWhole: boolean): Steps<WeighedText | null> {
    const sums = this.#free.pop() ?? new TextSums()
    let mixedWords = 0
    sums.reset(table, asWhole)
    for (let start = 0; start < text.length; ) {
      if (start > 0) yield
      const end = pieceEnd(text, start)
      foldPiece(text, start, end, this.#folded)
      this.#tokeniser.tokenise(this.#folded, this.#tokens)
      if (this.#tokens.length > 0) sums.add(this.#tokens, this.#folded)
      mixedWords += this.#tokens.mixedWords
      start = end
    }
    const weighed = sums.tokens === 0 ? null : { ...sums.close(text), mixedWords }
    this.#free.push(sums)
    return weighed
  }
}

/** Sums the features of one text, piece by piece. */
class TextSums {
  /** Tokens so far. */
  tokens = 0
  readonly #reader = new FeatureReader()
  /** One bit per cell whose feature the text has. */
  readonly #seen = new Int32Array(CELLS / 32)
  /** Sum and count of all features up to each of the last tokens, modulo 2 ** 32. */
  readonly #ring = new Int32Array(RING)
  readonly #starts = new Int32Array(RING)
  #table!: DecodedTable
  #asWhole = false
  /** Sum and count of different features; only for a whole. */
  #wholeSum = 0
  #wholeCount = 0
  /** Sum and count of all features, modulo 2 ** 32. */
  #sums = 0
  #first = 0
  #last = 0
  #best = -Infinity
  #bestStart = 0
  #bestLast = 0

  reset(table: DecodedTable, asWhole: boolean): void {
    this.tokens = 0
    this.#reader.reset()
    if (asWhole) this.#seen.fill(0)
    this.#asWhole = asWhole
    this.#ring[0] = 0
    this.#table = table
    this.#wholeSum = 0
    this.#wholeCount = 0
    this.#sums = 0
    this.#best = -Infinity
  }

  /** Adds the tokens of a piece, at least one. */
  add(tokens: TokenList, folded: FoldedText): void {
    const { rows, length } = tokens
    if (this.tokens === 0) this.#first = originOf(folded, rows[COLUMN_FIRST] as number)
    this.#last = originOf(folded, rows[(length - 1) * ROW_COLUMNS + COLUMN_LAST] as number)
    for (let first = 0; first < length; ) {
      const size = this.#reader.read(tokens, first)
      this.#addFeatures(rows, first, size, folded)
      first += size
    }
  }

  /** Adds the features that the reader has read for `size` tokens from row `first` on. */
  #addFeatures(rows: Int32Array, first: number, size: number, folded: FoldedText): void {
    const { cells } = this.#table
    const { hashes, counts } = this.#reader
    const seen = this.#seen
    const asWhole = this.#asWhole
    const ring = this.#ring
    const starts = this.#starts
    let wholeSum = this.#wholeSum
    let wholeCount = this.#wholeCount
    let sums = this.#sums
    let read = this.tokens
    let at = 0
    for (let token = 0; token < size; token++) {
      let whole = 0
      // Whether a feature is known is a coin toss, so nothing branches on it.
      for (const end = at + (counts[token] as number); at < end; at++) {
        const hash = hashes[at] as number
        const cell = cellOf(hash)
        const value = cells[cell] as number
        const weight = (value >> WEIGHT_SHIFT) & ((((value ^ hash) & CHECK_MASK) - 1) >> SIGN_SHIFT)
        const known = (weight | (0 - weight)) >>> SIGN_SHIFT
        const both = ((weight << SUM_SHIFT) + known) | 0
        sums = (sums + both) | 0
        if (!asWhole) continue
        const bits = seen[cell >> 5] as number
        const fresh = known & ~(bits >> (cell & 31))
        seen[cell >> 5] = bits | (fresh << (cell & 31))
        whole = (whole + (both & (0 - fresh))) | 0
      }
      wholeCount = (wholeCount + (whole & COUNT_MASK)) | 0
      wholeSum = (wholeSum + (whole >> SUM_SHIFT)) | 0
      const row = (first + token) * ROW_COLUMNS
      starts[read & RING_MASK] = originOf(folded, rows[row + COLUMN_FIRST] as number)
      read++
      ring[read & RING_MASK] = sums
      if (read % STRIDE_TOKENS !== 0 || read < SENTENCE_TOKENS) continue
      const last = rows[row + COLUMN_LAST] as number
      this.#tryWindow(read, SENTENCE_TOKENS, folded, last)
      if (read >= PARAGRAPH_TOKENS) this.#tryWindow(read, PARAGRAPH_TOKENS, folded, last)
    }
    this.#wholeSum = wholeSum
    this.#wholeCount = wholeCount
    this.#sums = sums
    this.tokens = read
  }

  /** Keeps the window of the last tokens, whose last unit is at `last`, if it is the best. */
  #tryWindow(read: number, size: number, folded: FoldedText, last: number): void {
    const value = this.#valueOf(read, size)
    if (value <= this.#best) return
    this.#best = value
    this.#bestStart = this.#starts[(read - size) & RING_MASK] as number
    this.#bestLast = originOf(folded, last)
  }

  #valueOf(read: number, size: number): number {
    const ring = this.#ring
    const sums = ((ring[read & RING_MASK] as number) - (ring[(read - size) & RING_MASK] as number)) | 0
    const count = sums & COUNT_MASK
    return (sums >> SUM_SHIFT) * (SCALES[count] as number)
  }

  close(text: string): Pick<WeighedText, 'whole' | 'window'> {
    const { scale, bias } = this.#table
    const end = characterEnd(text, this.#last)
    const whole = this.#wholeSum * scale * scaleOf(this.#wholeCount) + bias
    this.#tryLastWindows()
    return {
      whole: { margin: whole, start: this.#first, end },
      window: {
        margin: this.#best * scale + bias,
        start: this.#bestStart,
        end: characterEnd(text, this.#bestLast),
      },
    }
  }

  /**
   * Tries the windows that end with the text, which the stride may have skipped. A text shorter
   * than a window counts as one.
   */
  #tryLastWindows(): void {
    for (const size of WINDOW_TOKENS) {
      const tokens = Math.min(size, this.tokens)
      const value = this.#valueOf(this.tokens, tokens)
      if (value <= this.#best) continue
      this.#best = value
      this.#bestStart = this.#starts[(this.tokens - tokens) & RING_MASK] as number
      this.#bestLast = this.#last
    }
  }
}
