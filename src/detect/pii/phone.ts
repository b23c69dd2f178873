// Phone numbers: international by their plan, national by the forms countries write them in, the rest by the words
// around them.

import { isInternational, isNorthAmerican } from './callingcodes.ts'
import { isBehindWords, isUnspaced, isWordCharacter } from './characters.ts'
import type { Run } from './numberrun.ts'
import { isUniform, mayBegin } from './numberrun.ts'
import type { Segment } from './segment.ts'

/** How far before a number the word for it may end. */
const PHONE_WORD_DISTANCE = 46
const OTHER_WORD_DISTANCE = 30
const LABEL_DISTANCE = 2
const NUMBER_WORD_DISTANCE = 16

const MIN_DIGITS = 7
const MAX_DIGITS = 13
const MAX_INTERNATIONAL_DIGITS = 16

const LABEL_BEHIND =
  /^[ \t,]{0,2}[-(]{0,2}(?:office|fax|mobile|cell|home|work|direct|tel|phone|büro|privat|bureau|oficina)\b/i
const EXTENSION =
  /(?:[ \u00a0]?[xX]|,?[ \u00a0](?:ext|extn|extension|poste|int)\.?[ \u00a0]?|[ \u00a0]#)\d{1,6}(?!\w)/y

/**
 * National forms that stand for themselves: groups and separators, the first digits. Others are also numbers of other
 * things.
 */
const NATIONAL_FORMS: readonly (readonly [RegExp, RegExp])[] = [
  [/^2-2-2-2-2 (?: {4}|\.{4}|-{4})$/, /^0[1-9]/], // France
  [/^5-6 | ?5-3-3 (?: +|-)$/, /^0[1-9]/], // United Kingdom
  [/^(?:3-4-4|4-3-4|4-3-3) (?: +|-+)$/, /^0[1-9]/], // United Kingdom, Japan, Korea, Australia, Turkey
  [/^(?:2-4-4) (?:--|\) | {2}|\)-)$/, /^0[1-9]/], // Japan, Australia
  [/^3-4-4 (?: +|-+)$/, /^1[3-9]/], // China
  [/^2-(?:5|4)-4 \)[- ]$/, /^[1-9]{2}/], // Brazil, Mexico
  [/^4-7 [ -]$/, /^0(?:1[567]|[3-9])/], // Germany, Pakistan
  [/^3-3-2-2 (?: +|-+)$/, /^0[1-9]/], // Switzerland
  [/^1-3-3-2-2 /, /^8[3489]/], // Russia
  [/^4-3-2-2 (?: +|-+)$/, /^0/], // Turkey, Belgium
  [/^11 $/, /^0[579]/], // mobile numbers in the United Kingdom, Turkey, the Philippines
  [/^(?:3-3-4|3-7|2-8) \)[- ]?$/, /^0[1-9]/],
]
/** Right before: somebody's number is one to call. */
const OWN_NUMBER = /\b(?:my|your|his|her|their|our) (?:\w{2,10} )?number(?: is|'s|:)?[\s:]*$/
/** Right behind: a quantity. */
const QUANTITY =
  /^ ?(?:ns|ms|µs|us|secs?|seconds|minutes|bytes|[kmgt]i?b|%|px|rows|records|items|times|users|people|km|miles|usd|eur|dollars|euros)\b/i
/** A dump of bytes goes on in pairs of hexadecimal digits. */
const PAIR_BEHIND = /^[ .-][0-9a-f]{2}(?![0-9A-Za-z])/i
const PAIR_BEFORE = /(?:^|[^0-9a-z])[0-9a-f]{2}[ .-]$/
const PAIRS = '2-2-2-2-2'
/** A version before the date it came out. */
const VERSION_FORM = /^\d-\d{1,2}-\d{1,2}-4-2/
/** Dates and years, which pass for groups of digits. */
const DATE_FORM = /^(?:4-[12]-[12]|[12]-[12]-[24]|4-4|4-2|8|2-4)$/
/** Brazil's CPF, social security numbers. */
const NOT_PHONE_FORM = /^3-3-3-2 |^3-2-4 --$/
const CHINESE_MOBILE = /^1[3-9]\d{9}$/
/** Seconds and milliseconds of this time. */
const EPOCH = /^1\d{9}(?:\d{3})?$/

/**
 * @param at of the first digit
 * @param runs that begin there
 * @returns where the number ends; 0 if there is none
 */
export function scanPhone(segment: Segment, at: number, runs: readonly Run[]): number {
  const { text } = segment
  const plus = plusBefore(text, at)
  if (plus > 0) return scanInternational(segment, at, runs, plus)
  const bracket = text[at - 1] === '(' && runs.some(({ separators }) => separators.startsWith(')'))
  const start = bracket ? at - 1 : at
  if (bracket && !mayBegin(text, start)) return 0
  if (isTail(text, start)) return 0
  for (let i = runs.length - 1; i >= 0; i--) {
    const run = runs[i]
    if (run === undefined || run.open || run.digits.length < MIN_DIGITS) continue
    if (bracket && !run.separators.startsWith(')')) continue
    if (!isPhone(segment, start, run) || QUANTITY.test(text.slice(run.end, run.end + 10))) continue
    const end = withExtension(text, run.end)
    return segment.add('phone', start, end) ? end : 0
  }
  return 0
}

/** Length of `+`, `(+` or `+(` before the digits. */
function plusBefore(text: string, at: number): number {
  const before = text[at - 1]
  if (before === '+') return 1
  return before === '(' && text[at - 2] === '+' ? 2 : 0
}

function scanInternational(segment: Segment, at: number, runs: readonly Run[], plus: number): number {
  const { text } = segment
  let start = at - plus
  if (isWordCharacter(text.charCodeAt(start - 1))) return 0
  for (let i = runs.length - 1; i >= 0; i--) {
    const run = runs[i]
    if (
      run === undefined ||
      (run.open && i < runs.length - 1) ||
      run.digits.length > MAX_INTERNATIONAL_DIGITS
    )
      continue
    if (run.separators.split('/').length > 2 || !isInternational(run.digits)) continue
    // `(+44) 20 …`
    if (text[start - 1] === '(' && run.separators.startsWith(')')) start--
    const end = withExtension(text, run.end)
    return segment.add('phone', start, end) ? end : 0
  }
  return 0
}

function withExtension(text: string, end: number): number {
  EXTENSION.lastIndex = end
  return end + (EXTENSION.exec(text)?.[0].length ?? 0)
}

/** The end of an identifier or of an address on the web, `INV-2019-8210`. */
function isTail(text: string, start: number): boolean {
  const before = text[start - 1]
  return (before === '-' || before === '/') && isWordCharacter(text.charCodeAt(start - 2))
}

function isPhone(segment: Segment, start: number, run: Run): boolean {
  const { text } = segment
  const { digits, groups, separators } = run
  if (digits.length > MAX_DIGITS + 2 || NOT_PHONE_FORM.test(`${groups} ${separators}`)) return false
  const words = segment.before(start)
  const phone = words.distance('phone')
  const other = words.distance('other')
  if (words.has('label', LABEL_DISTANCE)) return false
  if (other < phone && other <= OTHER_WORD_DISTANCE) return false
  if (VERSION_FORM.test(groups)) return false
  if (groups === PAIRS && isByteDump(text, start, run.end)) return false
  if (digits.startsWith('00')) return isInternational(digits.slice(2)) || isLabelled()
  if (isNorthAmericanForm(run) || hasNationalForm(run)) return true
  if (CHINESE_MOBILE.test(digits) && (groups === '11' || groups === '3-4-4')) {
    const near = isUnspaced(text.charCodeAt(start - 1)) || isUnspaced(text.charCodeAt(run.end))
    if (near || words.has('number', NUMBER_WORD_DISTANCE)) return true
  }
  if (digits.length >= 9 && isBehindWords(text, start) && OWN_NUMBER.test(segment.windowBefore(start)))
    return true
  return isLabelled()

  function isLabelled(): boolean {
    if (digits.length > MAX_DIGITS || separators.includes('/') || DATE_FORM.test(groups)) {
      if (!isSlashedArea(run) && !(groups === '8' || groups === '4-4')) return false
    }
    if (LABEL_BEHIND.test(text.slice(run.end, run.end + 16))) return true
    if (EPOCH.test(groups.includes('-') ? '' : digits)) return false
    if (phone <= PHONE_WORD_DISTANCE) return isUniform(separators.replace(')', '')) || digits.length >= 9
    const weak = words.has('number', NUMBER_WORD_DISTANCE) && other > OTHER_WORD_DISTANCE
    return weak && groups.includes('-') && digits.length >= 9 && digits.length <= 12 && digits[0] === '0'
  }
}

const isByteDump = (text: string, start: number, end: number): boolean =>
  PAIR_BEHIND.test(text.slice(end, end + 4)) ||
  PAIR_BEFORE.test(text.slice(Math.max(0, start - 4), start).toLowerCase())

/** `030/1234567` */
const isSlashedArea = ({ separators, digits }: Run): boolean => separators === '/' && digits.startsWith('0')

/** `555-123-4567`, `1 555 123 4567`, `(555) 123-4567`; in brackets also numbers that are not in use. */
function isNorthAmericanForm({ digits, groups, separators }: Run): boolean {
  const national = groups === '1-3-3-4' && digits[0] === '1' ? digits.slice(1) : digits
  if (groups !== '3-3-4' && national === digits) return false
  if (separators.includes('/')) return false
  const bracketed = separators.includes(')')
  return bracketed ? /^[2-9]/.test(national) && separators.length >= 2 : isNorthAmerican(national)
}

function hasNationalForm({ digits, groups, separators }: Run): boolean {
  // All of them begin so, or have brackets.
  if (!/^[018]/.test(digits) && !separators.includes(')')) return false
  const form = `${groups} ${separators}`
  return NATIONAL_FORMS.some(([shape, beginning]) => shape.test(form) && beginning.test(digits))
}
