// Numbers of tables, logs, data and programs that are nothing that is looked for, told by a few characters around them:
// nearly all of such texts. What is said here holds wherever the text is cut, before the number, in it or behind it.

import {
  ASCII_END,
  ASTERISK,
  AT_SIGN,
  CASE_BIT,
  COLON,
  COMMA,
  DIGIT_0,
  DOT,
  HYPHEN,
  isAlphanumeric,
  isAsciiLower,
  isAsciiUpper,
  isDigit,
  isWordCharacter,
  LOWER_O,
  LOWER_X,
  PLUS,
  QUOTE,
  SLASH,
  SPACE,
  UNDERSCORE,
} from '../../../core/ascii.ts'
import { codeAt, codesOf, endOfDigits, isLetterBefore, isWordBefore } from '../code-unit-classes.ts'
import { isGroup } from '../documents.ts'
import { isCodedSign } from '../email.ts'
import { isBehindCountry } from '../iban.ts'
import { isMacCharacter, isPartOfMac } from '../network.ts'
import { isParenthesis, separatorAt } from '../number/separators.ts'
import { isLabelBehind } from '../phone/right-context.ts'
import { isNoSecret } from '../secrets.ts'
import type { Words } from '../words/context.ts'
import { mayBeMonth } from '../words/months.ts'
import { mayNameAny, mayNameBirth, mayNameDocument } from './label-prefilter.ts'
import { CONTEXT_CHARACTERS, isUncut } from './segmenter.ts'
import { endOfDate, endOfTime, isLoneColon } from './skip-times.ts'
import { endOfWord, MAX_SHORT, MAX_WORD } from './skip-words.ts'

/** Numbers in groups have as many. */
const MIN_DIGITS = 7
/** No number of so many digits and a point is one to call. */
const MIN_LONG_DECIMAL = 16
/** Longer ones may be cards without a word. */
const MAX_PLAIN = 13
/** More decimals than a computer writes. */
const MAX_DECIMALS = 20

/**
 * Where to go on behind a trigger that nothing begins at, nor at what is passed over; the trigger if it is to be
 * looked at.
 */
export function endOfNothing(text: string, at: number, words: Words | null): number {
  const code = text.charCodeAt(at)
  if (isDigit(code)) {
    if (isCodedSign(text, at)) return at
    return isWordBefore(text, at) ? endOfWord(text, at) : endOfNumber(text, at, words)
  }
  if (code === COLON) return isLoneColon(text, at) ? at + 1 : at
  return code === AT_SIGN && isLoneAt(text, at) ? at + 1 : at
}

function endOfNumber(text: string, at: number, words: Words | null): number {
  let end = at + 1
  while (isDigit(codeAt(text, end))) if (++end - at > MAX_WORD) return at
  const after = codeAt(text, end)
  if (after >= ASCII_END) return at
  if (isAlphanumeric(after)) return endOfWord(text, at)
  if (end - at >= MIN_DIGITS) return words !== null && isUnspokenOf(text, at, end, words) ? end : at
  if (end - at > MAX_SHORT)
    return isUnnumbered(text, at, end, after) && isShort(text, at, end, after) ? end : at
  if (isDigit(codeAt(text, end + 1))) {
    if (after === DOT) return endOfDecimal(text, at, end)
    if (after === HYPHEN) return endOfDate(text, at, end)
    if (after === COLON) return endOfTime(text, at, end)
  }
  return isShort(text, at, end, after) ? end : at
}

/** Six digits, and no word for a document before. */
function isUnnumbered(text: string, at: number, end: number, after: number): boolean {
  if (end - at > MAX_SHORT + 1 || after === HYPHEN || after === PLUS) return false
  // `AB 123456 C`
  if (after === SPACE && codeAt(text, at - 1) === SPACE && isLetterBefore(text, at)) return false
  return !mayNameDocument(text, at)
}

/** A number in one piece, with no word near that would make it anything. */
function isUnspokenOf(text: string, at: number, end: number, words: Words): boolean {
  const before = codeAt(text, at - 1)
  if (
    end - at > MAX_PLAIN ||
    codeAt(text, at) === DIGIT_0 ||
    before >= ASCII_END ||
    UNPLAIN_BEFORE.has(before)
  )
    return false
  if (UNPLAIN_BEHIND.has(codeAt(text, end)) || separatorAt(text, end) > 0 || isLabelBehind(text, end))
    return false
  const { phone, number, ssn, card } = words.before(at)
  if (Math.min(phone, number, ssn, card) < CONTEXT_CHARACTERS) return false
  return !mayNameAny(text, at)
}

/** Few digits, and no other group of digits behind. */
function isShort(text: string, at: number, end: number, after: number): boolean {
  if (after === COLON) return false
  // `July 4, 1990`
  if (after === COMMA && codeAt(text, end + 1) === SPACE && isDigit(codeAt(text, end + 2))) return false
  if (isSeparator(after) && (separatorAt(text, end) > 0 || goesOn(text, at, end, after))) return false
  const isToken = codeAt(text, at - 1) === HYPHEN || after === HYPHEN || after === DOT || after === UNDERSCORE
  return !isToken || isNoSecret(text, at, end)
}

/** Whether a date, a number with letters or an address may go on behind few digits and a separator. */
function goesOn(text: string, at: number, end: number, separator: number): boolean {
  const next = codeAt(text, end + 1)
  if (separator === SLASH) return isGroup(text, end + 1) || isDated(text, end + 1, end - at)
  if (separator === SPACE) return isDated(text, end + 1, end - at) || isBehindCountry(text, at)
  if (isPartOfMac(text, at, end) || next >= ASCII_END) return true
  if (separator === HYPHEN) return isDated(text, end + 1, end - at)
  return separator === DOT && (next === SPACE || next === HYPHEN) && isDated(text, end + 2, end - at)
}

const isSeparator = (code: number): boolean =>
  code === SPACE || code === HYPHEN || code === DOT || code === SLASH || isParenthesis(code)

/** Whether what follows a day or a year, or the beginning of a number with letters, may be more of it. */
function isDated(text: string, at: number, digits: number): boolean {
  const first = codeAt(text, at)
  if (first >= ASCII_END) return true
  if (isAsciiLower(first)) return digits !== 3 && (first === LOWER_O || mayBeMonth(text, at))
  return isAsciiUpper(first) && (mayBeMonth(text, at) || isGroup(text, at))
}

/** `12.34`, `0.8347234723472342`, `1.5s`, `1.2.3` */
function endOfDecimal(text: string, at: number, point: number): number {
  if (!isApart(text, at, point)) return at
  let end = point + 1
  while (isDigit(codeAt(text, end))) if (++end - point > MAX_DECIMALS) return at
  const after = codeAt(text, end)
  if (after === COLON || after >= ASCII_END) return at
  if (after === DOT && isDigit(codeAt(text, end + 1))) return endOfVersion(text, at, point, end)
  // `0012.3456.abcd`
  if (after === DOT && point - at === 4) return at
  const digits = end - at - 1
  if (isAlphanumeric(after))
    return digits < MIN_DIGITS || isUncut(text, at) ? endOfUnit(text, at, point, end) : at
  if (digits >= MIN_DIGITS && (digits < MIN_LONG_DECIMAL || !isUncut(text, at))) return at
  return separatorAt(text, end) === 0 && isNoSecret(text, at, end) ? end : at
}

/** Behind decimals. */
function endOfUnit(text: string, at: number, point: number, from: number): number {
  // An extension.
  if ((codeAt(text, from) | CASE_BIT) === LOWER_X && isDigit(codeAt(text, from + 1))) return at
  let end = from
  while (isAlphanumeric(codeAt(text, end))) if (++end - from > MAX_WORD - MAX_DECIMALS) return at
  const after = codeAt(text, end)
  if (after === COLON || (after === DOT && point - at === 4)) return at
  return isNoSecret(text, at, end) ? end : at
}

/** Three small numbers. */
function endOfVersion(text: string, at: number, first: number, second: number): number {
  const end = endOfDigits(text, second + 1)
  const after = codeAt(text, end)
  if (end - at - 2 >= MIN_DIGITS || after === COLON || after >= ASCII_END || isAlphanumeric(after)) return at
  if (separatorAt(text, end) > 0) return at
  const last = end - second - 1
  // `12.05.90`
  if ((first - at === 4 || last === 2 || last === 4) && mayNameBirth(text, at)) return at
  return isNoSecret(text, at, end) ? end : at
}

/** Not the end of something longer. */
function isApart(text: string, at: number, point: number): boolean {
  const before = codeAt(text, at - 1)
  if (before >= ASCII_END || before === PLUS) return false
  return point - at !== 4 || !isMacCharacter(before) || !isWordCharacter(codeAt(text, at - 2))
}

/** What makes a number part of something longer, or one from abroad. */
const UNPLAIN_BEFORE = codesOf('-+./(')
const UNPLAIN_BEHIND = codesOf('-+.:_/')

/** No part of an address or a password ends before it. */
function isLoneAt(text: string, at: number): boolean {
  const before = codeAt(text, at - 1)
  return before <= SPACE || before === SLASH || before === QUOTE || before === ASTERISK
}
