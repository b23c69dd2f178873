// Finds credentials that the end of a text leaves unfinished, and cuts that would fall before or
// inside one. Knows where they start and how long they get, not what they are.

import {
  COLON,
  DOLLAR,
  EQUALS,
  GREATER_THAN,
  LESS_THAN,
  LINE_FEED,
  SLASH,
  SPACE,
} from '../../../core/ascii.ts'
import { codeAt, isSpace } from '../code-unit-classes.ts'
import { isHashStart } from './hash-start.ts'
import { isNamingSign } from './names.ts'

/** Longest value that its name gives away. */
export const MAXIMUM_NAMED_VALUE = 400
/** Blanks between a sign and its value. */
export const MAXIMUM_GAP = 4

/** Reports whether a sign and blanks end at `at`, so that a value may start there. */
export function isBeforeNamedValue(text: string, at: number): boolean {
  let sign = at - 1
  while (at - sign <= 2 && codeAt(text, sign) === SPACE) sign--
  const code = codeAt(text, sign)
  if (code !== COLON && code !== EQUALS && code !== GREATER_THAN) return false
  const before = codeAt(text, sign - 1)
  const first = (code === GREATER_THAN && before === EQUALS) || (code === EQUALS && before === COLON)
  return isNamingSign(text, first ? sign - 1 : sign)
}

/** Characters before a `>` that are read for a sign. */
const MAXIMUM_BACK = 40

/** Reports whether a `>` belongs to the sign `=>` or the value after the name of a credential. */
export function isInNamedValue(text: string, at: number): boolean {
  for (let sign = at - 1; sign >= 0 && at - sign <= MAXIMUM_BACK; sign--) {
    const code = text.charCodeAt(sign)
    if (code <= SPACE || code === LESS_THAN) return false
    if ((code === EQUALS || code === COLON) && isNamingSign(text, sign)) return true
  }
  return false
}

const TEAMS_PATH = 'webhookb2/'

/**
 * The first offset in [start, end] at which a credential may start that continues after `end`: the
 * sign before a value, a hash, a webhook; `end` if there is none.
 */
export function openSecret(text: string, start: number, end: number): number {
  const first = Math.max(start, end - MAXIMUM_NAMED_VALUE)
  let open = end
  let gap = 0
  for (let at = end; at > first; at--) {
    const code = text.charCodeAt(at - 1)
    if (isSpace(code)) {
      if (code === LINE_FEED || ++gap > MAXIMUM_GAP) break
    } else if (code === COLON || code === EQUALS) {
      if (isNamingSign(text, at - 1)) open = at - 1
      // Before blanks only the sign counts.
      if (code === COLON && gap > 0) break
    } else if (gap > 0 && code !== GREATER_THAN) break
    else if (
      code === DOLLAR
        ? isHashStart(text, at - 1)
        : code === SLASH && text.startsWith(TEAMS_PATH, at - TEAMS_PATH.length)
    )
      open = at - 1
  }
  return open
}
