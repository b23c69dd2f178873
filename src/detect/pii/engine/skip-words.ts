// Words with digits in them that are nothing that is looked for; see nothing.ts.

import {
  ASCII_END,
  CASE_BIT,
  COLON,
  DOT,
  HYPHEN,
  isAlphanumeric,
  isDigit,
  LOWER_X,
  SPACE,
} from '../../../core/ascii.ts'
import { isDateWord, mayBeDate } from '../birthdate.ts'
import { codeAt, isLetterBefore, isWordBefore } from '../code-unit-classes.ts'
import { isLongEnough } from '../documents.ts'
import { isBehindCountry } from '../iban.ts'
import { isBirthGroup, isInThousands, mayGrowToSuit } from '../nationalid/nationalid.ts'
import { isPartOfMac } from '../network.ts'
import { isNoSecret } from '../secrets.ts'
import { mayNameDocument } from './label-prefilter.ts'
import { isUncut } from './segmenter.ts'

/** Numbers of documents have six characters, and no other number has so few digits. */
export const MAX_SHORT = 5
/** Shorter than a wallet or what is coded. */
export const MAX_WORD = 25
/** The shortest IBAN is Norway's. */
const MIN_IBAN = 15
/** Of ordinal numbers. */
const SUFFIX = 2
/** By the number of digits at their beginning, how long the personal numbers are that have letters behind. */
const SUITING: Readonly<Record<number, readonly number[]>> = {
  6: [7, 11, 13, 15],
  7: [8, 9, 14],
  8: [9, 11, 12],
  9: [10, 12],
  17: [18],
}

/** A word with a digit in it: `x12`, `utf8`, `3f2a9c`, `10px`. */
export function endOfWord(text: string, at: number): number {
  let word = at
  while (isAlphanumeric(codeAt(text, word - 1))) if (at - --word > MAX_WORD) return at
  let digitsEnd = at
  while (isDigit(codeAt(text, digitsEnd))) if (++digitsEnd - at > MAX_WORD) return at
  let end = digitsEnd
  while (isAlphanumeric(codeAt(text, end))) if (++end - word > MAX_WORD) return at
  const length = end - word
  const after = codeAt(text, end)
  if (after >= ASCII_END) return at
  if (!isWordBefore(text, word)) {
    if (after === COLON || isPartOfMac(text, word, end)) return at
    const letters = at - word
    if (letters === 0 ? !isPlainBeginning(text, at, digitsEnd, end) : mayGrowToSuit(letters, digitsEnd - at))
      return at
    if (letters === 1 && isInThousands(text, digitsEnd)) return at
    if (letters === 2 && isDigit(codeAt(text, word + 3)) && (length >= MIN_IBAN || !isEnd(after))) return at
    if (isLongEnough(text, word) && mayNameDocument(text, word)) return at
  }
  return isNoSecret(text, word, end) ? end : at
}

/** No value in groups goes on behind. */
const isEnd = (code: number): boolean => code !== SPACE && code !== HYPHEN && code !== DOT

/** Digits at the beginning of a word that are neither a date nor of a number with letters or an extension. */
function isPlainBeginning(text: string, at: number, end: number, wordEnd: number): boolean {
  const digits = end - at
  // `4th`, `20240115T3456`
  if ((digits > 2 || wordEnd - end === SUFFIX) && mayBeDate(text, at, end) && isLetterBefore(text, at))
    return false
  if (digits <= 2 && isDateWord(text, end, wordEnd) && isLetterBefore(text, at)) return false
  if (digits <= MAX_SHORT) return !isBirthGroup(text, at) && !isBehindCountry(text, at)
  if ((codeAt(text, end) | CASE_BIT) === LOWER_X || !isUncut(text, at)) return false
  return SUITING[digits]?.includes(wordEnd - at) !== true
}
