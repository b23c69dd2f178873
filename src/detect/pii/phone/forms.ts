// Recognises the forms of phone numbers that need no label. Knows digits and separators, not the
// surrounding text.

import { DIGIT_1, DIGIT_3 } from '../../../core/ascii.ts'
import type { DigitRun } from '../number/run.ts'
import { isUniform } from '../number/separators.ts'
import { shapeOf } from '../number/shape.ts'
import { isNorthAmerican } from './callingcodes.ts'

/**
 * One form for given groups. Either all separators are equal and in `same`; or the first is `)` or
 * `-` and the others are in `afterBracket` or `afterHyphen`. Without these properties any
 * separators are valid.
 */
interface Form {
  readonly same?: string
  readonly afterBracket?: string
  readonly afterHyphen?: string
  readonly beginning: RegExp
}

/** The trunk prefix before an area code. */
const TRUNK_ZERO = /^0[1-9]/
/** National forms that need no label, by their groups. Other forms also occur as other numbers. */
const NATIONAL_FORMS_BY_GROUPS: Readonly<Record<string, readonly Form[]>> = {
  '2-2-2-2-2': [{ same: ' .-', beginning: TRUNK_ZERO }], // France
  '5-6': [{ beginning: TRUNK_ZERO }], // United Kingdom
  '5-3-3': [{ same: ' -', afterBracket: ' ', beginning: TRUNK_ZERO }], // United Kingdom
  '3-4-4': [
    // United Kingdom, Japan, Korea, Australia, Turkey
    { same: ' -', afterBracket: ' ', beginning: TRUNK_ZERO },
    { same: ' -', beginning: /^1[3-9]/ }, // China
  ],
  '4-3-4': [{ same: ' -', afterBracket: ' ', beginning: TRUNK_ZERO }],
  '4-3-3': [{ same: ' -', beginning: TRUNK_ZERO }],
  '2-4-4': [
    { same: ' -', afterBracket: ' -', beginning: TRUNK_ZERO }, // Japan, Australia
    { afterBracket: ' -', beginning: /^[1-9]{2}/ }, // Brazil, Mexico
  ],
  '2-5-4': [{ afterBracket: ' -', beginning: /^[1-9]{2}/ }],
  '4-7': [
    { same: ' -', beginning: /^0(?:1[567]|[3-9])/ }, // Germany, Pakistan
    { same: '/', beginning: /^01[567]/ }, // Germany
  ],
  '4-8': [{ same: ' -/', beginning: /^01[567]/ }], // Germany
  '3-3-2-2': [{ same: ' -', afterHyphen: ' ', beginning: TRUNK_ZERO }], // Switzerland, Sweden
  '4-2-2-2': [{ same: ' -', afterHyphen: ' ', beginning: TRUNK_ZERO }], // Sweden
  '2-3-2-2': [{ afterHyphen: ' ', beginning: TRUNK_ZERO }],
  '4-2-4': [{ same: '-', beginning: TRUNK_ZERO }], // Japan
  '4-4-4': [{ same: '-', beginning: /^08[1-9]/ }], // Indonesia
  '2-3-4': [{ same: '-', beginning: TRUNK_ZERO }], // Korea, Thailand
  '1-3-3-2-2': [{ beginning: /^8[3489]/ }], // Russia
  '4-3-2-2': [{ same: ' -', beginning: /^0/ }], // Turkey, Belgium
  '2-2-3-4': [{ beginning: /^06[2-9]/ }], // Hungary
  '2-1-3-4': [{ afterHyphen: '/-', beginning: /^061/ }], // Budapest
  '11': [{ beginning: /^0[579]/ }], // mobile numbers in the United Kingdom, Turkey, the Philippines
  // Japan, Korea, Israel, Thailand
  '3-3-4': [{ same: '-', afterBracket: ' -', beginning: TRUNK_ZERO }],
  '3-7': [{ afterBracket: '', beginning: /^(?:0[1-9]|[2-9]\d\d[2-9])/ }], // North America, others
  '2-8': [{ afterBracket: '', beginning: /^(?:0[1-9]|[1-9]{2}[2-9])/ }], // Brazil, Mexico, others
  '2-9': [{ afterBracket: '', beginning: /^[1-9]{2}9/ }], // Brazil
}
const NATIONAL_FORMS = new Map(
  Object.entries(NATIONAL_FORMS_BY_GROUPS).map(([groups, forms]) => [shapeOf(groups), forms]),
)
const NORTH_AMERICAN = shapeOf('3-3-4')
const NORTH_AMERICAN_WITH_CODE = shapeOf('1-3-3-4')
const ITALIAN_MOBILE = shapeOf('3-7')
const CHINESE_FORMS = new Set(['11', '3-4-4'].map(shapeOf))
const CHINESE_MOBILE = /^1[3-9]\d{9}$/

/** Shapes that need no label if the number starts with a single trunk 0, as most do. */
export const PHONE_TRUNK_FORMS: ReadonlySet<number> = new Set(
  [...NATIONAL_FORMS]
    .filter(([, forms]) => forms.every(({ beginning }) => beginning.source.startsWith('^0')))
    .map(([shape]) => shape)
    .filter((shape) => shape !== NORTH_AMERICAN && !CHINESE_FORMS.has(shape)),
)
/** Shapes that need no label with any first digit. */
export const PHONE_FORMS: ReadonlySet<number> = new Set(
  [...NATIONAL_FORMS.keys(), NORTH_AMERICAN, NORTH_AMERICAN_WITH_CODE, ...CHINESE_FORMS].filter(
    (shape) => !PHONE_TRUNK_FORMS.has(shape),
  ),
)

/**
 * `555-123-4567`, `1 555 123 4567`, `(555) 123-4567`. With a bracket, numbers that are not in use
 * also count.
 */
export function isNorthAmericanForm(run: DigitRun): boolean {
  const withCode = run.shape === NORTH_AMERICAN_WITH_CODE && run.codeOfDigit(0) === DIGIT_1
  if (run.shape !== NORTH_AMERICAN && !withCode) return false
  const from = withCode ? 1 : 0
  const { separators } = run
  if (separators.includes('/') || (separators.includes('.') && !isUniform(separators))) return false
  const bracketed = separators.includes(')')
  return bracketed
    ? run.codeOfDigit(from) > DIGIT_1 && separators.length >= 2
    : isNorthAmerican(run, from, run.digitCount)
}

/** Decides by groups, separators and first digits, see NATIONAL_FORMS_BY_GROUPS. */
export function hasNationalForm(run: DigitRun): boolean {
  for (const form of NATIONAL_FORMS.get(run.shape) ?? [])
    if (hasSeparators(run, form) && form.beginning.test(run.digits)) return true
  return false
}

function hasSeparators(run: DigitRun, { same, afterBracket, afterHyphen }: Form): boolean {
  if (same === undefined && afterBracket === undefined && afterHyphen === undefined) return true
  const first = run.separator(0)
  if (same?.includes(first) === true && isFollowedBy(run, first)) return true
  if (first === '-') return afterHyphen !== undefined && isFollowedBy(run, afterHyphen)
  return first === ')' && afterBracket !== undefined && isFollowedBy(run, afterBracket)
}

/** Reports whether all separators but the first are in `others`. */
function isFollowedBy(run: DigitRun, others: string): boolean {
  for (let gap = 1; gap < run.gaps; gap++) if (!others.includes(run.separator(gap))) return false
  return true
}

const FROM_ABROAD = shapeOf('3-3-3-4')

/** `001-668-040-8670`, also with numbers that are not in use. */
export const isDialledFromAbroad = (run: DigitRun): boolean =>
  run.shape === FROM_ABROAD && run.separators === '---' && run.digits.startsWith('001')

/** A mobile number of China in one piece or as 3-4-4. Other numbers have these forms, too. */
export const isChineseMobile = (run: DigitRun): boolean =>
  CHINESE_FORMS.has(run.shape) && CHINESE_MOBILE.test(run.digits)

/** A mobile number of Italy, which needs a label: `333/1234567`, `333.1234567`. */
export const isItalianMobile = (run: DigitRun): boolean =>
  run.shape === ITALIAN_MOBILE && run.codeOfDigit(0) === DIGIT_3 && run.codeOfDigit(1) > DIGIT_1
