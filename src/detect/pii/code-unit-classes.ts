// Classifies UTF-16 code units and their neighbourhood, as far as detection needs it. Half of a
// surrogate pair belongs to no class.

import {
  CARRIAGE_RETURN,
  isAlphanumeric,
  isAsciiLower,
  isAsciiUpper,
  isDigit,
  isWordCharacter,
  SPACE,
  TAB,
  UNDERSCORE,
} from '../../core/ascii.ts'

const NO_BREAK_SPACE = 0xa0

/** The code units of a string of single-unit characters. */
export const codesOf = (characters: string): ReadonlySet<number> =>
  new Set(Array.from(characters, (character) => character.charCodeAt(0)))

/** `Name: ____415-555-2671____` */
const MAXIMUM_EMPHASIS = 32

/**
 * Reports whether a word continues across the left side of `at`. Underscores alone are emphasis, as
 * in `_415-555-2671_`.
 */
export function isWordBefore(text: string, at: number): boolean {
  const code = codeAt(text, at - 1)
  if (code !== UNDERSCORE) return isAlphanumeric(code)
  let i = at - 2
  while (at - i <= MAXIMUM_EMPHASIS && codeAt(text, i) === UNDERSCORE) i--
  return isWordCharacter(codeAt(text, i))
}

/** Reports whether a word continues at `at`, see `isWordBefore`. */
export function isWordAfter(text: string, at: number): boolean {
  const code = codeAt(text, at)
  if (code !== UNDERSCORE) return isAlphanumeric(code)
  let i = at + 1
  while (i - at < MAXIMUM_EMPHASIS && codeAt(text, i) === UNDERSCORE) i++
  return isWordCharacter(codeAt(text, i))
}

export const isSpace = (code: number): boolean =>
  code <= SPACE
    ? code === SPACE || (code >= TAB && code <= CARRIAGE_RETURN)
    : code >= NO_BREAK_SPACE && (code === NO_BREAK_SPACE || code === 0x3000)

/**
 * Scripts written without spaces: Thai to Khmer, kana, Han, Hangul, and their punctuation. No value
 * contains two in a row.
 */
export const isUnspaced = (code: number): boolean => code >= FIRST_UNSPACED && isBeyondSpaces(code)

const FIRST_UNSPACED = 0x0e00
const isBeyondSpaces = (code: number): boolean =>
  code <= 0x0eff ||
  (code >= 0x1000 && code <= 0x109f) ||
  (code >= 0x1780 && code <= 0x17ff) ||
  (code >= 0x3001 && code <= 0x30ff) ||
  (code >= 0x3400 && code <= 0x9fff) ||
  (code >= 0xac00 && code <= 0xd7a3) ||
  (code >= 0xff01 && code <= 0xff0f) ||
  code === 0xff1a ||
  code === 0xff1b ||
  code === 0xff1f

/** A letter beyond ASCII, of a script that separates words by spaces. */
export const isSpacedLetter = (code: number): boolean =>
  code >= FIRST_LETTER && code < 0x2000 && code !== 0xd7 && code !== 0xf7 && !isUnspaced(code)

const FIRST_LETTER = 0xc0

/** A letter of any script that separates words by spaces. */
export const isLetter = (code: number): boolean =>
  isAsciiLower(code) || isAsciiUpper(code) || isSpacedLetter(code)

/** First code unit after Greek, Cyrillic and Armenian; later scripts have no capitals. */
const CASELESS = 0x590

/** A letter that is no capital. */
export function isUncapitalised(code: number): boolean {
  if (isAsciiLower(code)) return true
  if (!isSpacedLetter(code)) return false
  if (code >= CASELESS) return true
  const letter = String.fromCharCode(code)
  return letter === letter.toLowerCase()
}

/**
 * The code unit at an offset, or 0 outside of the text.
 * Use it wherever the offset may lie outside: V8 does not compile a `charCodeAt` that has returned
 * NaN to a plain load, and it stays five times slower.
 */
export const codeAt = (text: string, at: number): number =>
  at >= 0 && at < text.length ? text.charCodeAt(at) : 0

/** Reports whether a sticky pattern matches at an offset. */
export function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}

/** Where the digits that start at `at` end. */
export function endOfDigits(text: string, at: number): number {
  let end = at
  while (end < text.length && isDigit(text.charCodeAt(end))) end++
  return end
}

const MAXIMUM_PUNCTUATION = 10

/**
 * Reports whether a letter precedes, apart from white space and punctuation: a number there may
 * have a label.
 */
export function isLetterBefore(text: string, at: number): boolean {
  for (let i = at - 1; i >= 0 && at - i <= MAXIMUM_PUNCTUATION; i--) {
    const code = text.charCodeAt(i)
    if (isDigit(code)) return false
    if (isLetter(code) || isUnspaced(code)) return true
  }
  return false
}
