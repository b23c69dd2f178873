// One text being searched for expressions: the threads of the automaton with the offsets at which they began.

import { type ExpressionAutomaton, NEW, type Step, type ThreadSet } from './automaton.ts'

/**
 * Called with an expression that matches and where its earliest such match begins; `inclusive` says whether the match
 * ends with the character just taken or before it.
 */
export type ReportMatch = (expression: number, begin: number, inclusive: boolean) => void

/** One text being searched. */
export class ExpressionRun {
  readonly #automaton: ExpressionAutomaton
  #set: ThreadSet
  /** Where each thread of the set began, offsets as they were handed in. */
  #begins: number[] = []
  #spare: number[] = []

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
    else if (this.#begins.length > 0) this.#begins.length = 0
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

  #advance(step: Step, start: number, found: ReportMatch): void {
    const begins = this.#begins
    const beginOf = (source: number): number => (source === NEW ? start : begins[source]!)
    for (const { expression, source } of step.before) found(expression, beginOf(source), false)
    for (const { expression, source } of step.after) found(expression, beginOf(source), true)
    const next = this.#spare
    next.length = 0
    for (const source of step.sources) next.push(beginOf(source))
    this.#spare = begins
    this.#begins = next
  }
}
