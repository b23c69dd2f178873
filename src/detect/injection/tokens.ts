// Words, ideographs and the few marks of punctuation that shape a sentence, out of folded text.
// Undoes spelling tricks inside words: spaced-out letters, look-alikes, and in the leet view digits for letters.

import { type CharacterClasses, CLASS } from './classes.ts'
import { Ideas, STEM_MAX_LETTERS, STEM_MIN_LETTERS } from './ideas.ts'
import type { Folded } from './normalise.ts'
import { Spelling } from './spelling.ts'
import type { Tokens } from './token-list.ts'
import { finishHash, hashLetter, WORD_SEED } from './word-hash.ts'

/** Longer words are no words: they count as one kind of thing, whatever their letters. */
const MAX_WORD_UNITS = 40
/** So many single letters with the same separator between them are a spaced-out word. */
const SPACED_RUN_MIN = 4
/** Within spaced-out text short words are enough ("i s"). */
const SPACED_RUN_NEXT_MIN = 2
/** Longer words with so many digits are identifiers, hashes or encoded data. */
const IDENTIFIER_UNITS = 12
const IDENTIFIER_DIGITS = 3

const NUMBER_HASH = 0x2545f491
const IDENTIFIER_HASH = 0x6a09e667
const LONG_HASH = 0x3c6ef372
/** Hashes of punctuation; apart from those of words by being far from any of one or two letters. */
const PUNCTUATION_HASH = 0x510e527f

/** Cuts folded text into tokens. Keeps nothing between pieces. */
export class Tokeniser {
  readonly #classes: CharacterClasses
  readonly #spelling = new Spelling()
  readonly #ideas = new Ideas()
  /** Of the word or ideograph that is being added. */
  #idea = 0
  /** Running hash of the ideograph or syllable that ended just before, 0 if none did. */
  #singleBefore = 0
  #singleEnd = -1
  #folded!: Folded
  #out!: Tokens
  #leetView = false
  #letterCount = 0
  #latinBefore = false
  #spacedBefore = false

  constructor(classes: CharacterClasses) {
    this.#classes = classes
  }

  /** Fills `out` with the tokens of `folded`; linear in its length. */
  tokenise(folded: Folded, leetView: boolean, out: Tokens): void {
    this.#folded = folded
    this.#out = out
    this.#leetView = leetView
    this.#letterCount = 0
    this.#latinBefore = false
    this.#spacedBefore = false
    this.#singleEnd = -1
    out.length = 0
    out.mixedWords = 0
    const { length } = folded
    for (let index = 0; index < length; ) index = this.#next(index)
  }

  /** Reads what stands at `index`; returns where it ends. */
  #next(index: number): number {
    const kind = this.#classAt(index)
    if (kind === CLASS.letter || kind === CLASS.digit) return this.#word(index)
    if (kind === CLASS.single) {
      return this.#single(index)
    }
    if (kind >= CLASS.stop && !this.#isInnerDot(index)) this.#punctuation(kind, index)
    else if (this.#leetView && this.#startsLeetWord(index)) return this.#word(index)
    return index + 1
  }

  #single(index: number): number {
    const unit = this.#folded.units[index] as number
    const pair = this.#singleEnd === index ? hashLetter(this.#singleBefore, unit) : 0
    this.#idea = pair === 0 ? 0 : this.#ideas.ofWord(pair)
    this.#singleBefore = hashLetter(WORD_SEED, unit)
    this.#singleEnd = index + 1
    this.#add(finishHash(this.#singleBefore), 1, index, index, this.#letterCount)
    return index + 1
  }

  /** The class of a unit, of a separator's past the end. */
  #classAt(index: number): number {
    return index < this.#folded.length
      ? this.#classes.of(this.#folded.units[index] as number)
      : CLASS.separator
  }

  #isWordUnit(index: number): boolean {
    const kind = this.#classAt(index)
    return kind === CLASS.letter || kind === CLASS.digit
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
      this.#spelling.isLeet(this.#folded.units[index] as number) && this.#classAt(index + 1) === CLASS.letter
    )
  }

  #punctuation(kind: number, index: number): void {
    const out = this.#out
    const hash = Math.imul(PUNCTUATION_HASH, kind)
    const previous = out.length - 1
    if (previous >= 0 && out.words[previous] === 0 && out.hashes[previous] === hash) return
    this.#add(hash, 0, index, index, this.#letterCount)
    this.#spacedBefore = false
  }

  /** Words of plain Latin letters, which most are, in one go; 0 where there is none. */
  #plainWord(start: number): number {
    const { units } = this.#folded
    const { letters } = this.#out
    const first = this.#letterCount
    const limit = start + MAX_WORD_UNITS
    let hash = WORD_SEED
    let idea = 0
    let end = start
    for (; end < limit; end++) {
      const unit = units[end] as number
      if (unit < 0x61 || unit > 0x7a) break
      letters[first + end - start] = unit
      hash = hashLetter(hash, unit)
      const count = end + 1 - start
      if (idea === 0 && count >= STEM_MIN_LETTERS && count <= STEM_MAX_LETTERS)
        idea = this.#ideas.ofStem(hash)
    }
    const after = this.#classes.of(units[end] as number)
    if (end - start < 2 || after === CLASS.letter || after === CLASS.digit || after === CLASS.joiner) return 0
    if (this.#leetView && this.#spelling.isLeet(units[end] as number)) return 0
    this.#idea = idea === 0 ? this.#ideas.ofWord(hash) : idea
    this.#letterCount += end - start
    this.#latinBefore = true
    this.#spacedBefore = false
    this.#add(finishHash(hash), 1, start, end - 1, first)
    return end
  }

  #word(start: number): number {
    const plainEnd = this.#plainWord(start)
    if (plainEnd !== 0) return plainEnd
    if (this.#classAt(start) === CLASS.letter && !this.#isWordUnit(start + 1)) {
      const end = this.#spacedRunEnd(start)
      if (end > start) return this.#collect(start, end, 2)
    }
    this.#spacedBefore = false
    return this.#collect(start, this.#wordEnd(start), 1)
  }

  /** Where `i g n o r e` ends, or `start` if it is none. */
  #spacedRunEnd(start: number): number {
    const { units } = this.#folded
    const separator = units[start + 1] as number
    if (separator === 0x0a || this.#classAt(start + 1) === CLASS.joiner) return start
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
    if (letters < (this.#spacedBefore ? SPACED_RUN_NEXT_MIN : SPACED_RUN_MIN)) return start
    this.#spacedBefore = true
    return end
  }

  #wordEnd(start: number): number {
    let end = start + 1
    for (; ; end++) {
      const kind = this.#classAt(end)
      if (kind === CLASS.letter || kind === CLASS.digit) continue
      if (kind === CLASS.joiner && this.#classAt(end + 1) === CLASS.letter) continue
      if (this.#leetView && end < this.#folded.length && this.#isLeetSign(end)) continue
      return end
    }
  }

  /** A sign stands for a letter only before another letter: `now!` keeps its mark. */
  #isLeetSign(index: number): boolean {
    return this.#spelling.isLeet(this.#folded.units[index] as number) && this.#isWordUnit(index + 1)
  }

  /** Takes every `step`th unit of [start, end) as the letters of one word. */
  #collect(start: number, end: number, step: number): number {
    const { units } = this.#folded
    const { letters } = this.#out
    const first = this.#letterCount
    let count = first
    let digits = 0
    let latin = 0
    let foreign = 0
    let mixed = false
    for (let index = start; index < end; index += step) {
      const unit = units[index] as number
      if (unit === 0x27 || unit === 0x2019) continue
      if (unit >= 0x61 && unit <= 0x7a) latin++
      else if (unit >= 0x30 && unit <= 0x39) digits++
      else if (unit >= 0x80) foreign++
      mixed ||= digits > 0 && (unit < 0x30 || unit > 0x39)
      if (count - first <= MAX_WORD_UNITS) letters[count++] = unit
    }
    if (mixed) this.#out.mixedWords++
    // Look-alikes are believed in words that mix scripts, and behind Latin words in those wholly made of them.
    if (foreign > 0) this.#spelling.foldLookAlikes(letters, first, count, latin > 0, this.#latinBefore)
    if (this.#leetView && latin + foreign > 0) digits = this.#spelling.foldLeet(letters, first, count)
    this.#latinBefore = foreign === 0
    this.#addWord(first, count, digits, start, end - 1)
    return end
  }

  /** Words keep their letters, for their parts; numbers and what is no word are one hash each. */
  #addWord(first: number, end: number, digits: number, start: number, last: number): void {
    const length = end - first
    let hash: number
    this.#idea = 0
    if (length === digits) hash = NUMBER_HASH
    else if (length > MAX_WORD_UNITS) hash = LONG_HASH
    else if (length > IDENTIFIER_UNITS && digits >= IDENTIFIER_DIGITS) hash = IDENTIFIER_HASH
    else hash = this.#hashLetters(first, end)
    this.#add(hash, 1, start, last, first)
  }

  #hashLetters(first: number, end: number): number {
    const { letters } = this.#out
    let hash = WORD_SEED
    let idea = 0
    for (let index = first; index < end; index++) {
      hash = hashLetter(hash, letters[index] as number)
      const count = index + 1 - first
      if (idea === 0 && count >= STEM_MIN_LETTERS && count <= STEM_MAX_LETTERS)
        idea = this.#ideas.ofStem(hash)
    }
    this.#idea = idea === 0 ? this.#ideas.ofWord(hash) : idea
    this.#letterCount = end
    return finishHash(hash)
  }

  #add(hash: number, word: number, startUnit: number, lastUnit: number, letterStart: number): void {
    const out = this.#out
    const { origins } = this.#folded
    const index = out.length++
    out.hashes[index] = hash
    out.words[index] = word
    out.ideas[index] = word === 1 ? this.#idea : 0
    out.starts[index] = origins[startUnit] as number
    out.lasts[index] = origins[lastUnit] as number
    out.letterStarts[index] = letterStart
    out.letterEnds[index] = this.#letterCount
  }
}
