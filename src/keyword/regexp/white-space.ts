// Widens `\s`, `\S` and `[:space:]`, which RE2 limits to ASCII, to Unicode's White_Space.

import { patternTokens } from '../pattern-syntax.ts'

/** White_Space outside `\s` of RE2 that NFKC keeps. It turns the others into spaces. */
const MORE_SPACE = '\\x{0b}\\x{85}\\x{1680}\\x{2028}\\x{2029}'

/** Ends in `\s`, so that a hyphen after it begins no range. */
const SPACE = `${MORE_SPACE}\\s`
const NO_SPACE =
  '\\x{0}-\\x{8}\\x{0e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{167f}\\x{1681}-\\x{2027}\\x{202a}-\\x{10ffff}'
const SPACE_CLASS = `[${SPACE}]`
const NO_SPACE_CLASS = `[${NO_SPACE}]`

/** An escape or a named class inside `[…]`. */
const CLASS_PART = /\[:\^?[a-z]+:\]|\\[\s\S]/g

/** Returns the source with its white-space classes widened. */
export function widenWhiteSpace(source: string): string {
  let widened = ''
  for (const { text, kind } of patternTokens(source)) {
    if (kind === 'class') widened += text.replace(CLASS_PART, widenPart)
    else if (text === '\\s') widened += SPACE_CLASS
    else if (text === '\\S') widened += NO_SPACE_CLASS
    else widened += text
  }
  return widened
}

function widenPart(part: string): string {
  if (part === '\\s' || part === '[:space:]') return SPACE
  return part === '\\S' || part === '[:^space:]' ? NO_SPACE : part
}

/** Returns a message of the compiler with the classes as they were written. */
export const narrowWhiteSpace = (message: string): string =>
  message
    .replaceAll(NO_SPACE_CLASS, '\\S')
    .replaceAll(SPACE_CLASS, '\\s')
    .replaceAll(NO_SPACE, '\\S')
    .replaceAll(SPACE, '\\s')
