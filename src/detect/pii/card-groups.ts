// Recognises card numbers whose groups have separators that other numbers do not have: marks, tabs,
// line ends, several characters. Cuts fall outside such numbers.

import { COLON, DIGIT_0, DOT, HYPHEN, isAlphanumeric, isDigit, LINE_FEED, SPACE } from '../../core/ascii.ts'
import { isIssued } from './card.ts'
import { codeAt, codesOf, endOfDigits, isLetter, isUnspaced } from './code-unit-classes.ts'

/** Maximum characters between two groups: `", "`, a full stop and a line end. */
const MAXIMUM_SEPARATOR = 4
/** Digits of the first group of a card. */
const GROUP = 4
/** Digits of the middle group in `4-6-5` and `4-6-4`. */
const MIDDLE_GROUP = 6
/** Groups of most cards. */
const GROUPS = 4

/**
 * Three or four groups with equal marks, and no group more, apart from an expiry date:
 * `4111|1111|1111|1111|12|27`.
 */
const MARKED =
  /\d{4}( ?[\u2014\u2015\u2212\ufe58\ufe63\u00b7\u2022\u2219\u2043\u30fb/_~] ?|([^\p{L}\p{N}\s.-])\2{0,2})(?:\d{4}\1\d{4}\1\d{4}|\d{6}\1\d{4,5})(?![\p{L}\p{N}_])(?!\1\d(?!\d\1(?:\d\d){1,2}(?![\p{L}\p{N}_])))/uy
/** The same with any separators. */
const LOOSE =
  /\d{4}[^\p{L}\p{N}]{1,4}(?:\d{4}[^\p{L}\p{N}]{1,4}\d{4}[^\p{L}\p{N}]{1,4}\d{4}|\d{6}[^\p{L}\p{N}]{1,4}\d{4,5})(?![\p{L}\p{N}_])/uy
/** Separators that `NumberRuns` reads. */
const ORDINARY = /^\d+(?:( \d+)+|(-\d+)+|(\.\d+)+)$/
/** A number in groups that is wrapped at the end of a line. */
const WRAPPED = /^[\d \r\n-]+\n[\d \r\n-]+$/
/** Groups two spaces apart. */
const SPACED = /^\d+(?: {2}\d+)+$/
/** Marks between the items of a list. */
const LIST_MARKS = codesOf(',;、，；')
const OPENING_BRACKETS = codesOf('[({<')

/** A card number in groups, judged by its form. */
export interface CardGroups {
  readonly digits: string
  readonly end: number
  /** Counts only after a word for a card: tables and lists look the same. */
  readonly needsWord: boolean
}

/** The groups that start at `at`, up to the end of the last; null without such groups. */
export function cardGroups(text: string, at: number): CardGroups | null {
  if (isOrdinary(text, at) || !isGroupAfter(text, at + GROUP)) return null
  MARKED.lastIndex = at
  const marked = MARKED.exec(text)
  if (marked !== null) {
    const separator = marked[1]!
    return groupsOf(marked[0], at, text.endsWith(separator, at) || isInTable(text, at, separator))
  }
  LOOSE.lastIndex = at
  const loose = LOOSE.exec(text)
  if (loose === null || ORDINARY.test(loose[0])) return null
  const isOne = WRAPPED.test(loose[0]) || (SPACED.test(loose[0]) && !isInColumns(text, at + loose[0].length))
  return groupsOf(loose[0], at, !(isOne && isAfterWordOfLine(text, at)))
}

/**
 * Prefilter: reports whether the groups, if they form a card, are apart by one space, hyphen or dot
 * each, as `NumberRuns` reads them.
 */
function isOrdinary(text: string, at: number): boolean {
  const separator = codeAt(text, at + GROUP)
  if (separator !== SPACE && separator !== HYPHEN && separator !== DOT) return false
  let end = at + GROUP
  for (let count = 1; count < GROUPS; count++) {
    if (codeAt(text, end) !== separator || !isDigit(codeAt(text, end + 1))) return false
    const start = end + 1
    end = endOfDigits(text, start)
    // `4-6-5` may have another mark before its last group.
    if (end - start !== GROUP) return count > 1 || end - start !== MIDDLE_GROUP
  }
  return true
}

const groupsOf = (groups: string, at: number, needsWord: boolean): CardGroups => ({
  digits: groups.replace(/\D/g, ''),
  end: at + groups.length,
  needsWord,
})

/** Reports whether another number follows after spaces. */
function isInColumns(text: string, end: number): boolean {
  let next = end
  while (next - end < MAXIMUM_SEPARATOR && codeAt(text, next) === SPACE) next++
  return isDigit(codeAt(text, next))
}

/** Reports whether a separator and a digit follow. */
function isGroupAfter(text: string, end: number): boolean {
  let next = end
  while (next - end < MAXIMUM_SEPARATOR && isSeparator(codeAt(text, next))) next++
  return next > end && isDigit(codeAt(text, next))
}

/** Reports whether a word precedes on the same line, with one space, a colon or both between. */
function isAfterWordOfLine(text: string, at: number): boolean {
  let before = at - 1
  if (codeAt(text, before) === SPACE) before--
  if (codeAt(text, before) === COLON) before--
  return before < at - 1 && isLetter(codeAt(text, before))
}

/**
 * Reports whether groups are cells or items: below a line with the same mark or, between marks
 * of lists, in brackets or after a number.
 */
function isInTable(text: string, at: number, separator: string): boolean {
  let before = at - 1
  while (codeAt(text, before) === SPACE) before--
  const code = codeAt(text, before)
  if (code !== LINE_FEED)
    return LIST_MARKS.has(separator.charCodeAt(0)) && (OPENING_BRACKETS.has(code) || isDigit(code))
  return text.slice(text.lastIndexOf('\n', before - 1) + 1, before).includes(separator)
}

/**
 * Where the card starts of which groups end before `at` while others may follow; -1 if there is
 * none. More groups of four before it are a row of numbers.
 * @param at of the first character after a separator, or inside it
 */
export function openCardBefore(text: string, at: number): number {
  let start = -1
  let end = at
  for (let count = 0; count < GROUPS; count++) {
    const groupEnd = startOfSeparator(text, end)
    if (groupEnd === end) break
    end = startOfGroup(text, groupEnd)
    const length = groupEnd - end
    if (length === MIDDLE_GROUP && count === 0) {
      const groupBefore = startOfSeparator(text, end)
      const first = startOfGroup(text, groupBefore)
      return groupBefore < end && groupBefore - first === GROUP && mayBeIssued(text, first) ? first : -1
    }
    if (length !== GROUP) break
    if (count === GROUPS - 1) return -1
    if (mayBeIssued(text, end)) start = end
  }
  return start
}

function startOfSeparator(text: string, end: number): number {
  let start = end
  while (end - start < MAXIMUM_SEPARATOR && isSeparator(codeAt(text, start - 1))) start--
  return start
}

function startOfGroup(text: string, end: number): number {
  let start = end
  while (end - start <= MIDDLE_GROUP && isDigit(codeAt(text, start - 1))) start--
  return start
}

/** Lengths of cards that are written in groups. */
const GROUPED_LENGTHS = [14, 15, 16]

function mayBeIssued(text: string, at: number): boolean {
  // UATP numbers, `1234`, count only in the groups of `NumberRuns`.
  if (codeAt(text, at) <= DIGIT_0 + 1) return false
  const prefix = text.slice(at, at + GROUP)
  return GROUPED_LENGTHS.some((length) => isIssued(prefix, length))
}

/** Punctuation of scripts written without spaces. */
const WIDE_MARKS = codesOf('、。，：；・／')

/** Reports whether a character may be between two groups; never for 0, beyond the text. */
const isSeparator = (code: number): boolean =>
  code > 0 && !isAlphanumeric(code) && !isLetter(code) && (!isUnspaced(code) || WIDE_MARKS.has(code))
