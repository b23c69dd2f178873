// Numbers in a row with spaces between, as tables, logs and matrices have them: some of them pass for a number in groups.

import { DIGIT_0, DOT, HYPHEN, isDigit, isWordCharacter, SPACE, TAB } from '../../../core/ascii.ts'
import { codeAt, codesOf, endOfDigits, isLetter } from '../code-unit-classes.ts'

/** Further away it is another column, and counts all the same. */
const MAX_GAP = 8
/** Longer ones are numbers by themselves. */
const MAX_NUMBER = 16
/** More neighbours on one side say nothing more. */
const MAX_NEIGHBOURS = 4
/** So many in the same form are a list of them, and no row of others. */
const MAX_REPEATS = 4

/** `:`, `/`, `(` and `-`: of a time, a date, an extension, which are no neighbours. */
const CONTINUING = codesOf(':/(-')
const NAMING = codesOf(' :,=')

/** How many numbers stand on the same line right before and right behind, whole or with decimals. */
export interface Neighbours {
  readonly before: number
  readonly after: number
  /** A word stands right before the first of them: `Suite 200 415 555 2671`. */
  readonly areNamed: boolean
}

/** @param from where the last value ended: what stands before is none of the row */
export function neighboursInRow(text: string, start: number, end: number, from: number): Neighbours {
  let first = start
  let before = 0
  for (let at = start; before < MAX_NEIGHBOURS; before++) {
    at = startOfNumber(text, startOfGap(text, at), from)
    if (at < 0) break
    first = at
  }
  let after = 0
  for (let at = end; after < MAX_NEIGHBOURS; after++) {
    at = endOfNumber(text, endOfGap(text, at))
    if (at < 0) break
  }
  return { before, after, areNamed: isNamed(text, first) }
}

/** Where the last number ends that stands behind in the same form: `415 555 2671 212 555 0143`; -1 in a list of them. */
export function endOfRepeats(text: string, start: number, end: number): number {
  let last = end
  for (let repeats = 0; repeats < MAX_REPEATS && codeAt(text, last) === SPACE; repeats++) {
    const shift = last + 1 - start
    if ((codeAt(text, start) === DIGIT_0) !== (codeAt(text, start + shift) === DIGIT_0)) return last
    for (let at = start; at < end; at++)
      if (shapeOfCharacter(text, at) !== shapeOfCharacter(text, at + shift)) return last
    if (isWordCharacter(codeAt(text, end + shift))) return last
    last = end + shift
  }
  return (last - end) / (end - start + 1) === MAX_REPEATS ? -1 : last
}

const shapeOfCharacter = (text: string, at: number): number =>
  isDigit(codeAt(text, at)) ? 0 : codeAt(text, at)

const isGap = (code: number): boolean => code === SPACE || code === TAB

/** Where the gap begins that ends at a place; -1 if there is none. */
function startOfGap(text: string, end: number): number {
  let at = end
  while (end - at <= MAX_GAP && isGap(codeAt(text, at - 1))) at--
  return at === end ? -1 : at
}

function endOfGap(text: string, start: number): number {
  let at = start
  while (at - start <= MAX_GAP && isGap(codeAt(text, at))) at++
  return at === start ? -1 : at
}

/** Where the number begins that ends at a place; -1 if there is none by itself. */
function startOfNumber(text: string, end: number, from: number): number {
  let at = end
  while (
    at > from &&
    end - at < MAX_NUMBER &&
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
  if (end === digits || end - digits > MAX_NUMBER) return -1
  if (codeAt(text, end) === DOT && isDigit(codeAt(text, end + 1))) end = endOfDigits(text, end + 1)
  return continuesToken(codeAt(text, end)) ? -1 : end
}

const continuesToken = (code: number): boolean => isWordCharacter(code) || CONTINUING.has(code)

function isNamed(text: string, start: number): boolean {
  let at = start
  while (start - at < MAX_GAP && NAMING.has(codeAt(text, at - 1))) at--
  // One letter is a name in tables, too.
  return isLetter(codeAt(text, at - 1)) && isLetter(codeAt(text, at - 2))
}
