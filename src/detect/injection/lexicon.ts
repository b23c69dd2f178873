// What single words are worth under one table of weights, remembered: most words of a text were met before. A word met again
// costs a comparison with what is remembered, letter by letter, so that no other word can pass for it. Forgetting is
// harmless: what is remembered can be computed again, always the same.

import { WORD_FEATURES_MAX, wordBucket, wordBuckets } from './features.ts'
import { Ideas } from './ideas.ts'
import { TOKEN, type Tokens, TRAIT } from './token-list.ts'
import { finishHash, hashLetters } from './word-hash.ts'

/** Plain words are of letters a to z, and so short that they fit into two numbers of six letters. */
export const PLAIN = {
  lettersMax: 12,
  /** Where a word is remembered: both numbers mixed, the upper bits of that. */
  mixer: 0x85ebca6b | 0,
  spreader: 0x9e3779b1 | 0,
  shift: 19,
} as const
/** Other words, remembered behind the plain ones. */
const OTHER = {
  /** Slot of the first: as many as there are of plain ones. */
  first: 8192,
  /** So many slots, a power of two, less one. */
  mask: 4095,
  /** Words of more letters are rare and computed each time. */
  lettersMax: 32,
} as const
/** Times its class, the hash of a mark; apart from those of words by being far from any of one or two letters. */
const PUNCTUATION_HASH = 0x510e527f
/** Classes of characters are below. */
const MARK_CLASSES = 10
/** Where words are put that are not remembered. */
const UNREMEMBERED = OTHER.first + OTHER.mask + 1

/** What counts as a word whatever its letters, and where its hash and weight stand. */
export const WHOLE = { none: -1, number: 0, long: 2, identifier: 4 } as const
const WHOLE_HASHES = [0x2545f491, 0x3c6ef372, 0x6a09e667]

/** Columns of an entry. The first two tell which word it is, the others are as those of a token's row. */
export const ENTRY = {
  low: 0,
  high: 1,
  hash: 2,
  sum: 3,
  traits: 4,
  /** From one entry to the next. */
  columns: 8,
} as const

/** A fixed 640 KiB, of which what is not used is not touched. */
export class Lexicon {
  readonly weights: Int8Array
  /** Where ideas are looked up. */
  readonly ideas: Ideas
  /** Columns of all entries. An entry is the index of its first column, valid until the next word is looked up. */
  readonly entries = new Int32Array((UNREMEMBERED + 1) * ENTRY.columns)
  /** Letters of the other words. */
  readonly #letters = new Uint16Array((OTHER.mask + 1) * OTHER.lettersMax)
  /** Hash and weight of the mark of each class that is one. */
  readonly marks: Int32Array
  /** Hash and weight of what is one thing whatever its letters: see WHOLE. */
  readonly wholes: Int32Array
  readonly #buckets = new Int32Array(WORD_FEATURES_MAX)

  /** Of a table of BUCKETS weights. */
  constructor(weights: Int8Array, ideas: Ideas = new Ideas()) {
    this.weights = weights
    this.ideas = ideas
    this.wholes = Int32Array.from(WHOLE_HASHES.flatMap((hash) => [hash, weights[wordBucket(hash)] as number]))
    this.marks = Int32Array.from({ length: MARK_CLASSES * 2 }, (_, at) => {
      const hash = Math.imul(PUNCTUATION_HASH, at >> 1)
      return at % 2 === 0 ? hash : (weights[wordBucket(hash)] as number)
    })
  }

  /**
   * The entry of the word `units[first, end)` of 1 to PLAIN.lettersMax letters a to z, their places in the alphabet packed
   * five bits each into `high` and `low`.
   */
  plain(units: Uint16Array, first: number, end: number, high: number, low: number): number {
    const { entries } = this
    const mixed = Math.imul(low ^ Math.imul(high, PLAIN.mixer), PLAIN.spreader)
    const entry = (mixed >>> PLAIN.shift) * ENTRY.columns
    if (entries[entry] === low && entries[entry + ENTRY.high] === high) return entry
    const second = entry ^ ENTRY.columns
    if (entries[second] === low && entries[second + ENTRY.high] === high) return second
    entries.copyWithin(second, entry, entry + ENTRY.columns)
    this.#learn(units, first, end, hashLetters(units, first, end), entry)
    entries[entry] = low
    entries[entry + ENTRY.high] = high
    return entry
  }

  /** The entry of any other word that is not empty, of which `hash` is the running hash. */
  other(units: Uint16Array, first: number, end: number, hash: number): number {
    const { entries } = this
    const length = end - first
    if (length > OTHER.lettersMax) return this.#learn(units, first, end, hash, UNREMEMBERED * ENTRY.columns)
    const letters = this.#letters
    const slot = (hash ^ (hash >>> 15)) & OTHER.mask
    const entry = (OTHER.first + slot) * ENTRY.columns
    const offset = slot * OTHER.lettersMax - first
    if (entries[entry] === length && entries[entry + ENTRY.high] === hash) {
      let index = first
      while (index < end && letters[offset + index] === units[index]) index++
      if (index === end) return entry
    }
    entries[entry] = length
    entries[entry + ENTRY.high] = hash
    for (let index = first; index < end; index++) letters[offset + index] = units[index] as number
    return this.#learn(units, first, end, hash, entry)
  }

  /** Adds the word of an entry: units `start` to `last`, its letters `[start, end)`. */
  addWord(out: Tokens, entry: number, start: number, end: number, last: number, state: number): void {
    const { rows } = out
    const { entries } = this
    const row = out.length++ * TOKEN.columns
    rows[row + TOKEN.hash] = entries[entry + ENTRY.hash] as number
    rows[row + TOKEN.sum] = entries[entry + ENTRY.sum] as number
    rows[row + TOKEN.traits] = entries[entry + ENTRY.traits] as number
    rows[row + TOKEN.first] = start
    rows[row + TOKEN.last] = last
    rows[row + TOKEN.lettersEnd] = end
    rows[row + TOKEN.state] = state
  }

  #learn(units: Uint16Array, first: number, end: number, hash: number, entry: number): number {
    const { entries, weights } = this
    const buckets = this.#buckets
    const idea = this.ideas.ofWord(units, first, end, hash)
    const finished = finishHash(hash)
    const count = wordBuckets(units, first, end, finished, buckets)
    let sum = 0
    for (let at = 0; at < count; at++) sum += weights[buckets[at] as number] as number
    entries[entry + ENTRY.hash] = finished
    entries[entry + ENTRY.sum] = sum
    entries[entry + ENTRY.traits] = TRAIT.word | (idea << TRAIT.ideaShift) | (count << TRAIT.countShift)
    return entry
  }
}
