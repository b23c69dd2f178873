// Detects personal data in a whole text. Uses the same segments as a stream, but scans only those
// that hold a trigger.

import type { Finding } from '../../core/finding.ts'
import { atOnce, STEP_UNITS, type Steps } from '../../core/steps.ts'
import { StreamDetector } from './detect-stream.ts'
import { mayBeginEscape, mayHoldEscapes } from './encoded-characters.ts'
import { newSearch, scanFrom } from './engine/scan.ts'
import { Segmenter } from './engine/segmenter.ts'
import { firstTrigger, nextTrigger } from './engine/trigger.ts'
import { fold } from './fold.ts'
import { DEFAULT_KINDS, type KindSet, PERSON } from './kinds.ts'
import { SearchView } from './search-view.ts'
import { mayHoldTable } from './table-labels.ts'
import { hasHiddenOrPaired, visibleText } from './text-view.ts'

/**
 * Returns the findings in order, without overlap, exactly as `StreamDetector` returns them. Time is
 * linear in the text.
 */
export const detect = (whole: string, kinds: KindSet = DEFAULT_KINDS): Finding[] =>
  atOnce(detectSteps(whole, kinds))

/** `detect` as steps, so that the caller can pause between them. */
export function detectSteps(whole: string, kinds: KindSet): Steps<Finding[]> {
  if ((kinds & PERSON) !== 0) return detectBySegments(whole, kinds)
  if (hasHiddenOrPaired(whole)) return detectVisible(whole, kinds)
  const text = fold(whole)
  const first = firstTrigger(text)
  // Every escape in a value has a digit, apart from names of HTML.
  if ((first >= 0 || text.includes('&')) && mayHoldEscapes(whole)) return detectInView(whole, kinds)
  if (first >= 0 && mayHoldTable(whole)) return detectInView(whole, kinds)
  return searchSteps(text, first, kinds)
}

/**
 * Searches a text from its first trigger on.
 * @param first -1 without a trigger
 */
function* searchSteps(text: string, first: number, kinds: KindSet): Steps<Finding[]> {
  const findings: Finding[] = []
  let at = first < 0 ? first : nextTrigger(text, first, kinds, null, STEP_UNITS)
  if (at < 0) return findings
  const search = newSearch(text, 0, kinds, findings)
  const segmenter = new Segmenter(kinds)
  let end = 0
  let pause = STEP_UNITS
  while (at >= 0) {
    at = nextTrigger(text, at, kinds, search.words, pause)
    if (at >= pause) {
      // The offset is a place to pause; it need not be a trigger.
      yield
      pause = at + STEP_UNITS
      continue
    }
    if (at < 0) break
    let start = segmenter.lastStart(text, end, at)
    end = segmenter.nextCut(text, start, 0)
    let rest = start + STEP_UNITS
    while (end >= 0 && segmenter.seen <= at) {
      if (start >= rest) {
        yield
        rest = start + STEP_UNITS
      }
      const next = segmenter.endAfter(end, segmenter.rowStart(start))
      start = segmenter.lastStart(text, next, at)
      end = segmenter.nextCut(text, start, 0)
    }
    const seen = end < 0 ? text.length : segmenter.seen
    if (end < 0) end = text.length
    const { next, last } = scanFrom(search, at, segmenter.bounds(text, start, end, seen), seen)
    end = segmenter.endAfter(end, last)
    at = next
    if (end < seen) {
      search.rewind()
      at = end
    }
  }
  return findings
}

/** Searches a text without its invisible characters, or its view if that differs further. */
function* detectVisible(whole: string, kinds: KindSet): Steps<Finding[]> {
  const visible = yield* visibleText(whole)
  if (visible === null) return yield* detectInView(whole, kinds)
  const mayDiffer = mayBeginEscape(visible.text, '') && mayHoldEscapes(whole)
  if (mayDiffer || mayHoldTable(visible.text)) return yield* detectInView(whole, kinds)
  const text = fold(visible.text)
  const findings = yield* searchSteps(text, firstTrigger(text), kinds)
  const { map } = visible
  return findings.map(({ kind, start, end }) => ({ kind, start: map.startOf(start), end: map.endOf(end) }))
}

/** Maximum changes of a text that are kept; each takes some bytes until the text is searched. */
const MAXIMUM_CHANGED = 65_536

/** Searches the view of a text in which a stream would search it. */
function* detectInView(whole: string, kinds: KindSet): Steps<Finding[]> {
  const view = new SearchView()
  const pieces: string[] = []
  let length = 0
  for (let at = 0; at < whole.length; at += STEP_UNITS) {
    if (at > 0) yield
    const piece = view.push(whole.slice(at, at + STEP_UNITS))
    pieces.push(piece)
    length += piece.length
    // Characters held back count, too.
    if (Math.abs(at + STEP_UNITS - length) > MAXIMUM_CHANGED) return yield* detectBySegments(whole, kinds)
  }
  pieces.push(view.finish())
  const text = fold(pieces.join(''))
  yield
  return view.mapped(yield* searchSteps(text, firstTrigger(text), kinds))
}

/** Scans every segment: names of persons have no trigger. */
function* detectBySegments(text: string, kinds: KindSet): Steps<Finding[]> {
  const detector = new StreamDetector(kinds)
  const findings: Finding[] = []
  for (let at = 0; at < text.length; at += STEP_UNITS) {
    if (at > 0) yield
    for (const finding of detector.push(text.slice(at, at + STEP_UNITS))) findings.push(finding)
  }
  for (const finding of detector.finish()) findings.push(finding)
  return findings
}
