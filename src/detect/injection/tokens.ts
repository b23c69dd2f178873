// Cuts folded text into words, and into single characters in scripts without spaces. Undoes two
// tricks of spelling: spaced-out letters, and look-alikes of another script.

import { SPACE } from '../../core/ascii.ts'
import { LOOK_ALIKES } from '../../core/look-alike-table.ts'
import {
  CLASS_DIGIT,
  CLASS_FOREIGN,
  CLASS_IDEOGRAPH,
  CLASS_JOINER,
  CLASS_LATIN,
  CLASS_STOP,
  CLASSES,
  classOf,
} from './character-classes.ts'
import type { FoldedText } from './folded-text.ts'

/** Longer words are data. */
const WORD_LETTERS_MAX = 40
/** Words longer than this with at least IDENTIFIER_DIGITS digits are identifiers or hashes. */
const IDENTIFIER_LETTERS = 12
const IDENTIFIER_DIGITS = 3
/** Letters of a prefix. Endings change with grammar, beginnings rarely do. */
const PREFIX_LETTERS = 5
/** Single letters with the same separator between them that make a spaced-out word. */
const SPACED_RUN_MIN = 4
/** The same directly after a spaced-out word, where short words follow ("i s"). */
const SPACED_RUN_NEXT_MIN = 2

// Columns of a token's row.

/** 32-bit hash of the word. */
export const COLUMN_WORD = 0
/** Hash of its first letters; the hash of the word if it has no more, and for a character. */
export const COLUMN_PREFIX = 1
/** Folded unit of its first character. */
export const COLUMN_FIRST = 2
/** Folded unit of its last character. */
export const COLUMN_LAST = 3
/** TOKEN_… flags. */
export const COLUMN_FLAGS = 4
export const ROW_COLUMNS = 5

/** A sentence begins with the token. */
export const TOKEN_FIRST = 1
/** The token is a character of a script without spaces. */
export const TOKEN_CHARACTER = 2

const SEED = 0x811c9dc5 | 0
const PRIME = 0x01000193
/** Hash of every number: its digits do not matter. */
const NUMBER = 0x3d4d51cb

const LATIN_BIT = 1 << CLASS_LATIN
const FOREIGN_BIT = 1 << CLASS_FOREIGN
const DIGIT_BIT = 1 << CLASS_DIGIT
const WORD_BITS = LATIN_BIT | FOREIGN_BIT | DIGIT_BIT

/** Tokens of one piece of text as rows of numbers. Made once and reused. */
export interface TokenList {
  length: number
  /** Words that mix digits and letters, as in `1gn0re`. */
  mixedWords: number
  readonly rows: Int32Array
}

export function createTokenList(capacity: number): TokenList {
  return { length: 0, mixedWords: 0, rows: new Int32Array(capacity * ROW_COLUMNS) }
}

/** Reads one piece at a time; carries nothing from piece to piece. */
export class Tokeniser {
  #units!: Uint16Array
  #length = 0
  #out!: TokenList
  #flags = 0
  /** The last word is Latin or a number. */
  #afterLatin = false
  /** The last word was spaced out. */
  #afterSpaced = false

  /** Fills `out` with the tokens of `folded`. Takes linear time. Changes units of odd words. */
  tokenise(folded: FoldedText, out: TokenList): void {
    this.#units = folded.units
    this.#length = folded.length
    this.#out = out
    this.#flags = 0
    this.#afterLatin = false
    this.#afterSpaced = false
    out.length = 0
    out.mixedWords = 0
    const { units, length } = folded
    for (let index = 0; index < length; ) {
      const charClass = CLASSES[units[index] as number] || classOf(units[index] as number)
      if (((1 << charClass) & WORD_BITS) !== 0) index = this.#readWord(index)
      else {
        if (charClass === CLASS_STOP) this.#flags = TOKEN_FIRST
        index = charClass === CLASS_IDEOGRAPH ? this.#addCharacters(index) : index + 1
      }
    }
  }

  /** Adds the run of characters of their own at `start`; returns its end. */
  #addCharacters(start: number): number {
    const units = this.#units
    const { rows } = this.#out
    let row = this.#out.length * ROW_COLUMNS
    let index = start
    do {
      const hash = Math.imul(SEED ^ (units[index] as number), PRIME)
      rows[row + COLUMN_WORD] = hash
      rows[row + COLUMN_PREFIX] = hash
      rows[row + COLUMN_FIRST] = index
      rows[row + COLUMN_LAST] = index
      rows[row + COLUMN_FLAGS] = TOKEN_CHARACTER
      row += ROW_COLUMNS
      index++
    } while (CLASSES[units[index] as number] === CLASS_IDEOGRAPH)
    rows[this.#out.length * ROW_COLUMNS + COLUMN_FLAGS]! |= this.#flags
    this.#out.length += index - start
    this.#flags = 0
    this.#afterLatin = false
    return index
  }

  /** Reads the word at `start`; returns its end. */
  #readWord(start: number): number {
    const units = this.#units
    let hash = SEED
    let prefix = 0
    let letters = 0
    let classes = 0
    let index = start
    for (; ; index++) {
      const unit = units[index] as number
      const charClass = CLASSES[unit] || classOf(unit)
      if (((1 << charClass) & WORD_BITS) === 0) {
        if (charClass === CLASS_JOINER && this.#isLetter(index + 1)) continue
        break
      }
      classes |= 1 << charClass
      hash = Math.imul(hash ^ unit, PRIME)
      if (++letters === PREFIX_LETTERS) prefix = hash
    }
    if (letters === 1 && (classes & DIGIT_BIT) === 0) {
      const end = this.#spacedRunEnd(start)
      if (end > start) return this.#readSpaced(start, end)
    }
    this.#afterSpaced = false
    if ((classes & FOREIGN_BIT) !== 0 && this.#foldLookAlikes(start, index, classes)) {
      return this.#readWord(start)
    }
    this.#addWord(start, index - 1, letters, classes, hash, prefix)
    return index
  }

  #addWord(
    start: number,
    last: number,
    letters: number,
    classes: number,
    hash: number,
    prefix: number,
  ): void {
    this.#afterLatin = (classes & FOREIGN_BIT) === 0
    if ((classes & DIGIT_BIT) !== 0 && classes !== DIGIT_BIT) this.#out.mixedWords++
    if (letters > WORD_LETTERS_MAX) return
    if (classes === DIGIT_BIT) this.#add(NUMBER, NUMBER, start, last)
    else if ((classes & DIGIT_BIT) === 0 || !this.#isIdentifier(start, last, letters))
      this.#add(hash, letters > PREFIX_LETTERS ? prefix ^ PREFIX_LETTERS : hash, start, last)
  }

  #isIdentifier(start: number, last: number, letters: number): boolean {
    if (letters <= IDENTIFIER_LETTERS) return false
    let digits = 0
    for (let index = start; index <= last; index++)
      if (CLASSES[this.#units[index] as number] === CLASS_DIGIT) digits++
    return digits >= IDENTIFIER_DIGITS
  }

  #add(word: number, prefix: number, first: number, last: number): void {
    const { rows } = this.#out
    const row = this.#out.length++ * ROW_COLUMNS
    rows[row + COLUMN_WORD] = word
    rows[row + COLUMN_PREFIX] = prefix
    rows[row + COLUMN_FIRST] = first
    rows[row + COLUMN_LAST] = last
    rows[row + COLUMN_FLAGS] = this.#flags
    this.#flags = 0
  }

  #isLetter(index: number): boolean {
    const charClass = index < this.#length ? classOf(this.#units[index] as number) : 0
    return charClass === CLASS_LATIN || charClass === CLASS_FOREIGN
  }

  #isWordUnit(index: number): boolean {
    return index < this.#length && ((1 << classOf(this.#units[index] as number)) & WORD_BITS) !== 0
  }

  /** Returns the end of a spaced-out word such as `i g n o r e`, or `start` if there is none. */
  #spacedRunEnd(start: number): number {
    const units = this.#units
    const separator = units[start + 1] as number
    const separatorClass = classOf(separator)
    if (separatorClass === CLASS_JOINER || separatorClass === CLASS_IDEOGRAPH) return start
    let end = start + 1
    let letters = 1
    while (units[end] === separator && this.#isWordUnit(end + 1) && !this.#isWordUnit(end + 2)) {
      end += 2
      letters++
    }
    return letters < (this.#afterSpaced ? SPACED_RUN_NEXT_MIN : SPACED_RUN_MIN) ? start : end
  }

  /** Reads every other unit of `[start, end)` as one word, after moving them together. */
  #readSpaced(start: number, end: number): number {
    const units = this.#units
    let count = start
    for (let index = start; index < end; index += 2) units[count++] = units[index] as number
    const saved = units[count] as number
    units[count] = SPACE
    const before = this.#out.length
    this.#readWord(start)
    units[count] = saved
    if (this.#out.length > before) this.#out.rows[before * ROW_COLUMNS + COLUMN_LAST] = end - 1
    this.#afterSpaced = true
    return end
  }

  /**
   * Replaces look-alikes by Latin letters if the word has Latin letters, too, or consists of
   * look-alikes alone and follows a Latin word. Returns whether the word is Latin now.
   */
  #foldLookAlikes(start: number, end: number, classes: number): boolean {
    const units = this.#units
    const isMixed = (classes & LATIN_BIT) !== 0
    if (!isMixed && !this.#afterLatin) return false
    let folds = false
    for (let index = start; index < end; index++) {
      const isFoldable = LOOK_ALIKES[units[index] as number] !== 0
      if (!isMixed && !isFoldable) return false
      folds ||= isFoldable
    }
    if (!folds) return false
    for (let index = start; index < end; index++) {
      const letter = LOOK_ALIKES[units[index] as number] as number
      if (letter !== 0) units[index] = letter
    }
    return true
  }
}
