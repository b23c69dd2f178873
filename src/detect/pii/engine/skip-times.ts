// Skips dates, times and colons that cannot be personal data. Follows the rules of skip-numbers.ts.

import {
  ASCII_END,
  CLOSE_PAREN,
  COLON,
  DIGIT_0,
  DOT,
  HYPHEN,
  isDigit,
  isHexDigit,
  isWordCharacter,
  OPEN_PAREN,
  PLUS,
  UPPER_T,
} from '../../../core/ascii.ts'
import { isBornAfter } from '../birthdate.ts'
import { codeAt } from '../code-unit-classes.ts'
import { isMacCharacter } from '../network.ts'
import { endOfSeparator } from '../number/separators.ts'
import { holdsNoSecret } from '../secret/secrets.ts'
import { mayMonthFollow } from '../words/months.ts'
import { mayHaveLabel } from './label-prefilter.ts'

/** Longest run of characters that is read. */
const MAXIMUM_RUN = 24

/** Skips `2026-11-10`, and `2026-11-10T` before a time. */
export function skipDate(text: string, at: number, end: number): number {
  const last = end + 6
  if (end - at !== 4 || codeAt(text, end + 3) !== HYPHEN || codeAt(text, at) === DIGIT_0) return at
  const before = codeAt(text, at - 1)
  if (
    before >= ASCII_END ||
    isMacCharacter(before) ||
    before === PLUS ||
    before === OPEN_PAREN ||
    before === CLOSE_PAREN
  )
    return at
  if (!isDigit(codeAt(text, end + 2)) || !isDigit(codeAt(text, end + 4)) || !isDigit(codeAt(text, end + 5)))
    return at
  if (mayHaveLabel(text, at)) return at
  const after = codeAt(text, last)
  if (after === UPPER_T && isDigit(codeAt(text, last + 1)) && isDigit(codeAt(text, last + 2)))
    return codeAt(text, last + 3) === COLON && holdsNoSecret(text, at, last)
      ? skipTime(text, last + 1, last + 3, at)
      : at
  if (isWordCharacter(after) || after >= ASCII_END || after === COLON || after === HYPHEN) return at
  if (isBornAfter(text, last) || mayMonthFollow(text, last)) return at
  return endOfSeparator(text, last) === 0 && holdsNoSecret(text, at, last) ? last : at
}

/** Skips hours and minutes, as in `10:15:30.123`. The seconds are a number of their own. */
export function skipTime(text: string, at: number, colon: number, start = at): number {
  if (colon - at > 2 || (start === at && isMacCharacter(codeAt(text, at - 1)))) return at
  let last = colon
  let colons = 1
  for (let end = colon + 1; ; end++) {
    const code = codeAt(text, end)
    if (end - colon > MAXIMUM_RUN || code >= ASCII_END) return start
    if (code === COLON) {
      if (end - last !== 3 || ++colons > 2) return start
      last = end
    } else if (!isDigit(code)) {
      if (code === DOT) return isColonAfterRun(text, end) ? start : last + 1
      return isHexDigit(code) ? start : last + 1
    }
  }
}

/**
 * Reports whether a colon follows a run of hexadecimal digits and dots; true also for a run that is
 * too long to read.
 */
function isColonAfterRun(text: string, dot: number): boolean {
  let end = dot
  while (codeAt(text, end) === DOT || isHexDigit(codeAt(text, end)))
    if (++end - dot > MAXIMUM_RUN) return true
  return codeAt(text, end) === COLON
}

/** Reports whether a colon only separates a name from a value: no other colon near, no address. */
export function isLoneColon(text: string, at: number): boolean {
  let end = at + 1
  while (isHexDigit(codeAt(text, end))) if (++end - at > MAXIMUM_RUN) return false
  const after = codeAt(text, end)
  const length = end - at - 1
  if (after === COLON || (after === HYPHEN && length === 2)) return false
  if (after === DOT && (length === 4 || isColonAfterRun(text, end))) return false
  let start = at
  while (isHexDigit(codeAt(text, start - 1))) if (at - --start > MAXIMUM_RUN) return false
  return codeAt(text, start - 1) !== COLON
}
