// Recognises rows of numbers separated by spaces, as in tables, logs and matrices, where
// neighbouring numbers can look like one number in groups.

import { DIGIT_0, DOT, HYPHEN, isDigit, isWordCharacter, SPACE, TAB } from '../../../core/ascii.ts'
import { codeAt, codesOf, endOfDigits, isLetter } from '../code-unit-classes.ts'

/** Widest gap between neighbours; a wider one separates columns. */
const MAXIMUM_GAP = 8
/** Longest number that counts as a neighbour. */
const MAXIMUM_NUMBER = 16
/** Maximum neighbours counted on one side. */
const MAXIMUM_NEIGHBOURS = 4
/** So many numbers of the same form are a list of such numbers, not a row of others. */
const MAXIMUM_REPEATS = 4

/** Signs of a time, a date or an extension; such a number is no neighbour. */
const CONTINUING = codesOf(':/(-')
const NAMING = codesOf(' :,=')

/** Counts of the numbers on the same line directly before and after, whole or with decimals. */
export interface Neighbours {
  readonly before: number
  readonly after: number
  /** A word directly precedes the first of them: `Suite 200 415 555 2671`. */
  readonly areNamed: boolean
}

/** @param from end of the last value; text before it is not part of the row */
export function neighboursInRow(text: string, start: number, end: number, from: number): Neighbours {
  let first = start
  let before = 0
  for (let at = start; before < MAXIMUM_NEIGHBOURS; before++) {
    at = startOfNumber(text, startOfGap(text, at), from)
    if (at < 0) break
    first = at
  }
  let after = 0
  for (let at = end; after < MAXIMUM_NEIGHBOURS; after++) {
    at = endOfNumber(text, endOfGap(text, at))
    if (at < 0) break
  }
  // After a wide gap it is in another column.
  return { before, after, areNamed: codeAt(text, start - 2) !== SPACE && isNamed(text, first) }
}

/**
 * End of the last number that follows in the same form: `415 555 2671 212 555 0143`. -1 if there is
 * a list of them.
 * @param continues the text may continue; then a repetition may be unfinished where it ends
 */
export function endOfRepeats(text: string, start: number, end: number, continues: boolean): number {
  let last = end
  for (let repeats = 0; repeats < MAXIMUM_REPEATS && codeAt(text, last) === SPACE; repeats++) {
    const shift = last + 1 - start
    if ((codeAt(text, start) === DIGIT_0) !== (codeAt(text, start + shift) === DIGIT_0)) return last
    for (let at = start; at < end; at++) {
      if (continues && at + shift >= text.length) return text.length
      if (shapeOfCharacter(text, at) !== shapeOfCharacter(text, at + shift)) return last
    }
    if (isWordCharacter(codeAt(text, end + shift))) return last
    last = end + shift
  }
  return (last - end) / (end - start + 1) === MAXIMUM_REPEATS ? -1 : last
}

const shapeOfCharacter = (text: string, at: number): number =>
  isDigit(codeAt(text, at)) ? 0 : codeAt(text, at)

const isGap = (code: number): boolean => code === SPACE || code === TAB

/** Where the gap that ends at `end` starts; -1 if there is none. */
function startOfGap(text: string, end: number): number {
  let at = end
  while (end - at <= MAXIMUM_GAP && isGap(codeAt(text, at - 1))) at--
  return at === end ? -1 : at
}

function endOfGap(text: string, start: number): number {
  let at = start
  while (at - start <= MAXIMUM_GAP && isGap(codeAt(text, at))) at++
  return at === start ? -1 : at
}

/**
 * Where the number that ends at `end` starts; -1 if none does, or it is part of something longer.
 */
function startOfNumber(text: string, end: number, from: number): number {
  let at = end
  while (
    at > from &&
    end - at < MAXIMUM_NUMBER &&
    (isDigit(codeAt(text, at - 1)) || codeAt(text, at - 1) === DOT)
  )
    at--
  if (end < 0 || at >= end || !isDigit(codeAt(text, end - 1))) return -1
  if (at > from && codeAt(text, at - 1) === HYPHEN) at--
  return at === from || !continuesToken(codeAt(text, at - 1)) ? at : -1
}

function endOfNumber(text: string, start: number): number {
  if (start < 0) return -1
  const digits = codeAt(text, start) === HYPHEN ? start + 1 : start
  let end = endOfDigits(text, digits)
  if (end === digits || end - digits > MAXIMUM_NUMBER) return -1
  if (codeAt(text, end) === DOT && isDigit(codeAt(text, end + 1))) end = endOfDigits(text, end + 1)
  return continuesToken(codeAt(text, end)) ? -1 : end
}

const continuesToken = (code: number): boolean => isWordCharacter(code) || CONTINUING.has(code)

function isNamed(text: string, start: number): boolean {
  let at = start
  while (start - at < MAXIMUM_GAP && NAMING.has(codeAt(text, at - 1))) at--
  // In tables, a single letter is a name of a column.
  return isLetter(codeAt(text, at - 1)) && isLetter(codeAt(text, at - 2))
}
