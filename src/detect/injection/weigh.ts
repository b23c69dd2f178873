// Adds up the weights of a text's features in one pass: each once over the whole text, or in every
// window of some tokens. Uses bounded memory.

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
import { SuspectList, type WeighedSpan } from './suspects.ts'
import {
  COLUMN_FIRST,
  COLUMN_FLAGS,
  COLUMN_LAST,
  createTokenList,
  ROW_COLUMNS,
  TOKEN_CHARACTER,
  TOKEN_FIRST,
  Tokeniser,
  type TokenList,
} from './tokens.ts'

/** Bits of a cell below its weight. */
const WEIGHT_SHIFT = 8
const SIGN_SHIFT = 31
/**
 * In windows a sum of weights and the number of features are one integer, so that both are added at
 * once. The features of a window keep within 16 bits each.
 */
const SUM_SHIFT = 16
const COUNT_MASK = 0xffff
/**
 * Sizes of the windows, in tokens: a short order and a sentence. Longer ones of words flag more
 * innocent documents of unknown kinds than they find orders.
 */
export const WINDOW_TOKENS = [10, 16] as const
const [ORDER_TOKENS, SENTENCE_TOKENS] = WINDOW_TOKENS
/** Size of a third window that ends in a script without spaces, where a token is a character. */
export const CHARACTER_WINDOW_TOKENS = 48
/** Subtracted from the margin of that window. */
const CHARACTER_WINDOW_HANDICAP = 1
/** A window ends at every second token. */
const STRIDE_TOKENS = 2
/** Cumulative sums that are kept: a power of two larger than the longest window. */
const RING = 64
const RING_MASK = RING - 1
/** Minimum tokens of a sentence. A shorter one is joined with the next. */
const MIN_SENTENCE_TOKENS = 4
/** Maximum tokens of a sentence, so that its sum and count fit one integer. A longer one is cut. */
const MAXIMUM_SENTENCE_TOKENS = CHARACTER_WINDOW_TOKENS
/** Factors of windows by number of features. */
const SCALES = Float64Array.from({ length: CHARACTER_WINDOW_TOKENS * FEATURES_MAX + 1 }, (_, count) =>
  scaleOf(count),
)

/** The span of a text that counts. */
export interface WeighedText extends WeighedSpan {
  /** Words that mix digits and letters. */
  readonly mixedWords: number
}

/** A whole text, with its sentences that may be an attack among innocent ones. */
export interface WeighedWhole extends WeighedText {
  /** The most suspicious first; none of a text of few sentences. */
  readonly suspects: readonly WeighedSpan[]
}

/** Weighs texts piece by piece with reused buffers. Several texts may be weighed in turns. */
export class Weigher {
  readonly #folded = createFoldedText()
  readonly #tokens = createTokenList(this.#folded.units.length)
  readonly #tokeniser = new Tokeniser()
  /** Sums of texts that are finished. */
  readonly #freeWholes: WholeSums[] = []
  readonly #freeWindows: WindowSums[] = []

  /** Weighs a text as a whole, each feature once; null for a text without tokens. */
  weighWhole(text: string, table: DecodedTable): Steps<WeighedWhole | null> {
    return this.#weigh(text, table, this.#freeWholes, WholeSums)
  }

  /**
   * Weighs the windows of a text. Returns the one with the largest margin, the whole text if that
   * is shorter than a window, and null for a text without tokens.
   */
  weighWindows(text: string, table: DecodedTable): Steps<WeighedText | null> {
    return this.#weigh(text, table, this.#freeWindows, WindowSums)
  }

  *#weigh<Span extends WeighedSpan>(
    text: string,
    table: DecodedTable,
    free: SpanSums<Span>[],
    create: new () => SpanSums<Span>,
  ): Steps<(Span & WeighedText) | null> {
    const sums = free.pop() ?? new create()
    let mixedWords = 0
    let tokens = 0
    sums.reset(table)
    for (let start = 0; start < text.length; ) {
      if (start > 0) yield
      const end = pieceEnd(text, start)
      foldPiece(text, start, end, this.#folded)
      this.#tokeniser.tokenise(this.#folded, this.#tokens)
      if (this.#tokens.length > 0) sums.add(this.#tokens, this.#folded)
      tokens += this.#tokens.length
      mixedWords += this.#tokens.mixedWords
      start = end
    }
    const weighed = tokens === 0 ? null : { ...sums.close(text), mixedWords }
    free.push(sums)
    return weighed
  }
}

/**
 * Returns the weight in the cell of a feature, 0 where the cell has another feature. Whether a
 * feature is known is a coin toss, so nothing branches on it.
 */
const weightIn = (value: number, hash: number): number =>
  (value >> WEIGHT_SHIFT) & ((((value ^ hash) & CHECK_MASK) - 1) >> SIGN_SHIFT)

/** Returns 1 for a weight other than 0, and 0 for 0. */
const isKnown = (weight: number): number => (weight | (0 - weight)) >>> SIGN_SHIFT

/** Sums the features of a text, piece by piece. */
interface SpanSums<Span extends WeighedSpan> {
  reset(table: DecodedTable): void
  /** Adds the tokens of a piece, at least one. */
  add(tokens: TokenList, folded: FoldedText): void
  /** Returns the span that counts. */
  close(text: string): Span
}

/** Reports whether a sentence of so many tokens ends before the token of a row. */
const endsBefore = (rows: Int32Array, row: number, tokens: number): boolean =>
  (((rows[row + COLUMN_FLAGS] as number) & TOKEN_FIRST) !== 0 && tokens >= MIN_SENTENCE_TOKENS) ||
  tokens >= MAXIMUM_SENTENCE_TOKENS

/** Sums the different features of a text, piece by piece, and all features of each sentence. */
class WholeSums implements SpanSums<WeighedSpan & Pick<WeighedWhole, 'suspects'>> {
  readonly #reader = new FeatureReader()
  /** One bit per cell whose feature the text has. */
  readonly #seen = new Int32Array(CELLS / 32)
  readonly #suspects = new SuspectList()
  #table!: DecodedTable
  #sum = 0
  #count = 0
  #first = -1
  #last = 0
  /** Sum and count of all features of the sentence. */
  #sentenceSums = 0
  #sentenceTokens = 0
  #sentenceStart = 0

  reset(table: DecodedTable): void {
    this.#reader.reset()
    this.#seen.fill(0)
    this.#suspects.reset(table)
    this.#table = table
    this.#sum = 0
    this.#count = 0
    this.#first = -1
    this.#sentenceSums = 0
    this.#sentenceTokens = 0
  }

  add(tokens: TokenList, folded: FoldedText): void {
    const { rows, length } = tokens
    const start = originOf(folded, rows[COLUMN_FIRST] as number)
    if (this.#first < 0) {
      this.#first = start
      this.#sentenceStart = start
    }
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
    let sum = this.#sum
    let count = this.#count
    let sums = this.#sentenceSums
    let tokens = this.#sentenceTokens
    let at = 0
    for (let token = 0; token < size; ) {
      const row = (first + token) * ROW_COLUMNS
      if (endsBefore(rows, row, tokens)) {
        const start = originOf(folded, rows[row + COLUMN_FIRST] as number)
        this.#suspects.add(this.#sentenceStart, start, sums >> SUM_SHIFT, sums & COUNT_MASK)
        this.#sentenceStart = start
        sums = 0
        tokens = 0
      }
      let end = at
      do {
        end += counts[token++] as number
        tokens++
      } while (token < size && !endsBefore(rows, (first + token) * ROW_COLUMNS, tokens))
      for (; at < end; at++) {
        const hash = hashes[at] as number
        const cell = cellOf(hash)
        const weight = weightIn(cells[cell] as number, hash)
        const known = isKnown(weight)
        const bits = seen[cell >> 5] as number
        const fresh = known & ~(bits >> (cell & 31))
        seen[cell >> 5] = bits | (fresh << (cell & 31))
        sum = (sum + (weight & (0 - fresh))) | 0
        count = (count + fresh) | 0
        sums = (sums + (weight << SUM_SHIFT) + known) | 0
      }
    }
    this.#sum = sum
    this.#count = count
    this.#sentenceSums = sums
    this.#sentenceTokens = tokens
  }

  close(text: string): WeighedSpan & Pick<WeighedWhole, 'suspects'> {
    const { scale, bias } = this.#table
    const margin = this.#sum * scale * scaleOf(this.#count) + bias
    const end = characterEnd(text, this.#last)
    const sums = this.#sentenceSums
    this.#suspects.add(this.#sentenceStart, end, sums >> SUM_SHIFT, sums & COUNT_MASK)
    return { margin, start: this.#first, end, suspects: this.#suspects.close() }
  }
}

/** Sums the features of each window of a text, piece by piece, and keeps the best one. */
class WindowSums implements SpanSums<WeighedSpan> {
  readonly #reader = new FeatureReader()
  /** Sum and count of all features up to each of the last tokens, modulo 2 ** 32. */
  readonly #ring = new Int32Array(RING)
  readonly #starts = new Int32Array(RING)
  #table!: DecodedTable
  /** Sum and count of all features, modulo 2 ** 32. */
  #sums = 0
  #read = 0
  #last = 0
  /** CHARACTER_WINDOW_HANDICAP in steps of the table. */
  #handicap = 0
  #best = -Infinity
  #bestStart = 0
  #bestLast = 0

  reset(table: DecodedTable): void {
    this.#reader.reset()
    this.#ring[0] = 0
    this.#table = table
    this.#handicap = CHARACTER_WINDOW_HANDICAP / table.scale
    this.#sums = 0
    this.#read = 0
    this.#best = -Infinity
  }

  add(tokens: TokenList, folded: FoldedText): void {
    const { rows, length } = tokens
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
    const ring = this.#ring
    const starts = this.#starts
    let sums = this.#sums
    let read = this.#read
    let at = 0
    for (let token = 0; token < size; token++) {
      for (const end = at + (counts[token] as number); at < end; at++) {
        const hash = hashes[at] as number
        const weight = weightIn(cells[cellOf(hash)] as number, hash)
        sums = (sums + (weight << SUM_SHIFT) + isKnown(weight)) | 0
      }
      const row = (first + token) * ROW_COLUMNS
      starts[read & RING_MASK] = originOf(folded, rows[row + COLUMN_FIRST] as number)
      read++
      ring[read & RING_MASK] = sums
      if (read % STRIDE_TOKENS !== 0 || read < ORDER_TOKENS) continue
      const last = rows[row + COLUMN_LAST] as number
      this.#tryWindow(read, ORDER_TOKENS, folded, last)
      if (read < SENTENCE_TOKENS) continue
      this.#tryWindow(read, SENTENCE_TOKENS, folded, last)
      if (read >= CHARACTER_WINDOW_TOKENS && (rows[row + COLUMN_FLAGS] as number) & TOKEN_CHARACTER)
        this.#tryWindow(read, CHARACTER_WINDOW_TOKENS, folded, last, this.#handicap)
    }
    this.#sums = sums
    this.#read = read
  }

  /** Keeps the window of the last tokens, whose last unit is at `last`, if it is the best. */
  #tryWindow(read: number, size: number, folded: FoldedText, last: number, handicap = 0): void {
    const value = this.#valueOf(read, size) - handicap
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

  /**
   * Tries the windows that end with the text, too, which the stride may have skipped. A text
   * shorter than a window counts as one.
   */
  close(text: string): WeighedSpan {
    const { scale, bias } = this.#table
    for (const size of WINDOW_TOKENS) {
      const tokens = Math.min(size, this.#read)
      const value = this.#valueOf(this.#read, tokens)
      if (value <= this.#best) continue
      this.#best = value
      this.#bestStart = this.#starts[(this.#read - tokens) & RING_MASK] as number
      this.#bestLast = this.#last
    }
    const margin = this.#best * scale + bias
    return { margin, start: this.#bestStart, end: characterEnd(text, this.#bestLast) }
  }
}
