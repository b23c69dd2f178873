// Turns tokens into hashed features: word, first letters, pairs of neighbours, of neighbours' first
// letters, and pairs with a gap. Training and scoring share this code, which knows nothing of how
// weights come about.

import {
  COLUMN_FLAGS,
  COLUMN_PREFIX,
  COLUMN_WORD,
  ROW_COLUMNS,
  TOKEN_CHARACTER,
  TOKEN_FIRST,
  type TokenList,
} from './tokens.ts'

/** log2 of the number of cells of a weight table. */
const CELL_BITS = 17
export const CELLS = 2 ** CELL_BITS
/** Shift from the hash of a feature to its cell. */
const CELL_SHIFT = 32 - CELL_BITS
/** Bits of the hash that a cell repeats, so that features never learned do not match. */
export const CHECK_MASK = 0xff

/** Changes whenever text becomes other features. A model of another form is refused. */
export const FEATURE_FORM = 3

/** Maximum features of one token. */
export const FEATURES_MAX = 5
/** Maximum tokens read at a time. Their features stay in the processor's cache. */
const READ_TOKENS = 256
/** Added to the number of features, so that a few words decide nothing. */
const FLOOR = 10
/** From this many features on the sum is an average: length alone is no evidence. */
const CEILING = 1000

// Salts that separate the kinds of features.
const WORD = 0x1b873593
const PREFIX = 0x58f38ded
const PAIR = 0x24a3f1d7
const PREFIX_PAIR = 0x3f84d5b5
const SKIP = 0x4cf5ad43
const GOLDEN = 0x9e3779b1
const MIX = 0x85ebca6b
/** Hash of the token before a sentence. */
const SENTENCE = 0x7ed558cc

/** Returns the factor by which a sum of weights over `count` features becomes a margin. */
export function scaleOf(count: number): number {
  return count === 0 ? 0 : 1 / Math.max(Math.sqrt(count + FLOOR), count / Math.sqrt(CEILING))
}

/** Returns the cell of a weight table that may hold a feature. */
export const cellOf = (hash: number): number => hash >>> CELL_SHIFT

/** Computes the features of tokens. Keeps the tokens before, so pieces join without a seam. */
export class FeatureReader {
  /** Hashes of the features of the tokens read last, token by token. */
  readonly hashes = new Int32Array(READ_TOKENS * FEATURES_MAX)
  /** How many features each of these tokens has. */
  readonly counts = new Uint8Array(READ_TOKENS)
  #word = SENTENCE
  #prefix = SENTENCE
  #wordBefore = SENTENCE

  /** Begins a new text. */
  reset(): void {
    this.#word = SENTENCE
    this.#prefix = SENTENCE
    this.#wordBefore = SENTENCE
  }

  /** Reads at most READ_TOKENS tokens from row `first` on; returns how many it has read. */
  read({ rows, length }: TokenList, first: number): number {
    const { hashes, counts } = this
    const size = Math.min(READ_TOKENS, length - first)
    let wordBefore = this.#wordBefore
    let wordLast = this.#word
    let prefixLast = this.#prefix
    let end = 0
    for (let token = 0; token < size; token++) {
      const row = (first + token) * ROW_COLUMNS
      const word = rows[row + COLUMN_WORD] as number
      const prefix = rows[row + COLUMN_PREFIX] as number
      const flags = rows[row + COLUMN_FLAGS] as number
      const isFirst = (flags & TOKEN_FIRST) !== 0
      const before = isFirst ? SENTENCE : wordLast
      const gap = Math.imul(wordBefore, MIX)
      const start = end
      hashes[end++] = mix(word ^ WORD)
      hashes[end++] = mix(Math.imul(before, MIX) ^ word ^ PAIR)
      hashes[end++] = mix(gap ^ word ^ SKIP)
      if ((flags & TOKEN_CHARACTER) !== 0) {
        // Three characters say what a prefix says of a word.
        hashes[end++] = mix(Math.imul(gap ^ wordLast, MIX) ^ word ^ PREFIX_PAIR)
      } else {
        if (prefix !== word) hashes[end++] = mix(prefix ^ PREFIX)
        const prefixBefore = isFirst ? SENTENCE : prefixLast
        if (prefix !== word || prefixBefore !== before)
          hashes[end++] = mix(Math.imul(prefixBefore, MIX) ^ prefix ^ PREFIX_PAIR)
      }
      counts[token] = end - start
      wordBefore = wordLast
      wordLast = word
      prefixLast = prefix
    }
    this.#wordBefore = wordBefore
    this.#word = wordLast
    this.#prefix = prefixLast
    return size
  }
}

function mix(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), GOLDEN)
  return mixed ^ (mixed >>> 15)
}
