// Finds tokens and keys around a word, and rules out that a word holds one.

import {
  ASCII_END,
  COLON,
  DOLLAR,
  DOT,
  HYPHEN,
  isAlphanumeric,
  isDigit,
  isWordCharacter,
  PLUS,
  SLASH,
  TILDE,
} from '../../../core/ascii.ts'
import { codeAt } from '../code-unit-classes.ts'
import type { Segment } from '../engine/segment.ts'
import { isPasswordSign, mayBeValue, startOfIntroduced } from './assignment.ts'
import { scanCredentials } from './authorization.ts'
import { isAfterScheme } from './authorization-scheme.ts'
import { isHashBegun } from './hash-start.ts'
import { hasInnerMark } from './inner-forms.ts'
import { introductionBefore, isBasicBefore } from './names.ts'
import { distinctCharacters, MIN_DISTINCT } from './randomness.ts'
import { MIN_TOKEN, secretAt } from './token.ts'
import { mayBeginToken } from './token-forms.ts'
import { MIN_LENGTH } from './value.ts'
import { isDiscordWebhook, scanDiscordWebhook, scanSlackWebhook } from './webhooks.ts'

const MAXIMUM_DOTTED = 64

/**
 * Labels of secret keys without a prefix: those of AWS and Azure are 40 or 86 characters of base64.
 */
const NAMED_KEY =
  /(?:aws_?secret_?access_?key|secret_?access_?key|account_?key)["']?\s{0,3}[:=]{1,2}>?\s{0,3}["']?$/
/** Length of an AWS key. Azure's are the longest. */
const KEY_CHARACTERS = 40
const MAXIMUM_KEY = 88
const NAMED_VALUE = /[A-Za-z0-9+/]{40}(?:[A-Za-z0-9+/]{46}==)?(?![A-Za-z0-9+/=])/y

/** An id of AWS near its key, as in the CSV file that AWS gives. */
const KEY_ID = /(?<![a-z0-9])a[ks]ia[a-z0-9]{16}(?![a-z0-9])/

/** AWS Signature Version 4, in the query of a URL. */
const KEY_ID_BEFORE = /x-amz-credential=$/

/**
 * @param start of the word (letters, digits, `_`, `-`)
 * @returns end of the secret; 0 if there is none
 */
export function scanSecret(segment: Segment, start: number): number {
  const { text } = segment
  const dotted = dottedStart(text, start, segment.end)
  const token = secretAt(text, dotted) ?? (dotted < start ? secretAt(text, start) : null)
  // The key id in a signed URL is no secret, and the URL is useless without it.
  if (token !== null && !KEY_ID_BEFORE.test(segment.windowBefore(token.start)))
    return segment.add('secret', token.start, token.end) ? token.end : 0
  return scanDiscordWebhook(segment, start) || scanNamedKey(segment, start)
}

/** Characters of a key of Microsoft Entra before its `~`: `abc8Q`. */
const ENTRA_START = 5

/**
 * Tries tokens with a `~`: `sha256~…`, `abc8Q~…`.
 * @param start of the word before it
 */
export function scanTilde(segment: Segment, start: number): number {
  const token =
    secretAt(segment.text, start) ??
    secretAt(segment.text, Math.max(segment.end, segment.tokenEnd - ENTRA_START))
  return token !== null && segment.add('secret', token.start, token.end) ? token.end : 0
}

const BOT_ID_DIGITS = 8

/** Where the bot id of a Telegram token starts, which ends at a colon; -1 if there is none. */
export function startOfBotId(text: string, colon: number): number {
  if (codeAt(text, colon) !== COLON || !text.startsWith('AA', colon + 1)) return -1
  let start = colon
  while (start > 0 && colon - start < MIN_TOKEN && isDigit(codeAt(text, start - 1))) start--
  return colon - start >= BOT_ID_DIGITS ? start : -1
}

/** Prefixes may end with a dot (`SG.`, `hvs.`), and a web token contains two. */
function dottedStart(text: string, start: number, from: number): number {
  let dotted = start
  while (
    dotted > from &&
    start - dotted < MAXIMUM_DOTTED &&
    (isTokenCharacter(codeAt(text, dotted - 1)) || text[dotted - 1] === '.')
  )
    dotted--
  return dotted
}

/**
 * Finds a key that its label identifies.
 * @param at inside the value, which directly follows the label and its sign
 * @returns end of the key; 0 if there is none
 */
export function scanNamedKey(segment: Segment, at: number): number {
  const { text } = segment
  if (at < segment.keyEnd) return 0
  let start = at
  while (start > segment.end && at - start < MAXIMUM_KEY && isBase64(codeAt(text, start - 1))) start--
  let end = at
  while (end - at < MAXIMUM_KEY && isBase64(codeAt(text, end))) end++
  segment.keyEnd = end
  const first = isAfterScheme(text, start) ? start : dottedStart(text, at, segment.end)
  if (isAfterScheme(text, first)) return scanCredentials(segment, first)
  if (end - start < KEY_CHARACTERS) return 0
  const webhook = scanSlackWebhook(segment, start)
  if (webhook > 0) return webhook
  NAMED_VALUE.lastIndex = start
  const value = NAMED_VALUE.exec(text)?.[0]
  if (value === undefined || /example/i.test(value)) return 0
  const before = segment.windowBefore(start)
  if (!NAMED_KEY.test(before) && (value.length > KEY_CHARACTERS || !KEY_ID.test(before))) return 0
  if (distinctCharacters(value) < 2 * MIN_DISTINCT) return 0
  return segment.add('secret', start, start + value.length) ? start + value.length : 0
}

/** Where the word of letters, digits, `_` and `-` around `at` starts, not before `from`. */
export function tokenStart(text: string, at: number, from: number): number {
  let start = at
  while (start > from && isTokenCharacter(text.charCodeAt(start - 1))) start--
  while (start < at && !isAlphanumeric(text.charCodeAt(start))) start++
  // Google's refresh tokens start with two slashes in their prefix.
  return start - 3 >= from && text.startsWith(GOOGLE_REFRESH, start - 3) ? start - 3 : start
}

const GOOGLE_REFRESH = '1//0'

/** Where the word around `at` ends. A dot inside belongs to it. */
export function tokenEnd(text: string, at: number): number {
  let end = at
  while (
    isTokenCharacter(codeAt(text, end)) ||
    (codeAt(text, end) === DOT && isTokenCharacter(codeAt(text, end + 1)))
  )
    end++
  return end
}

/** Maximum characters that are read on either side. */
const MAXIMUM_READ = 64

/**
 * Prefilter: reports whether no secret starts in the word of letters, digits, `_` and `-` around
 * [from, to), or after dots that follow it. Holds wherever the text is cut.
 */
export function holdsNoSecret(text: string, from: number, to: number): boolean {
  let start = from
  while (isTokenCharacter(codeAt(text, start - 1))) if (from - --start > MAXIMUM_READ) return false
  let end = to
  for (; end - to <= MAXIMUM_READ; end++) {
    const code = codeAt(text, end)
    if (!isTokenCharacter(code) && (code !== DOT || !isTokenCharacter(codeAt(text, end + 1)))) break
  }
  const before = codeAt(text, start - 1)
  const after = codeAt(text, end)
  if (end - start < MIN_LENGTH && isApart(before) && isApart(after)) return true
  if (before === DOLLAR && isHashBegun(text, start - 1)) return false
  if (before === SLASH && isDiscordWebhook(text, start)) return false
  if (before === TILDE || after === TILDE || mayBeIntroduced(text, start, end)) return false
  if (end - start < MIN_TOKEN)
    return startOfBotId(text, end) < 0 && !(isPartOfBase64(text, start, end) && isFirstWordOfKey(text, start))
  if (
    end - to > MAXIMUM_READ ||
    before === DOT ||
    text.startsWith(GOOGLE_REFRESH, start - 3) ||
    after === COLON
  )
    return false
  if (isAfterScheme(text, start)) return false
  // Paths consist of base64 characters, too.
  if (end - start >= KEY_CHARACTERS || isBase64(before) || isBase64(after)) {
    if (holdsKey(text, start, end) || isFirstWordOfKey(text, start)) return false
  }
  return !hasInnerMark(text, start, end) && !holdsTokenStart(text, start, end)
}

/** Signs that may join a short word to a secret: those of passwords, base64 and ids. */
const JOINING = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  isPasswordSign(code) || code === COLON || code === SLASH ? 1 : 0,
)
const isApart = (code: number): boolean => code >= ASCII_END || JOINING[code] === 0

/** Reports whether a name may introduce the word, or the value that it is a part of. */
function mayBeIntroduced(text: string, word: number, end: number): boolean {
  if (!mayBeValue(text, word, end)) return false
  const start = startOfIntroduced(text, word)
  return introductionBefore(text, start) !== null || isBasicBefore(text, start)
}

/** Reports whether digits after the sign of a password may end one: `Password: Abcd!123`. */
export function mayEndPassword(text: string, at: number): boolean {
  if (!isWordCharacter(codeAt(text, at - 2))) return false
  return introductionBefore(text, startOfIntroduced(text, at)) !== null
}

/** Reports whether a word starts like a secret. After a dot, so may any part of it. */
function holdsTokenStart(text: string, start: number, end: number): boolean {
  let isInside = false
  let mayBeginNumber = false
  let hasDots = false
  for (let at = start; at < end - 1; at++) {
    const code = text.charCodeAt(at)
    if (code === DOT) hasDots = true
    if (mayBeginToken(code, text.charCodeAt(at + 1))) {
      if (!isInside) return true
      mayBeginNumber = true
    }
    isInside = isAlphanumeric(code)
  }
  return mayBeginNumber && hasDots
}

/** Reports whether a word is next to other signs of base64: `…/4EpPk+…`. */
export const isPartOfBase64 = (text: string, start: number, end: number): boolean =>
  isKeySign(codeAt(text, start - 1)) || isKeySign(codeAt(text, end))

/**
 * Reports whether a word is the first with a digit in a run of base64 as long as a key, or after an
 * authorization scheme. The run was examined at that word.
 */
function isFirstWordOfKey(text: string, word: number): boolean {
  let start = word
  for (; word - start < MAXIMUM_KEY; start--) {
    const before = codeAt(text, start - 1)
    if (isDigit(before)) return false
    if (!isBase64(before)) break
  }
  if (isAfterScheme(text, start)) return true
  let end = word
  while (end - start < KEY_CHARACTERS && isBase64(codeAt(text, end))) end++
  return end - start >= KEY_CHARACTERS
}

/** Reports whether a run of base64 is as long as a key. */
function holdsKey(text: string, start: number, end: number): boolean {
  let at = start
  while (start - at < KEY_CHARACTERS && isBase64(codeAt(text, at - 1))) at--
  let count = 0
  for (; count < KEY_CHARACTERS && (at < end || count > 0); at++)
    count = isBase64(codeAt(text, at)) ? count + 1 : 0
  return count === KEY_CHARACTERS
}

const isKeySign = (code: number): boolean => code === SLASH || code === PLUS
const isBase64 = (code: number): boolean => isAlphanumeric(code) || isKeySign(code)

const isTokenCharacter = (code: number): boolean => isWordCharacter(code) || code === HYPHEN
