// One text being searched for expressions: the threads of the automaton with the offsets at which they began.

import { type ExpressionAutomaton, NEW, type Step, type ThreadSet } from './automaton.ts'

/**
 * Called with an expression that matches and where its earliest such match begins; `inclusive` says whether the match
 * ends with the character just taken or before it.
 */
export type ReportMatch = (expression: number, begin: number, inclusive: boolean) => void

/** Threads that have room before the arrays grow. */
const INITIAL_THREADS = 16

/** One text being searched. */
export class ExpressionRun {
  readonly #automaton: ExpressionAutomaton
  #set: ThreadSet
  /** Where each thread of the set began, offsets as they were handed in; the rest is left from larger sets. */
  #begins = new Int32Array(INITIAL_THREADS)
  #spare = new Int32Array(INITIAL_THREADS)

  constructor(automaton: ExpressionAutomaton) {
    this.#automaton = automaton
    this.#set = automaton.begin()
  }

  /**
   * Takes one normalised character that begins at `start`; reports every expression that now matches, again and
   * again while it does.
   */
  take(plain: number, folded: number, start: number, found: ReportMatch): void {
    const step = this.#automaton.step(this.#set, this.#automaton.alphabet.classOf(plain, folded))
    if (!step.idle) this.#advance(step, start, found)
    this.#set = step.target
  }

  /** The end of the text, which `$` and `\b` may wait for. */
  finish(found: ReportMatch): void {
    this.#advance(this.#automaton.step(this.#set, this.#automaton.alphabet.size), 0, found)
  }

  /** Where the earliest thread of a chosen expression began, or -1. */
  earliest(chosen: (expression: number) => boolean): number {
    const { threads } = this.#set
    for (let place = 0; place < threads.length; place++) {
      if (chosen(this.#automaton.expressionOf(threads[place]!))) return this.#begins[place]!
    }
    return -1
  }

  #advance({ sources, before, after }: Step, start: number, found: ReportMatch): void {
    const begins = this.#begins
    for (const { expression, source } of before) found(expression, begins[source]!, false)
    for (const { expression, source } of after)
      found(expression, source === NEW ? start : begins[source]!, true)
    const count = sources.length
    if (count > this.#spare.length) this.#spare = new Int32Array(2 * count)
    const next = this.#spare
    for (let place = 0; place < count; place++) {
      const source = sources[place]!
      next[place] = source === NEW ? start : begins[source]!
    }
    this.#spare = begins
    this.#begins = next
  }
}
