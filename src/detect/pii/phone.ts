// Phone numbers: international by their plan, national by the forms countries write them in, the rest by the words
// around them.

import { isInternational } from './callingcodes.ts'
import {
  codeAt,
  endOfDigits,
  isAlphanumeric,
  isAsciiUpper,
  isDigit,
  isHex,
  isLetter,
  isUnspaced,
  isWordCharacter,
} from './characters.ts'
import { leadsOn, type Words } from './context.ts'
import { DASHED, FORM, TRUNK_FORM } from './marks.ts'
import { mayBegin, type NumberRuns, type Run } from './numberrun.ts'
import { endsInTime, isLabelBehind, isQuantity, withExtension } from './phone-behind.ts'
import { hasNationalForm, isChineseMobile, isNorthAmericanForm } from './phone-forms.ts'
import type { Segment } from './segment.ts'
import { isUniform } from './separators.ts'
import { groupsOf, shapeOf } from './shape.ts'

/** How far before a number the word for it may end. */
const PHONE_WORD_DISTANCE = 46
const OTHER_WORD_DISTANCE = 30
const LABEL_DISTANCE = 2
const NUMBER_DISTANCE = 3
const NUMBERED_DISTANCE = 12
const NUMBER_WORD_DISTANCE = 16

const MAX_DIGITS = 13
const MAX_INTERNATIONAL_DIGITS = 16

/** Right before: somebody's number is one to call. */
const OWN_NUMBER =
  /(?:\b(?:my|your|his|her|their|our) (?:\w{2,10} )?number(?: is|'s|:)?|(?<!\p{L})(?:мой|моя|мій|наш) номер(?: (?:-|—))?|\b(?:meine nummer|mi número|meu número|mon numéro|il mio numero|mój numer)(?: (?:ist|es|é|est|è|to))?)[\s:]*$/u
const PAIRS = new Set(['2-2-2-2', '2-2-2-2-2', '2-2-2-2-2-2'].map(shapeOf))
/** Year and month behind a version of three numbers: `1.2.3 2024-05`. */
const VERSION_DATE = shapeOf('4-2')
/** Dates and years, which pass for groups of digits. */
const DATE_FORMS = new Set(
  ['4-1-1', '4-1-2', '4-2-1', '4-2-2', '1-1-2', '1-2-2', '2-1-2', '2-2-2', '1-1-4', '1-2-4', '2-1-4', '2-2-4']
    .concat(['4-4', '4-2', '8', '2-4'])
    .map(shapeOf),
)
const EIGHT_DIGITS = new Set(['8', '4-4'].map(shapeOf))
/** `0061 0308 0061`, `0020.0011.0002`: groups of four that begin with 0 throughout. */
const CODE_POINTS = /^00\d\d(?:[ .]0\d{3})+(?:[ .]\d{4})?$/
/** `2017-2021` at the end. */
const YEARS = /(?:19|20)\d\d ?[-–] ?(?:19|20)\d\d$/
const YEARS_CHARACTERS = 11
const CPF = shapeOf('3-3-3-2')
/** Of `00`. */
const PREFIX_DIGITS = 2
const SPACE = 0x20
const BRACKET = 0x28
const CLOSING_BRACKET = 0x29
const PLUS = 0x2b
const SLASH = 0x2f
const DOT = 0x2e
const HYPHEN = 0x2d
/** Brazil's CPF, social security numbers. */
const isOtherForm = (run: Run): boolean =>
  (run.shape === CPF && !run.separators.includes('/')) || (run.shape === DASHED && run.separators === '--')
/** Seconds and milliseconds of this time, days, places in a file, round numbers. */
const NOT_DIALLED =
  /^(?:1\d{9}(?:\d{3})?|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])|000\d+|[1-9]\d{1,5}0{4,6})$/

/**
 * @param at of the first digit
 * @param runs that begin there
 * @returns where the number ends; 0 if there is none
 */
export function scanPhone(segment: Segment, at: number, runs: NumberRuns): number {
  const { text } = segment
  const plus = plusBefore(text, at)
  if (plus > 0) return scanInternational(segment, at, runs, plus)
  const bracket = codeAt(text, at - 1) === BRACKET && isClosed(text, at)
  const start = bracket ? at - 1 : at
  if (bracket && !mayBegin(text, start)) return 0
  const words = segment.before(start)
  if (isTail(text, start)) return 0
  const other = relationToOther(text, start, words)
  if (other === 'is') return 0
  const silent = other === 'near' || isSilent(words) || isContinued(segment, start)
  const zeros = runs.leadingZeros
  const isPrefixed = zeros === PREFIX_DIGITS
  /** The longest that seems to take in the hours behind it: only if nothing shorter is left. */
  let timed = 0
  for (let i = runs.count - 1; i >= 0; i--) {
    if (runs.digitCount(i) > MAX_DIGITS + 2 || (bracket && runs.isPlain(i))) continue
    const maySpeak = !silent || (isPrefixed ? isAbroad(runs, i) : mayBeFormed(runs.marksAt(i), zeros))
    if (!maySpeak && !(runs.isWhole(i) && isLabelBehind(text, runs.end(i)))) continue
    if (runs.isOpen(i) || (PAIRS.has(runs.shape(i)) && isByteDump(text, start, runs.end(i)))) continue
    const run = runs.run(i)
    if (isPrefixed && CODE_POINTS.test(text.slice(start, run.end))) continue
    if (other === 'near' && !isUnmistaken(run, isPrefixed)) continue
    if (!isPhone(segment, start, run, isPrefixed) || isQuantity(text, run.end)) continue
    if (!endsInTime(text, start, run.end)) return take(segment, start, run.end)
    timed ||= run.end
  }
  return timed && take(segment, start, timed)
}

/** With its extension. */
function take(segment: Segment, start: number, numberEnd: number): number {
  const end = withExtension(segment.text, numberEnd)
  return segment.add('phone', start, end) ? end : 0
}

/** By its groups and whether it begins with one 0: a quick look. */
const mayBeFormed = (marks: number, zeros: number): boolean =>
  (marks & (zeros === 1 ? FORM | TRUNK_FORM : FORM)) !== 0

/** Behind 00, the way out of a country. */
const isAbroad = (runs: NumberRuns, index: number): boolean =>
  isInternational(runs, PREFIX_DIGITS, runs.digitCount(index))

/** Whether a letter follows the longest run: a word for a phone may stand there. A quick look. */
export const isLetterBehind = (text: string, runs: NumberRuns): boolean =>
  runs.isWhole(runs.count - 1) && isLetterNear(text, runs.end(runs.count - 1))

/** Whether it begins with 00, the way out of a country, and goes on as such numbers do. */
export function leadsAbroad(runs: NumberRuns): boolean {
  if (runs.leadingZeros !== PREFIX_DIGITS) return false
  for (let i = 0; i < runs.count; i++) if (isAbroad(runs, i)) return true
  return false
}

/** No word before makes a number a phone number: then it must be of a form, or a word follow. */
const isSilent = (words: Words): boolean =>
  words.isSilent || (words.phone > PHONE_WORD_DISTANCE && words.number > NUMBER_WORD_DISTANCE)

/** Whether digits stand before that are no value: what a word says, it says of them. */
const isContinued = (segment: Segment, start: number): boolean =>
  codeAt(segment.text, start - 1) === SPACE &&
  start - 2 >= segment.end &&
  isDigit(codeAt(segment.text, start - 2))

/**
 * Whether the words say that it `is` a number of something else, or what has such numbers is named `near` it: an order, a
 * customer, whose phone it may be.
 */
function relationToOther(text: string, start: number, words: Words): 'is' | 'near' | 'none' {
  if (words.isSilent) return 'none'
  const { other } = words
  // `part no. 415-332-8871`
  const isNumbered = words.number <= NUMBER_DISTANCE && words.label <= NUMBERED_DISTANCE
  if (isNumbered && words.phone > PHONE_WORD_DISTANCE) return 'is'
  if (words.label <= LABEL_DISTANCE) return 'is'
  if (other > OTHER_WORD_DISTANCE || other >= words.phone) return 'none'
  // Nothing else is written `(415) 555-2671`.
  return codeAt(text, start) !== BRACKET && leadsOn(text.slice(start - other, start)) ? 'is' : 'near'
}

/** In groups, in a form that phone numbers alone have. */
const isUnmistaken = (run: Run, isPrefixed: boolean): boolean =>
  !run.isPlain && !isPrefixed && (isNorthAmericanForm(run) || hasNationalForm(run))

/** Whether the first group ends with a closing bracket, as in `(555) 123-4567`. */
function isClosed(text: string, at: number): boolean {
  const end = endOfDigits(text, at)
  return codeAt(text, codeAt(text, end) === SPACE ? end + 1 : end) === CLOSING_BRACKET
}

/** Length of `+`, `(+` or `+(` before the digits. */
export function plusBefore(text: string, at: number): number {
  const before = codeAt(text, at - 1)
  if (before === PLUS) return 1
  return before === BRACKET && codeAt(text, at - 2) === PLUS ? 2 : 0
}

function scanInternational(segment: Segment, at: number, runs: NumberRuns, plus: number): number {
  const { text } = segment
  const sign = at - plus
  if (isWordCharacter(codeAt(text, sign - 1))) return 0
  // `(+44) 20 …`
  const start = codeAt(text, sign - 1) === BRACKET && runs.separator(0) === ')' ? sign - 1 : sign
  let timed = 0
  for (let i = runs.count - 1; i >= 0; i--) {
    const digits = runs.digitCount(i)
    if (digits > MAX_INTERNATIONAL_DIGITS || (i < runs.count - 1 && runs.isOpen(i))) continue
    if (!isInternational(runs, 0, digits) || runs.slashes(i) > 1) continue
    if (!endsInTime(text, at, runs.end(i))) return take(segment, start, runs.end(i))
    timed ||= runs.end(i)
  }
  return timed && take(segment, start, timed)
}

/** The end of an identifier or of an address on the web, `INV-2019-8210`, `1Z 999 4E4 03 4567 2994`, `TGHU 448291 6`. */
function isTail(text: string, start: number): boolean {
  const before = codeAt(text, start - 1)
  if (before === SPACE) return isCode(text, start - 1)
  return (before === HYPHEN || before === SLASH) && isWordCharacter(codeAt(text, start - 2))
}

/** Longest group of a code that is looked at. */
const MAX_CODE = 12
const CONTAINER = /[A-Z]{3}[JUZ]$/
const CONTAINER_LETTERS = 4

/** Whether a group ends there that changes between capitals and digits more than once, or owns a container (ISO 6346). */
function isCode(text: string, end: number): boolean {
  let at = end
  let changes = -1
  let wasDigit: boolean | null = null
  for (; end - at < MAX_CODE; at--) {
    const code = codeAt(text, at - 1)
    const digit = isDigit(code)
    if (!digit && !isAsciiUpper(code)) break
    if (digit !== wasDigit) changes++
    wasDigit = digit
  }
  if (isWordCharacter(codeAt(text, at - 1))) return false
  return changes > 1 || (end - at === CONTAINER_LETTERS && CONTAINER.test(text.slice(at, end)))
}

/** @param isPrefixed whether it begins with 00 */
function isPhone(segment: Segment, start: number, run: Run, isPrefixed: boolean): boolean {
  const { text } = segment
  if (isOtherForm(run)) return false
  if (groupsOf(run.shape, 3, 2) === VERSION_DATE) return false
  if (isPrefixed)
    return isInternational(run, PREFIX_DIGITS, run.digitCount) || isLabelled(segment, start, run)
  if (isNorthAmericanForm(run) || hasNationalForm(run)) return true
  if (isChineseMobile(run)) {
    const near = isUnspaced(codeAt(text, start - 1)) || isUnspaced(codeAt(text, run.end))
    if (near || segment.before(start).number <= NUMBER_WORD_DISTANCE) return true
  }
  return (run.digitCount >= 9 && isOwnNumber(segment, start)) || isLabelled(segment, start, run)
}

const isOwnNumber = (segment: Segment, start: number): boolean =>
  segment.before(start).number <= NUMBER_WORD_DISTANCE &&
  segment.isBehindWords(start) &&
  OWN_NUMBER.test(segment.windowBefore(start))

/** Whether the words around say that it is one. */
function isLabelled(segment: Segment, start: number, run: Run): boolean {
  const { text } = segment
  const words = segment.before(start)
  const { phone } = words
  const weak = words.number <= NUMBER_WORD_DISTANCE && words.other > OTHER_WORD_DISTANCE
  const behind = isLabelBehind(text, run.end)
  // Nothing is said: most runs in tables of numbers.
  if (phone > PHONE_WORD_DISTANCE && !weak && !behind) return false
  const { separators } = run
  if (run.digitCount > MAX_DIGITS || DATE_FORMS.has(run.shape) || separators.includes('/')) {
    if (!isSlashedArea(run, separators) && !EIGHT_DIGITS.has(run.shape)) return false
  }
  if (YEARS.test(text.slice(Math.max(start, run.end - YEARS_CHARACTERS), run.end))) return false
  if (behind) return true
  if (run.isPlain && NOT_DIALLED.test(run.digits)) return false
  if (phone <= PHONE_WORD_DISTANCE) return isUniform(separators.replace(')', '')) || run.digitCount >= 9
  return weak && !run.isPlain && run.digitCount >= 9 && run.digitCount <= 12 && run.digits[0] === '0'
}

/** A quick look: whether a word follows within four characters. */
function isLetterNear(text: string, end: number): boolean {
  for (let at = end; at <= end + 4; at++) if (isLetter(codeAt(text, at))) return true
  return false
}

/** A dump of bytes goes on in pairs of hexadecimal digits, before or behind, or stands as Node shows one. */
const isByteDump = (text: string, start: number, end: number): boolean =>
  text.endsWith('<Buffer ', start) ||
  (isGap(codeAt(text, end)) && isPair(text, end + 1) && !isAlphanumeric(codeAt(text, end + 3))) ||
  (isGap(codeAt(text, start - 1)) && isPair(text, start - 3) && !isAlphanumeric(codeAt(text, start - 4)))

const isGap = (code: number): boolean => code === SPACE || code === DOT || code === HYPHEN
const isPair = (text: string, at: number): boolean => isHex(codeAt(text, at)) && isHex(codeAt(text, at + 1))

/** `030/1234567`, `0711 / 48 29 17-0` */
const isSlashedArea = (run: Run, separators: string): boolean =>
  separators.lastIndexOf('/') === 0 && run.digits.startsWith('0')
