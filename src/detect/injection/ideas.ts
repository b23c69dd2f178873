// Finds the idea that a word expresses, by the hash of its letters. Knows nothing about features or
// weights.

import { ideaWords } from './idea-table.ts'
import { hashLetter, WORD_SEED } from './word-hash.ts'

/** Lengths of the prefixes that are looked up as stems. */
const STEM_MIN_LETTERS = 4
const STEM_MAX_LETTERS = 6

/**
 * A power of two, several times the number of entries, so that most words hit an empty slot at
 * once.
 */
const SLOTS = 8192
const SLOT_MASK = SLOTS - 1
/** Separates a stem from the whole word with the same letters. */
const STEM_SALT = 0x5bd1e995

/** A hash table with open addressing, filled once. */
export class Ideas {
  readonly #keys = new Int32Array(SLOTS)
  readonly #values = new Uint8Array(SLOTS)

  constructor() {
    for (const { word, stem, idea } of ideaWords()) {
      const length = stem ? Math.min(word.length, STEM_MAX_LETTERS) : word.length
      let hash = WORD_SEED
      for (let at = 0; at < length; at++) hash = hashLetter(hash, word.charCodeAt(at))
      this.#put(stem ? hash ^ STEM_SALT : hash, idea)
    }
  }

  /**
   * Returns the idea of the word `units[first, end)` with the running hash `hash`, or 0. Stems come
   * first.
   */
  ofWord(units: Uint16Array, first: number, end: number, hash: number): number {
    const last = Math.min(end, first + STEM_MAX_LETTERS)
    let prefix = WORD_SEED
    for (let index = first; index < last; index++) {
      prefix = hashLetter(prefix, units[index] as number)
      if (index + 1 - first < STEM_MIN_LETTERS) continue
      const idea = this.ofHash(prefix ^ STEM_SALT)
      if (idea !== 0) return idea
    }
    return this.ofHash(hash)
  }

  /** Returns the idea of a word or a pair of syllables by its running hash, or 0. */
  ofHash(hash: number): number {
    return this.#values[this.#slot(hash)] as number
  }

  #put(hash: number, idea: number): void {
    const slot = this.#slot(hash)
    if (this.#values[slot] !== 0) return
    this.#keys[slot] = hash
    this.#values[slot] = idea
  }

  /** Returns the slot of a hash, or the empty slot where it would go. */
  #slot(hash: number): number {
    let slot = (hash ^ (hash >>> 15)) & SLOT_MASK
    while (this.#values[slot] !== 0 && this.#keys[slot] !== hash) slot = (slot + 1) & SLOT_MASK
    return slot
  }
}
