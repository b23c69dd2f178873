// Finds the matches of one pattern in a growing text: from left to right, each the longest from its
// start, without overlap. They depend on the text alone, not on how it is cut into chunks.

import { ExpressionAutomaton } from '../regexp/automaton.ts'
import { ExpressionCursor } from '../regexp/cursor.ts'
import type { Program } from '../regexp/instructions.ts'
import { CompiledCondition, MAXIMUM_AFTER_UNITS, type MatchCondition, MatchEnds } from './match-ends.ts'
import type { RecentCharacters } from './recent-characters.ts'

/**
 * Maximum normalised characters of a match. A longer one is cut at its end, or at its beginning
 * where nothing matched before.
 */
export const MAXIMUM_MATCH_CHARACTERS = 256
/** Maximum UTF-16 units of a match, invisible characters included. */
const MAXIMUM_MATCH_UNITS = 1024
/**
 * Maximum work of reading again, for each character of a text and all patterns together: threads
 * that take a character, and characters that are checked. A pattern of a few dozen characters never
 * needs it.
 */
const MAXIMUM_REREAD_WORK = 128
/** The least of it that a pattern has, however many there are. */
const MINIMUM_SHARE = 4
/** Maximum work that a pattern saves up for one place. */
const MAXIMUM_SAVED_WORK = 16_384

/** The work of a pattern for each character. */
export const shareOf = (patterns: number): number =>
  Math.max(MINIMUM_SHARE, Math.floor(MAXIMUM_REREAD_WORK / patterns))

/** A pattern whose matches are found. */
export interface SpanPattern {
  readonly programs: readonly Program[]
  /** Without it every match counts. */
  readonly condition?: MatchCondition
}

/** UTF-16 offsets in the text, end exclusive. */
export interface MatchSpan {
  readonly start: number
  readonly end: number
}

/** What is compiled once for all texts. */
export class CompiledPattern {
  readonly automaton: ExpressionAutomaton
  readonly condition: CompiledCondition

  constructor({ programs, condition = {} }: SpanPattern) {
    this.automaton = new ExpressionAutomaton(programs)
    this.condition = new CompiledCondition(condition)
  }
}

/** A match that may still grow, or yield to one that begins before it. */
interface Candidate {
  /** Number of its first character. */
  readonly first: number
  /** Numbers of the last characters that it may have, ascending. */
  readonly ends: number[]
  /** UTF-16 offset. */
  readonly start: number
}

/** No character. */
const NONE = -1

/**
 * Searches all starts in one pass. After a match that does not count, or that was read beyond its
 * end, it tries the starts already passed one by one. That work is bounded: once the share of the
 * pattern is used up, a match counts unchecked and takes all that was read for it.
 */
export class SpanFinder {
  readonly #pattern: CompiledPattern
  readonly #known: RecentCharacters
  readonly #ends: MatchEnds
  readonly #share: number
  readonly #add: (span: MatchSpan) => void
  readonly #search: ExpressionCursor
  #trial: ExpressionCursor | null = null
  /** The one of both that reads. */
  #cursor: ExpressionCursor
  /** The start that is tried; NONE while all are searched. */
  #from = NONE
  /** The start from which all are searched again. */
  #until = 0
  /** The next character to read. */
  #next = 0
  /** Characters read at least once. */
  #read = 0
  /** Work that is left for reading again; below 0 what was used in advance. */
  #left = MAXIMUM_SAVED_WORK
  #candidate: Candidate | null = null
  #isEnded = false
  #lastEnd = 0
  #length = 0
  /** Work done so far. */
  work = 0

  /**
   * @param share of the work of reading again, by `shareOf`
   * @param add receives each match, in order
   */
  constructor(
    pattern: CompiledPattern,
    known: RecentCharacters,
    share: number,
    add: (span: MatchSpan) => void,
  ) {
    this.#pattern = pattern
    this.#known = known
    this.#ends = new MatchEnds(pattern.condition, known)
    this.#share = share
    this.#search = new ExpressionCursor(pattern.automaton)
    this.#cursor = this.#search
    this.#add = add
  }

  /** Whether nothing that was read can be part of a later match. */
  get isIdle(): boolean {
    const isSearching = this.#from === NONE && this.#candidate === null
    return isSearching && this.#next === this.#known.count && this.#cursor.isIdle
  }

  /** Continues at the character that is known last, after others that no match begins in. */
  wake(): void {
    this.#searchFrom(this.#known.count - 1)
  }

  /**
   * Reads all characters that are known.
   * @param reach UTF-16 offset before which no other character begins
   */
  read(reach: number): void {
    for (;;) {
      if (this.#candidate !== null && this.#isFinal(this.#candidate, reach)) {
        if (!this.#decide(this.#candidate, reach, false)) return
      } else if (this.#isTried()) this.#tryNext()
      else if (this.#next < this.#known.count) this.#step()
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
      else if (this.#from !== NONE && (this.#isEnded || this.#isTried())) this.#tryNext()
      else if (this.#next < this.#known.count) this.#step()
      else return
    }
  }

  /** UTF-16 offset before which no match can still begin. @param offset units of the text so far */
  safe(offset: number): number {
    const candidate = this.#candidate?.start ?? offset
    const earliest = this.#from === NONE ? this.#cursor.earliestBegin : this.#from
    if (earliest < 0) return candidate
    const first = Math.max(earliest, this.#known.count - MAXIMUM_MATCH_CHARACTERS + 1)
    const begins = first < this.#known.count ? this.#known.start(first) : offset
    return Math.min(candidate, Math.max(begins, offset - MAXIMUM_MATCH_UNITS))
  }

  #step(): void {
    const known = this.#known
    const number = this.#next++
    const work = Math.max(1, this.#cursor.threadCount)
    this.work += work
    if (number < this.#read) this.#left -= work
    else {
      const earned = this.#share * (number + 1 - this.#read)
      this.#left = Math.min(MAXIMUM_SAVED_WORK, this.#left + earned)
      this.#read = number + 1
    }
    const begins = this.#from === NONE || this.#from === number
    this.#cursor.take(known.plain(number), known.folded(number), number, this.#report, begins)
  }

  readonly #report = (_expression: number, begin: number, inclusive: boolean): void => {
    // The end of the text counts as one more character.
    const read = this.#isEnded ? this.#next : this.#next - 1
    const last = inclusive ? read : read - 1
    const taken = this.#isEnded ? this.#length : this.#known.taken(read)
    const first = Math.max(begin, read - MAXIMUM_MATCH_CHARACTERS + 1)
    const candidate = this.#candidate
    if (candidate !== null && candidate.first < first) return
    if (candidate?.first === first) addEnd(candidate.ends, last)
    else {
      const start = Math.max(this.#known.start(first), taken - MAXIMUM_MATCH_UNITS)
      this.#candidate = { first, ends: [last], start }
    }
  }

  /** Whether no later character can change the candidate. */
  #isFinal({ first, start }: Candidate, reach: number): boolean {
    const earliest = this.#cursor.earliestBegin
    if (earliest < 0 || earliest > first || this.#next - first >= MAXIMUM_MATCH_CHARACTERS) return true
    // The next character ends after `reach`.
    const end = this.#next < this.#known.count ? this.#known.end(this.#next) : reach + 1
    return end - start > MAXIMUM_MATCH_UNITS
  }

  /** Adds the candidate if it counts. @returns false while that depends on later characters */
  #decide(candidate: Candidate, reach: number, isOver: boolean): boolean {
    const known = this.#known
    const { first, ends, start } = candidate
    const last = ends.at(-1)!
    const { after } = this.#pattern.condition
    if (!isOver && known.count <= last + after && reach - known.end(last) <= MAXIMUM_AFTER_UNITS) return false
    const end = this.#left > 0 ? this.#longest(candidate) : Math.max(last, this.#lastRead)
    if (end === NONE) this.#lastEnd = Math.max(this.#lastEnd, start)
    else this.#emit(start, known.end(end))
    const next = end === NONE ? first + 1 : end + 1
    if (this.#from === NONE) this.#until = this.#next
    // To search one character again costs less than to try it.
    if (this.#left > 0 && next < this.#until - 1) this.#try(next)
    else this.#searchFrom(next)
    return true
  }

  /** The last character that was read for a candidate; the one after it only showed its end. */
  get #lastRead(): number {
    return this.#next - (this.#isEnded ? 1 : 2)
  }

  /** Returns the longest end of a candidate that counts; NONE without one. */
  #longest({ first, ends }: Candidate): number {
    const end = this.#ends.longest(first, ends)
    this.work += this.#ends.work
    this.#left -= this.#ends.work
    return end
  }

  /** Characters of one cluster are one place in the text, which is in one match only. */
  #emit(start: number, end: number): void {
    const from = Math.max(start, this.#lastEnd)
    if (from >= end) return
    this.#lastEnd = end
    this.#add({ start: from, end })
  }

  /** Whether the start that is tried has no match. */
  #isTried(): boolean {
    if (this.#from === NONE || this.#candidate !== null || this.#next === this.#from) return false
    return this.#cursor.isIdle || this.#next - this.#from >= MAXIMUM_MATCH_CHARACTERS
  }

  /** Continues after a start that has no match. */
  #tryNext(): void {
    const from = this.#from
    // A match longer than the maximum is cut where the search finds its end.
    if (!this.#cursor.isIdle && !this.#isEnded) this.#searchFrom(from)
    else if (this.#left > 0 && from + 1 < this.#until) this.#try(from + 1)
    else this.#searchFrom(from + 1)
  }

  #try(start: number): void {
    this.#trial ??= new ExpressionCursor(this.#pattern.automaton)
    this.#from = start
    this.#restart(this.#trial, start)
  }

  #searchFrom(start: number): void {
    this.#from = NONE
    this.#restart(this.#search, start)
  }

  #restart(cursor: ExpressionCursor, next: number): void {
    const known = this.#known
    const before = next - 1
    this.#candidate = null
    this.#isEnded = false
    this.#next = next
    this.#cursor = cursor
    cursor.restart(before < 0 ? null : { plain: known.plain(before), folded: known.folded(before) })
  }
}

/** Adds a number to ascending ones. Reports of one character come in any order, one apart. */
function addEnd(ends: number[], last: number): void {
  const greatest = ends.at(-1)!
  if (last > greatest) ends.push(last)
  else if (last < greatest && ends.at(-2) !== last) ends.splice(-1, 0, last)
}
