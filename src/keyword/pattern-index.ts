// Compiles keyword patterns into two automata, one for words and one for expressions, with a
// prefilter for both. Names a pattern by its index in the list. Knows neither rules nor texts.

import type { Steps } from '../core/steps.ts'
import { LiteralAutomaton } from './literals.ts'
import { readAlternative, splitAlternatives } from './pattern-syntax.ts'
import { mayMatchJoined, type TouchingText } from './prefilter/joined-texts.ts'
import { Prefilter } from './prefilter/prefilter.ts'
import { ExpressionAutomaton } from './regexp/automaton.ts'
import {
  compileExpression,
  firstAscii,
  literalProgram,
  markBase,
  type Program,
} from './regexp/instructions.ts'

/** Longest pattern, UTF-16 units. */
const MAXIMUM_PATTERN_CHARACTERS = 65_536

/** Longest word, normalised characters; also how far back a stream remembers offsets. */
const MAXIMUM_WORD_CHARACTERS = 1024

/** The alternatives of one keyword pattern. Plain data that survives JSON. */
export interface ParsedPattern {
  /** Normalised code points. */
  readonly words: readonly (readonly number[])[]
  readonly programs: readonly Program[]
}

/** Parses a pattern, or returns one message for each faulty alternative. */
export function parseKeywords(pattern: string): ParsedPattern | { readonly messages: readonly string[] } {
  if (pattern === '') return { messages: ['must not be empty'] }
  if (pattern.length > MAXIMUM_PATTERN_CHARACTERS) {
    return { messages: [`must have at most ${MAXIMUM_PATTERN_CHARACTERS} characters; split the rule`] }
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
    } else if (alternative.characters.length > MAXIMUM_WORD_CHARACTERS) {
      fault(`is longer than ${MAXIMUM_WORD_CHARACTERS} characters`)
    } else {
      words.push(alternative.characters)
    }
  })
  return messages.length > 0 ? { messages } : { words, programs }
}

/** Parses a pattern whose matches are replaced: every alternative is an expression. */
export function parseExpressions(
  pattern: string,
): Pick<ParsedPattern, 'programs'> | { readonly messages: readonly string[] } {
  const parsed = parseKeywords(pattern)
  if ('messages' in parsed) return parsed
  return { programs: expressionsOf(parsed) }
}

/** Returns all alternatives of a pattern as expressions. */
export const expressionsOf = ({ words, programs }: ParsedPattern): readonly Program[] => [
  ...words.map(literalProgram),
  ...programs,
]

export class KeywordIndex {
  readonly patternCount: number
  readonly words: LiteralAutomaton | null
  readonly expressions: ExpressionAutomaton | null
  /** The pattern of each word and of each expression. */
  readonly wordPatterns: readonly number[]
  readonly programPatterns: readonly number[]
  /** Offsets a search has to remember: a power of two above the longest word. */
  readonly ringSize: number
  readonly #prefilter: Prefilter | null
  readonly #words: readonly (readonly number[])[]
  readonly #programs: readonly Program[]

  constructor(patterns: readonly ParsedPattern[]) {
    const words = patterns.flatMap((pattern) => pattern.words)
    const programs = patterns.flatMap((pattern) => pattern.programs)
    this.patternCount = patterns.length
    this.words = words.length === 0 ? null : new LiteralAutomaton(words)
    this.expressions = programs.length === 0 ? null : new ExpressionAutomaton(programs)
    const isEmpty = words.length === 0 && programs.length === 0
    this.#prefilter = isEmpty ? null : new Prefilter(this.words, this.expressions)
    this.wordPatterns = patterns.flatMap((pattern, index) => pattern.words.map(() => index))
    this.programPatterns = patterns.flatMap((pattern, index) => pattern.programs.map(() => index))
    const longest = words.reduce((length, word) => Math.max(length, word.length), 0)
    this.ringSize = 2 ** Math.ceil(Math.log2(longest + 1))
    this.#words = words
    this.#programs = programs
  }

  /**
   * False when no pattern occurs in the text, decided without normalising it; true when one may.
   */
  mayMatch(text: string): boolean {
    return this.#prefilter?.mayMatch(text) === true
  }

  /** As `mayMatch`, in steps. */
  *mayMatchSteps(text: string): Steps<boolean> {
    return this.#prefilter !== null && (yield* this.#prefilter.mayMatchSteps(text))
  }

  /** As `mayMatch`, for each text alone and for adjacent texts joined. */
  *mayMatchJoined(texts: readonly TouchingText[]): Steps<boolean> {
    return this.#prefilter !== null && (yield* mayMatchJoined(this.#prefilter, texts))
  }

  /** The ASCII characters with which a match of a chosen pattern can begin, 128 flags. */
  firstAscii(isChosen: (pattern: number) => boolean): Uint8Array {
    const first = new Uint8Array(0x80)
    this.#words.forEach((word, index) => {
      if (isChosen(this.wordPatterns[index]!)) markBase(first, word[0]!)
    })
    this.#programs.forEach((program, index) => {
      if (!isChosen(this.programPatterns[index]!)) return
      firstAscii(program).forEach((flag, code) => {
        if (flag === 1) first[code] = 1
      })
    })
    return first
  }
}
