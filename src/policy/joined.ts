// Whether keywords may occur in texts that a model reads as one: each by itself, and all that touch joined, with nothing
// or a space between them. One pass over each text does: how far the text before reaches into one shows in its first
// characters.

/** In place of a row: a match is there, or only normalising the text can tell. */
export const MAY_MATCH = -1
const SPACE = 0x20

/** A text that may continue its neighbour. */
export interface TouchingText {
  readonly view: string
  /** Consecutive for texts that touch. */
  readonly joined: number
}

/** A table that is walked along a text: a row for what the characters so far may be the beginning of. */
export interface Walk {
  /** Rows count only while this is the same. */
  readonly table: object
  begin(): number
  /** The row behind the text, or MAY_MATCH. */
  advance(row: number, text: string): number
  /** The row behind one character, or MAY_MATCH: also where too much of the table is not known yet. */
  step(row: number, codePoint: number): number
  /** Whether the end of the text makes a match. */
  endsInMatch(row: number): boolean
}

/** False when nothing matches in any of the texts, nor where they are joined; true when something may. */
export function mayMatchJoined(walk: Walk, texts: readonly TouchingText[]): boolean {
  let before: TouchingText | null = null
  let plain = MAY_MATCH
  let spaced = MAY_MATCH
  for (const text of texts) {
    const { table } = walk
    const end = walk.advance(walk.begin(), text.view)
    if (end < 0 || walk.endsInMatch(end)) return true
    if (before !== null && walk.table !== table) return true
    if (before !== null && before.joined + 1 === text.joined) {
      plain = follow(walk, plain, [], text.view, end)
      spaced = plain < 0 ? plain : follow(walk, spaced, [SPACE], text.view, end)
      if (spaced < 0) return true
    } else {
      if (before !== null && (walk.endsInMatch(plain) || walk.endsInMatch(spaced))) return true
      plain = end
      spaced = end
    }
    before = text
  }
  return before !== null && (walk.endsInMatch(plain) || walk.endsInMatch(spaced))
}

/**
 * The row behind a text that continues another, or MAY_MATCH.
 * @param row behind the other
 * @param between characters between the two
 * @param end behind this text by itself: nothing else comes once both have come to the same row
 */
function follow(walk: Walk, row: number, between: readonly number[], text: string, end: number): number {
  const { table } = walk
  let joined = row
  for (const code of between) joined = walk.step(joined, code)
  let alone = walk.begin()
  for (let index = 0; index < text.length && joined !== alone; index++) {
    if (joined < 0 || alone < 0 || walk.table !== table) return MAY_MATCH
    const codePoint = text.codePointAt(index)!
    joined = walk.step(joined, codePoint)
    if (walk.table !== table) return MAY_MATCH
    alone = walk.step(alone, codePoint)
    if (codePoint > 0xffff) index++
  }
  if (walk.table !== table) return MAY_MATCH
  return joined === alone ? end : joined
}
