// Searches one text for expressions: follows the threads of the automaton together with the offsets
// at which they began.

import {
  type ExpressionAutomaton,
  NEW,
  type ReportMatch,
  ThreadList,
  type ThreadSet,
  type Transition,
} from './automaton.ts'

/**
 * Transitions computed for one text before the cursor checks whether caching pays, and how many
 * characters each of them must have served by then (RE2 requires ten). If it does not pay, the
 * cursor runs the threads directly: `(?s)a.{900}b` reaches a new set of threads with every
 * character.
 */
const TRIAL_TRANSITIONS = 500
const MIN_CHARACTERS_PER_TRANSITION = 4

export class ExpressionCursor {
  readonly #automaton: ExpressionAutomaton
  #set: ThreadSet
  /** Start of each thread of the set. Entries after its end are left over from larger sets. */
  #begins = new Int32Array(0)
  #spare = new Int32Array(0)
  #characters = 0
  #computed = 0
  /** The threads themselves, after caching has stopped. */
  #list: ThreadList | null = null
  #spareList = new ThreadList()
  #after = 0

  constructor(automaton: ExpressionAutomaton) {
    this.#automaton = automaton
    this.#set = automaton.begin()
  }

  /**
   * Takes one normalised character that begins at `start`. The tags of matches are the offsets at
   * which they begin.
   * @param begins whether matches may begin at the character
   */
  take(plain: number, folded: number, start: number, report: ReportMatch, begins = true): void {
    const automaton = this.#automaton
    const symbol = automaton.alphabet.classOf(plain, folded)
    if (this.#list !== null) {
      this.#advanceThreads(this.#list, symbol, start, report, begins)
      return
    }
    this.#characters++
    let transition = (begins ? this.#set.transitions : this.#set.continuations)?.[symbol]
    if (transition === undefined) {
      transition = automaton.computeTransition(this.#set, symbol, begins)
      this.#computed++
    }
    if (!transition.idle) this.#applyTransition(transition, start, report)
    this.#set = transition.target
    if (
      this.#computed > TRIAL_TRANSITIONS &&
      this.#computed * MIN_CHARACTERS_PER_TRANSITION > this.#characters
    )
      this.#stopCaching()
  }

  /** Takes the end of the text, which `$` and `\b` may wait for. */
  finish(report: ReportMatch): void {
    const end = this.#automaton.alphabet.size
    if (this.#list !== null) this.#advanceThreads(this.#list, end, 0, report, true)
    else
      this.#applyTransition(
        this.#set.transitions[end] ?? this.#automaton.computeTransition(this.#set, end),
        0,
        report,
      )
  }

  /** Drops all threads, as if the text began here. @param before the character before, if any */
  restart(before: { readonly plain: number; readonly folded: number } | null): void {
    const { alphabet } = this.#automaton
    const after =
      before === null ? undefined : this.#automaton.afterSymbol(alphabet.classOf(before.plain, before.folded))
    if (this.#list === null) this.#set = this.#automaton.begin(after)
    else {
      this.#list.count = 0
      this.#after = after ?? this.#automaton.begin().after
    }
  }

  /** Threads under way: what the next character costs. The same for every state of the cache. */
  get threadCount(): number {
    return this.#list?.count ?? this.#set.threads.length
  }

  /** Whether no match is under way. */
  get isIdle(): boolean {
    return this.threadCount === 0
  }

  /** Calls `each` with the expressions of the threads that began with the tag `start`, the last. */
  eachBegun(start: number, each: (expression: number) => void): void {
    const threads = this.#list?.threads ?? this.#set.threads
    const begins = this.#list?.tags ?? this.#begins
    for (
      let index = (this.#list?.count ?? threads.length) - 1;
      index >= 0 && begins[index] === start;
      index--
    )
      each(this.#automaton.expressionOf(threads[index]!))
  }

  /** The offset at which the earliest thread began, or -1. */
  get earliestBegin(): number {
    if (this.isIdle) return -1
    return (this.#list?.tags ?? this.#begins)[0]!
  }

  /** Returns the offset at which the earliest thread of a chosen expression began, or -1. */
  earliest(chosen: (expression: number) => boolean): number {
    const threads = this.#list?.threads ?? this.#set.threads
    const begins = this.#list?.tags ?? this.#begins
    const count = this.#list?.count ?? threads.length
    for (let index = 0; index < count; index++) {
      if (chosen(this.#automaton.expressionOf(threads[index]!))) return begins[index]!
    }
    return -1
  }

  #advanceThreads(
    list: ThreadList,
    symbol: number,
    start: number,
    report: ReportMatch,
    begins: boolean,
  ): void {
    const next = this.#spareList
    this.#automaton.advance(list, this.#after, symbol, start, next, report, begins)
    this.#after = this.#automaton.afterSymbol(symbol)
    this.#spareList = list
    this.#list = next
  }

  #applyTransition({ sources, found }: Transition, start: number, report: ReportMatch): void {
    const begins = this.#begins
    for (const { expression, source, inclusive } of found) {
      report(expression, source === NEW ? start : begins[source]!, inclusive)
    }
    const count = sources.length
    if (count > this.#spare.length) this.#spare = new Int32Array(2 * count)
    const next = this.#spare
    for (let index = 0; index < count; index++) {
      const source = sources[index]!
      next[index] = source === NEW ? start : begins[source]!
    }
    this.#spare = begins
    this.#begins = next
  }

  #stopCaching(): void {
    const list = new ThreadList()
    this.#set.threads.forEach((thread, index) => {
      list.add(thread, this.#begins[index]!)
    })
    this.#list = list
    this.#after = this.#set.after
  }
}
