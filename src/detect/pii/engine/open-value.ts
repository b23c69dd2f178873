// Finds where a value may start that the end of a text leaves unfinished. Knows how long values get
// and what ends them, not what they are. What precedes that offset is final.

import {
  ASCII_END,
  AT_SIGN,
  DOT,
  HYPHEN,
  isAlphanumeric,
  isDigit,
  isWordCharacter,
  PERCENT,
  SLASH,
  SPACE,
} from '../../../core/ascii.ts'
import { codeAt, codesOf, isLetter, isSpace } from '../code-unit-classes.ts'
import { MAXIMUM_DIGITS, MAXIMUM_GROUPS } from '../number/shape.ts'
import { isAfterScheme } from '../secret/authorization-scheme.ts'
import { startOfLonger } from '../secret/token-forms.ts'

/** Longest value with white space in it: an IBAN, a phone number with an extension. */
const MAXIMUM_SPACED = 48
/** The same when names and postal addresses are enabled. */
const MAXIMUM_WORDS = 128
/** Longest number in groups, and how much text decides whether a number is one of a row. */
const MAXIMUM_NUMBER = 36
/**
 * Longest value without white space, apart from those below: a wallet address. In text without a
 * boundary, `openValue` lies at most so far before the end.
 */
export const MAXIMUM_UNSPACED = 104
/** RFC 5321 §4.5.3.1. */
const MAXIMUM_LOCAL = 64
const MAXIMUM_DOMAIN = 255
/** `//name:password` before the host of a URL. */
const MAXIMUM_USER_INFO = 200
/** Credentials after `Basic` or `Bearer`. */
const MAXIMUM_CREDENTIALS = 404
/** Longest token, apart from VERY_LONG_TOKEN. */
const MAXIMUM_TOKEN = 512

/** No value continues across one of these, apart from passwords in URLs and lines of keys. */
const DELIMITERS = codesOf(',;"<>{}|\\')
/** Neither is part of a URL. */
const QUOTES = codesOf(`"'<>`)
const BOUNDARIES = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  isSpace(code) || DELIMITERS.has(code) ? 1 : 0,
)
const isBoundary = (code: number): boolean => (code < ASCII_END ? BOUNDARIES[code] === 1 : isSpace(code))
const isDomain = (code: number): boolean => isLetter(code) || isDigit(code) || code === DOT || code === HYPHEN
const TOKEN_SIGNS = codesOf('-.+/=~')
const isToken = (code: number): boolean => isWordCharacter(code) || TOKEN_SIGNS.has(code)

/** Tokens of more characters are, with their prefix, longer than any other unspaced value. */
const MAXIMUM_SHORT_TOKEN = 90
const LONG_TOKEN = startOfLonger(MAXIMUM_SHORT_TOKEN)
/** A JSON web token, or another token of more than MAXIMUM_TOKEN characters. */
const VERY_LONG_TOKEN = startOfLonger(MAXIMUM_TOKEN)

/**
 * The first offset in [start, end] at which a value may start that continues after `end`; `end` if
 * there is none. Private keys and the tokens of `openToken` do not count.
 * @param hasWords names or postal addresses are enabled
 */
export function openValue(text: string, start: number, end: number, hasWords: boolean): number {
  const sign = signBefore(text, start, end)
  let open = Math.min(
    hasWords ? openSpaced(text, start, end, MAXIMUM_WORDS) : openNumber(text, start, end),
    openUserInfo(text, start, end),
  )
  if (sign >= 0) open = Math.min(open, Math.max(start, sign - MAXIMUM_LOCAL), openUserInfo(text, start, sign))
  // Do not split a surrogate pair.
  return open > start && (codeAt(text, open - 1) & 0xfc00) === 0xd800 ? open - 1 : open
}

/** The same for the tokens that may be longer than any other value. */
export function openToken(text: string, start: number, end: number): number {
  const run = startOfToken(text, start, end)
  const found = VERY_LONG_TOKEN.exec(text.slice(Math.max(0, run - 1), end))
  return found === null ? end : Math.max(start, Math.max(0, run - 1) + found.index)
}

function startOfToken(text: string, start: number, end: number): number {
  let at = end
  while (at > start && isToken(text.charCodeAt(at - 1))) at--
  return at
}

/** The first boundary at or after `from`, or `to`. */
export function nextBoundary(text: string, from: number, to: number): number {
  let at = from
  while (at < to && !isBoundary(text.charCodeAt(at))) at++
  return at
}

/**
 * Between numbers, only the last groups count: a number has MAXIMUM_GROUPS and MAXIMUM_DIGITS at
 * most.
 */
export function openNumber(text: string, start: number, end: number): number {
  const first = Math.max(start, end - MAXIMUM_SPACED)
  let open = first
  let word = -1
  let digits = 0
  let groups = 0
  let groupEnd = end
  for (let at = end; at > first; at--) {
    const code = text.charCodeAt(at - 1)
    if (isDigit(code)) {
      if (at === end || !isDigit(text.charCodeAt(at))) {
        groupEnd = at
        groups++
      }
      if (groupEnd - at >= MAXIMUM_DIGITS) return openSpaced(text, start, end, MAXIMUM_SPACED)
      digits++
      if (open === first && (groups > MAXIMUM_GROUPS || digits > MAXIMUM_DIGITS)) open = groupEnd
    } else if (code === SPACE) {
      if (word < 0) word = at
    } else if (code >= ASCII_END || code < SPACE || code === AT_SIGN || isAlphanumeric(code)) {
      return openSpaced(text, start, end, MAXIMUM_SPACED)
    }
  }
  if (word < 0) return first === start ? start : openSpaced(text, start, end, MAXIMUM_SPACED)
  let number = Math.max(start, end - MAXIMUM_NUMBER)
  while (number > start && isDigit(text.charCodeAt(number - 1))) number--
  return Math.min(open, word, number)
}

/** @param reach maximum characters of a value with white space */
function openSpaced(text: string, start: number, end: number, reach: number): number {
  const least = Math.max(start, end - reach)
  if (least === start) return start
  let first = least
  while (first <= end && !isBoundary(text.charCodeAt(first - 1))) first++
  if (first > end) return openUnspaced(text, start, end)
  // A value may start inside a word: `/find?iban=DE75 5121 0800`.
  const sign = text.indexOf('=', least)
  return sign >= 0 && sign < first ? sign + 1 : first
}

/** Where a value without white space may start in the word that ends at `end`. */
function openUnspaced(text: string, start: number, end: number): number {
  const least = Math.max(start, end - MAXIMUM_TOKEN)
  let word = end
  while (word > least && !isBoundary(text.charCodeAt(word - 1))) word--
  const open = Math.max(word, end - MAXIMUM_UNSPACED)
  if (open === word || (end - word <= MAXIMUM_CREDENTIALS && isAfterScheme(text, word))) return word
  const from = Math.max(0, startOfToken(text, word, end) - 1)
  const token = LONG_TOKEN.exec(text.slice(from, open + 1))
  return token === null ? open : Math.min(open, Math.max(start, from + token.index))
}

/** The last `@` or `%40`, if only characters of a domain follow it; -1 otherwise. */
function signBefore(text: string, start: number, end: number): number {
  const first = Math.max(start, end - MAXIMUM_DOMAIN)
  let at = end
  while (at > first && isDomain(text.charCodeAt(at - 1))) at--
  const sign = at - 1
  if (sign < start) return -1
  const code = text.charCodeAt(sign)
  return code === AT_SIGN || (code === PERCENT && text.startsWith('40', at)) ? sign : -1
}

/** The `//` before the name and password, which may contain an `@`; `end` if there is none. */
function openUserInfo(text: string, start: number, end: number): number {
  const first = Math.max(start, end - MAXIMUM_USER_INFO)
  for (let at = end; at > first; at--) {
    const code = text.charCodeAt(at - 1)
    if (code === SLASH) return text.charCodeAt(at - 2) === SLASH && at - 2 >= start ? at - 2 : end
    if (code <= SPACE || QUOTES.has(code)) return end
  }
  return end
}
