// Finds the value of an assignment to the name of a credential: `DB_PASSWORD=…`, `"secret": "…"`,
// `password => '…'`, `<password>…</password>`.

import {
  AMPERSAND,
  APOSTROPHE,
  ASCII_END,
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CLOSE_PAREN,
  COLON,
  COMMA,
  DOT,
  EQUALS,
  GRAVE,
  GREATER_THAN,
  HASH,
  HYPHEN,
  isWordCharacter,
  LESS_THAN,
  LINE_FEED,
  LOWER_P,
  QUOTE,
  SEMICOLON,
  SPACE,
  TILDE,
} from '../../../core/ascii.ts'
import { codeAt, isSpace } from '../code-unit-classes.ts'
import type { Segment } from '../engine/segment.ts'
import type { Span } from '../keyblock.ts'
import { decodeBasic } from './authorization.ts'
import { introductionBefore, isBasicBefore, isNamingSign } from './names.ts'
import { MAXIMUM_GAP, MAXIMUM_NAMED_VALUE } from './open-secret.ts'
import { secretAt } from './token.ts'
import { isIntroducedSecret, isSecretValue, MIN_LENGTH, type Notation } from './value.ts'

/** Backslashes before a quote in a string in a string. */
const MAXIMUM_ESCAPES = 3

/**
 * @param sign of the `:`, `=` or `>`
 * @returns end of the secret; 0 if there is none
 */
export function scanAssignment(segment: Segment, sign: number): number {
  const { text } = segment
  if (!isNamingSign(text, sign)) return 0
  const value = valueAfter(text, sign)
  if (value === null) return 0
  const token = secretAt(text, value.start)
  if (token !== null) return segment.add('secret', token.start, token.end) ? token.end : 0
  const written = text.slice(value.start, value.end)
  if (!isSecretValue(written, value.notation, segment.windowBefore(value.start))) return 0
  return segment.add('secret', value.start, value.end) ? value.end : 0
}

interface Value extends Span {
  readonly notation: Notation
}

/** Where the value after a sign may start, with its quotes; -1 if the sign is another operator. */
function startAfterSign(text: string, sign: number): number {
  const code = codeAt(text, sign)
  const next = codeAt(text, sign + 1)
  let at = sign + 1
  if (code === COLON) {
    if (next === COLON) return -1
    if (next === EQUALS) at++
  } else if (code === EQUALS) {
    if (next === EQUALS || next === TILDE) return -1
    if (next === GREATER_THAN) at++
  }
  const first = at
  while (isBlank(codeAt(text, at))) if (++at - first > MAXIMUM_GAP) return -1
  return at
}

const isBlank = (code: number): boolean => code !== LINE_FEED && isSpace(code)
export const isQuote = (code: number): boolean => code === QUOTE || code === APOSTROPHE || code === GRAVE

/** Words before a token in a header, and letters before a quote in code: `r"…"`, `L"…"`, `@"…"`. */
const LEADING = /(?:(?:bearer|basic|token|apikey) +|base64:)?(?:(?:[rbfuL]|\$?@)(?=["']))?/iy

function valueAfter(text: string, sign: number): Value | null {
  const first = startAfterSign(text, sign)
  if (first < 0) return null
  const at = endOfLeading(text, first)
  let escapes = 0
  while (escapes < MAXIMUM_ESCAPES && codeAt(text, at + escapes) === BACKSLASH) escapes++
  const quote = codeAt(text, at + escapes)
  if (!isQuote(quote)) return escapes > 0 ? null : plainValue(text, sign, at)
  const start = endOfLeading(text, at + escapes + 1)
  const end = endOfQuoted(text, start, quote, escapes)
  return end < 0 ? null : { start, end, notation: 'quoted' }
}

function endOfLeading(text: string, at: number): number {
  LEADING.lastIndex = at
  return at + (LEADING.exec(text)?.[0].length ?? 0)
}

/** Where the closing quote or its escape is; -1 if white space comes before it. */
function endOfQuoted(text: string, start: number, quote: number, escapes: number): number {
  for (let at = start; at - start <= MAXIMUM_NAMED_VALUE; at++) {
    if (at >= text.length) return at
    const code = text.charCodeAt(at)
    if (isSpace(code)) return -1
    if (code === quote) return at - escapes
    if (code === BACKSLASH && escapes === 0) at++
  }
  return -1
}

/** A line that holds a name and its value only. */
const LINE_START =
  /(?<=(?:^|\n)[ \t+-]{0,10}(?:export |set |ENV |ARG |\$env:|\w{1,10} ){0,2}[\w.-]{1,30} {0,3})/iy
/** Another name and its value in the same line: `Password=…;Server=…`. */
const NEXT_NAME = /[;&,][ \w.-]{1,32}[=:]/

/** A value without quotes. */
function plainValue(text: string, sign: number, start: number): Value | null {
  let run = start
  while (run < text.length && !isEndOfRun(text, run)) if (++run - start > MAXIMUM_NAMED_VALUE) return null
  LINE_START.lastIndex = sign
  const rest = codeAt(text, run)
  const isLine =
    (run >= text.length || isSpace(rest)) &&
    isLineEnd(text, run) &&
    !isEndOfItem(codeAt(text, run - 1)) &&
    LINE_START.test(text) &&
    !NEXT_NAME.test(text.slice(start, run))
  let end = start
  while (end < run && (isLine || !isEndOfItem(text.charCodeAt(end)))) end++
  while (end > start && isEndOfSentence(text.charCodeAt(end - 1))) end--
  return { start, end, notation: isLine ? 'line' : isInPair(text, sign, start, end) ? 'pair' : 'inline' }
}

/** `?token=…&`, `Password=…;`, `PGPASSWORD=… psql` */
function isInPair(text: string, sign: number, start: number, end: number): boolean {
  const after = codeAt(text, end)
  const isEnd = after === AMPERSAND || after === SEMICOLON || after === SPACE
  return isEnd && start === sign + 1 && codeAt(text, sign) === EQUALS && codeAt(text, sign - 1) !== SPACE
}

/** Reports whether a value without quotes ends before a character, also before the next name. */
function isEndOfRun(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code === COLON || code === EQUALS) return isNamingSign(text, at)
  return isSpace(code) || isQuote(code) || code === LESS_THAN || code === BACKSLASH || code === GREATER_THAN
}

const isEndOfItem = (code: number): boolean =>
  code === COMMA ||
  code === SEMICOLON ||
  code === AMPERSAND ||
  code === CLOSE_PAREN ||
  code === CLOSE_BRACE ||
  code === CLOSE_BRACKET
const isEndOfSentence = (code: number): boolean =>
  code === DOT || code === COMMA || code === SEMICOLON || code === COLON

/** Reports whether nothing but a comment follows in the line. */
function isLineEnd(text: string, at: number): boolean {
  let end = at
  while (isBlank(codeAt(text, end))) if (++end - at > MAXIMUM_GAP) return false
  return end >= text.length || codeAt(text, end) === LINE_FEED || codeAt(text, end) === HASH
}

/** Characters of a value before a word that are read. */
const MAXIMUM_BACK = 24

/** Signs of passwords that are no part of words. */
const PASSWORD_SIGNS = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  '!#$%^*&+?~@'.includes(String.fromCharCode(code)) ? 1 : 0,
)
export const isPasswordSign = (code: number): boolean => code < ASCII_END && PASSWORD_SIGNS[code] === 1

/** Prefilter: reports whether a word is long enough for a value, or may be a part of one. */
export const mayBeValue = (text: string, word: number, end: number): boolean =>
  end - word >= MIN_LENGTH ||
  isPasswordSign(codeAt(text, end)) ||
  (isPasswordSign(codeAt(text, word - 1)) && codeAt(text, word - 2) > SPACE)

const isWordPart = (code: number): boolean => isWordCharacter(code) || code === HYPHEN

/** Where the value around a word starts: before signs of passwords. */
export function startOfIntroduced(text: string, word: number): number {
  let start = word
  while (codeAt(text, start) === HYPHEN && start - word < MAXIMUM_BACK) start++
  while (word - start < MAXIMUM_BACK && isPasswordSign(codeAt(text, start - 1))) {
    start--
    while (word - start < MAXIMUM_BACK && isWordPart(codeAt(text, start - 1))) start--
  }
  // The option and its value are one word: `-pPassword`.
  const isGlued =
    codeAt(text, start) === LOWER_P && codeAt(text, start - 1) === HYPHEN && codeAt(text, start - 2) === SPACE
  return isGlued ? start + 1 : start
}

/**
 * Finds a value that a name introduces without a sign: `--password …`, `<password>…`.
 * @param word start of the word that may be the value, or a part of it
 * @returns end of the secret; 0 if there is none
 */
export function scanIntroduced(segment: Segment, word: number): number {
  const { text } = segment
  if (!mayBeValue(text, word, segment.tokenEnd)) return 0
  const start = startOfIntroduced(text, word)
  const isBasic = isBasicBefore(text, start)
  const introduction = isBasic ? null : introductionBefore(text, start)
  if (!isBasic && introduction === null) return 0
  const isQuoted = isQuote(codeAt(text, start - 1))
  let end = start
  const isPart = (): boolean =>
    end < text.length && !isEndOfRun(text, end) && (isQuoted || !isEndOfItem(text.charCodeAt(end)))
  while (isPart()) if (++end - start > MAXIMUM_NAMED_VALUE) return 0
  if (end - start < MIN_LENGTH) return 0
  if (!isQuoted) while (end > start && isEndOfSentence(text.charCodeAt(end - 1))) end--
  const value = text.slice(start, end)
  const before = segment.windowBefore(start)
  const isSecret =
    introduction === null
      ? decodeBasic(value)
      : isIntroducedSecret(value, introduction, isQuoted ? 'quoted' : 'inline', before)
  return isSecret && segment.add('secret', start, end) ? end : 0
}
