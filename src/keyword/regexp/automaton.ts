// All expressions of a rule set run side by side over one text: a set of threads, each with the place it began at,
// advanced a character at a time (Thompson 1968, Pike 1987). What one character does to a set of threads can be
// worked out once and remembered, as RE2's lazy DFA does. Linear in the text, whatever the expressions.

import { Alphabet, type ClassTraits } from './alphabet.ts'
import {
  ASSERT,
  AT_LINE_END,
  AT_LINE_START,
  AT_TEXT_END,
  AT_TEXT_START,
  AT_WORD_BOUNDARY,
  assemble,
  type Code,
  MATCH,
  NOT_AT_WORD_BOUNDARY,
  type Program,
  SPLIT,
  TAKE,
} from './instructions.ts'

/** Thread sets that are remembered; when they are more, remembering starts over. */
const MAX_STATES = 2000

/** Threads in all remembered sets together, 12 bytes each with their sources. */
const MAX_REMEMBERED_THREADS = 500_000

/** The kind of character before the threads: what the assertions look back at. */
const AFTER_NOTHING = 0
const AFTER_LINE_FEED = 1
const AFTER_WORD = 2
const AFTER_OTHER = 3

/** Marks are kept as 32-bit integers. */
const MAX_MARK = 2 ** 31 - 1

/** Tag of a thread that begins here and now, in place of the one it comes from. */
export const NEW = -1

/** Threads that wait for the next character, in the order in which they began. */
export interface ThreadSet {
  readonly threads: Int32Array
  readonly after: number
  /** By class of the next character, what has been worked out so far; nothing once remembering has started over. */
  readonly steps: (Step | undefined)[]
  /** Sets that are remembered together have the same. */
  readonly generation: object
}

/** What one class of characters does to a set of threads. */
export interface Step {
  readonly target: ThreadSet
  /** For every thread of the target the place in the old set of the one it comes from, or NEW. */
  readonly sources: Int32Array
  readonly found: readonly Found[]
  /** Nothing to carry along and nothing found: nearly all steps. */
  readonly idle: boolean
}

interface Found {
  readonly expression: number
  /** As in a step's sources, of the earliest thread that matches. */
  readonly source: number
  readonly inclusive: boolean
}

/**
 * Called with an expression that matches and the tag of its earliest matching thread; `inclusive` says whether the
 * match ends with the character just taken or before it. May be called again for one that goes on matching.
 */
export type ReportMatch = (expression: number, tag: number, inclusive: boolean) => void

export class ExpressionAutomaton {
  readonly alphabet: Alphabet
  readonly #code: Code
  readonly #starts: readonly number[]
  /** Instructions that this step has reached before its character, and after it, bear its mark. */
  readonly #seenBefore: Int32Array
  readonly #seenAfter: Int32Array
  #mark = 0
  readonly #pendingBefore: number[] = []
  readonly #pendingAfter: number[] = []
  #states = new Map<string, ThreadSet>()
  #generation: object = {}
  #remembered = 0

  constructor(programs: readonly Program[]) {
    const { code, starts, sets } = assemble(programs)
    this.#code = code
    this.#starts = starts
    this.alphabet = new Alphabet(sets)
    this.#seenBefore = new Int32Array(code.kind.length)
    this.#seenAfter = new Int32Array(code.kind.length)
  }

  begin(): ThreadSet {
    return this.#remember(new ThreadList(), AFTER_NOTHING)
  }

  /** The expression a thread belongs to. */
  expressionOf(thread: number): number {
    return this.#code.expression[thread]!
  }

  /** What the assertions after a character of this class look back at. */
  afterSymbol(symbol: number): number {
    const traits = this.alphabet.traits[symbol]
    if (traits?.lineFeed === true) return AFTER_LINE_FEED
    return traits?.word === true ? AFTER_WORD : AFTER_OTHER
  }

  /**
   * Takes one character: the threads of `from` go on into `to`, which is emptied first, in the order in which they
   * began; every expression also begins anew here.
   * @param after what stands before the character
   * @param symbol a class of the alphabet, or its size for the end of the text
   * @param newTag for threads that begin here
   */
  advance(
    from: ThreadList,
    after: number,
    symbol: number,
    newTag: number,
    to: ThreadList,
    report: ReportMatch,
  ): void {
    const granted = assertions(after, this.alphabet.traits[symbol])
    const members = this.alphabet.setsOf(symbol)
    to.count = 0
    this.#nextMark()
    for (let place = 0; place < from.count; place++) {
      this.#proceed(from.threads[place]!, granted, from.tags[place]!, members, to, report)
    }
    for (const start of this.#starts) this.#proceed(start, granted, newTag, members, to, report)
  }

  /** What that does to a set of threads; remembered from now on, as long as the set is. */
  workOut(from: ThreadSet, symbol: number): Step {
    const list = new ThreadList()
    from.threads.forEach((thread, place) => {
      list.add(thread, place)
    })
    const found = new Map<string, Found>()
    const to = new ThreadList()
    this.advance(list, from.after, symbol, NEW, to, (expression, source, inclusive) => {
      const key = `${expression} ${inclusive}`
      if (!found.has(key)) found.set(key, { expression, source, inclusive })
    })
    const target = this.#remember(to, this.afterSymbol(symbol))
    const step = {
      target,
      sources: to.tags.slice(0, to.count),
      found: [...found.values()],
      idle: to.count === 0 && found.size === 0,
    }
    // From a set of before nothing leads on: whoever still has that would keep all that comes after it.
    if (from.generation === this.#generation) {
      this.#remembered += to.count
      from.steps[symbol] = step
    }
    return step
  }

  #nextMark(): void {
    if (this.#mark === MAX_MARK) {
      this.#seenBefore.fill(0)
      this.#seenAfter.fill(0)
      this.#mark = 0
    }
    this.#mark++
  }

  /** One thread, up to the instructions that take the character, and over them if it is in their set. */
  #proceed(
    from: number,
    granted: number,
    tag: number,
    members: Uint8Array,
    to: ThreadList,
    report: ReportMatch,
  ): void {
    const { kind, first, second, expression } = this.#code
    const seen = this.#seenBefore
    const mark = this.#mark
    const pending = this.#pendingBefore
    for (let at: number | undefined = from; at !== undefined; at = pending.pop()) {
      if (seen[at] === mark) continue
      seen[at] = mark
      const what = kind[at]
      if (what === TAKE) {
        if (members[second[at]!] === 1) this.#arrive(first[at]!, tag, to, report)
      } else if (what === SPLIT) pending.push(second[at]!, first[at]!)
      else if (what === ASSERT && (second[at]! & ~granted) === 0) pending.push(first[at]!)
      else if (what === MATCH) report(expression[at]!, tag, false)
    }
  }

  /** Adds the instructions at which a thread waits that has just taken a character. */
  #arrive(from: number, tag: number, to: ThreadList, report: ReportMatch): void {
    const { kind, first, second, expression } = this.#code
    const seen = this.#seenAfter
    const mark = this.#mark
    const pending = this.#pendingAfter
    for (let at: number | undefined = from; at !== undefined; at = pending.pop()) {
      if (seen[at] === mark) continue
      seen[at] = mark
      const what = kind[at]
      // An assertion waits too: it needs to know what comes next.
      if (what === TAKE || what === ASSERT) to.add(at, tag)
      else if (what === SPLIT) pending.push(second[at]!, first[at]!)
      else if (what === MATCH) report(expression[at]!, tag, true)
    }
  }

  #remember(list: ThreadList, after: number): ThreadSet {
    const threads = list.threads.slice(0, list.count)
    const key = `${after}:${threads.join()}`
    const known = this.#states.get(key)
    if (known !== undefined) return known
    if (this.#states.size >= MAX_STATES || this.#remembered > MAX_REMEMBERED_THREADS) {
      for (const { steps } of this.#states.values()) steps.fill(undefined)
      this.#states = new Map()
      this.#generation = {}
      this.#remembered = 0
    }
    const steps = new Array(this.alphabet.size + 1).fill(undefined)
    const set = { threads, after, steps, generation: this.#generation }
    this.#remembered += threads.length
    this.#states.set(key, set)
    return set
  }
}

/** The assertions that hold between two characters; no next one means the end of the text. */
function assertions(after: number, next: ClassTraits | undefined): number {
  let granted = 0
  if (after === AFTER_NOTHING) granted |= AT_TEXT_START | AT_LINE_START
  if (after === AFTER_LINE_FEED) granted |= AT_LINE_START
  if (next === undefined) granted |= AT_TEXT_END | AT_LINE_END
  if (next?.lineFeed === true) granted |= AT_LINE_END
  const boundary = (after === AFTER_WORD) !== (next?.word === true)
  return granted | (boundary ? AT_WORD_BOUNDARY : NOT_AT_WORD_BOUNDARY)
}

/** Threads that have room before the arrays grow. */
const INITIAL_CAPACITY = 16

export class ThreadList {
  threads = new Int32Array(INITIAL_CAPACITY)
  tags = new Int32Array(INITIAL_CAPACITY)
  count = 0

  add(thread: number, tag: number): void {
    if (this.count === this.threads.length) this.#grow()
    this.threads[this.count] = thread
    this.tags[this.count++] = tag
  }

  #grow(): void {
    const threads = new Int32Array(2 * this.count)
    const tags = new Int32Array(2 * this.count)
    threads.set(this.threads)
    tags.set(this.tags)
    this.threads = threads
    this.tags = tags
  }
}
