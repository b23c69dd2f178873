// The forms of phone numbers that need no word before them. Knows digits and separators, not what stands around.

import { isNorthAmerican } from './callingcodes.ts'
import type { NumberRuns, Run } from './numberrun.ts'
import { shapeOf } from './shape.ts'

/**
 * National forms that stand for themselves, by their groups: separators and first digits. Others are also numbers of
 * other things.
 */
const NATIONAL_FORMS_BY_GROUPS: Readonly<
  Record<string, readonly (readonly [separators: RegExp, beginning: RegExp])[]>
> = {
  '2-2-2-2-2': [[/^(?: {4}|\.{4}|-{4})$/, /^0[1-9]/]], // France
  '5-6': [[/(?:)/, /^0[1-9]/]], // United Kingdom
  '5-3-3': [[/^(?: +|-+|\) )$/, /^0[1-9]/]], // United Kingdom
  '3-4-4': [
    [/^(?: +|-+|\) )$/, /^0[1-9]/], // United Kingdom, Japan, Korea, Australia, Turkey
    [/^(?: +|-+)$/, /^1[3-9]/], // China
  ],
  '4-3-4': [[/^(?: +|-+|\) )$/, /^0[1-9]/]],
  '4-3-3': [[/^(?: +|-+)$/, /^0[1-9]/]],
  '2-4-4': [
    [/^(?:--|\) | {2}|\)-)$/, /^0[1-9]/], // Japan, Australia
    [/^\)[- ]$/, /^[1-9]{2}/], // Brazil, Mexico
  ],
  '2-5-4': [[/^\)[- ]$/, /^[1-9]{2}/]],
  '4-7': [
    [/^[ -]$/, /^0(?:1[567]|[3-9])/], // Germany, Pakistan
    [/^\/$/, /^01[567]/], // Germany
  ],
  '3-3-2-2': [[/^(?: +|-+)$/, /^0[1-9]/]], // Switzerland
  '1-3-3-2-2': [[/(?:)/, /^8[3489]/]], // Russia
  '4-3-2-2': [[/^(?: +|-+)$/, /^0/]], // Turkey, Belgium
  '11': [[/^$/, /^0[579]/]], // mobile numbers in the United Kingdom, Turkey, the Philippines
  '3-3-4': [[/^\)[- ]?$/, /^0[1-9]/]],
  '3-7': [[/^\)[- ]?$/, /^0[1-9]/]],
  '2-8': [[/^\)[- ]?$/, /^0[1-9]/]],
}
const NATIONAL_FORMS = new Map(
  Object.entries(NATIONAL_FORMS_BY_GROUPS).map(([groups, forms]) => [shapeOf(groups), forms]),
)
const NORTH_AMERICAN = shapeOf('3-3-4')
const NORTH_AMERICAN_WITH_CODE = shapeOf('1-3-3-4')
const CHINESE_FORMS = new Set(['11', '3-4-4'].map(shapeOf))
const CHINESE_MOBILE = /^1[3-9]\d{9}$/
const ZERO = 0x30
const ONE = 0x31

/** Forms that need no word, if the number begins with one 0: most of them. */
export const TRUNK_FORMS: ReadonlySet<number> = new Set(
  [...NATIONAL_FORMS]
    .filter(([, forms]) => forms.every(([, beginning]) => beginning.source.startsWith('^0')))
    .map(([shape]) => shape)
    .filter((shape) => shape !== NORTH_AMERICAN && !CHINESE_FORMS.has(shape)),
)
/** Forms that need no word, whatever the number begins with. */
export const FORMS: ReadonlySet<number> = new Set(
  [...NATIONAL_FORMS.keys(), NORTH_AMERICAN, NORTH_AMERICAN_WITH_CODE, ...CHINESE_FORMS].filter(
    (shape) => !TRUNK_FORMS.has(shape),
  ),
)

/** Whether it begins with the one 0 that is dialled before the number of an area. */
export const hasTrunkZero = (runs: NumberRuns): boolean =>
  runs.codeOfDigit(0) === ZERO && runs.codeOfDigit(1) !== ZERO

/** Whether it may be of a form, by its groups and whether it begins with 0: a quick look. */
export const mayBeFormed = (runs: NumberRuns, shape: number): boolean =>
  FORMS.has(shape) || (TRUNK_FORMS.has(shape) && hasTrunkZero(runs))

/** `555-123-4567`, `1 555 123 4567`, `(555) 123-4567`; in brackets also numbers that are not in use. */
export function isNorthAmericanForm(run: Run): boolean {
  const withCode = run.shape === NORTH_AMERICAN_WITH_CODE && run.codeOfDigit(0) === ONE
  if (run.shape !== NORTH_AMERICAN && !withCode) return false
  const from = withCode ? 1 : 0
  const { separators } = run
  if (separators.includes('/')) return false
  const bracketed = separators.includes(')')
  return bracketed
    ? run.codeOfDigit(from) > ONE && separators.length >= 2
    : isNorthAmerican(run, from, run.digitCount)
}

/** By groups, separators and first digits, see NATIONAL_FORMS_BY_GROUPS. */
export function hasNationalForm(run: Run): boolean {
  const forms = NATIONAL_FORMS.get(run.shape)
  return forms?.some(([form, beginning]) => beginning.test(run.digits) && form.test(run.separators)) === true
}

/** A mobile number in China in one piece or as 3-4-4, which is also a number of other things. */
export const isChineseMobile = (run: Run): boolean =>
  CHINESE_FORMS.has(run.shape) && CHINESE_MOBILE.test(run.digits)
