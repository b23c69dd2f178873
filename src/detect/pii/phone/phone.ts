// Detects phone numbers: international ones by the numbering plan, national ones by the forms in
// use in a country, all others by the words around them.

import { CLOSE_PAREN, DOT, isDigit, OPEN_PAREN, PLUS, SPACE } from '../../../core/ascii.ts'
import { codeAt, endOfDigits, isLetter, isUnspaced, isWordBefore } from '../code-unit-classes.ts'
import { PHONE_FORM, PHONE_TRUNK_FORM } from '../engine/number-shapes.ts'
import type { Segment } from '../engine/segment.ts'
import { mayBeginNumber } from '../number/begin.ts'
import { isPathData } from '../number/pathdata.ts'
import { endOfRepeats, neighboursInRow } from '../number/row.ts'
import type { DigitRun, NumberRuns } from '../number/run.ts'
import { isUniform } from '../number/separators.ts'
import { shapeOf } from '../number/shape.ts'
import { areLinkWords, type ContextWords } from '../words/context.ts'
import { isInternational } from './callingcodes.ts'
import {
  hasNationalForm,
  isChineseMobile,
  isDialledFromAbroad,
  isItalianMobile,
  isNorthAmericanForm,
} from './forms.ts'
import {
  isAfterHash,
  isAfterSpeaker,
  isChatLink,
  isDraw,
  isInIdentifier,
  isOwnNumber,
  isPhoneLine,
  isTail,
  isUnrelatedToWord,
  isUsageCount,
} from './left-context.ts'
import {
  endsInDate,
  hasDateForm,
  hasOtherForm,
  isArrayRow,
  isByteDump,
  isCitation,
  isCodePoints,
  isDumpLine,
  isFarDate,
  isLinkText,
  isNotDialled,
  isSigned,
  isSpaceSeparated,
} from './not-phone.ts'
import { endsInTime, isLabelAfter, isQuantity, withExtension } from './right-context.ts'

/** How far before a number its label may end. */
const PHONE_WORD_DISTANCE = 46
const OTHER_WORD_DISTANCE = 30
const LABEL_DISTANCE = 2
const NUMBER_DISTANCE = 3
const NUMBERED_DISTANCE = 12
const NUMBER_WORD_DISTANCE = 16

const MAXIMUM_DIGITS = 13
const MAXIMUM_INTERNATIONAL_DIGITS = 16
/** Limit of ITU-T E.164. */
const MAXIMUM_PLANNED_DIGITS = 15

const EIGHT_DIGITS = new Set(['8', '4-4'].map(shapeOf))
/** Shapes of local numbers after a slash in Poland and North America. */
const SLASHED = new Set(['2-3-2-2', '3-3-4'].map(shapeOf))
/** Digits of `00`. */
const DOUBLE_ZERO = 2
/** Fewest digits of a whole number that a slash separates from an alternative. */
const MIN_ALTERNATIVE_DIGITS = 9
/** A labelled number may have opening hours after it, which are two numbers. */
const MAXIMUM_NAMED_NEIGHBOURS = 2
/** Shorter numbers after "my number is" are those of tickets. */
const MIN_OWN_DIGITS = 8

/**
 * @param at of the first digit
 * @param runs the runs that start there
 * @returns end of the phone number; 0 if there is none
 */
export function scanPhone(segment: Segment, at: number, runs: NumberRuns): number {
  const { text } = segment
  const plus = plusBefore(text, at)
  if (plus > 0 || isChatLink(text, at)) return scanInternational(segment, at, runs, plus)
  const bracket = codeAt(text, at - 1) === OPEN_PAREN && isClosed(text, at)
  const start = bracket ? at - 1 : at
  if (bracket && !mayBeginNumber(text, start)) return 0
  const words = segment.before(start)
  // Directly after a phone number it is the second of two.
  if (start - 1 !== segment.end && isTail(text, start)) return 0
  const other = relationToOther(segment, start, words)
  if (other === 'is') return 0
  const unlabelled = other === 'near' || hasNoPhoneWord(words) || followsDigits(segment, start)
  const zeros = runs.leadingZeros
  const exitDigits = runs.exitDigits
  /**
   * End of the longest run that seems to include opening hours; used only if no shorter run fits.
   */
  let timed = 0
  for (let i = runs.count - 1; i >= 0; i--) {
    if (runs.digitCount(i) > MAXIMUM_DIGITS + 2 || (bracket && runs.isPlain(i))) continue
    const mayBePhone =
      !unlabelled ||
      hasExitCode(runs, i, exitDigits) ||
      exitDigits === DOUBLE_ZERO ||
      mayHaveForm(runs.flagsAt(i), zeros)
    if (!mayBePhone && !(runs.isWhole(i) && isLabelAfter(text, runs.end(i), isShort(runs, i)))) continue
    if ((runs.isOpen(i) && !isAlternative(runs, i)) || isByteDump(text, start, runs.shape(i), runs.end(i)))
      continue
    if (unlabelled && isDumpLine(text, start, runs.shape(i))) continue
    const run = runs.run(i)
    if ((exitDigits > 0 && isCodePoints(text, run)) || isArrayRow(text, start, run) || isLinkText(text, run))
      continue
    if (other === 'near' && !isUnmistakable(run, exitDigits)) continue
    if (!isPhone(segment, start, run, exitDigits) || isQuantity(text, run.end)) continue
    if (isInRow(segment, start, run)) continue
    if (!endsInTime(text, start, run.end)) return addPhone(segment, start, run.end)
    timed ||= run.end
  }
  return timed && addPhone(segment, start, timed)
}

/** Adds the number with its extension. */
function addPhone(segment: Segment, start: number, numberEnd: number): number {
  const end = withExtension(segment.text, numberEnd)
  return segment.add('phone', start, end) ? end : 0
}

/** Rules out national forms by shape and leading zeros. */
const mayHaveForm = (flags: number, zeros: number): boolean =>
  (flags & (zeros === 1 ? PHONE_FORM | PHONE_TRUNK_FORM : PHONE_FORM)) !== 0

/** @param exitDigits digits that lead out of the country */
const hasExitCode = (runs: NumberRuns, index: number, exitDigits: number): boolean =>
  exitDigits > 0 && isInternational(runs, exitDigits, runs.digitCount(index))

/**
 * Reports whether a slash separates a whole number from an alternative: `030 1234567/0171 2345678`.
 */
const isAlternative = (runs: NumberRuns, index: number): boolean =>
  runs.digitCount(index) >= MIN_ALTERNATIVE_DIGITS && runs.separatorAfter(index) === '/'

const isShort = (runs: NumberRuns, index: number): boolean =>
  runs.isPlain(index) && runs.digitCount(index) < MIN_ALTERNATIVE_DIGITS

/** Reports whether a letter follows the longest run, so that a label may follow. */
export const isLetterAfter = (text: string, runs: NumberRuns): boolean =>
  runs.isWhole(runs.count - 1) && isLetterNear(text, runs.end(runs.count - 1))

/** Reports whether it starts with an exit code and a valid international number. */
export function startsWithExitCode(runs: NumberRuns): boolean {
  const exitDigits = runs.exitDigits
  for (let i = 0; exitDigits > 0 && i < runs.count; i++) if (hasExitCode(runs, i, exitDigits)) return true
  return false
}

/**
 * Reports whether no word before indicates a phone number: the number then needs a form of its own,
 * or a label after it.
 */
const hasNoPhoneWord = (words: ContextWords): boolean =>
  words.isEmpty || (words.phone > PHONE_WORD_DISTANCE && words.number > NUMBER_WORD_DISTANCE)

/** Reports whether digits precede that are no value: the label refers to them. */
const followsDigits = (segment: Segment, start: number): boolean =>
  codeAt(segment.text, start - 1) === SPACE &&
  start - 2 >= segment.rowStart &&
  isDigit(codeAt(segment.text, start - 2))

/**
 * Reports whether the words say that it `is` the number of something else, or name something with
 * such numbers `near` it, such as an order or a customer, whose phone number it may be.
 */
function relationToOther(segment: Segment, start: number, words: ContextWords): 'is' | 'near' | 'none' {
  if (words.isEmpty) return 'none'
  const { other } = words
  // `part no. 415-332-8871`
  const isNumbered = words.number <= NUMBER_DISTANCE && words.label <= NUMBERED_DISTANCE
  if (isNumbered && words.phone > PHONE_WORD_DISTANCE) return 'is'
  if (words.label <= LABEL_DISTANCE && !isPhoneLine(segment.windowBefore(start))) return 'is'
  if (other > OTHER_WORD_DISTANCE || other >= words.phone) return 'none'
  // Only phone numbers have the form `(415) 555-2671`.
  const { text } = segment
  if (codeAt(text, start) === OPEN_PAREN || isAfterSpeaker(segment.windowBefore(start))) return 'near'
  return areLinkWords(text.slice(start - other, start)) ? 'is' : 'near'
}

/** Reports whether it has groups in a form that only phone numbers have. */
const isUnmistakable = (run: DigitRun, exitDigits: number): boolean =>
  !run.isPlain && exitDigits === 0 && (isNorthAmericanForm(run) || hasNationalForm(run))

/** Reports whether it belongs to a row of numbers. A long row outweighs a label. */
function isInRow(segment: Segment, start: number, run: DigitRun): boolean {
  const { text } = segment
  if (run.isPlain || !isSpaceSeparated(text, run)) return false
  const end = endOfRepeats(text, start, run.end, segment.continues)
  if (end < 0) return false
  const row = neighboursInRow(text, start, end, segment.rowStart)
  const count = row.before + row.after
  const isNamed = segment.before(start).phone <= PHONE_WORD_DISTANCE
  return count > (isNamed ? MAXIMUM_NAMED_NEIGHBOURS : row.areNamed ? 1 : 0)
}

/** Reports whether a bracket closes after the first group, as in `(555) 123-4567`. */
function isClosed(text: string, at: number): boolean {
  const end = endOfDigits(text, at)
  return codeAt(text, codeAt(text, end) === SPACE ? end + 1 : end) === CLOSE_PAREN
}

/** Length of `+`, `(+` or `+(` before the digits; 0 if there is none. */
export function plusBefore(text: string, at: number): number {
  const before = codeAt(text, at - 1)
  if (before === PLUS) return 1
  return before === OPEN_PAREN && codeAt(text, at - 2) === PLUS ? 2 : 0
}

function scanInternational(segment: Segment, at: number, runs: NumberRuns, plus: number): number {
  const { text } = segment
  const sign = at - plus
  if (isWordBefore(text, sign)) return 0
  // `(+44) 20 …`
  const start = codeAt(text, sign - 1) === OPEN_PAREN && runs.separator(0) === ')' ? sign - 1 : sign
  let timed = 0
  for (let i = runs.count - 1; i >= 0; i--) {
    const digits = runs.digitCount(i)
    if (digits > MAXIMUM_INTERNATIONAL_DIGITS || (i < runs.count - 1 && runs.isOpen(i))) continue
    if (!isInternational(runs, 0, digits) || runs.slashes(i) > 1 || isSigned(runs, i)) continue
    if (isFarDate(text, at, runs.end(i))) continue
    if (!endsInTime(text, at, runs.end(i))) return addPhone(segment, start, runs.end(i))
    timed ||= runs.end(i)
  }
  return timed > 0 ? addPhone(segment, start, timed) : scanNamedInternational(segment, start, runs)
}

/** Adds a number with a label that no country has: `Phone: +1-123-456-7890`. */
function scanNamedInternational(segment: Segment, start: number, runs: NumberRuns): number {
  const words = segment.before(start)
  if (words.phone > PHONE_WORD_DISTANCE || relationToOther(segment, start, words) !== 'none') return 0
  for (let i = runs.count - 1; i >= 0; i--) {
    const digits = runs.digitCount(i)
    if (digits < MIN_OWN_DIGITS || digits > MAXIMUM_PLANNED_DIGITS || runs.isOpen(i) || isSigned(runs, i))
      continue
    const run = runs.run(i)
    if (isQuantity(segment.text, run.end) || isFarDate(segment.text, run.start, run.end)) continue
    if (isLabelled(segment, start, run)) return addPhone(segment, start, run.end)
  }
  return 0
}

/** @param exitDigits digits that lead out of the country */
function isPhone(segment: Segment, start: number, run: DigitRun, exitDigits: number): boolean {
  const { text } = segment
  if (hasOtherForm(run) || isCitation(text, start, run.end)) return false
  // `, .00387103730162`, and `c.08.33.15.66.19`, which is path data.
  if (codeAt(text, start - 1) === DOT && !isLetter(codeAt(text, start - 2))) return false
  if ((exitDigits > 0 || run.separators.startsWith('..')) && isPathData(segment.windowBefore(start)))
    return false
  if (exitDigits > 0 && isInternational(run, exitDigits, run.digitCount)) return true
  if (exitDigits === DOUBLE_ZERO) return isDialledFromAbroad(run) || isLabelled(segment, start, run)
  if (
    segment.before(start).phone > PHONE_WORD_DISTANCE &&
    isDraw(segment.text, run, segment.windowBefore(start))
  )
    return false
  if (isNorthAmericanForm(run) || hasNationalForm(run)) return true
  if (isChineseMobile(run)) {
    const near = isUnspaced(codeAt(text, start - 1)) || isUnspaced(codeAt(text, run.end))
    if (near || segment.before(start).number <= NUMBER_WORD_DISTANCE) return true
  }
  return (
    (run.digitCount >= MIN_OWN_DIGITS && isSomebodysNumber(segment, start)) || isLabelled(segment, start, run)
  )
}

const isSomebodysNumber = (segment: Segment, start: number): boolean =>
  segment.before(start).number <= NUMBER_WORD_DISTANCE &&
  segment.isAfterLetter(start) &&
  isOwnNumber(segment.windowBefore(start))

/** Reports whether the words around indicate a phone number. */
function isLabelled(segment: Segment, start: number, run: DigitRun): boolean {
  const { text } = segment
  const words = segment.before(start)
  const { phone } = words
  const weak = words.number <= NUMBER_WORD_DISTANCE && words.other > OTHER_WORD_DISTANCE
  const after = isLabelAfter(text, run.end, run.isPlain && run.digitCount < MIN_ALTERNATIVE_DIGITS)
  // True of most runs in tables.
  if (phone > PHONE_WORD_DISTANCE && !weak && !after) return false
  const { separators } = run
  if (run.digitCount > MAXIMUM_DIGITS || hasDateForm(run) || separators.includes('/')) {
    if (!isSlashedArea(run, separators) && !EIGHT_DIGITS.has(run.shape)) return false
  }
  if (endsInDate(text, start, run.end)) return false
  if (isInIdentifier(segment.windowBefore(start))) return false
  if (run.isPlain && isUsageCount(segment.windowBefore(start), run.digitCount)) return false
  if (after) return true
  if (isNotDialled(text, run) || (run.isPlain && isAfterHash(text, start))) return false
  if (phone <= PHONE_WORD_DISTANCE && isUnrelatedToWord(text, start, run, phone)) return false
  if (phone <= PHONE_WORD_DISTANCE) return isUniform(separators.replace(/[)/]/, '')) || run.digitCount >= 9
  return weak && !run.isPlain && run.digitCount >= 9 && run.digitCount <= 12 && run.digits[0] === '0'
}

/** Reports whether a letter follows within four characters. */
function isLetterNear(text: string, end: number): boolean {
  for (let at = end; at <= end + 4; at++) if (isLetter(codeAt(text, at))) return true
  return false
}

/** `030/1234567`, `0711 / 48 29 17-0`, `333/1234567`, `22/123-45-67`, `415/555-2671` */
const isSlashedArea = (run: DigitRun, separators: string): boolean =>
  (separators.lastIndexOf('/') === 0 && (run.digits.startsWith('0') || SLASHED.has(run.shape))) ||
  isItalianMobile(run)
