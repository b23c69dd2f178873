// Tells random characters, as in credentials, from words and from placeholders in documentation.

import { isAsciiLower, isAsciiUpper, isDigit } from '../../../core/ascii.ts'

/** Placeholders for a secret in documentation. */
export const PLACEHOLDER =
  /x{5}|\.\.\.|placeholder|redacted|changeme|0{10}|(?:^|[-_])(?:example|sample|dummy|your|insert)/i
export const MIN_DISTINCT = 8
const MIN_DISTINCT_LETTERS = 12
/** Capitals inside, not only at the start of words. */
const MIXED_CASE = /[a-z][A-Z]{2}|[A-Z][a-z][A-Z]/

/**
 * Three or more lower-case words and their numbers: `sk-dashboard-widget-container-v2`,
 * `fw_update_available_2024_flag`.
 */
const SPELLED_OUT = /^[a-z]{1,5}\d?(?:[-_.](?:[a-z]{1,16}\d{0,5}|\d{1,4}[a-z]?)){3,}$/

/**
 * Reports whether a token looks random: neither words nor a placeholder.
 * @param randomPart the part without its prefix
 */
export function isRandom(token: string, randomPart = token): boolean {
  if (PLACEHOLDER.test(token) || SPELLED_OUT.test(token)) return false
  const distinct = distinctCharacters(randomPart)
  // Letters alone need more: no words mix cases like that.
  return /\d/.test(token)
    ? distinct >= MIN_DISTINCT
    : distinct >= MIN_DISTINCT_LETTERS && MIXED_CASE.test(randomPart)
}

export const distinctCharacters = (text: string): number => new Set(text).size

/** Share of characters at which random text changes between letters, digits and capitals. */
const MIN_TURNS = 0.18
const LOWER = 1
const UPPER = 2
const DIGIT = 3

/**
 * Reports whether letters, capitals and digits are mixed as in random text. A capital before a
 * lower-case letter starts a word and is no change of its own.
 */
export function isMachineMade(text: string): boolean {
  let turns = 0
  let length = 0
  let last = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const kind = isDigit(code) ? DIGIT : isAsciiLower(code) ? LOWER : isAsciiUpper(code) ? UPPER : 0
    if (kind === 0) continue
    length++
    if (last !== 0 && kind !== last && !(last === UPPER && kind === LOWER)) turns++
    last = kind
  }
  return turns > 0 && turns >= length * MIN_TURNS
}

/** Words with numbers at their ends, joined by signs or capitals. */
const WORDY =
  /^[^A-Za-z0-9]*(?:(?:v?\d{1,4}|[A-Z]?[a-z]{2,20}\d{0,4}|[a-z]\d{0,4})(?:[-_./: ]+|(?=[A-Z])|$)|[A-Z]{2,12}\d{0,3}(?:[-_./: ]+|(?=[A-Z][a-z])|$))+$/

/** Lower-case letters, but no four in a row. */
const NO_WORD = /^(?=.*[a-z])(?!.*[a-z]{4})/

/** Reports whether a text is words and their numbers: `oauth2-proxy-v7`, `user2Settings`. */
export const isWordy = (text: string): boolean => WORDY.test(text) && !NO_WORD.test(text)

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/
const WORDS = /[A-Z]?[a-z]{3,}/g
const DIGIT_GROUPS = /\d+/g
/** Digits split lower-case letters of names at most so often: `base64url2`. */
const MAXIMUM_DIGIT_GROUPS = 2

/**
 * Reports whether a text is a name in code, such as that of a type: `V1SecretKeySelector`.
 * @param share of it that must be words if it has no digits; half as much more with digits
 */
export function isIdentifier(text: string, share: number): boolean {
  if (!IDENTIFIER.test(text)) return false
  const groups = text.match(DIGIT_GROUPS)?.length ?? 0
  if (groups > MAXIMUM_DIGIT_GROUPS) return false
  let words = 0
  for (const [word] of text.matchAll(WORDS)) words += word.length
  return words >= text.length * (groups > 0 ? 1.5 * share : share)
}

/** Placeholders for a password in documentation. */
export const NO_PASSWORD =
  /^(?:pass(?:word|wd)?|pwd|secret|token|your.*|x+|user(?:name)?|credentials?|%\w+)$/i
