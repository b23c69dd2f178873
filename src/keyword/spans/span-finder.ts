// Finds the matches of one pattern in a growing text: from left to right, each the longest from its
// start, without overlap. They depend on the text alone, not on how it is cut into chunks.

import { ExpressionAutomaton } from '../regexp/automaton.ts'
import { ExpressionCursor } from '../regexp/cursor.ts'
import type { Program } from '../regexp/instructions.ts'
import type { RecentCharacters } from './recent-characters.ts'

/**
 * Maximum normalised characters of a match. A longer one is cut at its end, or at its beginning
 * where nothing matched before.
 */
export const MAXIMUM_MATCH_CHARACTERS = 256
/** Maximum UTF-16 units of a match, invisible characters included. */
const MAXIMUM_MATCH_UNITS = 1024
/** Maximum UTF-16 units after a match within which characters may confirm it. */
const MAXIMUM_AFTER_UNITS = 256

/** Characters around a match that confirm it. */
export interface Surroundings {
  /** Normalised characters before and after the match that `accepts` gets. */
  readonly before: number
  readonly after: number
}

/** Reports whether a match counts. All texts are normalised. */
type AcceptsMatch = (value: string, before: string, after: string) => boolean

/** A pattern whose matches are found. */
export interface SpanPattern {
  readonly programs: readonly Program[]
  /** Without it every match counts. */
  readonly condition?: Surroundings & { readonly accepts: AcceptsMatch }
}

/** UTF-16 offsets in the text, end exclusive. */
export interface MatchSpan {
  readonly start: number
  readonly end: number
}

/** What is compiled once for all texts. */
export class CompiledPattern {
  readonly automaton: ExpressionAutomaton
  readonly condition: SpanPattern['condition']

  constructor({ programs, condition }: SpanPattern) {
    this.automaton = new ExpressionAutomaton(programs)
    this.condition = condition
  }
}

/** A match that may still grow, or yield to one that begins before it. */
interface Candidate {
  /** Numbers of its characters. */
  readonly first: number
  last: number
  /** UTF-16 offset. */
  readonly start: number
}

export class SpanFinder {
  readonly #known: RecentCharacters
  readonly #condition: SpanPattern['condition']
  readonly #cursor: ExpressionCursor
  readonly #add: (span: MatchSpan) => void
  /** The next character to read. */
  #next = 0
  #candidate: Candidate | null = null
  #isEnded = false
  #lastEnd = 0
  #length = 0

  /** @param add receives each match, in order */
  constructor(
    { automaton, condition }: CompiledPattern,
    known: RecentCharacters,
    add: (span: MatchSpan) => void,
  ) {
    this.#known = known
    this.#condition = condition
    this.#cursor = new ExpressionCursor(automaton)
    this.#add = add
  }

  /** Whether nothing that was read can be part of a later match. */
  get isIdle(): boolean {
    return this.#candidate === null && this.#next === this.#known.count && this.#cursor.isIdle
  }

  /** Continues at the character that is known last, after others that no match begins in. */
  wake(): void {
    this.#restart(this.#known.count - 1)
  }

  /**
   * Reads all characters that are known.
   * @param reach UTF-16 offset before which no other character begins
   */
  read(reach: number): void {
    for (;;) {
      if (this.#candidate !== null && this.#isFinal(this.#candidate, reach)) {
        if (!this.#decide(this.#candidate, reach, false)) return
      } else if (this.#next < this.#known.count) this.#step()
      else return
    }
  }

  /** Reads the end of the text. @param length of the text, UTF-16 units */
  finish(length: number): void {
    this.read(length)
    this.#length = length
    for (;;) {
      if (this.#next === this.#known.count && !this.#isEnded) {
        this.#isEnded = true
        this.#cursor.finish(this.#report)
      }
      const candidate = this.#candidate
      if (candidate !== null && (this.#isEnded || this.#isFinal(candidate, length)))
        this.#decide(candidate, length, true)
      else if (this.#next < this.#known.count) this.#step()
      else return
    }
  }

  /** UTF-16 offset before which no match can still begin. @param offset units of the text so far */
  safe(offset: number): number {
    const candidate = this.#candidate?.start ?? offset
    const earliest = this.#cursor.earliest(() => true)
    if (earliest < 0) return candidate
    const first = Math.max(earliest, this.#known.count - MAXIMUM_MATCH_CHARACTERS + 1)
    const begins = first < this.#known.count ? this.#known.start(first) : offset
    return Math.min(candidate, Math.max(begins, offset - MAXIMUM_MATCH_UNITS))
  }

  #step(): void {
    const known = this.#known
    const number = this.#next++
    this.#cursor.take(known.plain(number), known.folded(number), number, this.#report)
  }

  readonly #report = (_expression: number, begin: number, inclusive: boolean): void => {
    // The end of the text counts as one more character.
    const read = this.#isEnded ? this.#next : this.#next - 1
    const last = inclusive ? read : read - 1
    const taken = this.#isEnded ? this.#length : this.#known.taken(read)
    const first = Math.max(begin, read - MAXIMUM_MATCH_CHARACTERS + 1)
    const candidate = this.#candidate
    if (candidate !== null && candidate.first < first) return
    if (candidate?.first === first) candidate.last = Math.max(candidate.last, last)
    else {
      const start = Math.max(this.#known.start(first), taken - MAXIMUM_MATCH_UNITS)
      this.#candidate = { first, last, start }
    }
  }

  /** Whether no later character can change the candidate. */
  #isFinal({ first, start }: Candidate, reach: number): boolean {
    const earliest = this.#cursor.earliest(() => true)
    if (earliest < 0 || earliest > first || this.#next - first >= MAXIMUM_MATCH_CHARACTERS) return true
    // The next character ends after `reach`.
    const end = this.#next < this.#known.count ? this.#known.end(this.#next) : reach + 1
    return end - start > MAXIMUM_MATCH_UNITS
  }

  /** Adds the candidate if it counts. @returns false while that depends on later characters */
  #decide({ first, last, start }: Candidate, reach: number, isOver: boolean): boolean {
    const known = this.#known
    const end = known.end(last)
    if (this.#condition === undefined) {
      this.#emit(start, end)
      this.#restart(last + 1)
      return true
    }
    const { before, after, accepts } = this.#condition
    const isKnown = isOver || known.count > last + after || reach - end > MAXIMUM_AFTER_UNITS
    if (!isKnown) return false
    let next = last + 1
    while (next < known.count && next <= last + after && known.start(next) - end <= MAXIMUM_AFTER_UNITS)
      next++
    const isAccepted = accepts(
      known.text(first, last + 1),
      known.text(first - before, first),
      known.text(last + 1, next),
    )
    if (isAccepted) this.#emit(start, end)
    this.#restart(isAccepted ? last + 1 : first + 1)
    return true
  }

  /** Characters of one cluster are one place in the text, which is in one match only. */
  #emit(start: number, end: number): void {
    const from = Math.max(start, this.#lastEnd)
    if (from >= end) return
    this.#lastEnd = end
    this.#add({ start: from, end })
  }

  #restart(next: number): void {
    const known = this.#known
    const before = next - 1
    this.#candidate = null
    this.#isEnded = false
    this.#next = next
    this.#cursor.restart(before < 0 ? null : { plain: known.plain(before), folded: known.folded(before) })
  }
}
