// Whether keywords may occur in texts that a model reads as one: each by itself, and all that touch joined, with nothing
// or a space between them. One pass over each text does: how far the text before reaches into one shows in its first
// characters.

import { type Glance, MAY_MATCH } from './glance.ts'

const SPACE = 0x20

/** A text that may continue its neighbour. */
export interface TouchingText {
  readonly view: string
  /** Consecutive for texts that touch. */
  readonly joined: number
}

/** False when nothing matches in any of the texts, nor where they are joined; true when something may. */
export function mayMatchJoined(glance: Glance, texts: readonly TouchingText[]): boolean {
  let before: TouchingText | null = null
  let plain = MAY_MATCH
  let spaced = MAY_MATCH
  for (const text of texts) {
    const { generation } = glance
    const end = glance.advance(glance.begin(), text.view)
    if (end < 0 || glance.endsInMatch(end)) return true
    if (before !== null && glance.generation !== generation) return true
    if (before !== null && before.joined + 1 === text.joined) {
      plain = follow(glance, plain, [], text.view, end)
      spaced = plain < 0 ? plain : follow(glance, spaced, [SPACE], text.view, end)
      if (spaced < 0) return true
    } else {
      if (before !== null && (glance.endsInMatch(plain) || glance.endsInMatch(spaced))) return true
      plain = end
      spaced = end
    }
    before = text
  }
  return before !== null && (glance.endsInMatch(plain) || glance.endsInMatch(spaced))
}

/**
 * The place behind a text that continues another, or MAY_MATCH.
 * @param place behind the other
 * @param between characters between the two
 * @param end behind this text by itself: nothing else comes once both have come to the same place
 */
function follow(
  glance: Glance,
  place: number,
  between: readonly number[],
  text: string,
  end: number,
): number {
  let joined = place
  for (const code of between) joined = glance.step(joined, code)
  let alone = glance.begin()
  for (const character of text) {
    if (joined === alone) return end
    const codePoint = character.codePointAt(0)!
    joined = glance.step(joined, codePoint)
    alone = joined < 0 ? MAY_MATCH : glance.step(alone, codePoint)
    if (alone < 0) return MAY_MATCH
  }
  return joined === alone ? end : joined
}
