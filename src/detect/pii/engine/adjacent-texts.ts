// Detection where texts that are read as one touch: what begins in one of them and ends in another. Each text by itself
// has been searched by then, so that of the whole only the surroundings of the joints are.

import type { Finding } from '../../../core/finding.ts'
import { STEP_UNITS, type Steps } from '../../../core/steps.ts'
import { codesOf } from '../code-unit-classes.ts'
import { detectSteps } from '../detect.ts'
import { fold } from '../fold.ts'
import { KEY_BEGIN } from '../keyblock.ts'
import { ADDRESS, type KindSet, PERSON } from '../kinds.ts'
import { newSearch, scanFrom } from './scan.ts'
import { MAX_SEGMENT, Segmenter } from './segmenter.ts'
import { nextTrigger } from './trigger.ts'

/** Longest value with white space or punctuation in it; longer ones, such as tokens, have neither. */
const MAX_SPACED_VALUE = 128
/** In no value: where one of these stands, search may begin or end as well as anywhere. */
const DELIMITERS = codesOf(`"'<>{}|\\;`)

/**
 * The findings of `detectSteps` that begin before one of the joints and end behind it, and perhaps others near them. Time is
 * linear in the text and mostly that of the surroundings of the joints. In steps.
 * @param joints offsets in the text, ascending
 */
export function* detectInAdjacentTexts(
  whole: string,
  boundaries: readonly number[],
  kinds: KindSet,
): Steps<Finding[]> {
  // Keys and names have segments of their own, and addresses have lines.
  if (whole.includes(KEY_BEGIN) || (kinds & (PERSON | ADDRESS)) !== 0) return yield* detectSteps(whole, kinds)
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
    let start = segmenter.lastCut(text, end, boundary)
    end = start
    while (end >= 0 && end <= boundary && start < boundary) {
      start = end
      end = segmenter.nextCut(text, start, boundary - start < MAX_SEGMENT ? boundary : 0)
    }
    if (end < 0) end = text.length
    if (start === boundary) continue
    while (boundaries[index + 1] !== undefined && boundaries[index + 1]! < end) index++
    const from = delimiterBefore(text, boundary - MAX_SPACED_VALUE, start)
    const until = delimiterAfter(text, boundaries[index]! + MAX_SPACED_VALUE, end)
    if (trigger < from) trigger = nextTrigger(text, from, kinds, search.words, until)
    if (trigger >= 0 && trigger < until) trigger = scanFrom(search, trigger, start, end, until)
  }
  return findings
}

/** Behind the last parting character of [start, at), or `start`. */
function delimiterBefore(text: string, at: number, start: number): number {
  let from = Math.max(at, start)
  while (from > start && !DELIMITERS.has(text.charCodeAt(from - 1))) from--
  return from
}

/** The first parting character of [at, end), or `end`. */
function delimiterAfter(text: string, at: number, end: number): number {
  let until = Math.min(at, end)
  while (until < end && !DELIMITERS.has(text.charCodeAt(until))) until++
  return until
}
