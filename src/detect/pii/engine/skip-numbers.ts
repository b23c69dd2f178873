// Skips numbers that cannot be personal data (table cells, log fields, code) by looking at a few
// neighbouring characters. Most numbers in such texts are skipped. The result is the same wherever
// the text is cut: before the number, inside it or after it.

import {
  ASCII_END,
  CASE_BIT,
  COLON,
  COMMA,
  DIGIT_0,
  DOT,
  HYPHEN,
  isAlphanumeric,
  isDigit,
  isWordCharacter,
  LOWER_X,
  PLUS,
  SLASH,
  SPACE,
  UNDERSCORE,
} from '../../../core/ascii.ts'
import { isBornAfter } from '../birthdate.ts'
import { cardGroups } from '../card-groups.ts'
import { codeAt, codesOf, endOfDigits, isLetterBefore, isWordBefore } from '../code-unit-classes.ts'
import { isDocumentGroup } from '../documents.ts'
import { isEncodedAtSign } from '../email.ts'
import { isAfterCountryCode } from '../iban.ts'
import { isMacCharacter, isPartOfMac } from '../network.ts'
import { endOfSeparator, isParenthesis } from '../number/separators.ts'
import { isLabelAfter } from '../phone/right-context.ts'
import { isPasswordSign, isQuote } from '../secret/assignment.ts'
import { isHashBegun } from '../secret/hash-start.ts'
import { holdsNoSecret, mayEndPassword } from '../secret/secrets.ts'
import type { ContextWords } from '../words/context.ts'
import { mayMonthFollow } from '../words/months.ts'
import { mayHaveBirthLabel, mayHaveDocumentLabel, mayHaveLabel } from './label-prefilter.ts'
import { CONTEXT_CHARACTERS } from './segmenter.ts'
import { skipDate, skipTime } from './skip-times.ts'
import { MAXIMUM_SHORT_DIGITS, MAXIMUM_SKIPPED_WORD, skipWord } from './skip-words.ts'

/** Digits of the first group of a card. */
const CARD_GROUP = 4
/** Fewest digits of a number in groups. */
const MIN_DIGITS = 7
/** Fewest digits of a decimal that cannot be a phone number. */
const MIN_LONG_DECIMAL = 16
/** A longer number may be a card number without a label. */
const MAXIMUM_UNLABELLED_DIGITS = 13
/** Most digits before the name of a month: `1973. augusztus 30.` */
const YEAR_DIGITS = 4
/** More decimals than programs print. */
const MAXIMUM_DECIMALS = 20

/**
 * Where to continue after a digit; `at` if a value may start there. No value starts at a skipped
 * character.
 */
export function skipNumber(text: string, at: number, words: ContextWords | null): number {
  if (isPasswordSign(codeAt(text, at - 1)) && mayFollowSign(text, at)) return at
  return isWordBefore(text, at) ? skipWord(text, at) : skipDigits(text, at, words)
}

/** Reports whether digits after a sign may belong to an address, a hash or a password. */
const mayFollowSign = (text: string, at: number): boolean =>
  isEncodedAtSign(text, at) || isHashBegun(text, at - 1) || mayEndPassword(text, at)

function skipDigits(text: string, at: number, words: ContextWords | null): number {
  let end = at + 1
  while (isDigit(codeAt(text, end))) if (++end - at > MAXIMUM_SKIPPED_WORD) return at
  const after = codeAt(text, end)
  if (after >= ASCII_END) return at
  if (isAlphanumeric(after)) return skipWord(text, at)
  if (end - at === CARD_GROUP && cardGroups(text, at) !== null) return at
  if (end - at >= MIN_DIGITS) return words !== null && hasNoCue(text, at, end, words) ? end : at
  if (end - at > MAXIMUM_SHORT_DIGITS)
    return isNoDocumentNumber(text, at, end, after) && isLoneShortNumber(text, at, end, after) ? end : at
  if (isDigit(codeAt(text, end + 1))) {
    if (after === DOT) return skipDecimal(text, at, end)
    if (after === HYPHEN) return skipDate(text, at, end)
    if (after === COLON) return skipTime(text, at, end)
  }
  return isLoneShortNumber(text, at, end, after) ? end : at
}

/** Reports whether a number of at most six digits has no label of a document. */
function isNoDocumentNumber(text: string, at: number, end: number, after: number): boolean {
  if (end - at > MAXIMUM_SHORT_DIGITS + 1 || after === HYPHEN || after === PLUS) return false
  // `AB 123456 C`
  if (after === SPACE && codeAt(text, at - 1) === SPACE && isLetterBefore(text, at)) return false
  return !mayHaveDocumentLabel(text, at)
}

/**
 * Reports whether nothing near a number in one piece indicates what it is: neither a word nor a
 * sign.
 */
function hasNoCue(text: string, at: number, end: number, words: ContextWords): boolean {
  const before = codeAt(text, at - 1)
  if (
    end - at > MAXIMUM_UNLABELLED_DIGITS ||
    codeAt(text, at) === DIGIT_0 ||
    before >= ASCII_END ||
    JOINING_BEFORE.has(before)
  )
    return false
  if (
    JOINING_AFTER.has(codeAt(text, end)) ||
    endOfSeparator(text, end) > 0 ||
    isLabelAfter(text, end) ||
    isBornAfter(text, end)
  )
    return false
  const { phone, number, ssn, card } = words.before(at)
  if (Math.min(phone, number, ssn, card) < CONTEXT_CHARACTERS) return false
  if (mayValueContinue(text, at, end) && !holdsNoSecret(text, at, end)) return false
  return !mayHaveLabel(text, at)
}

/** Reports whether a value of other characters may start with digits: `12%kJqx`, `"12(kJqx"`. */
function mayValueContinue(text: string, at: number, end: number): boolean {
  const after = codeAt(text, end)
  const before = codeAt(text, at - 1)
  if (isPasswordSign(after)) return end - at > MAXIMUM_SHORT_DIGITS || codeAt(text, end + 1) > SPACE
  return isQuote(before) && after !== before && after > SPACE
}

/** Reports whether no other group of digits follows a few digits. */
function isLoneShortNumber(text: string, at: number, end: number, after: number): boolean {
  if (after === COLON) return false
  // `July 4, 1990`
  if (after === COMMA && codeAt(text, end + 1) === SPACE && isDigit(codeAt(text, end + 2))) return false
  if (isSeparator(after) && (endOfSeparator(text, end) > 0 || mayContinue(text, at, end, after))) return false
  const isToken = codeAt(text, at - 1) === HYPHEN || after === HYPHEN || after === DOT || after === UNDERSCORE
  return (!isToken && !mayValueContinue(text, at, end)) || holdsNoSecret(text, at, end)
}

/**
 * Reports whether a date, a number with letters or an address may continue after few digits and a
 * separator.
 */
function mayContinue(text: string, at: number, end: number, separator: number): boolean {
  const next = codeAt(text, end + 1)
  if (next >= ASCII_END || isDocumentGroup(text, end + 1)) return true
  if (end - at <= YEAR_DIGITS && mayMonthFollow(text, end)) return true
  return separator === SPACE ? isAfterCountryCode(text, at) : isPartOfMac(text, at, end)
}

const isSeparator = (code: number): boolean =>
  code === SPACE || code === HYPHEN || code === DOT || code === SLASH || isParenthesis(code)

/** `12.34`, `0.8347234723472342`, `1.5s`, `1.2.3` */
function skipDecimal(text: string, at: number, point: number): number {
  if (!startsAtBoundary(text, at, point)) return at
  let end = point + 1
  while (isDigit(codeAt(text, end))) if (++end - point > MAXIMUM_DECIMALS) return at
  const after = codeAt(text, end)
  if (after === COLON || after >= ASCII_END) return at
  if (after === DOT && isDigit(codeAt(text, end + 1))) return skipVersion(text, at, point, end)
  // `0012.3456.abcd`
  if (after === DOT && point - at === 4) return at
  // `10.12 MAY 1990`
  if (end - point - 1 <= YEAR_DIGITS && mayMonthFollow(text, end)) return at
  if (isAlphanumeric(after)) return skipUnit(text, at, point, end)
  const digits = end - at - 1
  if (digits >= MIN_DIGITS && digits < MIN_LONG_DECIMAL) return at
  return endOfSeparator(text, end) === 0 && holdsNoSecret(text, at, end) ? end : at
}

/** Skips what follows the decimals, such as a unit. */
function skipUnit(text: string, at: number, point: number, from: number): number {
  // The `x` of an extension.
  if ((codeAt(text, from) | CASE_BIT) === LOWER_X && isDigit(codeAt(text, from + 1))) return at
  let end = from
  while (isAlphanumeric(codeAt(text, end)))
    if (++end - from > MAXIMUM_SKIPPED_WORD - MAXIMUM_DECIMALS) return at
  const after = codeAt(text, end)
  if (after === COLON || (after === DOT && point - at === 4)) return at
  return holdsNoSecret(text, at, end) ? end : at
}

/** Skips three small numbers, as in a version. */
function skipVersion(text: string, at: number, first: number, second: number): number {
  const end = endOfDigits(text, second + 1)
  const after = codeAt(text, end)
  if (end - at - 2 >= MIN_DIGITS || after === COLON || after >= ASCII_END || isAlphanumeric(after)) return at
  if (endOfSeparator(text, end) > 0) return at
  const last = end - second - 1
  // `12.05.90`
  const mayBeDate = first - at === 4 || last === 2 || last === 4
  if (mayBeDate && (mayHaveBirthLabel(text, at) || isBornAfter(text, end))) return at
  if (last <= YEAR_DIGITS && mayMonthFollow(text, end)) return at
  return holdsNoSecret(text, at, end) ? end : at
}

/** Reports whether the number is not the end of something longer. */
function startsAtBoundary(text: string, at: number, point: number): boolean {
  const before = codeAt(text, at - 1)
  if (before >= ASCII_END || before === PLUS) return false
  return point - at !== 4 || !isMacCharacter(before) || !isWordCharacter(codeAt(text, at - 2))
}

/** Signs that join a number to something longer, or start an international one. */
const JOINING_BEFORE = codesOf('-+./(')
const JOINING_AFTER = codesOf('-+.:_/')
