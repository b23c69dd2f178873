// Whether keywords may occur in texts that a model reads as one: each by itself, and all that touch joined, with nothing
// or a space between them. One pass over each text does: how far the text before reaches into one shows in its first
// characters.

import { Pace, type Steps } from '../../core/steps.ts'
import { MAY_MATCH, type Prefilter, type PrefilterState } from './prefilter.ts'

const SPACE = ' '
/** A part of a text that is followed from two places, UTF-16 units. */
const PART_UNITS = 16

/** A text that may continue its neighbour. */
export interface TouchingText {
  readonly view: string
  /** Consecutive for texts that touch. */
  readonly joined: number
  /** What is known of this text. */
  readonly learned: { readonly glimpse: PrefilterState }
}

/** False when nothing matches in any of the texts, nor where they are joined; true when something may. */
export function* mayMatchJoined(glance: Prefilter, texts: readonly TouchingText[]): Steps<boolean> {
  let before: TouchingText | null = null
  /** The last of the texts that touch this one with anything in it. */
  let neighbour = ''
  let plain = MAY_MATCH
  let spaced = MAY_MATCH
  let { generation } = glance
  const pace = new Pace()
  for (const text of texts) {
    if (pace.isOver(text.view.length)) yield
    const end = yield* glance.pass(text.view, text.learned.glimpse)
    if (end < 0 || glance.endsInMatch(end)) return true
    // The places of the texts before count no more.
    if (before !== null && glance.generation !== generation) return true
    generation = glance.generation
    if (before !== null && before.joined + 1 === text.joined) {
      if (!areApart(glance, neighbour, text.view)) return true
      plain = follow(glance, plain, '', text.view, end)
      spaced = plain < 0 ? plain : follow(glance, spaced, SPACE, text.view, end)
      if (spaced < 0) return true
    } else {
      if (before !== null && (glance.endsInMatch(plain) || glance.endsInMatch(spaced))) return true
      plain = end
      spaced = end
      neighbour = ''
    }
    before = text
    if (text.view !== '') neighbour = text.view
  }
  return before !== null && (glance.endsInMatch(plain) || glance.endsInMatch(spaced))
}

/** Whether what stands on either side does not change the other, with nothing or a space between them. */
const areApart = (glance: Prefilter, before: string, behind: string): boolean =>
  behind === '' || ((before === '' || glance.areApart(before, behind)) && glance.areApart(SPACE, behind))

/**
 * The place behind a text that continues another, or MAY_MATCH: also where places of before count no more.
 * @param place behind the other
 * @param between characters between the two
 * @param end behind this text by itself: nothing else comes once both have come to the same place
 */
function follow(glance: Prefilter, place: number, between: string, text: string, end: number): number {
  const { generation } = glance
  let joined = glance.advance(place, between)
  let alone = glance.begin()
  for (let at = 0; ; ) {
    if (joined < 0 || alone < 0 || glance.generation !== generation) return MAY_MATCH
    if (joined === alone) return end
    if (at === text.length) return joined
    const next = glance.partEnd(text, at, PART_UNITS)
    const part = text.slice(at, next)
    joined = glance.advance(joined, part)
    alone = glance.generation === generation ? glance.advance(alone, part) : MAY_MATCH
    at = next
  }
}
