// Recognises the place after an authorization scheme, `Basic` or `Bearer`, by a few characters.

import { CASE_BIT, LOWER_C, LOWER_E, LOWER_R, SPACE } from '../../../core/ascii.ts'
import { codeAt } from '../code-unit-classes.ts'

/** Prefilter for `basic ` and `bearer `. */
export function isAfterScheme(text: string, start: number): boolean {
  if (codeAt(text, start - 1) !== SPACE) return false
  const last = codeAt(text, start - 2) | CASE_BIT
  if (last !== LOWER_R) return last === LOWER_C
  return (codeAt(text, start - 3) | CASE_BIT) === LOWER_E && (codeAt(text, start - 4) | CASE_BIT) === LOWER_R
}
