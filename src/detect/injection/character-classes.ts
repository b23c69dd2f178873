// What kind of character a folded code unit is, for cutting text into tokens. Knows nothing of words.

/** Kinds of code units; from `stop` on they are tokens of their own. */
export const CLASS = {
  separator: 1,
  letter: 2,
  digit: 3,
  /** A character that is a token by itself: ideographs, kana, Hangul, and scripts that put no spaces. */
  single: 4,
  /** An apostrophe: inside a word it is left out. */
  joiner: 5,
  /** End of a sentence or line. */
  stop: 6,
  colon: 7,
  quote: 8,
  /** Brackets and marks of layout. */
  bracket: 9,
} as const

const SINGLE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const LETTER = /[\p{L}\p{M}]/u
const DIGIT = /\p{Nd}/u
const JOINERS = "'’"
const STOPS = '.!?\n\r。؟।…‽'
const COLONS = ':;：；'
const QUOTES = '"“”„«»`‘「」『』'
const BRACKETS = '<>[]{}()|#=*~'

/** A table over all code units, filled as they are met. */
export class CharacterClasses {
  /** Classes met so far, by code unit; zero for the others. */
  readonly known = new Uint8Array(0x10000)

  constructor() {
    for (let unit = 0; unit < 0x80; unit++) this.of(unit)
  }

  /** The class of a folded code unit. */
  of(unit: number): number {
    return this.known[unit] || this.#learn(unit)
  }

  #learn(unit: number): number {
    const found = classify(String.fromCharCode(unit))
    this.known[unit] = found
    return found
  }
}

function classify(character: string): number {
  if (JOINERS.includes(character)) return CLASS.joiner
  if (STOPS.includes(character)) return CLASS.stop
  if (COLONS.includes(character)) return CLASS.colon
  if (QUOTES.includes(character)) return CLASS.quote
  if (BRACKETS.includes(character)) return CLASS.bracket
  if (SINGLE.test(character)) return CLASS.single
  if (LETTER.test(character)) return CLASS.letter
  return DIGIT.test(character) ? CLASS.digit : CLASS.separator
}
