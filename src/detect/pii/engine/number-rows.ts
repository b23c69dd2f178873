// Recognises texts of nothing but numbers and marks, which need fewer tests than others.

import { COLON, COMMA, isDigit, SLASH, SPACE } from '../../../core/ascii.ts'
import { codeAt } from '../code-unit-classes.ts'
import { ADDRESS, type KindSet, PERSON } from '../kinds.ts'

/** Longest text that is tested for a row of numbers. */
const MAXIMUM_ROW = 64

/** Reports whether a character may be in a row of numbers: a digit, a space, or one of `,-./:`. */
const isInRowOfNumbers = (code: number): boolean => code === SPACE || (code >= COMMA && code <= COLON)

/**
 * Reports whether a text of at most MAXIMUM_ROW characters consists of digits, spaces and `,-.:`,
 * so that no value other than a number is in it.
 */
export function isRowOfNumbers(text: string, start: number, end: number): boolean {
  if (end - start > MAXIMUM_ROW) return false
  for (let at = end; at > start; at--) {
    const code = text.charCodeAt(at - 1)
    if (!isInRowOfNumbers(code) || code === SLASH) return false
  }
  return true
}

/**
 * Where the triggers end, from the end of a segment on, that the next segment scans again and that
 * are in no value of this one. A value that starts in the row of numbers before them has a digit
 * before the end, where it has been tried.
 * @param end of the segment
 * @param seen how far the text is read
 */
export function endOfRescanned(text: string, end: number, seen: number, kinds: KindSet): number {
  if (end === seen || (kinds & (ADDRESS | PERSON)) !== 0) return end
  const last = codeAt(text, end - 1)
  const previous = codeAt(text, end - 2)
  if (!isInRowOfNumbers(last) || !isInRowOfNumbers(previous) || !(isDigit(last) || isDigit(previous)))
    return end
  let at = end
  while (at < seen && isInRowOfNumbers(text.charCodeAt(at))) at++
  // A word may start with the last number, and a sign before letters is a trigger.
  while (at > end && isDigit(text.charCodeAt(at - 1))) at--
  return Math.max(end, at - 1)
}
