// Tells random characters, as in credentials, from words and from placeholders in documentation.

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

/** Placeholders for a password in documentation. */
export const NO_PASSWORD =
  /^(?:pass(?:word|wd)?|pwd|secret|token|your.*|x+|user(?:name)?|credentials?|%\w+)$/i
