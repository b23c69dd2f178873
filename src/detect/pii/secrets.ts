// Detects credentials by the prefixes of their issuers. The form alone proves nothing: the rest
// must look random.

import { parseApiKey } from '../../core/apikey.ts'
import {
  AT_SIGN,
  COLON,
  DOT,
  HYPHEN,
  isAlphanumeric,
  isDigit,
  isWordCharacter,
  PLUS,
  SLASH,
  SPACE,
} from '../../core/ascii.ts'
import { scanCredentials } from './authorization.ts'
import { isAfterScheme } from './authorization-scheme.ts'
import { codeAt } from './code-unit-classes.ts'
import type { Segment } from './engine/segment.ts'
import type { Span } from './keyblock.ts'
import { distinctCharacters, isRandom, MIN_DISTINCT, NO_PASSWORD, PLACEHOLDER } from './randomness.ts'
import { mayBeginToken, TOKEN } from './tokenforms.ts'

/** Length of the shortest secret, and of the part that must look random. */
export const MIN_TOKEN = 15
const MAXIMUM_DOTTED = 64

/**
 * Labels of secret keys without a prefix: those of AWS and Azure are 40 or 86 characters of base64.
 */
const NAMED_KEY =
  /(?:aws_?secret_?access_?key|secret_?access_?key|account_?key)["']?\s{0,3}[:=]{1,2}>?\s{0,3}["']?$/
/** Length of an AWS key. Azure's are the longest. */
const KEY_CHARACTERS = 40
const MAXIMUM_KEY = 88
/** Host and path of a Slack webhook; the path permits posting. */
const WEBHOOK_HOST = 'hooks.slack.'
const WEBHOOK = /com\/services\/(?<path>T[A-Z0-9]{8,12}\/B[A-Z0-9]{8,12}\/[A-Za-z0-9]{24})(?![A-Za-z0-9/+])/y
const NAMED_VALUE = /[A-Za-z0-9+/]{40}(?:[A-Za-z0-9+/]{46}==)?(?![A-Za-z0-9+/=])/y

/** AWS Signature Version 4, in the query of a URL. */
const KEY_ID_BEFORE = /x-amz-credential=$/

/**
 * @param start of the word (letters, digits, `_`, `-`)
 * @returns end of the secret; 0 if there is none
 */
export function scanSecret(segment: Segment, start: number): number {
  const { text } = segment
  const token = tokenAt(text, start) ?? tokenAt(text, dottedStart(text, start, segment.end))
  // The key id in a signed URL is no secret, and the URL is useless without it.
  const isSignatureKeyId = token !== null && KEY_ID_BEFORE.test(segment.windowBefore(token.start))
  if (token !== null && !isSignatureKeyId && isSecret(text.slice(token.start, token.end))) {
    return segment.add('secret', token.start, token.end) ? token.end : 0
  }
  return scanNamedKey(segment, start)
}

const BOT_ID_DIGITS = 8

/** Where the bot id of a Telegram token starts, which ends at a colon; -1 if there is none. */
export function startOfBotId(text: string, colon: number): number {
  if (codeAt(text, colon) !== COLON || !text.startsWith('AA', colon + 1)) return -1
  let start = colon
  while (start > 0 && colon - start < MIN_TOKEN && isDigit(codeAt(text, start - 1))) start--
  return colon - start >= BOT_ID_DIGITS ? start : -1
}

function tokenAt(text: string, start: number): Span | null {
  TOKEN.lastIndex = start
  const token = TOKEN.exec(text)?.[0].replace(/\.+$/, '')
  return token === undefined ? null : { start, end: start + token.length }
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

function isSecret(token: string): boolean {
  if (token.startsWith('sgate_live_')) return parseApiKey(token)
  if (token.startsWith('eyJ')) return true
  if (/^(?:AKIA|ASIA)/.test(token)) return distinctCharacters(token) > MIN_DISTINCT
  const separator = Math.max(4, token.search(/[-_.](?=[^-_.]*$)/))
  const randomPart = token.slice(token.length - separator > MIN_TOKEN ? separator : 4)
  return isRandom(token, randomPart)
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
  if (text.startsWith(WEBHOOK_HOST, start - WEBHOOK_HOST.length)) return scanWebhook(segment, start)
  NAMED_VALUE.lastIndex = start
  const value = NAMED_VALUE.exec(text)?.[0]
  if (value === undefined || !NAMED_KEY.test(segment.windowBefore(start)) || /example/i.test(value)) return 0
  if (distinctCharacters(value) < 2 * MIN_DISTINCT) return 0
  return segment.add('secret', start, start + value.length) ? start + value.length : 0
}

/** @param start the offset after WEBHOOK_HOST */
function scanWebhook(segment: Segment, start: number): number {
  WEBHOOK.lastIndex = start
  const path = WEBHOOK.exec(segment.text)?.groups?.['path']
  if (path === undefined || PLACEHOLDER.test(path)) return 0
  return segment.add('secret', WEBHOOK.lastIndex - path.length, WEBHOOK.lastIndex) ? WEBHOOK.lastIndex : 0
}

/**
 * The password between a user name and the host: `https://name:password@host` (RFC 3986 §3.2.1).
 */
const USER_INFO = /\/\/[^\s/@:"'<>]{0,64}:(?<password>[^\s/@:"'<>{}$*]{4,128})$/
const MAXIMUM_USER_INFO = 200
/** Not allowed there in a URL: `//x:link[@href]` (RFC 3986 §3.2.1). */
const BRACKET = /[[\]]/

/**
 * Adds the password before the `@` of a URL.
 * @param at of the `@` before a host
 * @param from where the search back for `//` starts; a password may contain what lies between
 * @returns whether a password was added
 */
export function scanUserInfo(segment: Segment, at: number, from: number): boolean {
  const { text } = segment
  let start = from
  while (start > segment.end && at - start < MAXIMUM_USER_INFO && isUserInfo(text.charCodeAt(start - 1)))
    start--
  if (codeAt(text, start - 1) !== SLASH || codeAt(text, start - 2) !== SLASH) return false
  const password = USER_INFO.exec(text.slice(start - 2, at))?.groups?.['password']
  if (password === undefined || BRACKET.test(password) || NO_PASSWORD.test(password)) return false
  return segment.add('secret', at - password.length, at)
}

const isUserInfo = (code: number): boolean => code > SPACE && code !== SLASH && code !== AT_SIGN

/** Where the word of letters, digits, `_` and `-` around `at` starts, not before `from`. */
export function tokenStart(text: string, at: number, from: number): number {
  let start = at
  while (start > from && isTokenCharacter(text.charCodeAt(start - 1))) start--
  while (start < at && !isAlphanumeric(text.charCodeAt(start))) start++
  return start
}

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
  if (end - start < MIN_TOKEN)
    return startOfBotId(text, end) < 0 && !(isPartOfBase64(text, start, end) && isFirstWordOfKey(text, start))
  if (end - to > MAXIMUM_READ || before === DOT || after === COLON) return false
  if (isAfterScheme(text, start)) return false
  // Paths consist of base64 characters, too.
  if (end - start >= KEY_CHARACTERS || isBase64(before) || isBase64(after)) {
    if (holdsKey(text, start, end) || isFirstWordOfKey(text, start)) return false
  }
  return !holdsTokenStart(text, start, end)
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
