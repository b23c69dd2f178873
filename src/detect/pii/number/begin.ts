// Decides by the characters before it whether a number may start at an offset.

import { COLON, COMMA, DOT, HYPHEN, isDigit, OPEN_PAREN, SPACE } from '../../../core/ascii.ts'
import { codeAt, codesOf, endOfDigits, isLetter, isSpace, isWordBefore } from '../code-unit-classes.ts'

/** Digits of minutes and seconds. */
const TIME_DIGITS = 2
/** Signs of currencies, a percentage, an exponent. */
const NOT_BEFORE = codesOf('$€£¥₹%^')

/**
 * Reports whether a number may start at `at`: not inside a word, a decimal, a dotted run or an
 * amount.
 */
export function mayBeginNumber(text: string, at: number): boolean {
  if (at === 0) return true
  const before = codeAt(text, at - 1)
  if (before === SPACE) return true
  if (isWordBefore(text, at)) return false
  if ((before === DOT || before === COMMA) && isDigit(codeAt(text, at - 2)))
    return before === COMMA && isField(text, at)
  // `14:36:03 4977 7645`
  if (before === COLON && isDigit(codeAt(text, at - 2)) && endOfDigits(text, at) - at === TIME_DIGITS)
    return false
  // `Tel.030`, but not `[.0020.0011`.
  if (before === DOT) return isLetter(codeAt(text, at - 2)) || isSpace(codeAt(text, at - 2))
  return !NOT_BEFORE.has(before)
}

/** Longer than decimals and groups of thousands. */
const MIN_FIELD_DIGITS = 9

/** Four numbers between dots, or a personal number of Brazil or Chile, which are no amounts. */
const DOTTED_FIELD = /\d{1,3}\.\d{1,3}\.\d{1,3}(?:\.\d{1,3}(?!\.?\d)|-(?:\d{1,2}|[Kk])(?![\w-]))/y

/** Groups of cards and phone numbers, which thousands do not have. */
const GROUPED_FIELD = /\d{4} (?:\d{4}|\d{6}) \d{4}|\d{3} \d{3,4} \d{4}(?!\d)|0\d{4} \d{6}(?!\d)/y

/**
 * Reports whether a number after a digit and a comma is a field of its own: `10442,555-867-5309`,
 * `7,4111111111111111`, `17,192.0.2.48`, `12,(415) 713-7408`.
 */
function isField(text: string, at: number): boolean {
  if (codeAt(text, at) === OPEN_PAREN) return true
  const end = endOfDigits(text, at)
  if (end - at >= MIN_FIELD_DIGITS) return true
  const next = codeAt(text, end)
  if (next === HYPHEN) return isDigit(codeAt(text, end + 1))
  const form = next === DOT ? DOTTED_FIELD : GROUPED_FIELD
  form.lastIndex = at
  return form.test(text)
}
