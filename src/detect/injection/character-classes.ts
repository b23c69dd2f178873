// Classifies folded code units for cutting text into tokens. Knows nothing about words.

import { ASCII_END } from '../../core/ascii.ts'

/** Classes of code units, small numbers that also name bits. */
const CLASS_SEPARATOR = 1
/** A letter of the Latin script. */
export const CLASS_LATIN = 2
/** A letter or mark of another script with spaces between its words. */
export const CLASS_FOREIGN = 3
export const CLASS_DIGIT = 4
/** A character that is a token of its own: Han, kana, Hangul, and scripts without spaces. */
export const CLASS_IDEOGRAPH = 5
/** An apostrophe. Inside a word it is dropped. */
export const CLASS_JOINER = 6
/** End of a sentence or line. */
export const CLASS_STOP = 7

const IDEOGRAPH =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const LATIN = /\p{Script=Latin}/u
const LETTER = /[\p{L}\p{M}]/u
const DIGIT = /\p{Nd}/u
const JOINERS = "'’"
const STOPS = '.!?\n\r。？！؟।…‽'

/** Class by code unit; zero if it has not been asked for yet. */
export const CLASSES = new Uint8Array(0x10000)
for (let unit = 0; unit < ASCII_END; unit++) classOf(unit)

/** Returns the class of a folded code unit. */
export function classOf(unit: number): number {
  return CLASSES[unit] || fill(unit)
}

function fill(unit: number): number {
  const found = classify(String.fromCharCode(unit))
  CLASSES[unit] = found
  return found
}

function classify(character: string): number {
  if (JOINERS.includes(character)) return CLASS_JOINER
  if (STOPS.includes(character)) return CLASS_STOP
  if (IDEOGRAPH.test(character)) return CLASS_IDEOGRAPH
  if (LATIN.test(character)) return CLASS_LATIN
  if (LETTER.test(character)) return CLASS_FOREIGN
  return DIGIT.test(character) ? CLASS_DIGIT : CLASS_SEPARATOR
}
