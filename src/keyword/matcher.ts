// Keyword rules applied to text, all at once. A growing text gives the hits of the whole one, however it is cut.

import { atOnce, STEP_UNITS, type Steps } from '../core/steps.ts'
import type { RuleReference } from '../policy/rule.ts'
import type { KeywordIndex } from './pattern-index.ts'
import type { TouchingText } from './prefilter/joined-texts.ts'
import { type KeywordHit, type SearchPlan, StreamSearch } from './stream-search.ts'

export type { KeywordHit } from './stream-search.ts'

export interface KeywordMatcher {
  /** Rules whose pattern occurs in the text, each once, in rule order. Linear in the text. */
  match(text: string): KeywordHit[]
  /** As `match`, in steps. */
  matchSteps(text: string): Steps<KeywordHit[]>
  /**
   * False when `match` finds nothing in any of the texts, nor in those that touch joined, with nothing or with a space
   * between them; true when it may. One pass over each text.
   */
  mayMatchJoined(texts: readonly TouchingText[]): Steps<boolean>
  /** For a text that grows: the same hits as `match` on the whole, in the order in which they are decided. */
  stream(): KeywordStream
  /** Whether some rule has the action `block`. */
  readonly blocking: boolean
}

export interface KeywordStream {
  push(chunk: string): KeywordHit[]
  finish(): KeywordHit[]
  /** UTF-16 offset before which no blocking match can still begin: text before it may leave. Never moves back. */
  readonly safe: number
}

/** The matcher for some of an index's rules, null for none of them. */
export function keywordMatcher(
  index: KeywordIndex,
  chosen: ReadonlySet<RuleReference>,
): KeywordMatcher | null {
  const active = index.rules.map((rule) => chosen.has(rule))
  return active.includes(true) ? new Matcher(index, active) : null
}

class Matcher implements KeywordMatcher, SearchPlan {
  readonly index: KeywordIndex
  /** By rule: whether it is looked for. */
  readonly active: readonly boolean[]
  readonly activeCount: number
  readonly blocking: boolean
  /** By state of the word automaton: how much of the text may begin a word of a blocking rule. */
  readonly pendingDepths: Uint16Array | null
  readonly firstAscii: Uint8Array

  constructor(index: KeywordIndex, active: readonly boolean[]) {
    this.index = index
    this.active = active
    this.activeCount = active.filter(Boolean).length
    const blocks = (rule: number) => this.blocks(rule)
    this.blocking = active.some((_, rule) => blocks(rule))
    this.pendingDepths = index.words?.pendingDepths((word) => blocks(index.wordRules[word]!)) ?? null
    this.firstAscii = index.firstAscii(blocks)
  }

  blocks(rule: number): boolean {
    return this.active[rule] === true && this.index.rules[rule]!.action === 'block'
  }

  match(text: string): KeywordHit[] {
    return atOnce(this.matchSteps(text))
  }

  *matchSteps(text: string): Steps<KeywordHit[]> {
    // Nearly every text is without a keyword, which is told ten times as fast where its characters stand for themselves.
    const { index } = this
    // Short texts, which nearly all are, without a generator.
    const isShort = text.length <= STEP_UNITS
    if (!(isShort ? index.mayMatch(text) : yield* index.mayMatchSteps(text))) return []
    const search = new StreamSearch(this)
    const hits: KeywordHit[] = []
    for (let at = 0; at < text.length && !search.complete; at += STEP_UNITS) {
      if (at > 0) yield
      hits.push(...search.push(text.slice(at, at + STEP_UNITS)))
    }
    hits.push(...search.finish())
    return hits.sort((a, b) => this.index.placeOf(a.rule) - this.index.placeOf(b.rule))
  }

  mayMatchJoined(texts: readonly TouchingText[]): Steps<boolean> {
    return this.index.mayMatchJoined(texts)
  }

  stream(): KeywordStream {
    return new StreamSearch(this)
  }
}
