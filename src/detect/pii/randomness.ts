// Whether characters come as by chance, as those of credentials do, or as words and what stands in for a secret in
// documentation.

/** What stands in for a secret in documentation. */
export const PLACEHOLDER =
  /x{5}|\.\.\.|placeholder|redacted|changeme|0{10}|(?:^|[-_])(?:example|sample|dummy|your|insert)/i
export const MIN_DISTINCT = 8
const MIN_DISTINCT_LETTERS = 12
/** Capitals inside, not only at the beginning of words. */
const MIXED_CASE = /[a-z][A-Z]{2}|[A-Z][a-z][A-Z]/

/** `sk-dashboard-widget-container-v2`, `fw_update_available_2024_flag`: three words or more, small letters, and their numbers. */
const SPELLED_OUT = /^[a-z]{1,5}\d?(?:[-_.](?:[a-z]{1,16}\d{0,5}|\d{1,4}[a-z]?)){3,}$/

/** Whether characters come as by chance, in no words and for nothing else. */
export function isRandom(token: string, randomPart = token): boolean {
  if (PLACEHOLDER.test(token) || SPELLED_OUT.test(token)) return false
  const distinct = distinctCharacters(randomPart)
  // Of letters alone nobody's words are so mixed.
  return /\d/.test(token)
    ? distinct >= MIN_DISTINCT
    : distinct >= MIN_DISTINCT_LETTERS && MIXED_CASE.test(randomPart)
}

export const distinctCharacters = (text: string): number => new Set(text).size

/** What documentation writes in place of a password. */
export const NO_PASSWORD =
  /^(?:pass(?:word|wd)?|pwd|secret|token|your.*|x+|user(?:name)?|credentials?|%\w+)$/i
