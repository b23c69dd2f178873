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

export interface WeighedText extends WeighedSpan {
  /** Words that mix digits and letters. */
  readonly mixedWords: number
}

/** A message with its best window. */
export interface WeighedMessage extends WeighedText {
  readonly window: WeighedSpan
}

/** What adds up the tokens of one text, piece by piece. */
interface Sums<Weighed> {
  reset(table: DecodedTable): void
  add(tokens: TokenList, folded: FoldedText): void
  close(text: string): Weighed
}

/** Weighs texts piece by piece with reused buffers. Several texts may be weighed in turns. */
export class Weigher {
  readonly #folded = createFoldedText()
  readonly #tokens = createTokenList(this.#folded.units.length)
  readonly #tokeniser = new Tokeniser()
  /** Sums of texts that are finished. */
  readonly #wholes: WholeSums[] = []
  readonly #windows: WindowSums[] = []
  readonly #messages: MessageSums[] = [];

  /** Weighs all features of a text, each once; null for a text without tokens. */
  *weighWhole(text: string, table: DecodedTable): Steps<WeighedText | null> {
    const sums = this.#wholes.pop() ?? new WholeSums()
    const weighed = yield* this.#weigh(text, table, sums)
    this.#wholes.push(sums)
    return weighed
  }

  /** Weighs the window of a text with the largest margin; the whole text if that is shorter. */
  *weighWindows(text: string, table: DecodedTable): Steps<WeighedText | null> {
    const sums = this.#windows.pop() ?? new WindowSums()
    const weighed = yield* this.#weigh(text, table, sums)
    this.#windows.push(sums)
    return weighed
  }

  /** Weighs a text in both ways in one pass. */
  *weighMessage(text: string, table: DecodedTable): Steps<WeighedMessage | null> {
    const sums = this.#messages.pop() ?? new MessageSums()
    const weighed = yield* this.#weigh(text, table, sums)
    this.#messages.push(sums)
    return weighed
  }

  *#weigh<Weighed extends WeighedSpan>(
    text: string,
    table: DecodedTable,
    sums: Sums<Weighed>,
  ): Steps<(Weighed & Pick<WeighedText, 'mixedWords'>) | null> {
    let mixedWords = 0
    let tokens = 0
    sums.reset(table)
    for (let start = 0; start < text.length; ) {
      if (start > 0) yield
      const end = pieceEnd(text, start)
      foldPiece(text, start, end, this.#folded)
      this.#tokeniser.tokenise(this.#folded, this.#tokens)
      if (this.#tokens.length > 0) sums.add(this.#tokens, this.#folded)
      mixedWords += this.#tokens.mixedWords
      tokens += this.#tokens.length
      start = end
    }
    return tokens === 0 ? null : { ...sums.close(text), mixedWords }
  }
}

/** Sums a text as a whole, and its windows. */
class MessageSums implements Sums<WeighedSpan & Pick<WeighedMessage, 'window'>> {
  readonly #whole = new WholeSums()
  readonly #windows = new WindowSums()

  reset(table: DecodedTable): void {
    this.#whole.reset(table)
    this.#windows.reset(table)
  }

  add(tokens: TokenList, folded: FoldedText): void {
    this.#whole.add(tokens, folded)
    this.#windows.add(tokens, folded)
  }

  close(text: string): WeighedSpan & Pick<WeighedMessage, 'window'> {
    return { ...this.#whole.close(text), window: this.#windows.close(text) }
  }
}

/** Sums each feature of a text once. */
class WholeSums implements Sums<WeighedSpan> {
  readonly #reader = new FeatureReader()
  /** One bit per cell whose feature the text has. */
  readonly #seen = new Int32Array(CELLS / 32)
  #table!: DecodedTable
  #sum = 0
  #count = 0
  #first = -1
  #last = 0

  reset(table: DecodedTable): void {
    this.#reader.reset()
    this.#seen.fill(0)
    this.#table = table
    this.#sum = 0
    this.#count = 0
    this.#first = -1
  }

  add(tokens: TokenList, folded: FoldedText): void {
    const { cells } = this.#table
    const seen = this.#seen
    const reader = this.#reader
    const { hashes } = reader
    let sum = 0
    let count = 0
    for (let token = 0; token < tokens.length; token++) {
      for (let at = reader.read(tokens, token) - 1; at >= 0; at--) {
        const hash = hashes[at] as number
        const cell = cellOf(hash)
        const value = cells[cell] as number
        if (((value ^ hash) & CHECK_MASK) !== 0) continue
        const bit = 1 << (cell & 31)
        const weight = value >> WEIGHT_SHIFT
        if (weight === 0 || ((seen[cell >> 5] as number) & bit) !== 0) continue
        seen[cell >> 5]! |= bit
        sum += weight
        count++
      }
    }
    this.#sum += sum
    this.#count += count
    if (this.#first < 0) this.#first = originOf(folded, tokens.rows[COLUMN_FIRST] as number)
    this.#last = originOf(folded, tokens.rows[(tokens.length - 1) * ROW_COLUMNS + COLUMN_LAST] as number)
  }

  close(text: string): WeighedSpan {
    const { scale, bias } = this.#table
    const margin = this.#sum * scale * scaleOf(this.#count) + bias
    return { margin, start: this.#first, end: characterEnd(text, this.#last) }
  }
}

/** Sums the features of each window, and keeps the best one. */
class WindowSums implements Sums<WeighedSpan> {
  readonly #reader = new FeatureReader()
  /** Sum and count of features up to each of the last tokens, modulo 2 ** 32. */
  readonly #ring = new Int32Array(2 * RING)
  readonly #starts = new Int32Array(RING)
  #table!: DecodedTable
  #sum = 0
  #count = 0
  #read = 0
  #last = 0
  #best = -Infinity
  #bestStart = 0
  #bestLast = 0

  reset(table: DecodedTable): void {
    this.#reader.reset()
    this.#ring[0] = 0
    this.#ring[1] = 0
    this.#table = table
    this.#sum = 0
    this.#count = 0
    this.#read = 0
    this.#best = -Infinity
  }

  add(tokens: TokenList, folded: FoldedText): void {
    const { cells } = this.#table
    const { rows, length } = tokens
    const ring = this.#ring
    const reader = this.#reader
    const { hashes } = reader
    for (let token = 0; token < length; token++) {
      for (let at = reader.read(tokens, token) - 1; at >= 0; at--) {
        const hash = hashes[at] as number
        const value = cells[cellOf(hash)] as number
        const weight = value >> WEIGHT_SHIFT
        if (((value ^ hash) & CHECK_MASK) !== 0 || weight === 0) continue
        this.#sum = (this.#sum + weight) | 0
        this.#count = (this.#count + 1) | 0
      }
      const row = token * ROW_COLUMNS
      this.#starts[this.#read & RING_MASK] = originOf(folded, rows[row + COLUMN_FIRST] as number)
      this.#read++
      const slot = (this.#read & RING_MASK) * 2
      ring[slot] = this.#sum
      ring[slot + 1] = this.#count
      if (this.#read % STRIDE_TOKENS !== 0 || this.#read < SENTENCE_TOKENS) continue
      const last = rows[row + COLUMN_LAST] as number
      this.#tryWindow(SENTENCE_TOKENS, folded, last)
      if (this.#read >= PARAGRAPH_TOKENS) this.#tryWindow(PARAGRAPH_TOKENS, folded, last)
    }
    this.#last = originOf(folded, rows[(length - 1) * ROW_COLUMNS + COLUMN_LAST] as number)
  }

  /** Keeps the window of the last tokens, whose last unit is at `last`, if it is the best. */
  #tryWindow(size: number, folded: FoldedText, last: number): void {
    const value = this.#valueOf(size)
    if (value <= this.#best) return
    this.#best = value
    this.#bestStart = this.#starts[(this.#read - size) & RING_MASK] as number
    this.#bestLast = originOf(folded, last)
  }

  #valueOf(size: number): number {
    const ring = this.#ring
    const from = ((this.#read - size) & RING_MASK) * 2
    const sum = (this.#sum - (ring[from] as number)) | 0
    const count = (this.#count - (ring[from + 1] as number)) | 0
    return sum * (SCALES[count] as number)
  }

  /**
   * Tries the windows that end with the text, which the stride may have skipped. A text shorter
   * than a window counts as one.
   */
  close(text: string): WeighedSpan {
    for (const size of WINDOW_TOKENS) {
      const tokens = Math.min(size, this.#read)
      const value = this.#valueOf(tokens)
      if (value <= this.#best) continue
      this.#best = value
      this.#bestStart = this.#starts[(this.#read - tokens) & RING_MASK] as number
      this.#bestLast = this.#last
    }
    const { scale, bias } = this.#table
    return {
      margin: this.#best * scale + bias,
      start: this.#bestStart,
      end: characterEnd(text, this.#bestLast),
    }
  }
}
