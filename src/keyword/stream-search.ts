// One text, whole or growing, searched for the keyword rules of one selection. What is found depends on the text
// alone, not on how it was cut.

import type { RuleReference } from '../policy/rule.ts'
import type { LiteralAutomaton } from './literals.ts'
import { Normaliser } from './normalise.ts'
import type { KeywordIndex } from './pattern-index.ts'
import { ExpressionCursor } from './regexp/cursor.ts'

/**
 * Text that a stream holds back at most, UTF-16 units. A match that is longer is still found, but its beginning may
 * have left by then; without a bound, one `a.*b` would turn a stream into one late answer.
 */
export const MAX_HOLD_BACK = 1024

export interface KeywordHit {
  readonly rule: RuleReference
  /**
   * UTF-16 offset in the given text at which the earliest match begins that ends first; but never more than
   * MAX_HOLD_BACK before the place where it was decided.
   */
  readonly start: number
  /** UTF-16 offset after the match. */
  readonly end: number
}

/** What to look for in a text. */
export interface SearchPlan {
  readonly index: KeywordIndex
  /** By rule: whether it is looked for. */
  readonly active: readonly boolean[]
  readonly activeCount: number
  readonly blocking: boolean
  /** Whether a rule is looked for and blocks. */
  blocks(rule: number): boolean
  /** By state of the word automaton: how much of the text may begin a word of a blocking rule. */
  readonly pendingDepths: Uint16Array | null
  /** The ASCII characters with which a match of a blocking rule can begin, 128 flags. */
  readonly firstAscii: Uint8Array
}

/** One text being searched. */
export class StreamSearch {
  readonly #plan: SearchPlan
  readonly #normaliser: Normaliser
  readonly #run: ExpressionCursor | null
  readonly #words: LiteralAutomaton | null
  readonly #fired: Uint8Array
  #firedCount = 0
  #hits: KeywordHit[] = []
  /** Where the last characters begin, in a ring. */
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
    this.#fired = new Uint8Array(index.rules.length)
    this.#starts = new Int32Array(index.ringSize)
  }

  /** Every rule has fired; more text cannot add anything. */
  get complete(): boolean {
    return this.#firedCount === this.#plan.activeCount
  }

  get safe(): number {
    this.#safe = Math.max(this.#safe, this.#findSafe())
    return this.#safe
  }

  #findSafe(): number {
    if (!this.#plan.blocking || this.complete) return this.#received
    const { offset } = this.#normaliser
    let safe = this.#pendingStart()
    const depth = this.#plan.pendingDepths?.[this.#state] ?? 0
    if (depth > 0) safe = Math.min(safe, this.#startBack(depth))
    const { programRules } = this.#plan.index
    const begin = this.#run?.earliest((expression) => this.#awaits(programRules[expression]!)) ?? -1
    if (begin >= 0) safe = Math.min(safe, begin)
    return Math.max(safe, offset - MAX_HOLD_BACK)
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

  /** One normalised character; called by the normaliser. */
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
    const { wordRules } = this.#plan.index
    for (let at = words.ending(this.#state); at !== 0; at = words.shorterEnding(at)) {
      if (this.#reported.has(at)) return
      this.#reported.add(at)
      for (const word of words.literalsAt(at))
        this.#report(wordRules[word]!, this.#startBack(words.depth(at)), this.#end)
    }
  }

  readonly #reportExpression = (expression: number, begin: number, inclusive: boolean): void => {
    this.#report(this.#plan.index.programRules[expression]!, begin, inclusive ? this.#end : this.#previousEnd)
  }

  #report(rule: number, start: number, end: number): void {
    if (this.#plan.active[rule] !== true || this.#fired[rule] === 1) return
    this.#fired[rule] = 1
    this.#firedCount++
    // The text may have been waiting right before the character that decided, and no longer than that.
    const earliest = this.#normaliser.offset - MAX_HOLD_BACK
    this.#hits.push({ rule: this.#plan.index.rules[rule]!, start: Math.max(start, earliest), end })
  }

  #awaits(rule: number): boolean {
    return this.#fired[rule] === 0 && this.#plan.blocks(rule)
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
