// Finds a selection of the index's patterns in whole and in growing texts. A growing text gives the
// hits of the whole one, however it is cut into chunks.

import { atOnce, STEP_UNITS, type Steps } from '../core/steps.ts'
import type { KeywordIndex } from './pattern-index.ts'
import type { TouchingText } from './prefilter/joined-texts.ts'
import { type KeywordHit, type SearchPlan, StreamSearch } from './stream-search.ts'

export type { KeywordHit } from './stream-search.ts'

export interface KeywordMatcher {
  /** The patterns that occur in the text, each once, in pattern order. Linear in the text. */
  match(text: string): KeywordHit[]
  /** As `match`, in steps. */
  matchSteps(text: string): Steps<KeywordHit[]>
  /**
   * False when no pattern occurs in any text, nor across adjacent texts joined by nothing or by a
   * space; true when one may. One pass over each text.
   */
  mayMatchJoined(texts: readonly TouchingText[]): Steps<boolean>
  /**
   * Searches a text that grows. Finds what `match` finds in the whole text, in the order of
   * decision.
   */
  stream(): KeywordStream
}

export interface KeywordStream {
  push(chunk: string): KeywordHit[]
  finish(): KeywordHit[]
  /**
   * UTF-16 offset before which no holding pattern can still begin: text before it may leave. Never
   * decreases.
   */
  readonly safe: number
}

/** The patterns to search for, by pattern index. */
export interface PatternSelection {
  readonly active: readonly boolean[]
  /** Active patterns whose possible matches hold text back in a stream. */
  readonly holding: readonly boolean[]
}

/** Returns the matcher for the active patterns of an index; null when there are none. */
export const keywordMatcher = (index: KeywordIndex, selection: PatternSelection): KeywordMatcher | null =>
  selection.active.includes(true) ? new Matcher(index, selection) : null

class Matcher implements KeywordMatcher, SearchPlan {
  readonly index: KeywordIndex
  readonly active: readonly boolean[]
  readonly activeCount: number
  readonly holding: readonly boolean[]
  readonly holdsText: boolean
  readonly pendingDepths: Uint16Array | null
  readonly firstAscii: Uint8Array

  constructor(index: KeywordIndex, { active, holding }: PatternSelection) {
    this.index = index
    this.active = active
    this.activeCount = active.filter(Boolean).length
    this.holding = holding
    this.holdsText = holding.includes(true)
    const isHolding = (pattern: number) => holding[pattern] === true
    this.pendingDepths = index.words?.pendingDepths((word) => isHolding(index.wordPatterns[word]!)) ?? null
    this.firstAscii = index.firstAscii(isHolding)
  }

  match(text: string): KeywordHit[] {
    return atOnce(this.matchSteps(text))
  }

  *matchSteps(text: string): Steps<KeywordHit[]> {
    // Nearly every text has no keyword, and the prefilter says so ten times as fast as the search.
    const { index } = this
    // Nearly all texts are short. A generator would cost more than the test itself.
    const isShort = text.length <= STEP_UNITS
    if (!(isShort ? index.mayMatch(text) : yield* index.mayMatchSteps(text))) return []
    const search = new StreamSearch(this)
    const hits: KeywordHit[] = []
    for (let at = 0; at < text.length && !search.complete; at += STEP_UNITS) {
      if (at > 0) yield
      hits.push(...search.push(text.slice(at, at + STEP_UNITS)))
    }
    hits.push(...search.finish())
    return hits.sort((a, b) => a.pattern - b.pattern)
  }

  mayMatchJoined(texts: readonly TouchingText[]): Steps<boolean> {
    return this.index.mayMatchJoined(texts)
  }

  stream(): KeywordStream {
    return new StreamSearch(this)
  }
}
