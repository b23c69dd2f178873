// Numbers of tables, logs, data and programs that are nothing that is looked for, told by a few characters around them:
// nearly all of such texts. What is said here holds wherever the text is cut, before the number, in it or behind it.

import { BIRTH_WORDS, mayBeBirth, mayBeDate } from './birthdate.ts'
import {
  codeAt,
  isAlphanumeric,
  isAsciiLower,
  isAsciiUpper,
  isDigit,
  isHex,
  isLetterBefore,
  isSpace,
  isWordCharacter,
} from './characters.ts'
import type { Words } from './context.ts'
import { Cues } from './cues.ts'
import { CONTEXT_CHARACTERS } from './cuts.ts'
import { DOCUMENT_WORDS, isGroup, isLongEnough, mayBeDocument } from './documents.ts'
import { mayBeMonth } from './months.ts'
import { mayBePersonal, mayGrowToSuit, PERSONAL_WORDS } from './nationalid.ts'
import { isMacCharacter, isPartOfMac } from './network.ts'
import { isLabelBehind } from './phone.ts'
import { isNoSecret } from './secrets.ts'
import { separatorAt } from './separators.ts'

const COLON = 0x3a
const HYPHEN = 0x2d
const DOT = 0x2e
const COMMA = 0x2c
const SPACE = 0x20
const SLASH = 0x2f
const PLUS = 0x2b
const UNDERSCORE = 0x5f
const ZERO = 0x30
const LETTER_O = 0x6f
const AT_SIGN = 0x40
const QUOTE = 0x22
const STAR = 0x2a
const LETTER_T = 0x54
const CASE_BIT = 0x20
const LETTER_X = 0x78
const BEYOND_ASCII = 0x80

/** Numbers of documents have six characters, and no other number has so few digits. */
const MAX_SHORT = 5
/** Numbers in groups have as many. */
const MIN_DIGITS = 7
/** No number of so many digits and a point is one to call. */
const MIN_LONG_DECIMAL = 16
/** Longer ones may be cards without a word. */
const MAX_PLAIN = 13
/** More decimals than a computer writes. */
const MAX_DECIMALS = 20
/** Shorter than a wallet or what is coded. */
const MAX_WORD = 25
/** The shortest IBAN is Norway's. */
const MIN_IBAN = 15
const MAX_RUN = 24

/**
 * Where to go on behind a trigger that nothing begins at, nor at what is passed over; the trigger if it is to be
 * looked at.
 */
export function endOfNothing(text: string, at: number, words: Words | null): number {
  const code = text.charCodeAt(at)
  if (isDigit(code))
    return isWordCharacter(codeAt(text, at - 1)) ? endOfWord(text, at) : endOfNumber(text, at, words)
  if (code === COLON) return isLoneColon(text, at) ? at + 1 : at
  return code === AT_SIGN && isLoneAt(text, at) ? at + 1 : at
}

function endOfNumber(text: string, at: number, words: Words | null): number {
  let end = at + 1
  while (isDigit(codeAt(text, end))) if (++end - at > MAX_WORD) return at
  const after = codeAt(text, end)
  if (after >= BEYOND_ASCII) return at
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
  if (!isLetterBefore(text, at)) return true
  // `AB 123456 C`
  return (after !== SPACE || codeAt(text, at - 1) !== SPACE) && !mayBeDocument(wordsBefore(text, at))
}

/** A number in one piece, with no word near that would make it anything. */
function isUnspokenOf(text: string, at: number, end: number, words: Words): boolean {
  const behind = codeAt(text, at - 1)
  if (
    end - at > MAX_PLAIN ||
    codeAt(text, at) === ZERO ||
    behind >= BEYOND_ASCII ||
    UNPLAIN_BEFORE.has(behind)
  )
    return false
  if (UNPLAIN_BEHIND.has(codeAt(text, end)) || separatorAt(text, end) > 0 || isLabelBehind(text, end))
    return false
  const { phone, number, ssn, card } = words.before(at)
  if (Math.min(phone, number, ssn, card) < CONTEXT_CHARACTERS) return false
  if (!isLetterBefore(text, at)) return true
  const before = wordsBefore(text, at)
  return !isNamed(before) && !mayBePersonal(before)
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
  if (separator === SLASH) return isGroup(text, end + 1)
  if (separator === SPACE) return isDated(text, end + 1, end - at)
  if (isPartOfMac(text, at, end) || next >= BEYOND_ASCII) return true
  if (separator === HYPHEN) return isDated(text, end + 1, end - at)
  return separator === DOT && (next === SPACE || next === HYPHEN) && isDated(text, end + 2, end - at)
}

const isBracket = (code: number): boolean => code === 0x28 || code === 0x29
const isSeparator = (code: number): boolean =>
  code === SPACE || code === HYPHEN || code === DOT || code === SLASH || isBracket(code)

/** Whether what follows a day or a year, or the beginning of a number with letters, may be more of it. */
function isDated(text: string, at: number, digits: number): boolean {
  const first = codeAt(text, at)
  if (first >= BEYOND_ASCII) return true
  if (isAsciiLower(first)) return digits !== 3 && (first === LETTER_O || mayBeMonth(text, at))
  return isAsciiUpper(first) && (mayBeMonth(text, at) || isGroup(text, at))
}

/** `12.34`, `0.8347234723472342`, `1.5s`, `1.2.3` */
function endOfDecimal(text: string, at: number, point: number): number {
  if (!isApart(text, at, point)) return at
  let end = point + 1
  while (isDigit(codeAt(text, end))) if (++end - point > MAX_DECIMALS) return at
  const after = codeAt(text, end)
  if (after === COLON || after >= BEYOND_ASCII) return at
  if (after === DOT && isDigit(codeAt(text, end + 1))) return endOfVersion(text, at, point, end)
  // `0012.3456.abcd`
  if (after === DOT && point - at === 4) return at
  const digits = end - at - 1
  if (isAlphanumeric(after))
    return digits < MIN_DIGITS || isWhole(text, at) ? endOfUnit(text, at, point, end) : at
  if (digits >= MIN_DIGITS && (digits < MIN_LONG_DECIMAL || !isWhole(text, at))) return at
  return separatorAt(text, end) === 0 && isNoSecret(text, at, end) ? end : at
}

/** Behind decimals. */
function endOfUnit(text: string, at: number, point: number, from: number): number {
  // An extension.
  if ((codeAt(text, from) | CASE_BIT) === LETTER_X && isDigit(codeAt(text, from + 1))) return at
  let end = from
  while (isAlphanumeric(codeAt(text, end))) if (++end - from > MAX_WORD - MAX_DECIMALS) return at
  const after = codeAt(text, end)
  if (after === COLON || (after === DOT && point - at === 4)) return at
  return isNoSecret(text, at, end) ? end : at
}

/** Three small numbers. */
function endOfVersion(text: string, at: number, first: number, second: number): number {
  let end = second + 1
  while (isDigit(codeAt(text, end))) end++
  const after = codeAt(text, end)
  if (end - at - 2 >= MIN_DIGITS || after === COLON || after >= BEYOND_ASCII || isAlphanumeric(after))
    return at
  if (separatorAt(text, end) > 0) return at
  const last = end - second - 1
  // `12.05.90`
  if (
    (first - at === 4 || last === 2 || last === 4) &&
    isLetterBefore(text, at) &&
    mayBeBirth(wordsBefore(text, at))
  )
    return at
  return isNoSecret(text, at, end) ? end : at
}

/** `2026-11-10`, `2026-11-10T` before a time. */
function endOfDate(text: string, at: number, end: number): number {
  const last = end + 6
  if (end - at !== 4 || codeAt(text, end + 3) !== HYPHEN || codeAt(text, at) === ZERO) return at
  const before = codeAt(text, at - 1)
  if (before >= BEYOND_ASCII || isMacCharacter(before) || before === PLUS || isBracket(before)) return at
  if (!isDigit(codeAt(text, end + 2)) || !isDigit(codeAt(text, end + 4)) || !isDigit(codeAt(text, end + 5)))
    return at
  if (isLetterBefore(text, at) && isNamed(wordsBefore(text, at))) return at
  const after = codeAt(text, last)
  if (after === LETTER_T && isDigit(codeAt(text, last + 1)) && isDigit(codeAt(text, last + 2)))
    return codeAt(text, last + 3) === COLON ? endOfTime(text, last + 1, last + 3, at) : at
  if (isWordCharacter(after) || after >= BEYOND_ASCII || after === COLON || after === HYPHEN) return at
  return separatorAt(text, last) === 0 && isNoSecret(text, at, last) ? last : at
}

/** The hours and minutes of `10:15:30.123`: the seconds are a number by themselves. */
function endOfTime(text: string, at: number, colon: number, start = at): number {
  if (colon - at > 2 || (start === at && isMacCharacter(codeAt(text, at - 1)))) return at
  let last = colon
  let colons = 1
  for (let end = colon + 1; ; end++) {
    const code = codeAt(text, end)
    if (end - colon > MAX_RUN || code >= BEYOND_ASCII) return start
    if (code === COLON) {
      if (end - last !== 3 || ++colons > 2) return start
      last = end
    } else if (!isDigit(code)) {
      if (code === DOT) return isColonBehind(text, end) ? start : last + 1
      return isHex(code) ? start : last + 1
    }
  }
}

/** Whether a run of digits, hexadecimal ones and dots goes on behind a colon, or further than is looked at. */
function isColonBehind(text: string, dot: number): boolean {
  let end = dot
  while (codeAt(text, end) === DOT || isHex(codeAt(text, end))) if (++end - dot > MAX_RUN) return true
  return codeAt(text, end) === COLON
}

/** Between a name and a value: no other colon near, no address. */
function isLoneColon(text: string, at: number): boolean {
  let end = at + 1
  while (isHex(codeAt(text, end))) if (++end - at > MAX_RUN) return false
  const after = codeAt(text, end)
  const length = end - at - 1
  if (after === COLON || (after === HYPHEN && length === 2)) return false
  if (after === DOT && (length === 4 || isColonBehind(text, end))) return false
  let start = at
  while (isHex(codeAt(text, start - 1))) if (at - --start > MAX_RUN) return false
  return codeAt(text, start - 1) !== COLON
}

/** A word with a digit in it: `x12`, `utf8`, `3f2a9c`, `10px`. */
function endOfWord(text: string, at: number): number {
  let word = at
  while (isAlphanumeric(codeAt(text, word - 1))) if (at - --word > MAX_WORD) return at
  let digitsEnd = at
  while (isDigit(codeAt(text, digitsEnd))) if (++digitsEnd - at > MAX_WORD) return at
  let end = digitsEnd
  while (isAlphanumeric(codeAt(text, end))) end++
  const length = end - word
  const after = codeAt(text, end)
  if (length > MAX_WORD || after >= BEYOND_ASCII) return at
  if (codeAt(text, word - 1) !== UNDERSCORE) {
    if (after === COLON || isPartOfMac(text, word, end)) return at
    const letters = at - word
    if (letters === 0 ? !isPlainBeginning(text, at, digitsEnd, end) : mayGrowToSuit(letters, digitsEnd - at))
      return at
    if (letters === 2 && isDigit(codeAt(text, word + 3)) && (length >= MIN_IBAN || !isEnd(after))) return at
    if (isLongEnough(text, word) && isLetterBefore(text, word) && mayBeDocument(wordsBefore(text, word)))
      return at
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
  if (digits <= MAX_SHORT) return true
  if ((codeAt(text, end) | CASE_BIT) === LETTER_X || !isWhole(text, at)) return false
  return SUITING[digits]?.includes(wordEnd - at) !== true
}

/** Of ordinal numbers. */
const SUFFIX = 2
/** By the number of digits at their beginning, how long the personal numbers are that have letters behind. */
const SUITING: Readonly<Record<number, readonly number[]>> = { 6: [7, 11], 7: [8, 9], 8: [9, 12], 17: [18] }

/** Not the end of something longer. */
function isApart(text: string, at: number, point: number): boolean {
  const before = codeAt(text, at - 1)
  if (before >= BEYOND_ASCII || before === DOT || before === PLUS) return false
  return point - at !== 4 || !isMacCharacter(before) || !isWordCharacter(codeAt(text, at - 2))
}

/** What makes a number part of something longer, or one from abroad. */
const UNPLAIN_BEFORE = new Set(Array.from('-+./(', (character) => character.charCodeAt(0)))
const UNPLAIN_BEHIND = new Set(Array.from('-+.:_', (character) => character.charCodeAt(0)))

/** As far before a number as a word for it may stand: no digit is between. */
const WINDOW_CHARACTERS = 60

/** The text in which a word for a number may stand; '' if none does. */
function wordsBefore(text: string, at: number): string {
  let start = at
  while (start > 0 && at - start < WINDOW_CHARACTERS && !isDigit(text.charCodeAt(start - 1))) start--
  cues ??= new Cues([BIRTH_WORDS, DOCUMENT_WORDS, PERSONAL_WORDS])
  return cues.mayStand(text, start, at) ? text.slice(start, at) : ''
}

/** Read when first asked. */
let cues: Cues | null = null

const isNamed = (words: string): boolean => mayBeBirth(words) || mayBeDocument(words)

/** No part of an address or a password ends before it. */
function isLoneAt(text: string, at: number): boolean {
  const before = codeAt(text, at - 1)
  return before <= SPACE || before === SLASH || before === QUOTE || before === STAR
}

/** Whether a cut that is forced by the length of a line stands before the number rather than in it. */
function isWhole(text: string, at: number): boolean {
  const before = codeAt(text, at - 1)
  return isDelimiter(before) ? !isDigit(codeAt(text, at - 2)) : isDelimiter(codeAt(text, at - 2))
}

const isDelimiter = (code: number): boolean => isSpace(code) || DELIMITERS.has(code)
const DELIMITERS = new Set(Array.from(',;"\'<>{}|\\', (character) => character.charCodeAt(0)))
