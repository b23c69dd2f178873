// Words, ideographs and the few marks of punctuation that shape a sentence, out of folded text.
// Undoes spelling tricks inside words: spaced-out letters, look-alikes, and in the leet view digits for letters.

import { readWords } from './ascii-words.ts'
import {
  type CharacterClasses,
  CLASS_DIGIT,
  CLASS_IDEOGRAPH,
  CLASS_JOINER,
  CLASS_LETTER,
  CLASS_SEPARATOR,
  CLASS_STOP,
} from './character-classes.ts'
import type { Folded } from './folded-text.ts'
import { readSingles } from './ideographs.ts'
import { Spelling } from './letter-folding.ts'
import { type Lexicon, OPAQUE_NONE } from './lexicon.ts'
import { addMark, addWhole, MAX_WORD_UNITS, wholeOf } from './other-words.ts'
import { type Before, STATE_LATIN, STATE_LEET, STATE_SPACED, type Tokens } from './token-list.ts'
import { hashLetter, hashLetters, WORD_SEED } from './word-hash.ts'

/** So many single letters with the same separator between them are a spaced-out word. */
const SPACED_RUN_MIN = 4
/** Within spaced-out text short words are enough ("i s"). */
const SPACED_RUN_NEXT_MIN = 2
const SPACE = 0x20
const LETTER_A = 0x61
const LETTER_Z = 0x7a
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

/** Cuts folded text into tokens. Keeps nothing between pieces. */
export class Tokeniser {
  readonly #classes: CharacterClasses
  readonly #spelling = new Spelling()
  readonly #before: Before = { state: 0, single: 0, singleEnd: -1 }
  #folded!: Folded
  #lexicon!: Lexicon
  #out!: Tokens
  #leetView = false

  constructor(classes: CharacterClasses) {
    this.#classes = classes
  }

  /**
   * Fills `out` with the tokens of `folded`, valued by `lexicon`; linear in its length. The cleaned letters of words are
   * written over the units they were read from.
   */
  tokenise(folded: Folded, leetView: boolean, lexicon: Lexicon, out: Tokens): void {
    this.begin(folded, leetView, lexicon, out)
    const { units, length } = folded
    const { known } = this.#classes
    const { twins } = this.#spelling
    for (let index = 0; index < length; index = this.next(index)) {
      if (!leetView) index = readWords(units, index, length, known, twins, lexicon, this.#before, out)
      if (index === length) return
    }
  }

  /** As tokenise, to be followed by calls of `next`. */
  begin(folded: Folded, leetView: boolean, lexicon: Lexicon, out: Tokens): void {
    this.#folded = folded
    this.#lexicon = lexicon
    this.#out = out
    this.#leetView = leetView
    this.#before.state = 0
    this.#before.singleEnd = -1
    out.length = 0
    out.mixedWords = 0
    out.leetWords = 0
    out.rewritten = false
  }

  /** Parts of STATE, as after the token before. */
  get state(): number {
    return this.#before.state
  }

  /** Reads on behind the token that ends with the unit at `last`, from the state after it. */
  resume(last: number, state: number): void {
    const unit = this.#folded.units[last] as number
    const isSingle = this.#classes.known[unit] === CLASS_IDEOGRAPH
    this.#before.state = state
    this.#before.single = hashLetter(WORD_SEED, unit)
    this.#before.singleEnd = isSingle ? last + 1 : -1
  }

  /** Where the next sign stands, from `start` on, that the leet view reads as a letter; `length` if none does. */
  leetSign(units: Uint16Array, start: number, length: number): number {
    const { leet } = this.#spelling
    const { known } = this.#classes
    for (let index = start; index < length; index++) {
      const unit = units[index] as number
      if (leet[unit] === 0 || (unit >= DIGIT_0 && unit <= DIGIT_9)) continue
      const after = known[units[index + 1] as number] as number
      if (after === CLASS_LETTER || after === CLASS_DIGIT || after === 0) return index
    }
    return length
  }

  /** Reads what stands at `index`, at most a token; returns where it ends. */
  next(index: number): number {
    const { units } = this.#folded
    const { known } = this.#classes
    const unit = units[index] as number
    if (known[unit] === 0) {
      this.#classes.of(unit)
      return index
    }
    const kind = known[unit] as number
    if (kind === CLASS_LETTER || kind === CLASS_DIGIT) return this.#word(index)
    if (kind === CLASS_IDEOGRAPH)
      return readSingles(units, index, index + 1, known, this.#lexicon, this.#before, this.#out)
    if (kind >= CLASS_STOP && !this.#isInnerDot(index))
      addMark(this.#out, this.#lexicon, kind, index, this.#before)
    else if (this.#leetView && this.#startsLeetWord(index)) return this.#word(index)
    return index + 1
  }

  /** The class of a unit, of a separator's past the end. */
  #classAt(index: number): number {
    return index < this.#folded.length
      ? this.#classes.of(this.#folded.units[index] as number)
      : CLASS_SEPARATOR
  }

  #isWordUnit(index: number): boolean {
    const kind = this.#classAt(index)
    return kind === CLASS_LETTER || kind === CLASS_DIGIT
  }

  /** `a.b`: a dot in a name or number ends no sentence. */
  #isInnerDot(index: number): boolean {
    return (
      this.#folded.units[index] === 0x2e &&
      index > 0 &&
      this.#isWordUnit(index - 1) &&
      this.#isWordUnit(index + 1)
    )
  }

  #startsLeetWord(index: number): boolean {
    return (
      this.#spelling.isLeet(this.#folded.units[index] as number) && this.#classAt(index + 1) === CLASS_LETTER
    )
  }

  #word(start: number): number {
    if (this.#classAt(start) === CLASS_LETTER && !this.#isWordUnit(start + 1)) {
      const end = this.#spacedRunEnd(start)
      if (end > start) return this.#spaced(start, end)
    }
    this.#before.state &= ~STATE_SPACED
    return this.#cleaned(start)
  }

  /** Where `i g n o r e` ends, or `start` if it is none. */
  #spacedRunEnd(start: number): number {
    const { units } = this.#folded
    const separator = units[start + 1] as number
    if (separator === 0x0a || this.#classAt(start + 1) === CLASS_JOINER) return start
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
    if (letters < ((this.#before.state & STATE_SPACED) !== 0 ? SPACED_RUN_NEXT_MIN : SPACED_RUN_MIN))
      return start
    this.#before.state |= STATE_SPACED
    return end
  }

  /** A sign stands for a letter only before another letter: `now!` keeps its mark. */
  #isLeetSign(unit: number, index: number): boolean {
    return this.#spelling.isLeet(unit) && this.#isWordUnit(index + 1)
  }

  /** Takes the letters of the word at `start` as far as it goes; returns where. In the text it ends with `last` if given. */
  #cleaned(start: number, last = -1): number {
    const { units } = this.#folded
    const { known } = this.#classes
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
      const kind = known[unit] || this.#classes.of(unit)
      if (kind !== CLASS_LETTER && kind !== CLASS_DIGIT && index > start) {
        if (kind === CLASS_JOINER && this.#classes.of(units[index + 1] as number) === CLASS_LETTER) continue
        if (!leetView || !this.#isLeetSign(unit, index)) break
      }
      if (unit >= LETTER_A && unit <= LETTER_Z) latin++
      else if (unit >= DIGIT_0 && unit <= DIGIT_9) digits++
      else if (unit >= 0x80) foreign++
      mixed ||= digits > 0 && (unit < DIGIT_0 || unit > DIGIT_9)
      if (count - start > MAX_WORD_UNITS) continue
      units[count++] = unit
      hash = hashLetter(hash, unit)
    }
    if (mixed) this.#out.mixedWords++
    if (count < index || foreign > 0) this.#out.rewritten = true
    const leet = digits > 0 && latin + foreign > 0
    const latinBefore = (this.#before.state & STATE_LATIN) !== 0
    if (foreign > 0 || (leetView && latin > 0)) {
      // Look-alikes are believed in words that mix scripts, and behind Latin words in those wholly made of them.
      if (foreign > 0) this.#spelling.foldLookAlikes(units, start, count, latin > 0, latinBefore)
      if (leetView) digits = this.#spelling.foldLeet(units, start, count)
      hash = hashLetters(units, start, count)
    }
    this.#before.state = (this.#before.state & STATE_SPACED) | (foreign === 0 ? STATE_LATIN : 0)
    this.#addCleaned(start, count, digits, hash, last < 0 ? index - 1 : last, leet)
    return index
  }

  /** Takes every other unit of [start, end), letters and digits, as one word; moves them together for it. */
  #spaced(start: number, end: number): number {
    const { units } = this.#folded
    let count = start
    for (let index = start; index < end; index += 2) units[count++] = units[index] as number
    const kept = units[count] as number
    units[count] = SPACE
    this.#out.rewritten = true
    this.#cleaned(start, end - 1)
    units[count] = kept
    return end
  }

  /** Words keep their letters, for their parts; numbers and what is no word are one hash each. */
  #addCleaned(start: number, end: number, digits: number, hash: number, last: number, leet: boolean): void {
    const length = end - start
    const lexicon = this.#lexicon
    const state = this.#before.state | (leet ? STATE_LEET : 0)
    if (leet) this.#out.leetWords++
    const whole = wholeOf(length, digits)
    if (whole !== OPAQUE_NONE) {
      addWhole(this.#out, lexicon, whole, start, last, state)
    } else {
      const entry = lexicon.other(this.#folded.units, start, end, hash)
      lexicon.addWord(this.#out, entry, start, end, last, state)
    }
  }
}
