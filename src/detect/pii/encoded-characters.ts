// Reads single characters that are written as escapes of URLs, HTML, quoted-printable e-mail and
// program text. Reads only what may be in a value.

import {
  AMPERSAND,
  APOSTROPHE,
  ASCII_END,
  BACKSLASH,
  CLOSE_PAREN,
  EQUALS,
  HYPHEN,
  isAlphanumeric,
  PERCENT,
  PLUS,
  QUOTE,
  SLASH,
  SPACE,
} from '../../core/ascii.ts'
import { codeAt, matchesAt } from './code-unit-classes.ts'
import {
  ahead,
  type Before,
  behind,
  characterOf,
  type Decoded,
  isOpen,
  LOOK_AHEAD,
  readBytes,
  verbatim,
} from './escape-text.ts'
import { MAXIMUM_NAME, namedCharacter } from './html-names.ts'
import { readEquals } from './quoted-printable.ts'

/**
 * Reads what starts with one of `%&=\\+`.
 * @param last whether the text ends there
 * @returns null while later text decides
 */
export function readEscape(text: string, at: number, last: boolean, before: Before): Decoded | null {
  const code = text.charCodeAt(at)
  if (at + 1 < text.length && !mayBegin(code, text.charCodeAt(at + 1))) return verbatim(text, at, 1)
  switch (code) {
    case PERCENT:
      return readPercent(text, at, last, before)
    case AMPERSAND:
      return readEntity(text, at, last)
    case BACKSLASH:
      return readBackslash(text, at, last)
    case EQUALS:
      return readEquals(text, at, last, before)
    case PLUS:
      return readPlus(text, at, last)
  }
  return verbatim(text, at, 1)
}

const ANY_SIGN = /[%&=\\+]/

/** Reports whether `readEscape` may read more than a character. */
export const isSign = (character: string): boolean => ANY_SIGN.test(character)

/** The signs, each with what may follow it in an escape. */
const ESCAPES: readonly (readonly [sign: string, following: RegExp])[] = [
  ['%', /[0-9A-Fa-f]/],
  ['&', /[#A-Za-z]/],
  ['\\', /[^a-tvwyz\s]/],
  ['=', /[2-7A-F\r\n]/],
  ['+', /[0-9A-Z(%]/],
]
/** Characters that begin escapes. */
export const ESCAPE_SIGNS: readonly string[] = ESCAPES.map(([sign]) => sign)

/** A sign other than `+` and what may follow it in an escape, or the end. */
const BEGUN = new RegExp(
  ESCAPES.filter(([sign]) => sign !== '+')
    .map(([sign, following]) => `\\${sign}(?:${following.source}|$)`)
    .join('|'),
)

/**
 * Prefilter: reports whether an escape may be in a chunk, or begin in it.
 * @param before the text before it, at least LOOK_BEHIND characters
 */
export const mayBeginEscape = (chunk: string, before: string): boolean =>
  BEGUN.test(chunk) || (chunk.includes('+') && (chunk.includes('=') || before.includes('=')))

/** Reports whether `readEscape` reads an escape in a text. Plain text costs little. */
export const mayHoldEscapes = (text: string): boolean =>
  mayBeginEscape(text, '') &&
  (holds(text, '%') ||
    holds(text, '&') ||
    holds(text, '\\') ||
    // A plus sign is a space in a field of a form.
    (text.includes('=') && (holds(text, '=') || holds(text, '+'))))

const ALONE: Before = { isQuotedPrintable: false, isAfterEscape: false }

/** By sign, a bit. */
const BITS = new Uint8Array(ASCII_END)
/** By the character after it, the bits of the signs that may begin an escape. */
const BEGINNINGS = new Uint8Array(ASCII_END)
for (const [index, [sign, following]] of ESCAPES.entries()) {
  BITS[sign.charCodeAt(0)] = 1 << index
  for (let code = 0; code < ASCII_END; code++)
    if (following.test(String.fromCharCode(code))) BEGINNINGS[code]! |= 1 << index
}

/** Prefilter: reports whether a sign and the character after it may begin an escape. */
const mayBegin = (sign: number, next: number): boolean =>
  next < ASCII_END && (BEGINNINGS[next]! & BITS[sign]!) !== 0

function holds(text: string, sign: string): boolean {
  const code = sign.charCodeAt(0)
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at)) {
    if (mayBegin(code, codeAt(text, at + 1))) {
      const { view, length } = readEscape(text, at, true, ALONE)!
      if (view !== text.slice(at, at + length)) return true
      at += length
    } else at++
  }
  return false
}

/** `%2B`, also where the percent sign was encoded again: `%252B`. */
const PERCENT_BYTE = /%(?:25){0,4}([0-9A-Fa-f]{2})/y
/** The name and password of a URL, in which an escape keeps signs apart from those of the URL. */
const USER_INFO_BEFORE = /\/\/[^\s/?#"'<>]*$/
const PERCENT_BEGUN = /^[%0-9A-Fa-f]*$/
/** A condition of SQL, or a width of printf. */
const LIKE = /^%\d\d\d/

function readPercent(text: string, at: number, last: boolean, { isAfterEscape }: Before): Decoded | null {
  if (isOpen(text, at, last) && PERCENT_BEGUN.test(text.slice(at))) return null
  const found = readBytes(ahead(text, at), PERCENT_BYTE)
  if (found === null) return verbatim(text, at, 1)
  const { code, length } = found
  const character = characterOf(code)
  if (character === null) return verbatim(text, at, 1)
  const isRun = isAfterEscape || matchesAt(PERCENT_BYTE, text, at + length)
  if (isAlphanumeric(code) && !isRun) return verbatim(text, at, 1)
  if (USER_INFO_BEFORE.test(behind(text, at))) return verbatim(text, at, 1)
  if (!isAfterEscape && LIKE.test(text.slice(at, at + length + 1))) {
    const code = codeAt(text, at - 1)
    if (code <= SPACE || code === QUOTE || code === APOSTROPHE) return verbatim(text, at, 1)
  }
  return { view: character, length }
}

/** `&nbsp;`, `&#64;`, `&#x40;`, also where the ampersand was escaped again: `&amp;nbsp;`. */
const ENTITY = new RegExp(
  `&(?:amp;){0,3}(?:#(\\d{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(?!amp;)([A-Za-z][A-Za-z0-9]{1,${MAXIMUM_NAME}}));`,
  'y',
)
const ENTITY_BEGUN = new RegExp(
  `^&(?:amp;){0,3}(?:#(?:\\d{0,7}|[xX][0-9A-Fa-f]{0,6})|[A-Za-z0-9]{0,${MAXIMUM_NAME}})$`,
)

function readEntity(text: string, at: number, last: boolean): Decoded | null {
  ENTITY.lastIndex = at
  const found = ENTITY.exec(text)
  if (found === null) return !last && ENTITY_BEGUN.test(ahead(text, at)) ? null : verbatim(text, at, 1)
  const [whole, decimal, hexadecimal, name] = found
  const character =
    name === undefined
      ? characterOf(decimal === undefined ? Number.parseInt(hexadecimal!, 16) : Number(decimal))
      : namedCharacter(name)
  return character === undefined || character === null
    ? verbatim(text, at, 1)
    : { view: character, length: whole.length }
}

/** Seven strings of JSON, one in another, need so many backslashes before a quote. */
const MAXIMUM_BACKSLASHES = 127
/** The quote of a string of JSON in another that is in another. */
const MIN_BACKSLASHES_OF_QUOTE = 3
const CODE_UNIT = /u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})/y
const CODE_UNIT_BEGUN = /^(?:u[0-9A-Fa-f]{0,3}|u\{[0-9A-Fa-f]{0,6}|x[0-9A-Fa-f]?)$/
const CODE_UNIT_CHARACTERS = 9
/** A slash of JSON, not of a regular expression: a word follows, or another slash and a word. */
const AFTER_SLASH = /^(?:\\+\/)?[A-Za-z0-9]/
const SLASH_BEGUN = /^\\*\/?$/
/** Punctuation that Markdown needs no escape for, but that some write with one. */
const PUNCTUATION = /[-.+()@_:]/
/** In regular expressions such a sign follows a class, or a quantifier. */
const CLASS_BEFORE = /(?:\\\w|[^\w\s):"'*|@.(-])$/

/** Reads the escapes after any number of backslashes, as in strings of JSON in others. */
function readBackslash(text: string, at: number, last: boolean): Decoded | null {
  let end = at + 1
  while (end - at < MAXIMUM_BACKSLASHES && codeAt(text, end) === BACKSLASH) end++
  if (end === text.length && !last && end - at < MAXIMUM_BACKSLASHES) return null
  const run = verbatim(text, at, end - at)
  const code = codeAt(text, end)
  if (code === QUOTE) return end - at >= MIN_BACKSLASHES_OF_QUOTE ? { view: '"', length: end - at + 1 } : run
  if (code === SLASH) {
    const rest = ahead(text, end + 1)
    if (!last && SLASH_BEGUN.test(rest) && rest.length < LOOK_AHEAD) return null
    return AFTER_SLASH.test(rest) ? { view: '/', length: end - at + 1 } : run
  }
  CODE_UNIT.lastIndex = end
  const found = CODE_UNIT.exec(text)
  if (found !== null) {
    const character = characterOf(Number.parseInt(found[1] ?? found[2] ?? found[3]!, 16))
    return character === null ? run : { view: character, length: end - at + found[0].length }
  }
  if (!last && CODE_UNIT_BEGUN.test(text.slice(end, end + CODE_UNIT_CHARACTERS))) return null
  if (end - at > 1 || !PUNCTUATION.test(text.charAt(end)) || CLASS_BEFORE.test(behind(text, at).slice(-2)))
    return run
  if (end + 1 === text.length && !last) return null
  const after = codeAt(text, end + 1)
  const isRead = isAlphanumeric(after) || (code === CLOSE_PAREN && (after === SPACE || after === HYPHEN))
  return isRead ? { view: text.charAt(end), length: 2 } : run
}

/** A group of a number after a space of a form, which is written as `+` (URL Standard §5). */
const FORM_GROUP_AFTER = /^\+(?:[0-9A-Z(]|%28)(?:[0-9A-Z).-]|%2[89D]){0,20}(?=[+&\s"'#<;,|]|$)/
const FORM_GROUP_BEGUN = /^\+(?:(?:[0-9A-Z(]|%28)(?:[0-9A-Z).-]|%2[89D]){0,20}(?:%2?)?)?$/
/** The name of a field, and groups of a number. */
const FORM_GROUP_BEFORE = /[\w\]]=(?:[0-9A-Z().+-]|%2[89BD]){1,60}$/

function readPlus(text: string, at: number, last: boolean): Decoded | null {
  const before = behind(text, at)
  if (!before.includes('=')) return verbatim(text, at, 1)
  const rest = ahead(text, at)
  if (isOpen(text, at, last) && FORM_GROUP_BEGUN.test(rest)) return null
  const isSpace = FORM_GROUP_AFTER.test(rest) && FORM_GROUP_BEFORE.test(before)
  return { view: isSpace ? ' ' : '+', length: 1 }
}
