// Finds the matches of many patterns in whole and growing texts. One automaton for all patterns
// passes over the text, and those of single patterns run only where one may match.

import { STEP_UNITS, type Steps } from '../../core/steps.ts'
import { Normaliser } from '../normalise.ts'
import { KeywordIndex } from '../pattern-index.ts'
import { ExpressionCursor } from '../regexp/cursor.ts'
import { RecentCharacters } from './recent-characters.ts'
import { CompiledPattern, type MatchSpan, SpanFinder, type SpanPattern, shareOf } from './span-finder.ts'

/** Maximum text that is searched before the work is looked at, UTF-16 units. */
const MAXIMUM_SLICE_UNITS = 1024
const FIRST_SLICE_UNITS = 64
/** Work of one slice: less than a millisecond, ten where no state is cached yet. */
const SLICE_WORK = 32_768
/** Work of one step. */
const STEP_WORK = 131_072

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
    return active.includes(true) ? new IndexSearcher(this, active) : null
  }
}

/** Finds the matches of patterns in a growing text. */
export interface SpanStream {
  /** Takes a chunk and returns the matches that have become final. */
  push(chunk: string): PatternSpan[]
  /** Ends the text. */
  finish(): PatternSpan[]
  /**
   * UTF-16 offset before which all matches are final and none can still begin. Never decreases.
   */
  readonly safe: number
  /** Work done so far: threads that took a character, and characters that were checked. */
  readonly work: number
}

/** Searches whole and growing texts. */
export interface SpanSearcher {
  /** Returns the matches in a text: those of each pattern in order. */
  find(text: string): Steps<PatternSpan[]>
  /** Searches a text that grows; finds what `find` finds in the whole. */
  stream(): SpanStream
}

/** Searches a whole text as one that grows, in steps. */
export function* findInStream(search: SpanStream, text: string): Steps<PatternSpan[]> {
  const found: PatternSpan[] = []
  let pause = STEP_WORK
  let units = FIRST_SLICE_UNITS
  for (let at = 0; at < text.length; ) {
    const before = search.work
    if (before > pause) {
      yield
      pause = before + STEP_WORK
    }
    for (const span of search.push(text.slice(at, at + units))) found.push(span)
    at += units
    const slices = SLICE_WORK / Math.max(1, search.work - before)
    units = Math.max(1, Math.min(MAXIMUM_SLICE_UNITS, Math.floor(units * slices)))
  }
  for (const span of search.finish()) found.push(span)
  return found
}

/** Searches texts for the active patterns of an index. */
class IndexSearcher implements SpanSearcher {
  readonly #index: SpanIndex
  readonly #active: readonly boolean[]
  readonly #firstAscii: Uint8Array
  readonly #share: number

  constructor(index: SpanIndex, active: readonly boolean[]) {
    this.#index = index
    this.#active = active
    this.#firstAscii = index.keywords.firstAscii((pattern) => active[pattern] === true)
    this.#share = shareOf(active.filter(Boolean).length)
  }

  *find(text: string): Steps<PatternSpan[]> {
    const { keywords } = this.#index
    // Nearly all texts are short. A generator would cost more than the test itself.
    const isShort = text.length <= STEP_UNITS
    if (!(isShort ? keywords.mayMatch(text) : yield* keywords.mayMatchSteps(text))) return []
    return yield* findInStream(this.stream(), text)
  }

  stream(): SpanStream {
    return new IndexStream(this.#index, this.#active, this.#firstAscii, this.#share)
  }
}

class IndexStream implements SpanStream {
  readonly #index: SpanIndex
  readonly #active: readonly boolean[]
  readonly #firstAscii: Uint8Array
  readonly #share: number
  readonly #normaliser: Normaliser
  readonly #known = new RecentCharacters()
  readonly #all: ExpressionCursor
  /** By pattern; created when it may match for the first time. */
  readonly #finders: (SpanFinder | undefined)[] = []
  #awake: { readonly finder: SpanFinder; readonly pattern: number }[] = []
  /** By pattern. */
  readonly #isAwake: Uint8Array
  #found: PatternSpan[] = []
  #safe = 0
  #work = 0

  constructor(index: SpanIndex, active: readonly boolean[], firstAscii: Uint8Array, share: number) {
    this.#index = index
    this.#active = active
    this.#firstAscii = firstAscii
    this.#share = share
    this.#isAwake = new Uint8Array(active.length)
    this.#normaliser = new Normaliser(this)
    this.#all = new ExpressionCursor(index.keywords.expressions!)
  }

  push(chunk: string): PatternSpan[] {
    this.#normaliser.push(chunk)
    for (const { finder } of this.#awake) finder.read(this.#normaliser.pendingStart)
    this.#sleep()
    return this.#takeFound()
  }

  finish(): PatternSpan[] {
    this.#normaliser.finish()
    this.#all.finish(this.#wakeExpression)
    for (const { finder } of this.#awake) finder.finish(this.#normaliser.offset)
    this.#awake = []
    return this.#takeFound()
  }

  get safe(): number {
    const { offset, pendingStart, pendingAscii } = this.#normaliser
    let safe = pendingAscii >= 0 && this.#firstAscii[pendingAscii] === 0 ? offset : pendingStart
    for (const { finder } of this.#awake) safe = Math.min(safe, finder.safe(offset))
    this.#safe = Math.max(this.#safe, safe)
    return this.#safe
  }

  get work(): number {
    return this.#finders.reduce((work, finder) => work + (finder?.work ?? 0), this.#work)
  }

  /** Takes one normalised character from the normaliser. */
  take(plain: number, folded: number, start: number, end: number): void {
    this.#known.add(plain, folded, start, end, this.#normaliser.offset)
    const number = this.#known.count - 1
    this.#work += Math.max(1, this.#all.threadCount)
    this.#all.take(plain, folded, number, this.#wakeExpression)
    if (this.#awake.length === 0 && this.#all.isIdle) return
    this.#all.eachBegun(number, this.#wakeExpression)
    for (const { finder } of this.#awake) finder.read(end)
    this.#sleep()
  }

  /**
   * Wakes the finder of an expression that a match may begin of. It reads on until no expression
   * is under way: in the automaton of all, a match that overlaps one that was found may hide the
   * beginning of the next.
   */
  readonly #wakeExpression = (expression: number): void => {
    const pattern = this.#index.keywords.programPatterns[expression]!
    if (this.#isAwake[pattern] === 1 || this.#active[pattern] !== true) return
    let finder = this.#finders[pattern]
    if (finder === undefined) {
      finder = new SpanFinder(this.#index.patterns[pattern]!, this.#known, this.#share, (span) =>
        this.#found.push({ ...span, pattern }),
      )
      this.#finders[pattern] = finder
    }
    finder.wake()
    this.#awake.push({ finder, pattern })
    this.#isAwake[pattern] = 1
  }

  #sleep(): void {
    if (this.#awake.length === 0 || !this.#all.isIdle) return
    this.#awake = this.#awake.filter(({ finder, pattern }) => {
      if (finder.isIdle) this.#isAwake[pattern] = 0
      return !finder.isIdle
    })
  }

  #takeFound(): PatternSpan[] {
    const found = this.#found
    this.#found = []
    return found
  }
}
