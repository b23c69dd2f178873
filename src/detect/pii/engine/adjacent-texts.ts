// Detects values that cross a boundary between adjacent texts, such as the parts of a message. Each
// text has been scanned alone before, so only the surroundings of the boundaries are scanned here.

import type { Finding } from '../../../core/finding.ts'
import { STEP_UNITS, type Steps } from '../../../core/steps.ts'
import { codesOf } from '../code-unit-classes.ts'
import { detectSteps } from '../detect.ts'
import { mayHoldEscapes } from '../encoded-characters.ts'
import { fold } from '../fold.ts'
import { KEY_BEGIN } from '../keyblock.ts'
import { ADDRESS, type KindSet, PERSON } from '../kinds.ts'
import { mayHoldTable } from '../table-labels.ts'
import { hasHiddenOrPaired } from '../text-view.ts'
import { newSearch, scanFrom } from './scan.ts'
import { Segmenter } from './segmenter.ts'
import { nextCandidate, nextTrigger } from './trigger.ts'

/**
 * Longest value that contains white space or punctuation. Longer ones, such as tokens, have
 * neither.
 */
const MAXIMUM_SPACED_VALUE = 128
/** Characters that occur in no value. Scanning may start or stop at any of them. */
const DELIMITERS = codesOf(`"'<>{}|\\;`)

/**
 * Returns at least the findings of `detectSteps` that start before a boundary and end after it;
 * others near a boundary may be among them.
 * Time is linear in the text, and mostly that of the surroundings of the boundaries.
 * @param boundaries offsets in the text, ascending
 */
export function* detectInAdjacentTexts(
  whole: string,
  boundaries: readonly number[],
  kinds: KindSet,
): Steps<Finding[]> {
  // Keys and names have segments of their own; addresses span lines.
  if (
    whole.includes(KEY_BEGIN) ||
    (kinds & (PERSON | ADDRESS)) !== 0 ||
    hasHiddenOrPaired(whole) ||
    mayHoldEscapes(whole) ||
    mayHoldTable(whole)
  )
    return yield* detectSteps(whole, kinds)
  const text = fold(whole)
  const findings: Finding[] = []
  const search = newSearch(text, 0, kinds, findings)
  const segmenter = new Segmenter(kinds)
  let end = 0
  let pause = STEP_UNITS
  let trigger = nextTrigger(text, 0, kinds, search.words, 0)
  for (let index = 0; index < boundaries.length && trigger >= 0; index++) {
    const boundary = boundaries[index]!
    if (boundary < end) continue
    if (boundary >= pause) {
      yield
      pause = boundary + STEP_UNITS
    }
    let start = segmenter.lastStart(text, end, boundary)
    const first = start
    end = start
    while (end <= boundary && start < boundary) {
      const cut = segmenter.nextCut(text, start, 0)
      const seen = cut < 0 ? text.length : segmenter.seen
      end = cut < 0 ? seen : cut
      while (boundaries[index + 1] !== undefined && boundaries[index + 1]! < end) index++
      // A cut between values depends on the values before it, so all of the segment is scanned.
      const isWhole = end < seen || start > first
      const from = isWhole ? start : delimiterBefore(text, boundary - MAXIMUM_SPACED_VALUE, start)
      const until = isWhole ? seen : delimiterAfter(text, boundaries[index]! + MAXIMUM_SPACED_VALUE, seen)
      if (trigger < from) trigger = nextTrigger(text, from, kinds, search.words, until)
      let last = segmenter.rowStart(start)
      if (trigger >= 0 && trigger < until) {
        const scanned = scanFrom(search, trigger, segmenter.bounds(text, start, end, seen), until)
        last = scanned.last
        trigger = scanned.next
      }
      end = segmenter.endAfter(end, last)
      if (end < seen) {
        search.rewind()
        trigger = nextCandidate(text, end, kinds)
      }
      start = end
    }
  }
  return findings
}

/** The offset after the last delimiter in [start, at), or `start`. */
function delimiterBefore(text: string, at: number, start: number): number {
  let from = Math.max(at, start)
  while (from > start && !DELIMITERS.has(text.charCodeAt(from - 1))) from--
  return from
}

/** The offset of the first delimiter in [at, end), or `end`. */
function delimiterAfter(text: string, at: number, end: number): number {
  let until = Math.min(at, end)
  while (until < end && !DELIMITERS.has(text.charCodeAt(until))) until++
  return until
}
