// Cuts folded text into words, ideographs and punctuation marks. Undoes spelling tricks inside
// words: spaced-out letters, look-alikes, and in the leet view digits and signs instead of letters.

import { ASCII_END, DIGIT_0, DIGIT_9, DOT, LINE_FEED, LOWER_A, LOWER_Z, SPACE } from '../../core/ascii.ts'
import { readAsciiWords } from './ascii-words.ts'
import {
  type CharacterClasses,
  CLASS_DIGIT,
  CLASS_IDEOGRAPH,
  CLASS_JOINER,
  CLASS_LETTER,
  CLASS_SEPARATOR,
  CLASS_STOP,
} from './character-classes.ts'
import type { FoldedText } from './folded-text.ts'
import { readIdeographs } from './ideographs.ts'
import { LetterFolding } from './letter-folding.ts'
import { type Lexicon, OPAQUE_NONE } from './lexicon.ts'
import { addMark, addOpaque, opaqueKind, WORD_UNITS_MAX } from './other-words.ts'
import { type PrecedingState, STATE_LATIN, STATE_LEET, STATE_SPACED, type TokenList } from './token-list.ts'
import { hashLetter, hashLetters, WORD_SEED } from './word-hash.ts'

/** Single letters with the same separator between them that make a spaced-out word. */
const SPACED_RUN_MIN = 4
/** The same directly after a spaced-out word, where short words follow ("i s"). */
const SPACED_RUN_NEXT_MIN = 2

/** Reads one piece at a time; carries nothing from piece to piece. */
export class Tokeniser {
  readonly #classes: CharacterClasses
  readonly #letterFolding = new LetterFolding()
  readonly #preceding: PrecedingState = { state: 0, ideographHash: 0, ideographEnd: -1 }
  #folded!: FoldedText
  #lexicon!: Lexicon
  #out!: TokenList
  #leetView = false

  constructor(classes: CharacterClasses) {
    this.#classes = classes
  }

  /**
   * Fills `out` with the tokens of `folded` and their weights from `lexicon`. Takes linear time.
   * Overwrites the units of a word with its cleaned letters.
   */
  tokenise(folded: FoldedText, leetView: boolean, lexicon: Lexicon, out: TokenList): void {
    this.begin(folded, leetView, lexicon, out)
    const { units, length } = folded
    const { table } = this.#classes
    const { lookAlikes } = this.#letterFolding
    for (let index = 0; index < length; index = this.next(index)) {
      if (!leetView)
        index = readAsciiWords(units, index, length, table, lookAlikes, lexicon, this.#preceding, out)
      if (index === length) return
    }
  }

  /** Starts a piece like `tokenise`; the caller then reads it with `next`. */
  begin(folded: FoldedText, leetView: boolean, lexicon: Lexicon, out: TokenList): void {
    this.#folded = folded
    this.#lexicon = lexicon
    this.#out = out
    this.#leetView = leetView
    this.#preceding.state = 0
    this.#preceding.ideographEnd = -1
    out.length = 0
    out.mixedWords = 0
    out.leetWords = 0
    out.rewritten = false
  }

  /** STATE_… flags after the last token. */
  get state(): number {
    return this.#preceding.state
  }

  /** Continues after the token that ends with the unit at `last`, in the given state. */
  resume(last: number, state: number): void {
    const unit = this.#folded.units[last] as number
    const isIdeograph = this.#classes.table[unit] === CLASS_IDEOGRAPH
    this.#preceding.state = state
    this.#preceding.ideographHash = hashLetter(WORD_SEED, unit)
    this.#preceding.ideographEnd = isIdeograph ? last + 1 : -1
  }

  /**
   * Returns the index of the first sign from `start` on that the leet view reads as a letter, or
   * `length`.
   */
  leetSign(units: Uint16Array, start: number, length: number): number {
    const { leet } = this.#letterFolding
    const { table } = this.#classes
    for (let index = start; index < length; index++) {
      const unit = units[index] as number
      if (leet[unit] === 0 || (unit >= DIGIT_0 && unit <= DIGIT_9)) continue
      const after = table[units[index + 1] as number] as number
      if (after === CLASS_LETTER || after === CLASS_DIGIT || after === 0) return index
    }
    return length
  }

  /**
   * Reads at most one token at `index`; returns where it ends. Returns `index` itself after
   * classifying a unit seen for the first time.
   */
  next(index: number): number {
    const { units } = this.#folded
    const { table } = this.#classes
    const unit = units[index] as number
    if (table[unit] === 0) {
      this.#classes.of(unit)
      return index
    }
    const charClass = table[unit] as number
    if (charClass === CLASS_LETTER || charClass === CLASS_DIGIT) return this.#readWord(index)
    if (charClass === CLASS_IDEOGRAPH)
      return readIdeographs(units, index, index + 1, table, this.#lexicon, this.#preceding, this.#out)
    if (charClass >= CLASS_STOP && !this.#isInnerDot(index))
      addMark(this.#out, this.#lexicon, charClass, index, this.#preceding)
    else if (this.#leetView && this.#startsLeetWord(index)) return this.#readWord(index)
    return index + 1
  }

  /** Returns the class of a unit; a separator past the end. */
  #classAt(index: number): number {
    return index < this.#folded.length
      ? this.#classes.of(this.#folded.units[index] as number)
      : CLASS_SEPARATOR
  }

  #isWordUnit(index: number): boolean {
    const charClass = this.#classAt(index)
    return charClass === CLASS_LETTER || charClass === CLASS_DIGIT
  }

  /** Whether a dot is inside a name or number, as in `a.b`, and ends no sentence. */
  #isInnerDot(index: number): boolean {
    return (
      this.#folded.units[index] === DOT &&
      index > 0 &&
      this.#isWordUnit(index - 1) &&
      this.#isWordUnit(index + 1)
    )
  }

  #startsLeetWord(index: number): boolean {
    return (
      this.#letterFolding.isLeet(this.#folded.units[index] as number) &&
      this.#classAt(index + 1) === CLASS_LETTER
    )
  }

  #readWord(start: number): number {
    if (this.#classAt(start) === CLASS_LETTER && !this.#isWordUnit(start + 1)) {
      const end = this.#spacedRunEnd(start)
      if (end > start) return this.#readSpaced(start, end)
    }
    this.#preceding.state &= ~STATE_SPACED
    return this.#readCleaned(start)
  }

  /** Returns the end of a spaced-out word such as `i g n o r e`, or `start` if there is none. */
  #spacedRunEnd(start: number): number {
    const { units } = this.#folded
    const separator = units[start + 1] as number
    if (separator === LINE_FEED || this.#classAt(start + 1) === CLASS_JOINER) return start
    let end = start + 1
    let letters = 1
    while (
      end + 1 < this.#folded.length &&
      units[end] === separator &&
      this.#isWordUnit(end + 1) &&
      !this.#isWordUnit(end + 2)
    ) {
      end += 2
      letters++
    }
    if (letters < ((this.#preceding.state & STATE_SPACED) !== 0 ? SPACED_RUN_NEXT_MIN : SPACED_RUN_MIN))
      return start
    this.#preceding.state |= STATE_SPACED
    return end
  }

  /** A sign counts as a letter only before another letter: `now!` keeps its mark. */
  #isLeetSign(unit: number, index: number): boolean {
    return this.#letterFolding.isLeet(unit) && this.#isWordUnit(index + 1)
  }

  /**
   * Reads the word at `start` and cleans its letters; returns its end in the units. `last` is the
   * last unit of its span if that is not the last one read.
   */
  #readCleaned(start: number, last = -1): number {
    const { units } = this.#folded
    const { table } = this.#classes
    const leetView = this.#leetView
    let count = start
    let digits = 0
    let latin = 0
    let foreign = 0
    let mixed = false
    let hash = WORD_SEED
    let index = start
    for (; ; index++) {
      const unit = units[index] as number
      const charClass = table[unit] || this.#classes.of(unit)
      if (charClass !== CLASS_LETTER && charClass !== CLASS_DIGIT && index > start) {
        if (charClass === CLASS_JOINER && this.#classes.of(units[index + 1] as number) === CLASS_LETTER)
          continue
        if (!leetView || !this.#isLeetSign(unit, index)) break
      }
      if (unit >= LOWER_A && unit <= LOWER_Z) latin++
      else if (unit >= DIGIT_0 && unit <= DIGIT_9) digits++
      else if (unit >= ASCII_END) foreign++
      mixed ||= digits > 0 && (unit < DIGIT_0 || unit > DIGIT_9)
      if (count - start > WORD_UNITS_MAX) continue
      units[count++] = unit
      hash = hashLetter(hash, unit)
    }
    if (mixed) this.#out.mixedWords++
    if (count < index || foreign > 0) this.#out.rewritten = true
    const leet = digits > 0 && latin + foreign > 0
    const latinBefore = (this.#preceding.state & STATE_LATIN) !== 0
    if (foreign > 0 || (leetView && latin > 0)) {
      // Look-alikes are folded in words that mix scripts, and in words of look-alikes alone that
      // follow a Latin word.
      if (foreign > 0) this.#letterFolding.foldLookAlikes(units, start, count, latin > 0, latinBefore)
      if (leetView) digits = this.#letterFolding.foldLeet(units, start, count)
      hash = hashLetters(units, start, count)
    }
    this.#preceding.state = (this.#preceding.state & STATE_SPACED) | (foreign === 0 ? STATE_LATIN : 0)
    this.#addCleaned(start, count, digits, hash, last < 0 ? index - 1 : last, leet)
    return index
  }

  /**
   * Reads every other unit of `[start, end)` as the letters of one word. Moves them together first.
   */
  #readSpaced(start: number, end: number): number {
    const { units } = this.#folded
    let count = start
    for (let index = start; index < end; index += 2) units[count++] = units[index] as number
    const saved = units[count] as number
    units[count] = SPACE
    this.#out.rewritten = true
    this.#readCleaned(start, end - 1)
    units[count] = saved
    return end
  }

  /** Words keep their letters, whose parts are features. Opaque tokens are one feature each. */
  #addCleaned(start: number, end: number, digits: number, hash: number, last: number, leet: boolean): void {
    const length = end - start
    const lexicon = this.#lexicon
    const state = this.#preceding.state | (leet ? STATE_LEET : 0)
    if (leet) this.#out.leetWords++
    const opaque = opaqueKind(length, digits)
    if (opaque !== OPAQUE_NONE) {
      addOpaque(this.#out, lexicon, opaque, start, last, state)
    } else {
      const entry = lexicon.otherEntry(this.#folded.units, start, end, hash)
      lexicon.addWord(this.#out, entry, start, end, last, state)
    }
  }
}
