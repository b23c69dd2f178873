// Finds the words that confirm a match near it. Reads each character once, however many matches
// ask.

import { endsIdentifier, isPartBoundary } from '../identifier-words.ts'
import { LiteralAutomaton } from '../literals.ts'
import type { RecentCharacters } from './recent-characters.ts'

/** Words of which one has to be near a match, within a count of normalised characters. */
export interface WordsNearby {
  /** Normalised code points; not empty. */
  readonly words: readonly (readonly number[])[]
  readonly before: number
  readonly after: number
}

/** Words, compiled once for all texts. */
export class CompiledWords {
  readonly automaton: LiteralAutomaton
  readonly before: number
  readonly after: number

  constructor({ words, before, after }: WordsNearby) {
    this.automaton = new LiteralAutomaton(words)
    this.before = before
    this.after = after
  }
}

/** Numbers of the first character and of the one after the last. */
interface FoundWord {
  readonly start: number
  readonly end: number
}

/** Words of a growing text. Asks about matches whose starts ascend. */
export class NearbyWords {
  readonly #words: CompiledWords
  readonly #known: RecentCharacters
  #state = 0
  /** Characters read. */
  #count = 0
  /** Ordered by their ends; also those that are parts of longer words. */
  #found: FoundWord[] = []
  /** Words around the last match. */
  foundCount = 0

  constructor(words: CompiledWords, known: RecentCharacters) {
    this.#words = words
    this.#known = known
  }

  /** Reads the words around a match. @param last the longest end of it */
  read(first: number, last: number): void {
    const { automaton, before, after } = this.#words
    const from = Math.max(0, first - before)
    if (from > this.#count) {
      this.#count = from
      this.#state = 0
    }
    const kept = this.#found.findIndex(({ start }) => start >= from)
    this.#found = kept < 0 ? [] : this.#found.slice(kept)
    const to = Math.min(last + 1 + after, this.#known.count)
    for (; this.#count < to; this.#count++) {
      this.#state = automaton.next(this.#state, this.#known.folded(this.#count))
      const end = this.#count + 1
      for (let at = automaton.ending(this.#state); at !== 0; at = automaton.shorterEnding(at))
        this.#found.push({ start: end - automaton.depth(at), end })
    }
    this.foundCount = this.#found.length
  }

  /** Whether a word is before a match. The match is no part of a word. */
  isBefore(first: number): boolean {
    const from = first - this.#words.before
    return this.#found.some(
      ({ start, end }) =>
        start >= from &&
        end <= first &&
        this.#isEdge(start) &&
        // After a match an ending may be cut off, so that only one before it counts.
        (end === first || this.#isEdge(end) || endsIdentifier(this.#characterAt, end)),
    )
  }

  /**
   * Returns the last of the ends of a match after which a word is; -1 without one.
   * @param ends numbers of last characters, ascending
   * @param maximumUnits UTF-16 units after the match in which characters count
   */
  endBefore(ends: readonly number[], maximumUnits: number): number {
    let best = -1
    for (const word of this.#found) {
      const end = this.#endOf(word, ends)
      if (end > best && this.#isWithin(word, end, maximumUnits)) best = end
    }
    return best
  }

  /** The last end that a word may count for; -1 without one. */
  #endOf({ start, end }: FoundWord, ends: readonly number[]): number {
    const last = lastUpTo(ends, start - 1)
    if (last < 0 || end > last + 1 + this.#words.after) return -1
    return last === start - 1 || this.#isEdge(start) ? last : -1
  }

  #isWithin({ end }: FoundWord, last: number, maximumUnits: number): boolean {
    const reach = this.#known.end(last) + maximumUnits
    if (this.#known.start(end - 1) > reach) return false
    // What is out of reach does not say whether the word ends.
    return end >= this.#known.count || this.#known.start(end) > reach || this.#isEdge(end)
  }

  readonly #characterAt = (number: number): number | undefined =>
    number < this.#known.count ? this.#known.folded(number) : undefined

  /** Whether a word may begin or end before a character, alone or in an identifier. */
  #isEdge(number: number): boolean {
    if (number === 0 || number >= this.#known.count) return true
    return isPartBoundary(this.#known.folded(number - 1), this.#known.folded(number))
  }
}

/** Returns the last of ascending numbers that is at most `most`; -1 without one. */
function lastUpTo(numbers: readonly number[], most: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (numbers[middle]! <= most) low = middle + 1
    else high = middle
  }
  return low === 0 ? -1 : numbers[low - 1]!
}
