// Detects international bank account numbers (ISO 13616) by country, length and mod 97.

import {
  CARRIAGE_RETURN,
  CASE_BIT,
  DOT,
  HYPHEN,
  isAlphanumeric,
  isAsciiUpper,
  isDigit,
  LINE_FEED,
  LOWER_A,
  SPACE,
} from '../../core/ascii.ts'
import { codeAt, isWordBefore } from './code-unit-classes.ts'
import type { Segment } from './engine/segment.ts'
import { IBAN_LENGTHS } from './iban-groups.ts'

/**
 * Reports whether a country code precedes the digits with a space between, as in `DE 89 3704 0044`.
 * Capitals only: lower-case letters are a word.
 */
export const isAfterCountryCode = (text: string, at: number): boolean =>
  codeAt(text, at - 1) === SPACE &&
  isAsciiUpper(codeAt(text, at - 2)) &&
  isAsciiUpper(codeAt(text, at - 3)) &&
  !isWordBefore(text, at - 3)

const isSeparator = (code: number): boolean => code === SPACE || code === HYPHEN || code === DOT

/** Where the character after a separator is; `at` if there is none. */
function afterSeparator(text: string, at: number): number {
  const code = codeAt(text, at)
  if (code === CARRIAGE_RETURN && codeAt(text, at + 1) === LINE_FEED) return at + 2
  return isSeparator(code) || code === LINE_FEED ? at + 1 : at
}

/**
 * @param at of two letters before two digits, perhaps with a space between; not inside a word
 * @returns end of the IBAN; 0 if there is none
 */
export function scanIban(segment: Segment, at: number): number {
  const { text } = segment
  const length = IBAN_LENGTHS.get(text.slice(at, at + 2).toUpperCase())
  if (length === undefined || !isDigit(codeAt(text, at + (codeAt(text, at + 2) === SPACE ? 4 : 3)))) return 0
  let compact = ''
  let end = at
  for (; compact.length < length && end < text.length; end++) {
    const code = codeAt(text, end)
    if (isAlphanumeric(code)) {
      compact += text[end]
      continue
    }
    const next = afterSeparator(text, end)
    if (next === end || !isAlphanumeric(codeAt(text, next))) return 0
    end = next - 1
  }
  if (compact.length < length || isAlphanumeric(codeAt(text, end)) || !isOneCase(compact)) return 0
  if (!passesMod97(compact) || (end - at > length && isAmongGroups(text, at, end))) return 0
  return segment.add('iban', at, end) ? end : 0
}

/** A group of four capital hexadecimal digits with a letter and a digit among them. */
const GROUP = '(?=[0-9]*[A-F])(?=[A-F]*[0-9])[0-9A-F]{4}'
const GROUP_BEFORE = new RegExp(`(?<![0-9A-Za-z])${GROUP}[ \\n]$`)
const GROUP_AFTER = new RegExp(`^[ \\n]${GROUP}(?![0-9A-Za-z])`)
/** A group, and one character on either side. */
const GROUP_CHARACTERS = 6

/** Reports whether the groups of a number continue those of a table of codes, before or after. */
const isAmongGroups = (text: string, start: number, end: number): boolean =>
  GROUP_BEFORE.test(text.slice(Math.max(0, start - GROUP_CHARACTERS), start)) ||
  GROUP_AFTER.test(text.slice(end, end + GROUP_CHARACTERS))

const isOneCase = (text: string): boolean => text === text.toUpperCase() || text === text.toLowerCase()

/** ISO 7064 mod 97-10, with the first four characters moved to the end. */
function passesMod97(iban: string): boolean {
  let remainder = 0
  for (let i = 0; i < iban.length; i++) {
    const code = iban.charCodeAt((i + 4) % iban.length) | CASE_BIT
    // The case bit is already set in digits. Letters count from 10.
    remainder = code >= LOWER_A ? (remainder * 100 + code - 87) % 97 : (remainder * 10 + code - 48) % 97
  }
  return remainder === 1
}
