// Decides to which of its ends a match counts: one that passes a check and has a word near it.

import { CompiledWords, NearbyWords, type WordsNearby } from './nearby-words.ts'
import type { RecentCharacters } from './recent-characters.ts'

/** Maximum UTF-16 units after a match within which characters may confirm it. */
export const MAXIMUM_AFTER_UNITS = 256

/** Checks a value that grows. */
export interface GrowingCheck {
  /** @param codePoint a normalised character */
  add(codePoint: number): void
  /** Whether the value so far passes. */
  readonly passes: boolean
}

/** When a match counts: one of its ends passes the check and has one of the words near. */
export interface MatchCondition {
  readonly words?: WordsNearby
  readonly newCheck?: () => GrowingCheck
}

/** A condition, compiled once for all texts. */
export class CompiledCondition {
  readonly words: CompiledWords | null
  readonly newCheck: (() => GrowingCheck) | null
  /** Characters after a match that it depends on. One more says whether a word ends. */
  readonly after: number

  constructor({ words, newCheck }: MatchCondition) {
    this.words = words === undefined ? null : new CompiledWords(words)
    this.newCheck = newCheck ?? null
    this.after = words === undefined ? 0 : words.after + 1
  }
}

export class MatchEnds {
  readonly #known: RecentCharacters
  readonly #newCheck: CompiledCondition['newCheck']
  readonly #words: NearbyWords | null
  /** Work that the last match took. */
  work = 0

  constructor({ words, newCheck }: CompiledCondition, known: RecentCharacters) {
    this.#known = known
    this.#newCheck = newCheck
    this.#words = words === null ? null : new NearbyWords(words, known)
  }

  /**
   * Returns the longest end to which a match counts; -1 without one.
   * @param ends numbers of last characters, ascending
   */
  longest(first: number, ends: readonly number[]): number {
    this.work = 0
    const passing = this.#passing(first, ends)
    const last = passing.at(-1)
    const words = this.#words
    if (words === null || last === undefined) return last ?? -1
    words.read(first, last)
    this.work += words.foundCount
    return words.isBefore(first) ? last : words.endBefore(passing, MAXIMUM_AFTER_UNITS)
  }

  /** Returns the ends that pass the check. */
  #passing(first: number, ends: readonly number[]): readonly number[] {
    const check = this.#newCheck?.()
    if (check === undefined) return ends
    const last = ends.at(-1)!
    this.work += last + 1 - first
    const passing: number[] = []
    let index = 0
    for (let number = first; number <= last; number++) {
      check.add(this.#known.folded(number))
      if (ends[index] !== number) continue
      index++
      if (check.passes) passing.push(number)
    }
    return passing
  }
}
