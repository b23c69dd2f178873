// Finds the matches of many patterns in whole and growing texts. One automaton for all patterns
// passes over the text, and those of single patterns run only where one may match.

import { STEP_UNITS, type Steps } from '../../core/steps.ts'
import { Normaliser } from '../normalise.ts'
import { KeywordIndex } from '../pattern-index.ts'
import { ExpressionCursor } from '../regexp/cursor.ts'
import { RecentCharacters } from './recent-characters.ts'
import { CompiledPattern, type MatchSpan, SpanFinder, type SpanPattern } from './span-finder.ts'

/** A match. */
export interface PatternSpan extends MatchSpan {
  /** Index of the pattern. */
  readonly pattern: number
}

/** Patterns, compiled once for every selection of them. */
export class SpanIndex {
  readonly keywords: KeywordIndex
  readonly patterns: readonly CompiledPattern[]

  constructor(patterns: readonly SpanPattern[]) {
    this.keywords = new KeywordIndex(patterns.map(({ programs }) => ({ words: [], programs })))
    this.patterns = patterns.map((pattern) => new CompiledPattern(pattern))
  }

  /** Returns the searcher for some of the patterns; null for none. */
  select(active: readonly boolean[]): SpanSearcher | null {
    return active.includes(true) ? new SpanSearcher(this, active) : null
  }
}

/** Searches texts for the active patterns of an index. */
export class SpanSearcher {
  readonly #index: SpanIndex
  readonly #active: readonly boolean[]
  readonly #firstAscii: Uint8Array

  constructor(index: SpanIndex, active: readonly boolean[]) {
    this.#index = index
    this.#active = active
    this.#firstAscii = index.keywords.firstAscii((pattern) => active[pattern] === true)
  }

  /** Returns the matches in a text: those of each pattern in order. */
  *find(text: string): Steps<PatternSpan[]> {
    const { keywords } = this.#index
    // Nearly all texts are short. A generator would cost more than the test itself.
    const isShort = text.length <= STEP_UNITS
    if (!(isShort ? keywords.mayMatch(text) : yield* keywords.mayMatchSteps(text))) return []
    const search = this.stream()
    const found: PatternSpan[] = []
    for (let at = 0; at < text.length; at += STEP_UNITS) {
      if (at > 0) yield
      for (const span of search.push(text.slice(at, at + STEP_UNITS))) found.push(span)
    }
    for (const span of search.finish()) found.push(span)
    return found
  }

  /** Searches a text that grows; finds what `find` finds in the whole. */
  stream(): SpanStream {
    return new SpanStream(this.#index, this.#active, this.#firstAscii)
  }
}

export class SpanStream {
  readonly #index: SpanIndex
  readonly #active: readonly boolean[]
  readonly #firstAscii: Uint8Array
  readonly #normaliser: Normaliser
  readonly #known = new RecentCharacters()
  readonly #all: ExpressionCursor
  /** By pattern; created when it may match for the first time. */
  readonly #finders: (SpanFinder | undefined)[] = []
  #awake: SpanFinder[] = []
  #found: PatternSpan[] = []
  #safe = 0

  constructor(index: SpanIndex, active: readonly boolean[], firstAscii: Uint8Array) {
    this.#index = index
    this.#active = active
    this.#firstAscii = firstAscii
    this.#normaliser = new Normaliser(this)
    this.#all = new ExpressionCursor(index.keywords.expressions!)
  }

  /** Takes a chunk and returns the matches that have become final. */
  push(chunk: string): PatternSpan[] {
    this.#normaliser.push(chunk)
    for (const finder of this.#awake) finder.read(this.#normaliser.pendingStart)
    this.#sleep()
    return this.#takeFound()
  }

  /** Ends the text. */
  finish(): PatternSpan[] {
    this.#normaliser.finish()
    this.#all.finish(this.#wakeExpression)
    for (const finder of this.#awake) finder.finish(this.#normaliser.offset)
    this.#awake = []
    return this.#takeFound()
  }

  /**
   * UTF-16 offset before which all matches are final and none can still begin. Never decreases.
   */
  get safe(): number {
    const { offset, pendingStart, pendingAscii } = this.#normaliser
    let safe = pendingAscii >= 0 && this.#firstAscii[pendingAscii] === 0 ? offset : pendingStart
    for (const finder of this.#awake) safe = Math.min(safe, finder.safe(offset))
    this.#safe = Math.max(this.#safe, safe)
    return this.#safe
  }

  /** Takes one normalised character from the normaliser. */
  take(plain: number, folded: number, start: number, end: number): void {
    this.#known.add(plain, folded, start, end, this.#normaliser.offset)
    const number = this.#known.count - 1
    this.#all.take(plain, folded, number, this.#wakeExpression)
    if (this.#awake.length === 0 && this.#all.isIdle) return
    this.#all.eachBegun(number, this.#wakeExpression)
    for (const finder of this.#awake) finder.read(end)
    this.#sleep()
  }

  /**
   * Wakes the finder of an expression that a match may begin of. It reads on until no expression
   * is under way: in the automaton of all, a match that overlaps one that was found may hide the
   * beginning of the next.
   */
  readonly #wakeExpression = (expression: number): void => {
    const pattern = this.#index.keywords.programPatterns[expression]!
    if (this.#active[pattern] !== true) return
    let finder = this.#finders[pattern]
    if (finder === undefined) {
      finder = new SpanFinder(this.#index.patterns[pattern]!, this.#known, (span) =>
        this.#found.push({ ...span, pattern }),
      )
      this.#finders[pattern] = finder
    } else if (this.#awake.includes(finder)) return
    finder.wake()
    this.#awake.push(finder)
  }

  #sleep(): void {
    if (this.#awake.length > 0 && this.#all.isIdle)
      this.#awake = this.#awake.filter((finder) => !finder.isIdle)
  }

  #takeFound(): PatternSpan[] {
    const found = this.#found
    this.#found = []
    return found
  }
}
