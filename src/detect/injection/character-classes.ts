// Classifies folded code units for cutting text into tokens. Knows nothing about words.

import { ASCII_END } from '../../core/ascii.ts'

/** Classes of code units. From CLASS_STOP on they are marks, each a token of its own. */
export const CLASS_SEPARATOR = 1
export const CLASS_LETTER = 2
export const CLASS_DIGIT = 3
/** A character that is a token of its own: Han, kana, Hangul, and scripts without spaces. */
export const CLASS_IDEOGRAPH = 4
/** An apostrophe. Inside a word it is dropped. */
export const CLASS_JOINER = 5
/** End of a sentence or line. */
export const CLASS_STOP = 6
const CLASS_COLON = 7
const CLASS_QUOTE = 8
/** Brackets and layout marks. */
const CLASS_BRACKET = 9

const IDEOGRAPH =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const LETTER = /[\p{L}\p{M}]/u
const DIGIT = /\p{Nd}/u
const JOINERS = "'’"
const STOPS = '.!?\n\r。؟।…‽'
const COLONS = ':;：；'
const QUOTES = '"“”„«»`‘「」『』'
const BRACKETS = '<>[]{}()|#=*~'

/** A table over all code units, filled on demand. */
export class CharacterClasses {
  /** Class by code unit; zero if it has not been asked for yet. */
  readonly table = new Uint8Array(0x10000)

  constructor() {
    for (let unit = 0; unit < ASCII_END; unit++) this.of(unit)
  }

  /** Returns the class of a folded code unit. */
  of(unit: number): number {
    return this.table[unit] || this.#fill(unit)
  }

  #fill(unit: number): number {
    const found = classify(String.fromCharCode(unit))
    this.table[unit] = found
    return found
  }
}

function classify(character: string): number {
  if (JOINERS.includes(character)) return CLASS_JOINER
  if (STOPS.includes(character)) return CLASS_STOP
  if (COLONS.includes(character)) return CLASS_COLON
  if (QUOTES.includes(character)) return CLASS_QUOTE
  if (BRACKETS.includes(character)) return CLASS_BRACKET
  if (IDEOGRAPH.test(character)) return CLASS_IDEOGRAPH
  if (LETTER.test(character)) return CLASS_LETTER
  return DIGIT.test(character) ? CLASS_DIGIT : CLASS_SEPARATOR
}
