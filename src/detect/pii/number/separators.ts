// Reads the separator between two groups of a number: a few characters of one class.

import { CLOSE_PAREN, HYPHEN, isDigit, OPEN_PAREN, SLASH, SPACE } from '../../../core/ascii.ts'
import { codeAt } from '../code-unit-classes.ts'

/** Longest separator: `) (` or ` - `. */
const MAXIMUM_SEPARATOR = 3

/** Reports whether [start, end) contains a space. */
export function hasSpace(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (codeAt(text, at) === SPACE) return true
  return false
}

/** End of the separator that starts at `start`, where a group ends; 0 if no group follows. */
export function endOfSeparator(text: string, start: number): number {
  let spaces = 0
  let marks = 0
  for (let end = start; end <= start + MAXIMUM_SEPARATOR; end++) {
    const code = codeAt(text, end)
    if (isDigit(code)) return end > start && spaces <= 1 + marks && marks <= 2 ? end : 0
    if (code === SPACE) spaces++
    else if (isMark(code) && (marks === 0 || isParenthesis(code) || isParenthesis(codeAt(text, end - 1))))
      marks++
    else return 0
  }
  return 0
}

export const isParenthesis = (code: number): boolean => code === OPEN_PAREN || code === CLOSE_PAREN

/** Parentheses, `-`, `.`, `/` and typographic dashes. */
const isMark = (code: number): boolean =>
  isParenthesis(code) || (code >= HYPHEN && code <= SLASH) || (code >= 0x2010 && code <= 0x2013)

/**
 * The class of the separator in [start, end): a parenthesis if it contains one, otherwise `.`, `/`,
 * or `-` for any dash, otherwise a space.
 */
export function separatorClass(text: string, start: number, end: number): string {
  let found = ' '
  for (let at = start; at < end; at++) {
    const character = text[at] ?? ' '
    if (character === ')' || character === '(') return character
    if (character === '.' || character === '/') found = character
    else if (isMark(codeAt(text, at))) found = '-'
  }
  return found
}

/** Reports whether all separators are equal; true if there are none. */
export function isUniform(separators: string): boolean {
  for (let i = 1; i < separators.length; i++) if (separators[i] !== separators[0]) return false
  return true
}
