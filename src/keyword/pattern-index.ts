// What the keyword rules of one rule set look for: their patterns read, and compiled into two automata, one for words
// and one for expressions. Knows no text.

import type { Steps } from '../core/steps.ts'
import type { RuleReference } from '../policy/rule.ts'
import { LiteralAutomaton } from './literals.ts'
import { readAlternative, splitAlternatives } from './pattern-syntax.ts'
import { mayMatchJoined, type TouchingText } from './prefilter/joined-texts.ts'
import { Prefilter } from './prefilter/prefilter.ts'
import { ExpressionAutomaton } from './regexp/automaton.ts'
import { compileExpression, firstAscii, markBase, type Program } from './regexp/instructions.ts'

/** Longest pattern of one rule, UTF-16 units. */
const MAX_PATTERN_CHARACTERS = 65_536

/** Longest word, normalised characters; also how far back a stream remembers offsets. */
const MAX_WORD_CHARACTERS = 1024

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
  readonly words: LiteralAutomaton | null
  /** The rule of each word and of each expression. */
  readonly wordRules: readonly number[]
  readonly programRules: readonly number[]
  readonly expressions: ExpressionAutomaton | null
  readonly #glance: Prefilter | null
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
    this.words = words.length === 0 ? null : new LiteralAutomaton(words)
    this.expressions = programs.length === 0 ? null : new ExpressionAutomaton(programs)
    const none = words.length === 0 && programs.length === 0
    this.#glance = none ? null : new Prefilter(this.words, this.expressions)
    this.wordRules = wordRules
    this.programRules = programRules
    const longest = words.reduce((length, word) => Math.max(length, word.length), 0)
    this.ringSize = 2 ** Math.ceil(Math.log2(longest + 1))
    this.#places = new Map(this.rules.map((rule, place) => [rule, place]))
    this.#words = words
    this.#programs = programs
  }

  /** The rule's place in the list. */
  placeOf(rule: RuleReference): number {
    return this.#places.get(rule) ?? -1
  }

  /** False when no pattern of any rule occurs in the text, told without normalising it; true when one may. */
  mayMatch(text: string): boolean {
    return this.#glance?.mayMatch(text) === true
  }

  /** As `mayMatch`, in steps. */
  *mayMatchSteps(text: string): Steps<boolean> {
    return this.#glance !== null && (yield* this.#glance.mayMatchSteps(text))
  }

  /** As `mayMatch`, for texts by themselves and joined. */
  *mayMatchJoined(texts: readonly TouchingText[]): Steps<boolean> {
    return this.#glance !== null && (yield* mayMatchJoined(this.#glance, texts))
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
