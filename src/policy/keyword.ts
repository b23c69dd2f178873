// Keyword rules applied to text: words by one automaton, expressions by another, both over the normalised text and at
// once for all rules. A growing text gives the hits of the whole one, however it is cut.

import { readAlternative, splitAlternatives } from './alternatives.ts'
import { ExpressionAutomaton } from './automaton.ts'
import { Normaliser } from './normalise.ts'
import { compileExpression, firstAscii, markBase, type Program } from './program.ts'
import type { RuleReference } from './rule.ts'
import { ExpressionRun } from './run.ts'
import { WordAutomaton } from './words.ts'

/** Longest pattern of one rule, UTF-16 units. */
const MAX_PATTERN_CHARACTERS = 65_536

/** Longest word, normalised characters; also how far back a stream remembers offsets. */
const MAX_WORD_CHARACTERS = 1024

/**
 * Text that a stream holds back at most, UTF-16 units. A match that is longer is still found, but its beginning may
 * have left by then; without a bound, one `a.*b` would turn a stream into one late answer.
 */
export const MAX_HOLD_BACK = 1024

/** Text that `match` looks through before it asks whether every rule has fired already. */
const SLICE_CHARACTERS = 65_536

export interface KeywordHit {
  readonly rule: RuleReference
  /**
   * UTF-16 offset in the given text at which the earliest match begins that ends first; at least MAX_HOLD_BACK
   * before the place where it was decided.
   */
  readonly start: number
  /** UTF-16 offset after the match. */
  readonly end: number
}

export interface KeywordMatcher {
  /** Rules whose pattern occurs in the text, each once, in rule order. Linear in the text. */
  match(text: string): KeywordHit[]
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

interface Patterns {
  readonly words: readonly (readonly number[])[]
  readonly programs: readonly Program[]
}

/** Reads a pattern, or says what is wrong with it: one sentence for every alternative at fault. */
export function readKeywords(pattern: string): Patterns | { readonly messages: readonly string[] } {
  if (pattern === '') return { messages: ['must not be empty'] }
  if (pattern.length > MAX_PATTERN_CHARACTERS) {
    return { messages: [`must have at most ${MAX_PATTERN_CHARACTERS} characters; split the rule`] }
  }
  const words: (readonly number[])[] = []
  const programs: Program[] = []
  const messages: string[] = []
  splitAlternatives(pattern).forEach((source, index) => {
    const fault = (message: string) => messages.push(`alternative ${index + 1} ${message}`)
    const alternative = readAlternative(source)
    if (alternative.kind === 'expression') {
      const program = compileExpression(alternative.source)
      if ('message' in program) fault(program.message)
      else programs.push(program)
    } else if (alternative.characters.length === 0) {
      fault('matches the empty text, so it would match everything')
    } else if (alternative.characters.length > MAX_WORD_CHARACTERS) {
      fault(`is longer than ${MAX_WORD_CHARACTERS} characters`)
    } else {
      words.push(alternative.characters)
    }
  })
  return messages.length > 0 ? { messages } : { words, programs }
}

/** Everything the keyword rules of one set look for. Rules are named by their place in the list. */
export class KeywordIndex {
  readonly rules: readonly RuleReference[]
  readonly words: WordAutomaton | null
  /** The rule of each word and of each expression. */
  readonly wordRules: readonly number[]
  readonly programRules: readonly number[]
  readonly expressions: ExpressionAutomaton | null
  /** Offsets a text has to remember, a power of two above the longest word. */
  readonly ringSize: number
  readonly #places: ReadonlyMap<RuleReference, number>
  readonly #words: readonly (readonly number[])[]
  readonly #programs: readonly Program[]

  /** @throws TypeError for a pattern that readKeywords refuses */
  constructor(rules: readonly { readonly reference: RuleReference; readonly pattern: string }[]) {
    const words: (readonly number[])[] = []
    const programs: Program[] = []
    const wordRules: number[] = []
    const programRules: number[] = []
    rules.forEach(({ reference, pattern }, rule) => {
      const patterns = readKeywords(pattern)
      if ('messages' in patterns)
        throw new TypeError(`rule ${reference.name}: ${patterns.messages.join('; ')}`)
      for (const word of patterns.words) wordRules[words.push(word) - 1] = rule
      for (const program of patterns.programs) programRules[programs.push(program) - 1] = rule
    })
    this.rules = rules.map(({ reference }) => reference)
    this.words = words.length === 0 ? null : new WordAutomaton(words)
    this.expressions = programs.length === 0 ? null : new ExpressionAutomaton(programs)
    this.wordRules = wordRules
    this.programRules = programRules
    const longest = words.reduce((length, word) => Math.max(length, word.length), 0)
    this.ringSize = 2 ** Math.ceil(Math.log2(longest + 1))
    this.#places = new Map(this.rules.map((rule, place) => [rule, place]))
    this.#words = words
    this.#programs = programs
  }

  /** The matcher for some of the rules, null for none of them. */
  matcher(chosen: ReadonlySet<RuleReference>): KeywordMatcher | null {
    const active = this.rules.map((rule) => chosen.has(rule))
    if (!active.includes(true)) return null
    return new Matcher(this, active)
  }

  inRuleOrder(hits: KeywordHit[]): KeywordHit[] {
    return hits.sort((a, b) => this.#places.get(a.rule)! - this.#places.get(b.rule)!)
  }

  /** The ASCII characters with which a match of some rule can begin, 128 flags. */
  firstAscii(chosen: (rule: number) => boolean): Uint8Array {
    const first = new Uint8Array(0x80)
    this.#words.forEach((word, index) => {
      if (chosen(this.wordRules[index]!)) markBase(first, word[0]!)
    })
    this.#programs.forEach((program, index) => {
      if (!chosen(this.programRules[index]!)) return
      firstAscii(program).forEach((flag, code) => {
        if (flag === 1) first[code] = 1
      })
    })
    return first
  }
}

class Matcher implements KeywordMatcher {
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
    const search = new Search(this)
    const hits: KeywordHit[] = []
    for (let at = 0; at < text.length && !search.complete; at += SLICE_CHARACTERS) {
      hits.push(...search.push(text.slice(at, at + SLICE_CHARACTERS)))
    }
    hits.push(...search.finish())
    return this.index.inRuleOrder(hits)
  }

  stream(): KeywordStream {
    return new Search(this)
  }
}

/** One text being searched for the rules of one matcher. */
class Search implements KeywordStream {
  readonly #matcher: Matcher
  readonly #normaliser: Normaliser
  readonly #run: ExpressionRun | null
  readonly #fired: Uint8Array
  #firedCount = 0
  #hits: KeywordHit[] = []
  /** Where the last characters begin, in a ring. */
  readonly #starts: Int32Array
  #count = 0
  #state = 0
  /** States of the word automaton whose words, and those of their suffixes, have been reported. */
  readonly #reported = new Set<number>()
  #end = 0
  #previousEnd = 0
  #received = 0
  #safe = 0

  constructor(matcher: Matcher) {
    const { index } = matcher
    this.#matcher = matcher
    this.#normaliser = new Normaliser(this)
    this.#run = index.expressions === null ? null : new ExpressionRun(index.expressions)
    this.#fired = new Uint8Array(index.rules.length)
    this.#starts = new Int32Array(index.ringSize)
  }

  /** Every rule has fired; more text cannot add anything. */
  get complete(): boolean {
    return this.#firedCount === this.#matcher.activeCount
  }

  get safe(): number {
    this.#safe = Math.max(this.#safe, this.#findSafe())
    return this.#safe
  }

  #findSafe(): number {
    if (!this.#matcher.blocking || this.complete) return this.#received
    const { offset } = this.#normaliser
    let safe = this.#pendingStart()
    const depth = this.#matcher.pendingDepths?.[this.#state] ?? 0
    if (depth > 0) safe = Math.min(safe, this.#startBack(depth))
    const { programRules } = this.#matcher.index
    const begin = this.#run?.earliest((expression) => this.#awaits(programRules[expression]!)) ?? -1
    if (begin >= 0) safe = Math.min(safe, begin)
    return Math.max(safe, offset - MAX_HOLD_BACK)
  }

  push(chunk: string): KeywordHit[] {
    this.#received += chunk.length
    this.#normaliser.push(chunk)
    return this.#takeHits()
  }

  finish(): KeywordHit[] {
    this.#normaliser.finish()
    this.#previousEnd = this.#end
    this.#run?.finish(this.#reportExpression)
    return this.#takeHits()
  }

  /** One normalised character; called by the normaliser. */
  take(plain: number, folded: number, start: number, end: number): void {
    this.#previousEnd = this.#end
    this.#end = end
    if (this.#run !== null) this.#run.take(plain, folded, start, this.#reportExpression)
    const { words } = this.#matcher.index
    if (words === null) return
    this.#starts[this.#count++ & (this.#starts.length - 1)] = start
    this.#state = words.next(this.#state, folded)
    if (words.ending(this.#state) !== 0) this.#reportWords(words)
  }

  #reportWords(words: WordAutomaton): void {
    const { wordRules } = this.#matcher.index
    for (let at = words.ending(this.#state); at !== 0; at = words.shorterEnding(at)) {
      if (this.#reported.has(at)) return
      this.#reported.add(at)
      for (const word of words.wordsAt(at))
        this.#report(wordRules[word]!, this.#startBack(words.depth(at)), this.#end)
    }
  }

  readonly #reportExpression = (expression: number, begin: number, inclusive: boolean): void => {
    this.#report(
      this.#matcher.index.programRules[expression]!,
      begin,
      inclusive ? this.#end : this.#previousEnd,
    )
  }

  #report(rule: number, start: number, end: number): void {
    if (this.#matcher.active[rule] !== true || this.#fired[rule] === 1) return
    this.#fired[rule] = 1
    this.#firedCount++
    // The text may have been waiting right before the character that decided, and no longer than that.
    const earliest = this.#normaliser.offset - MAX_HOLD_BACK
    this.#hits.push({ rule: this.#matcher.index.rules[rule]!, start: Math.max(start, earliest), end })
  }

  #awaits(rule: number): boolean {
    return this.#fired[rule] === 0 && this.#matcher.blocks(rule)
  }

  #pendingStart(): number {
    const { offset, pendingStart, pendingAscii } = this.#normaliser
    return pendingAscii >= 0 && this.#matcher.firstAscii[pendingAscii] === 0 ? offset : pendingStart
  }

  #startBack(characters: number): number {
    return this.#starts[(this.#count - characters) & (this.#starts.length - 1)]!
  }

  #takeHits(): KeywordHit[] {
    const hits = this.#hits
    this.#hits = []
    return hits
  }
}
