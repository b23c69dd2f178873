// Runs all expressions side by side over one text as a set of threads, each tagged with its start,
// one character at a time (Thompson 1968, Pike 1987). Transitions between sets of threads are
// cached, as in RE2's lazy DFA. Takes time linear in the text for any expressions.

import { isBoundary, NO_WORD } from '../word-kind.ts'
import { Alphabet, type ClassTraits } from './alphabet.ts'
import { ASSERT, assemble, type FlatProgram, MATCH, SPLIT, TAKE } from './flat-program.ts'
import {
  AT_LINE_END,
  AT_LINE_START,
  AT_TEXT_END,
  AT_TEXT_START,
  AT_WORD_BOUNDARY,
  NOT_AT_WORD_BOUNDARY,
  type Program,
} from './instructions.ts'

/** Maximum thread sets in the cache. With more, the cache starts over. */
const MAXIMUM_CACHED_SETS = 2000

/** Maximum threads in all cached sets, 12 bytes each with their sources. */
const MAXIMUM_CACHED_THREADS = 500_000

/** The kind of character before the threads, which assertions look back at. */
const AFTER_NOTHING = 0
const AFTER_LINE_FEED = 1
/** Added to the word kind of any other character. */
const AFTER_CHARACTER = 1

/** Marks are 32-bit integers. */
const MAXIMUM_MARK = 2 ** 31 - 1

/** Source of a thread that begins at this character. */
export const NEW = -1

/** Threads that wait for the next character, ordered by their starts. */
export interface ThreadSet {
  readonly threads: Int32Array
  readonly after: number
  /**
   * Transitions computed so far by class of the next character; none after the cache has started
   * over.
   */
  readonly transitions: (Transition | undefined)[]
  /** The same where no expression begins at the next character; null without any. */
  continuations: (Transition | undefined)[] | null
  /** The same object for all sets cached together. */
  readonly generation: object
}

/** The effect of one character class on a set of threads. */
export interface Transition {
  readonly target: ThreadSet
  /** By thread of the target: the index in the old set of the thread it comes from, or NEW. */
  readonly sources: Int32Array
  readonly found: readonly FoundMatch[]
  /** Nothing to carry along and nothing found, as in nearly all transitions. */
  readonly idle: boolean
}

interface FoundMatch {
  readonly expression: number
  /** Like `sources`, for the earliest thread that matches. */
  readonly source: number
  readonly inclusive: boolean
}

/** Threads that fit before the arrays grow. */
const INITIAL_CAPACITY = 16

/** A growing list of threads with their tags: the index of their source, or their start. */
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

/**
 * Receives an expression that matches and the tag of its earliest matching thread. `inclusive`
 * tells whether the match includes the character just taken. May be called again for an expression
 * that continues to match.
 */
export type ReportMatch = (expression: number, tag: number, inclusive: boolean) => void

export class ExpressionAutomaton {
  readonly alphabet: Alphabet
  readonly #program: FlatProgram
  readonly #starts: readonly number[]
  /** By instruction: the mark of the last step that reached it before, and after, its character. */
  readonly #seenBefore: Int32Array
  readonly #seenAfter: Int32Array
  #mark = 0
  readonly #pendingBefore: number[] = []
  readonly #pendingAfter: number[] = []
  #sets = new Map<string, ThreadSet>()
  /** The sets without threads, by the kind of the character before. */
  readonly #begins: (ThreadSet | undefined)[] = []
  #generation: object = {}
  #cachedThreads = 0

  constructor(programs: readonly Program[]) {
    const { program, starts, sets, asserted } = assemble(programs)
    this.#program = program
    this.#starts = starts
    this.alphabet = new Alphabet(sets, (asserted & (AT_WORD_BOUNDARY | NOT_AT_WORD_BOUNDARY)) !== 0)
    this.#seenBefore = new Int32Array(program.kind.length)
    this.#seenAfter = new Int32Array(program.kind.length)
  }

  /** @param after the kind of the character before the first; by default the text begins */
  begin(after = AFTER_NOTHING): ThreadSet {
    const known = this.#begins[after]
    if (known?.generation === this.#generation) return known
    const set = this.#cacheSet(new ThreadList(), after)
    this.#begins[after] = set
    return set
  }

  /** Returns the expression that a thread belongs to. */
  expressionOf(thread: number): number {
    return this.#program.expression[thread]!
  }

  /** Returns the kind of a character class, for the assertions after it. */
  afterSymbol(symbol: number): number {
    const traits = this.alphabet.traits[symbol]
    if (traits?.lineFeed === true) return AFTER_LINE_FEED
    return AFTER_CHARACTER + (traits?.wordKind ?? NO_WORD)
  }

  /**
   * Takes one character. The threads of `from` continue in `to`, which is emptied first, ordered by
   * their starts.
   * @param after the kind of the character before
   * @param symbol a class of the alphabet, or its size for the end of the text
   * @param newTag the tag of threads that begin here
   * @param begins whether every expression also begins here
   */
  advance(
    from: ThreadList,
    after: number,
    symbol: number,
    newTag: number,
    to: ThreadList,
    report: ReportMatch,
    begins = true,
  ): void {
    const granted = assertions(after, this.alphabet.traits[symbol])
    const members = this.alphabet.setsOf(symbol)
    to.count = 0
    this.#nextMark()
    for (let index = 0; index < from.count; index++) {
      this.#runUntilTake(from.threads[index]!, granted, from.tags[index]!, members, to, report)
    }
    if (!begins) return
    for (const start of this.#starts) this.#runUntilTake(start, granted, newTag, members, to, report)
  }

  /**
   * Returns the effect of a character class on a set of threads, and caches it while the set is
   * cached.
   * @param begins whether every expression also begins here
   */
  computeTransition(from: ThreadSet, symbol: number, begins = true): Transition {
    const list = new ThreadList()
    from.threads.forEach((thread, index) => {
      list.add(thread, index)
    })
    const found = new Map<string, FoundMatch>()
    const to = new ThreadList()
    const note: ReportMatch = (expression, source, inclusive) => {
      const key = `${expression} ${inclusive}`
      if (!found.has(key)) found.set(key, { expression, source, inclusive })
    }
    this.advance(list, from.after, symbol, NEW, to, note, begins)
    const target = this.#cacheSet(to, this.afterSymbol(symbol))
    const transition = {
      target,
      sources: to.tags.slice(0, to.count),
      found: [...found.values()],
      idle: to.count === 0 && found.size === 0,
    }
    // A set from before the cache started over gets no transitions: its holder would keep every
    // later set alive.
    if (from.generation === this.#generation) {
      this.#cachedThreads += to.count
      if (!begins) from.continuations ??= new Array(this.alphabet.size + 1).fill(undefined)
      const known = begins ? from.transitions : from.continuations!
      known[symbol] = transition
    }
    return transition
  }

  #nextMark(): void {
    if (this.#mark === MAXIMUM_MARK) {
      this.#seenBefore.fill(0)
      this.#seenAfter.fill(0)
      this.#mark = 0
    }
    this.#mark++
  }

  /**
   * Runs one thread up to the instructions that take the character, and past them if the character
   * is in their set.
   */
  #runUntilTake(
    from: number,
    granted: number,
    tag: number,
    members: Uint8Array,
    to: ThreadList,
    report: ReportMatch,
  ): void {
    const { kind, first, second, expression } = this.#program
    const seen = this.#seenBefore
    const mark = this.#mark
    const pending = this.#pendingBefore
    for (let at: number | undefined = from; at !== undefined; at = pending.pop()) {
      if (seen[at] === mark) continue
      seen[at] = mark
      const kindAt = kind[at]
      if (kindAt === TAKE) {
        if (members[second[at]!] === 1) this.#wait(first[at]!, tag, to, report)
      } else if (kindAt === SPLIT) pending.push(second[at]!, first[at]!)
      else if (kindAt === ASSERT && (second[at]! & ~granted) === 0) pending.push(first[at]!)
      else if (kindAt === MATCH) report(expression[at]!, tag, false)
    }
  }

  /** Adds the instructions at which a thread waits after taking a character. */
  #wait(from: number, tag: number, to: ThreadList, report: ReportMatch): void {
    const { kind, first, second, expression } = this.#program
    const seen = this.#seenAfter
    const mark = this.#mark
    const pending = this.#pendingAfter
    for (let at: number | undefined = from; at !== undefined; at = pending.pop()) {
      if (seen[at] === mark) continue
      seen[at] = mark
      const kindAt = kind[at]
      // An assertion waits, too: it depends on the next character.
      if (kindAt === TAKE || kindAt === ASSERT) to.add(at, tag)
      else if (kindAt === SPLIT) pending.push(second[at]!, first[at]!)
      else if (kindAt === MATCH) report(expression[at]!, tag, true)
    }
  }

  #cacheSet(list: ThreadList, after: number): ThreadSet {
    const threads = list.threads.slice(0, list.count)
    const key = `${after}:${threads.join()}`
    const cached = this.#sets.get(key)
    if (cached !== undefined) return cached
    if (this.#sets.size >= MAXIMUM_CACHED_SETS || this.#cachedThreads > MAXIMUM_CACHED_THREADS) {
      for (const set of this.#sets.values()) {
        set.transitions.fill(undefined)
        set.continuations = null
      }
      this.#sets = new Map()
      this.#generation = {}
      this.#cachedThreads = 0
    }
    const transitions = new Array(this.alphabet.size + 1).fill(undefined)
    const generation = this.#generation
    const set: ThreadSet = { threads, after, transitions, continuations: null, generation }
    this.#cachedThreads += threads.length
    this.#sets.set(key, set)
    return set
  }
}

/** Returns the assertions that hold between two characters. Without a next one the text ends. */
function assertions(after: number, next: ClassTraits | undefined): number {
  let granted = 0
  if (after === AFTER_NOTHING) granted |= AT_TEXT_START | AT_LINE_START
  if (after === AFTER_LINE_FEED) granted |= AT_LINE_START
  if (next === undefined) granted |= AT_TEXT_END | AT_LINE_END
  if (next?.lineFeed === true) granted |= AT_LINE_END
  const before = after > AFTER_CHARACTER ? after - AFTER_CHARACTER : NO_WORD
  const boundary = isBoundary(before, next?.wordKind ?? NO_WORD)
  return granted | (boundary ? AT_WORD_BOUNDARY : NOT_AT_WORD_BOUNDARY)
}
