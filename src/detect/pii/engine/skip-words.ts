// Skips words with digits that cannot be personal data, such as `utf8` or `10px`. Follows the rules
// of skip-numbers.ts.

import {
  ASCII_END,
  CARRIAGE_RETURN,
  CASE_BIT,
  COLON,
  DOT,
  HYPHEN,
  isAlphanumeric,
  isDigit,
  LINE_FEED,
  LOWER_X,
  SPACE,
} from '../../../core/ascii.ts'
import { isDateInOneWord, mayBeDate } from '../birthdate.ts'
import { codeAt, isLetterBefore, isWordBefore } from '../code-unit-classes.ts'
import { mayBeDocumentNumber } from '../documents.ts'
import { isAfterCountryCode } from '../iban.ts'
import { isInThousands, isItalianDateGroup, mayStartIdentifier } from '../nationalid/nationalid.ts'
import { isPartOfMac } from '../network.ts'
import { holdsNoSecret } from '../secret/secrets.ts'
import { isMonth, mayMonthFollow } from '../words/months.ts'
import { mayHaveDocumentLabel } from './label-prefilter.ts'

/**
 * Maximum digits that form no value before a word. Document numbers have six characters; no other
 * number has so few digits.
 */
export const MAXIMUM_SHORT_DIGITS = 5
/** Longest word that is skipped. Wallet addresses and encoded text are longer. */
export const MAXIMUM_SKIPPED_WORD = 25
/** Length of the shortest IBAN, Norway's. */
const MIN_IBAN = 15
/** Letters of an ordinal suffix. */
const SUFFIX = 2
/** Lengths of the personal numbers that start with so many digits and continue with letters. */
const IDENTIFIER_LENGTHS: Readonly<Record<number, readonly number[]>> = {
  6: [7, 11, 13, 15],
  7: [8, 9, 14],
  8: [9, 11, 12],
  9: [10, 12],
  17: [18],
}

/**
 * Where to continue after a word with a digit in it, such as `x12`, `utf8`, `3f2a9c` or `10px`;
 * `at` if it may be a value or part of one.
 */
export function skipWord(text: string, at: number): number {
  let word = at
  while (isAlphanumeric(codeAt(text, word - 1))) if (at - --word > MAXIMUM_SKIPPED_WORD) return at
  let digitsEnd = at
  while (isDigit(codeAt(text, digitsEnd))) if (++digitsEnd - at > MAXIMUM_SKIPPED_WORD) return at
  let end = digitsEnd
  while (isAlphanumeric(codeAt(text, end))) if (++end - word > MAXIMUM_SKIPPED_WORD) return at
  const length = end - word
  const after = codeAt(text, end)
  if (after >= ASCII_END) return at
  if (!isWordBefore(text, word)) {
    if (after === COLON || isPartOfMac(text, word, end)) return at
    const letters = at - word
    if (
      letters === 0 ? !startsNoValue(text, at, digitsEnd, end) : mayStartIdentifier(letters, digitsEnd - at)
    )
      return at
    if (letters === 1 && isInThousands(text, digitsEnd)) return at
    if (letters === 2 && isDigit(codeAt(text, word + 3)) && (length >= MIN_IBAN || !isNoSeparator(after)))
      return at
    if (mayBeDocumentNumber(text, word) && mayHaveDocumentLabel(text, word)) return at
  }
  return holdsNoSecret(text, word, end) ? end : at
}

/** After any other character, no value in groups continues. */
const isNoSeparator = (code: number): boolean =>
  code !== SPACE && code !== HYPHEN && code !== DOT && code !== LINE_FEED && code !== CARRIAGE_RETURN

/**
 * Reports whether the digits at the start of a word start no date, no number with letters and no
 * extension.
 */
function startsNoValue(text: string, at: number, end: number, wordEnd: number): boolean {
  const digits = end - at
  // `4th`, `20240115T3456`
  if ((digits > 2 || wordEnd - end === SUFFIX) && mayBeDate(text, at, end) && isLetterBefore(text, at))
    return false
  // `12MAY1990`, `12May 1990`
  if (digits <= 2 && mayStartDate(text, end, wordEnd)) return false
  if (digits <= MAXIMUM_SHORT_DIGITS) return !isItalianDateGroup(text, at) && !isAfterCountryCode(text, at)
  if ((codeAt(text, end) | CASE_BIT) === LOWER_X) return false
  return IDENTIFIER_LENGTHS[digits]?.includes(wordEnd - at) !== true
}

/**
 * Reports whether a day of the month may start a word: `12May 1990`, `12th of May 1990`,
 * `12MAY1990`.
 * @param end end of the day
 */
const mayStartDate = (text: string, end: number, wordEnd: number): boolean =>
  (wordEnd - end === SUFFIX && mayMonthFollow(text, wordEnd)) ||
  isMonth(text, end, wordEnd) ||
  isDateInOneWord(text, end, wordEnd)
