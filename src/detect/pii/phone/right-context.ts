// Reads the text directly after a phone number: an extension or a label, and what rules the number
// out or ends it earlier.

import { CASE_BIT, isDigit } from '../../../core/ascii.ts'
import { codeAt, codesOf, isLetter, matchesAt } from '../code-unit-classes.ts'

const LABEL_AFTER =
  /[ \t,]{0,2}[-(]{0,2}(?:office|fax|mobile|cell|home|work|direct|tel|phone|büro|privat|bureau|oficina)\b(?! ?[:=]|[._/-]\w)/iy
/** The same after few digits in one piece, which are no other number only in brackets or a list. */
const LABEL_AFTER_DIGITS = /[ \t]{0,2}[,(-]/y
/** First letters of the labels, in lower case. */
const LABEL_LETTERS = codesOf('ofmchwdtpb')
const EXTENSION = /(?: ?[xX]|,? (?:ext|extn|extension|poste|int)\.? ?| #)\d{1,6}(?!\w)/y
const EXTENSION_BEGINNINGS = codesOf('xX, ')

/** A unit directly after a quantity. */
const QUANTITY =
  / ?(?:ns|ms|µs|us|secs?|seconds|minutes|bytes|[kmgt]i?b|%|px|rows|records|items|times|users|people|km|miles|usd|eur|dollars|euros)\b/iy
const HOUR_DIGITS = 2
/** What may follow an hour, perhaps the first of two. */
const TIME_AFTER =
  /(?:[:.]\d\d)?(?: ?[-–] ?\d{1,2}(?:[:.]\d\d)?)? ?(?:uhr|hrs|o'clock|[ap]\.?m)\b|:\d\d(?!\d)/iy

/** Reports whether the number is a quantity: `600 123 456 bytes`. */
export const isQuantity = (text: string, end: number): boolean => matchesAt(QUANTITY, text, end)

/** End of the number with its extension. */
export const withExtension = (text: string, end: number): number =>
  EXTENSION_BEGINNINGS.has(codeAt(text, end)) && matchesAt(EXTENSION, text, end) ? EXTENSION.lastIndex : end

/**
 * Reports whether a label follows that is written after phone numbers.
 * @param isShort few digits in one piece precede
 */
export function isLabelAfter(text: string, end: number, isShort = false): boolean {
  if (isShort && !matchesAt(LABEL_AFTER_DIGITS, text, end)) return false
  let at = end
  while (at < end + 4 && !isLetter(codeAt(text, at))) at++
  return LABEL_LETTERS.has(codeAt(text, at) | CASE_BIT) && matchesAt(LABEL_AFTER, text, end)
}

/** Reports whether the last group is an hour: `030 901820 9-17 Uhr`, `555-2671 8:00-17:00`. */
export function endsInTime(text: string, start: number, end: number): boolean {
  let hour = end
  while (hour > start && end - hour <= HOUR_DIGITS && isDigit(codeAt(text, hour - 1))) hour--
  return end - hour <= HOUR_DIGITS && hour > start && matchesAt(TIME_AFTER, text, end)
}
