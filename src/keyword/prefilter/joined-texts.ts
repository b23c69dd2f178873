// Tells whether keywords may occur in texts that a model reads as one: in each text alone, and in
// adjacent texts joined by nothing or by a space. Takes one pass over each text, since only its
// first characters show how far the text before reaches into it.

import { Pace, type Steps } from '../../core/steps.ts'
import { MAY_MATCH, type Prefilter, type PrefilterState } from './prefilter.ts'

const SPACE = ' '
/** Length of the parts in which a text is followed from two states, UTF-16 units. */
const PART_UNITS = 16

/** A text that may be adjacent to its neighbour in the list. */
export interface TouchingText {
  readonly view: string
  /** Consecutive numbers for adjacent texts. */
  readonly joined: number
  /** Results cached for this text. */
  readonly cached: { readonly prefilterState: PrefilterState }
}

/** Returns false if nothing matches in any text or across adjacent texts, true if something may. */
export function* mayMatchJoined(prefilter: Prefilter, texts: readonly TouchingText[]): Steps<boolean> {
  let previous: TouchingText | null = null
  /** The last non-empty text of those adjacent to this one. */
  let neighbour = ''
  let plain = MAY_MATCH
  let spaced = MAY_MATCH
  let { generation } = prefilter
  const pace = new Pace()
  for (const text of texts) {
    if (pace.isOver(text.view.length)) yield
    const end = yield* prefilter.scan(text.view, text.cached.prefilterState)
    if (end < 0 || prefilter.endsInMatch(end)) return true
    // The states of the texts before are void.
    if (previous !== null && prefilter.generation !== generation) return true
    generation = prefilter.generation
    if (previous !== null && previous.joined + 1 === text.joined) {
      if (!areIndependent(prefilter, neighbour, text.view)) return true
      plain = follow(prefilter, plain, '', text.view, end)
      spaced = plain < 0 ? plain : follow(prefilter, spaced, SPACE, text.view, end)
      if (spaced < 0) return true
    } else {
      if (previous !== null && (prefilter.endsInMatch(plain) || prefilter.endsInMatch(spaced))) return true
      plain = end
      spaced = end
      neighbour = ''
    }
    previous = text
    if (text.view !== '') neighbour = text.view
  }
  return previous !== null && (prefilter.endsInMatch(plain) || prefilter.endsInMatch(spaced))
}

/** Whether neither text changes the other, with nothing or a space between them. */
const areIndependent = (prefilter: Prefilter, before: string, after: string): boolean =>
  after === '' ||
  ((before === '' || prefilter.areIndependent(before, after)) && prefilter.areIndependent(SPACE, after))

/**
 * Returns the state after a text that continues another, or MAY_MATCH, also if the tables have
 * started over.
 * @param state the state after the other text
 * @param between characters between the two texts
 * @param end the state after this text alone: the result as soon as both runs are in the same state
 */
function follow(prefilter: Prefilter, state: number, between: string, text: string, end: number): number {
  const { generation } = prefilter
  let joined = prefilter.advance(state, between)
  let alone = prefilter.begin()
  for (let at = 0; ; ) {
    if (joined < 0 || alone < 0 || prefilter.generation !== generation) return MAY_MATCH
    if (joined === alone) return end
    if (at === text.length) return joined
    const next = prefilter.partEnd(text, at, PART_UNITS)
    const part = text.slice(at, next)
    joined = prefilter.advance(joined, part)
    alone = prefilter.generation === generation ? prefilter.advance(alone, part) : MAY_MATCH
    at = next
  }
}
