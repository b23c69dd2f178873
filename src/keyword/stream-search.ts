// Searches one text, whole or growing, for the active patterns of a plan. The hits depend on the
// text alone, not on how it is cut into chunks.

import type { LiteralAutomaton } from './literals.ts'
import { Normaliser } from './normalise.ts'
import type { KeywordIndex } from './pattern-index.ts'
import { ExpressionCursor } from './regexp/cursor.ts'

/**
 * Maximum text that a stream holds back, UTF-16 units. A longer match is still found, but its
 * beginning may have left by then. Without a bound, one `a.*b` would delay a whole answer until its
 * end.
 */
export const MAXIMUM_HOLD_BACK = 1024

export interface KeywordHit {
  /** Index of the pattern. */
  readonly pattern: number
  /**
   * UTF-16 offset in the given text at which the match begins: of the matches that end first, the
   * earliest. At most MAXIMUM_HOLD_BACK before the offset at which the match was decided.
   */
  readonly start: number
  /** UTF-16 offset after the match. */
  readonly end: number
}

/** The patterns to search for, and what may be known of them before a text comes. */
export interface SearchPlan {
  readonly index: KeywordIndex
  /** By pattern: whether to search for it. */
  readonly active: readonly boolean[]
  readonly activeCount: number
  /** By pattern: whether it is active and a possible match holds text back. */
  readonly holding: readonly boolean[]
  /** Some pattern is holding. */
  readonly holdsText: boolean
  /**
   * By state of the word automaton: how many of the last characters may begin a word of a holding
   * pattern.
   */
  readonly pendingDepths: Uint16Array | null
  /** The ASCII characters with which a match of a holding pattern can begin, 128 flags. */
  readonly firstAscii: Uint8Array
}

export class StreamSearch {
  readonly #plan: SearchPlan
  readonly #normaliser: Normaliser
  readonly #run: ExpressionCursor | null
  readonly #words: LiteralAutomaton | null
  readonly #fired: Uint8Array
  #firedCount = 0
  #hits: KeywordHit[] = []
  /** UTF-16 offsets of the last characters, in a ring. */
  readonly #starts: Int32Array
  #count = 0
  #state = 0
  /** States of the word automaton whose words, and those of their suffixes, have been reported. */
  readonly #reported = new Set<number>()
  #end = 0
  #previousEnd = 0
  #received = 0
  #safe = 0

  constructor(plan: SearchPlan) {
    const { index } = plan
    this.#plan = plan
    this.#normaliser = new Normaliser(this)
    this.#words = index.words
    this.#run = index.expressions === null ? null : new ExpressionCursor(index.expressions)
    this.#fired = new Uint8Array(index.patternCount)
    this.#starts = new Int32Array(index.ringSize)
  }

  /** Every active pattern has matched; more text cannot add a hit. */
  get complete(): boolean {
    return this.#firedCount === this.#plan.activeCount
  }

  get safe(): number {
    this.#safe = Math.max(this.#safe, this.#findSafe())
    return this.#safe
  }

  #findSafe(): number {
    if (!this.#plan.holdsText || this.complete) return this.#received
    const { offset } = this.#normaliser
    let safe = this.#pendingStart()
    const depth = this.#plan.pendingDepths?.[this.#state] ?? 0
    if (depth > 0) safe = Math.min(safe, this.#startBack(depth))
    const { programPatterns } = this.#plan.index
    const begin = this.#run?.earliest((expression) => this.#awaits(programPatterns[expression]!)) ?? -1
    if (begin >= 0) safe = Math.min(safe, begin)
    return Math.max(safe, offset - MAXIMUM_HOLD_BACK)
  }

  push(chunk: string): KeywordHit[] {
    this.#received += chunk.length
    this.#normaliser.push(chunk)
    return this.#takeHits()
  }

  finish(): KeywordHit[] {
    this.#normaliser.finish()
    this.#previousEnd = this.#end
    this.#run?.finish(this.#reportExpression)
    return this.#takeHits()
  }

  /** Takes one normalised character from the normaliser. */
  take(plain: number, folded: number, start: number, end: number): void {
    this.#previousEnd = this.#end
    this.#end = end
    if (this.#run !== null) this.#run.take(plain, folded, start, this.#reportExpression)
    const words = this.#words
    if (words === null) return
    const starts = this.#starts
    starts[this.#count++ & (starts.length - 1)] = start
    const state = words.next(this.#state, folded)
    this.#state = state
    if (words.ending(state) !== 0) this.#reportWords(words)
  }

  #reportWords(words: LiteralAutomaton): void {
    const { wordPatterns } = this.#plan.index
    for (let at = words.ending(this.#state); at !== 0; at = words.shorterEnding(at)) {
      if (this.#reported.has(at)) return
      this.#reported.add(at)
      for (const word of words.literalsAt(at))
        this.#report(wordPatterns[word]!, this.#startBack(words.depth(at)), this.#end)
    }
  }

  readonly #reportExpression = (expression: number, begin: number, inclusive: boolean): void => {
    const pattern = this.#plan.index.programPatterns[expression]!
    this.#report(pattern, begin, inclusive ? this.#end : this.#previousEnd)
  }

  #report(pattern: number, start: number, end: number): void {
    if (this.#plan.active[pattern] !== true || this.#fired[pattern] === 1) return
    this.#fired[pattern] = 1
    this.#firedCount++
    // The stream has held back no more than this before the deciding character.
    const earliest = this.#normaliser.offset - MAXIMUM_HOLD_BACK
    this.#hits.push({ pattern, start: Math.max(start, earliest), end })
  }

  #awaits(pattern: number): boolean {
    return this.#fired[pattern] === 0 && this.#plan.holding[pattern] === true
  }

  #pendingStart(): number {
    const { offset, pendingStart, pendingAscii } = this.#normaliser
    return pendingAscii >= 0 && this.#plan.firstAscii[pendingAscii] === 0 ? offset : pendingStart
  }

  #startBack(characters: number): number {
    return this.#starts[(this.#count - characters) & (this.#starts.length - 1)]!
  }

  #takeHits(): KeywordHit[] {
    const hits = this.#hits
    this.#hits = []
    return hits
  }
}
