// Caches the weight of single words under one table of weights, because most words of a text have
// occurred before. A cached word is compared letter by letter, so no other word is taken for it.
// Evicting an entry is harmless: it is computed again with the same result.

import { WORD_FEATURES_MAX, wordBucket, wordBuckets } from './features.ts'
import { Ideas } from './ideas.ts'
import {
  COLUMN_FIRST,
  COLUMN_HASH,
  COLUMN_LAST,
  COLUMN_LETTERS_END,
  COLUMN_STATE,
  COLUMN_SUM,
  COLUMN_TRAITS,
  ROW_COLUMNS,
  type TokenList,
  TRAIT_COUNT_SHIFT,
  TRAIT_IDEA_SHIFT,
  TRAIT_WORD,
} from './token-list.ts'
import { finishHash, hashLetters } from './word-hash.ts'

/** Longest word of letters a to z that fits into two numbers, six letters of five bits each. */
export const ASCII_WORD_LETTERS_MAX = 12
// The slot of such a word is the upper bits of a mix of both numbers.
export const ASCII_WORD_MIXER = 0x85ebca6b | 0
export const ASCII_WORD_SPREADER = 0x9e3779b1 | 0
export const ASCII_WORD_SHIFT = 19

/** The other words, whose slots follow those of the ASCII words. */
const OTHER = {
  /** First slot: the number of slots for ASCII words. */
  first: 8192,
  /** Number of slots, a power of two, minus one. */
  mask: 4095,
  /** Longer words are rare and not cached. */
  lettersMax: 32,
} as const
/**
 * The hash of a mark is this times its class. It is far from the hash of any word of one or two
 * letters.
 */
const PUNCTUATION_HASH = 0x510e527f
/** Larger than every class of characters. */
const MARK_CLASSES = 10
/** Slot for a word that is not cached. */
const NOT_CACHED = OTHER.first + OTHER.mask + 1

// Kinds of tokens whose letters do not matter, as indices into Lexicon.opaques.

/** Not opaque: the word has letters that count. */
export const OPAQUE_NONE = -1
export const OPAQUE_NUMBER = 0
/** A run of letters too long to be a word. */
export const OPAQUE_LONG = 2
/** A long word with several digits: an identifier, a hash or encoded data. */
export const OPAQUE_IDENTIFIER = 4
const OPAQUE_HASHES = [0x2545f491, 0x3c6ef372, 0x6a09e667]

// Columns of an entry. The first two identify the word; the others go into a token's row.

export const ENTRY_LOW = 0
export const ENTRY_HIGH = 1
export const ENTRY_HASH = 2
export const ENTRY_SUM = 3
export const ENTRY_TRAITS = 4
/** Columns in an entry. */
export const ENTRY_COLUMNS = 8

/** Occupies 640 KiB, of which unused pages are never touched. */
export class Lexicon {
  readonly weights: Int8Array
  readonly ideas: Ideas
  /**
   * Columns of all entries. An entry is the index of its first column, valid until the next lookup.
   */
  readonly entries = new Int32Array((NOT_CACHED + 1) * ENTRY_COLUMNS)
  /** Letters of the other words. */
  readonly #letters = new Uint16Array((OTHER.mask + 1) * OTHER.lettersMax)
  /** Hash and weight of the mark of each class. */
  readonly marks: Int32Array
  /** Hash and weight of each OPAQUE_… kind. */
  readonly opaques: Int32Array
  readonly #buckets = new Int32Array(WORD_FEATURES_MAX)

  /** @param weights a table of BUCKETS weights */
  constructor(weights: Int8Array, ideas: Ideas = new Ideas()) {
    this.weights = weights
    this.ideas = ideas
    this.opaques = Int32Array.from(
      OPAQUE_HASHES.flatMap((hash) => [hash, weights[wordBucket(hash)] as number]),
    )
    this.marks = Int32Array.from({ length: MARK_CLASSES * 2 }, (_, at) => {
      const hash = Math.imul(PUNCTUATION_HASH, at >> 1)
      return at % 2 === 0 ? hash : (weights[wordBucket(hash)] as number)
    })
  }

  /**
   * Returns the entry of the word `units[first, end)` of 1 to ASCII_WORD_LETTERS_MAX letters a to
   * z. `high` and `low` hold their positions in the alphabet, five bits each.
   */
  asciiEntry(units: Uint16Array, first: number, end: number, high: number, low: number): number {
    const { entries } = this
    const mixed = Math.imul(low ^ Math.imul(high, ASCII_WORD_MIXER), ASCII_WORD_SPREADER)
    const entry = (mixed >>> ASCII_WORD_SHIFT) * ENTRY_COLUMNS
    if (entries[entry] === low && entries[entry + ENTRY_HIGH] === high) return entry
    const second = entry ^ ENTRY_COLUMNS
    if (entries[second] === low && entries[second + ENTRY_HIGH] === high) return second
    entries.copyWithin(second, entry, entry + ENTRY_COLUMNS)
    this.#compute(units, first, end, hashLetters(units, first, end), entry)
    entries[entry] = low
    entries[entry + ENTRY_HIGH] = high
    return entry
  }

  /** Returns the entry of any other non-empty word. `hash` is its running hash. */
  otherEntry(units: Uint16Array, first: number, end: number, hash: number): number {
    const { entries } = this
    const length = end - first
    if (length > OTHER.lettersMax) return this.#compute(units, first, end, hash, NOT_CACHED * ENTRY_COLUMNS)
    const letters = this.#letters
    const slot = (hash ^ (hash >>> 15)) & OTHER.mask
    const entry = (OTHER.first + slot) * ENTRY_COLUMNS
    const offset = slot * OTHER.lettersMax - first
    if (entries[entry] === length && entries[entry + ENTRY_HIGH] === hash) {
      let index = first
      while (index < end && letters[offset + index] === units[index]) index++
      if (index === end) return entry
    }
    entries[entry] = length
    entries[entry + ENTRY_HIGH] = hash
    for (let index = first; index < end; index++) letters[offset + index] = units[index] as number
    return this.#compute(units, first, end, hash, entry)
  }

  /** Adds the word of an entry as a token: units `start` to `last`, letters `[start, end)`. */
  addWord(out: TokenList, entry: number, start: number, end: number, last: number, state: number): void {
    const { rows } = out
    const { entries } = this
    const row = out.length++ * ROW_COLUMNS
    rows[row + COLUMN_HASH] = entries[entry + ENTRY_HASH] as number
    rows[row + COLUMN_SUM] = entries[entry + ENTRY_SUM] as number
    rows[row + COLUMN_TRAITS] = entries[entry + ENTRY_TRAITS] as number
    rows[row + COLUMN_FIRST] = start
    rows[row + COLUMN_LAST] = last
    rows[row + COLUMN_LETTERS_END] = end
    rows[row + COLUMN_STATE] = state
  }

  #compute(units: Uint16Array, first: number, end: number, hash: number, entry: number): number {
    const { entries, weights } = this
    const buckets = this.#buckets
    const idea = this.ideas.ofWord(units, first, end, hash)
    const finished = finishHash(hash)
    const count = wordBuckets(units, first, end, finished, buckets)
    let sum = 0
    for (let at = 0; at < count; at++) sum += weights[buckets[at] as number] as number
    entries[entry + ENTRY_HASH] = finished
    entries[entry + ENTRY_SUM] = sum
    entries[entry + ENTRY_TRAITS] = TRAIT_WORD | (idea << TRAIT_IDEA_SHIFT) | (count << TRAIT_COUNT_SHIFT)
    return entry
  }
}
