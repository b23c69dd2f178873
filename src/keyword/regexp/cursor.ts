// One text being searched for expressions: the threads of the automaton with the offsets at which they began.

import {
  type ExpressionAutomaton,
  NEW,
  type ReportMatch,
  type Step,
  ThreadList,
  type ThreadSet,
} from './automaton.ts'

/**
 * Steps worked out for one text before it is asked whether remembering pays, and how many characters each of them
 * should have served by then (RE2 asks for ten). A text for which it does not is run without: `(?s)a.{900}b` meets
 * a new set of threads at every character.
 */
const TRIAL_STEPS = 500
const MIN_CHARACTERS_A_STEP = 4

export class ExpressionRun {
  readonly #automaton: ExpressionAutomaton
  #set: ThreadSet
  /** Where each thread of the set began; the rest is left from larger sets. */
  #begins = new Int32Array(0)
  #spare = new Int32Array(0)
  #characters = 0
  #workedOut = 0
  /** The threads themselves, once remembering is given up. */
  #list: ThreadList | null = null
  #spareList = new ThreadList()
  #after = 0

  constructor(automaton: ExpressionAutomaton) {
    this.#automaton = automaton
    this.#set = automaton.begin()
  }

  /** Takes one normalised character that begins at `start`; tags of matches are offsets where they begin. */
  take(plain: number, folded: number, start: number, report: ReportMatch): void {
    const automaton = this.#automaton
    const symbol = automaton.alphabet.classOf(plain, folded)
    if (this.#list !== null) {
      this.#takeDirectly(this.#list, symbol, start, report)
      return
    }
    this.#characters++
    let step = this.#set.steps[symbol]
    if (step === undefined) {
      step = automaton.workOut(this.#set, symbol)
      this.#workedOut++
    }
    if (!step.idle) this.#carry(step, start, report)
    this.#set = step.target
    if (this.#workedOut > TRIAL_STEPS && this.#workedOut * MIN_CHARACTERS_A_STEP > this.#characters)
      this.#giveUp()
  }

  /** The end of the text, which `$` and `\b` may wait for. */
  finish(report: ReportMatch): void {
    const end = this.#automaton.alphabet.size
    if (this.#list !== null) this.#takeDirectly(this.#list, end, 0, report)
    else this.#carry(this.#set.steps[end] ?? this.#automaton.workOut(this.#set, end), 0, report)
  }

  /** Where the earliest thread of a chosen expression began, or -1. */
  earliest(chosen: (expression: number) => boolean): number {
    const threads = this.#list?.threads ?? this.#set.threads
    const begins = this.#list?.tags ?? this.#begins
    const count = this.#list?.count ?? threads.length
    for (let place = 0; place < count; place++) {
      if (chosen(this.#automaton.expressionOf(threads[place]!))) return begins[place]!
    }
    return -1
  }

  #takeDirectly(list: ThreadList, symbol: number, start: number, report: ReportMatch): void {
    const next = this.#spareList
    this.#automaton.advance(list, this.#after, symbol, start, next, report)
    this.#after = this.#automaton.afterSymbol(symbol)
    this.#spareList = list
    this.#list = next
  }

  #carry({ sources, found }: Step, start: number, report: ReportMatch): void {
    const begins = this.#begins
    for (const { expression, source, inclusive } of found) {
      report(expression, source === NEW ? start : begins[source]!, inclusive)
    }
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

  #giveUp(): void {
    const list = new ThreadList()
    this.#set.threads.forEach((thread, place) => {
      list.add(thread, this.#begins[place]!)
    })
    this.#list = list
    this.#after = this.#set.after
  }
}
