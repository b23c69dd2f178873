// Rules out numbers that look like phone numbers, by digits and groups: dates, decimals, counts,
// bytes.

import {
  ASTERISK,
  CLOSE_BRACKET,
  DIGIT_1,
  DIGIT_7,
  DOT,
  HYPHEN,
  isAlphanumeric,
  isHexDigit,
  LINE_FEED,
  OPEN_BRACKET,
  PLUS,
  SPACE,
} from '../../../core/ascii.ts'
import { codeAt, matchesAt } from '../code-unit-classes.ts'
import { DASHED_SSN } from '../engine/number-shapes.ts'
import type { DigitRun, NumberRuns } from '../number/run.ts'
import { groupsOf, lastGroupOf, shapeOf } from '../number/shape.ts'
import { isItalianMobile } from './forms.ts'

const CPF = shapeOf('3-3-3-2')
/** Year and month after a version of three numbers: `1.2.3 2024-05`. */
const VERSION_DATE = shapeOf('4-2')

/** Numbers of chemicals by the Chemical Abstracts Service: `15959-61-2`. */
const CHEMICALS = new Set(['4-2-1', '5-2-1', '6-2-1', '7-2-1'].map(shapeOf))

/** The last digit is the sum of the others, each multiplied by its position from the end. */
function isChemical({ shape, separators, digits }: DigitRun): boolean {
  if (!CHEMICALS.has(shape) || separators !== '--') return false
  let sum = 0
  for (let position = 1; position < digits.length; position++)
    sum += position * Number(digits.at(-1 - position))
  return sum % 10 === Number(digits.at(-1))
}

/**
 * Reports whether it has the form of a Brazilian CPF, a social security number, a version with a
 * date or a chemical.
 */
export const hasOtherForm = (run: DigitRun): boolean =>
  (run.shape === CPF && !run.separators.includes('/')) ||
  (run.shape === DASHED_SSN && run.separators === '--') ||
  groupsOf(run.shape, 3, 2) === VERSION_DATE ||
  isChemical(run)

/**
 * Volume, year and pages of a publication: `20 (1990) 171-182`, `212-226 (1971)`, `480–487). 1998`.
 */
const CITATION = /.\((?:19|20)\d\d(?!\d)|\d[-–]\d+ ?\(|\)[.,]? (?:19|20)\d\d$/

export const isCitation = (text: string, start: number, end: number): boolean =>
  CITATION.test(text.slice(start, end))

/** Shapes of dates and years. */
const DATE_FORMS = new Set(
  ['4-1-1', '4-1-2', '4-2-1', '4-2-2', '1-1-2', '1-2-2', '2-1-2', '2-2-2', '1-1-4', '1-2-4', '2-1-4', '2-2-4']
    .concat(['4-4', '4-2', '8', '2-4'])
    .map(shapeOf),
)

export const hasDateForm = (run: DigitRun): boolean => DATE_FORMS.has(run.shape)

/** Two years, or a date, at the end: `2017-2021`, `2016-2-10`. */
const YEARS = /(?:19|20)\d\d ?[-–] ?(?:(?:19|20)\d\d|\d{1,2}-\d{1,2})$/
const YEARS_CHARACTERS = 11

/** `2024-11-02 08`, `11.02.2024 8`, `20241102 0816`, `02.11.24 08:` */
const DATE_AND_HOUR =
  /^(?:(?:\d{4}[-./]\d\d?[-./]\d\d?|\d\d?[-./]\d\d?[-./](?:19|20)\d\d|(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d) (?:[01]?\d|2[0-3])(?:[0-5]\d)?|\d\d?[-./]\d\d?[-./]\d\d \d\d?(?=:))(?!\d)/

/** A date far from today: `+32971-04-28 00`. */
const FAR_DATE = /^\d{4,6}-(?:0[1-9]|1[0-2])-(?:[0-2]\d|3[01])(?: \d\d)?$/

export const isFarDate = (text: string, start: number, end: number): boolean =>
  FAR_DATE.test(text.slice(start, end))

/** Reports whether it ends with two years or a date, or is a date and an hour. */
export const endsInDate = (text: string, start: number, end: number): boolean =>
  YEARS.test(text.slice(Math.max(start, end - YEARS_CHARACTERS), end)) ||
  DATE_AND_HOUR.exec(text.slice(start, end + 1))?.[0].length === end - start

/**
 * Groups of four digits that all start with 0, or twice with 00: `0061 0308 0061`,
 * `0020.0011.0002`, `0031 2044 0037`.
 */
const CODE_POINTS = /^00\d\d(?:(?: \d{4}){2}$|(?:[ .]0\d{3})+(?:[ .]\d{4})?|(?:[ .]\d{4})+[ .]00\d\d)$/

/** Reports whether the run lists Unicode code points, which start like an international number. */
export const isCodePoints = (text: string, run: DigitRun): boolean =>
  CODE_POINTS.test(text.slice(run.start, run.end))

/** Degrees, minutes and perhaps seconds of latitude and longitude. */
const COORDINATES = new Set(['4-5', '6-7'].map(shapeOf))
/** Maximum digits of a calling code and an area code in one group. */
const MAXIMUM_AREA = 5
const MIN_DOTTED_DIGITS = 7

/**
 * Reports whether it is a number with a sign: `+35236450.6`, `+48.858370`, or coordinates in ISO
 * 6709, `+4612-05957`.
 */
export const isSigned = (runs: NumberRuns, index: number): boolean =>
  runs.gaps(index) === 1 &&
  ((runs.separator(0) === '.' && !isCallingCodeBeforeDot(runs, index)) || COORDINATES.has(runs.shape(index)))

/**
 * Reports whether the group before a dot is a calling code, perhaps with an area code. Only two
 * calling codes have one digit. The digits after the dot are more than decimals have (RFC 5733:
 * `+49.30123456`).
 */
const isCallingCodeBeforeDot = (runs: NumberRuns, index: number): boolean =>
  runs.groupLength(0) <= MAXIMUM_AREA &&
  runs.digitCount(index) - runs.groupLength(0) >= MIN_DOTTED_DIGITS &&
  (runs.groupLength(0) > 1 || runs.codeOfDigit(0) === DIGIT_1 || runs.codeOfDigit(0) === DIGIT_7)

/** A local number in North America. */
const LOCAL = shapeOf('3-4')

/** `37.7749295`, `48.858370 2.294481`, but not `555.1234`, `030.1234567`, `04.72 12 34 56`. */
function isDecimal(run: DigitRun): boolean {
  if (run.separator(0) !== '.' || (run.digits.startsWith('0') && !run.isSingle)) return false
  return run.gaps === 1 ? run.shape !== LOCAL && !isItalianMobile(run) : run.separator(1) === ' '
}

/** Seconds or milliseconds of the present time, written without a sign. */
const TIMESTAMP = /^1\d{9}(?:\d{3})?$/
/** Dates, positions in a file, round numbers. */
const NOT_DIALLED = /^(?:(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])|000\d+|[1-9]\d{1,5}0{4,6})$/

const isTimestamp = (text: string, run: DigitRun): boolean =>
  TIMESTAMP.test(run.digits) && codeAt(text, run.start - 1) !== PLUS

/** 2097152, 4294967295: flags, sizes and masks in code. */
function isBinary(digits: string): boolean {
  const value = Number(digits)
  return Number.isInteger(Math.log2(value)) || Number.isInteger(Math.log2(value + 1))
}

/** Counting: `1 0 2249`. */
const SINGLE_DIGITS = /(?<!\d)\d \d(?!\d)/

/** Reports whether it is a count, a time, a flag or decimals, even after a word for a phone. */
export function isNotDialled(text: string, run: DigitRun): boolean {
  if (run.isPlain) return isTimestamp(text, run) || NOT_DIALLED.test(run.digits) || isBinary(run.digits)
  return isDecimal(run) || SINGLE_DIGITS.test(text.slice(run.start, run.end))
}

/** A row of an array that is printed: `[331 355 4996]`, `[*0328.0020.0004]`. */
export function isArrayRow(text: string, start: number, run: DigitRun): boolean {
  if (run.isPlain) return false
  const before = codeAt(text, start - 1)
  if (before === ASTERISK && codeAt(text, start - 2) === OPEN_BRACKET) return true
  if (before !== OPEN_BRACKET && !(before === SPACE && codeAt(text, start - 2) === OPEN_BRACKET)) return false
  return codeAt(text, run.end) === CLOSE_BRACKET && NUMBERS.test(text.slice(run.start, run.end))
}

/** `[5312471](https://…`: the hash of a commit, the number of an issue. */
export const isLinkText = (text: string, run: DigitRun): boolean =>
  run.isPlain &&
  codeAt(text, run.start - 1) === OPEN_BRACKET &&
  text.startsWith('](', run.end) &&
  !text.startsWith('](tel:', run.end)

/** Numbers separated by spaces alone, some perhaps negative: `869 869 2281`, `-261 1250`. */
const NUMBERS = /^\d+(?: -?\d+)+$/

export const isSpaceSeparated = (text: string, run: DigitRun): boolean =>
  NUMBERS.test(text.slice(run.start, run.end))

const PAIRS = new Set(['2-2-2-2', '2-2-2-2-2', '2-2-2-2-2-2'].map(shapeOf))

/**
 * Reports whether pairs of digits are part of a hex dump: pairs of hexadecimal digits precede or
 * follow, or it is how Node prints a buffer.
 */
export const isByteDump = (text: string, start: number, shape: number, end: number): boolean =>
  (lastGroupOf(shape) === 2 && matchesAt(HEX_PAIR, text, end)) ||
  (PAIRS.has(shape) &&
    (text.endsWith('Buffer ', start) ||
      (isGap(codeAt(text, end)) && isPair(text, end + 1) && !isAlphanumeric(codeAt(text, end + 3))) ||
      (isGap(codeAt(text, start - 1)) &&
        isPair(text, start - 3) &&
        !isAlphanumeric(codeAt(text, start - 4)))))

/** An offset and bytes in decimal or octal digits. */
const DUMP_LINES = new Set(['6-2-2', '6-2-2-2', '6-2-2-2-2', '7-2-2', '7-2-2-2', '7-2-2-2-2'].map(shapeOf))

/** Reports whether a line starts with an offset and bytes: `006440 40 80 12`. */
export const isDumpLine = (text: string, start: number, shape: number): boolean =>
  codeAt(text, start - 1) === LINE_FEED && DUMP_LINES.has(shape)

/** ` fe`, after the first bytes of a dump: `006440 40 80 fe`. */
const HEX_PAIR = / (?=[0-9]?[a-f])[0-9a-f]{2}(?![\w-])/y

const isGap = (code: number): boolean => code === SPACE || code === DOT || code === HYPHEN
const isPair = (text: string, at: number): boolean =>
  isHexDigit(codeAt(text, at)) && isHexDigit(codeAt(text, at + 1))
