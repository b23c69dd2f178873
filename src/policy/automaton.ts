// All expressions of a rule set run side by side over one text: a set of threads, each with the place it began at,
// advanced a character at a time (Thompson 1968, Pike 1987). What one character does to a set of threads is worked
// out once and remembered, as RE2's lazy DFA does. Linear in the text, whatever the expressions.

import { Alphabet } from './alphabet.ts'
import {
  AT_LINE_END,
  AT_LINE_START,
  AT_TEXT_END,
  AT_TEXT_START,
  AT_WORD_BOUNDARY,
  type CharacterSet,
  NOT_AT_WORD_BOUNDARY,
  type Program,
} from './program.ts'

/** Thread sets that are remembered; when they are more, remembering starts over. */
const MAX_STATES = 2000

/** Threads in all remembered sets together, 8 bytes each with their sources. */
const MAX_REMEMBERED_THREADS = 500_000

/** The kind of character before the threads: what the assertions look back at. */
const AFTER_NOTHING = 0
const AFTER_LINE_FEED = 1
const AFTER_WORD = 2
const AFTER_OTHER = 3

/** A thread that begins here and now, in place of the one it comes from. */
export const NEW = -1

/** Threads that wait for the next character, in the order in which they began. */
export interface ThreadSet {
  readonly threads: readonly number[]
  readonly after: number
  readonly steps: (Step | undefined)[]
}

/** What one class of characters does to a set of threads. */
export interface Step {
  readonly target: ThreadSet
  /** For every thread of the target the place in the old set of the one it comes from, or NEW. */
  readonly sources: Int32Array
  /** Expressions that match up to before this character, each with the source of its earliest thread. */
  readonly before: readonly Found[]
  /** Expressions that match up to and with this character. */
  readonly after: readonly Found[]
  /** Nothing to carry along and nothing found: nearly all steps. */
  readonly idle: boolean
}

export interface Found {
  readonly expression: number
  readonly source: number
}

/** One flat program of all expressions. */
interface Code {
  readonly kind: Uint8Array
  readonly first: Int32Array
  readonly second: Int32Array
  readonly expression: Uint16Array
}

const SPLIT = 0
const ASSERT = 1
const TAKE = 2
const MATCH = 3
const FAIL = 4

export class ExpressionAutomaton {
  readonly alphabet: Alphabet
  readonly #code: Code
  readonly #starts: readonly number[]
  /** Marks of the closure that is being worked out. */
  readonly #seen: Int32Array
  #mark = 0
  #states = new Map<string, ThreadSet>()
  #remembered = 0

  constructor(programs: readonly Program[]) {
    const { code, starts, sets } = assemble(programs)
    this.#code = code
    this.#starts = starts
    this.alphabet = new Alphabet(sets)
    this.#seen = new Int32Array(code.kind.length)
  }

  begin(): ThreadSet {
    return this.#intern([], AFTER_NOTHING)
  }

  /** The expression a thread belongs to. */
  expressionOf(thread: number): number {
    return this.#code.expression[thread]!
  }

  /** @param symbol a class of the alphabet, or its size for the end of the text */
  step(from: ThreadSet, symbol: number): Step {
    return from.steps[symbol] ?? this.#workOut(from, symbol)
  }

  #workOut(from: ThreadSet, symbol: number): Step {
    const traits = this.alphabet.traits[symbol]
    const granted = assertions(from.after, traits)
    const { kind, first, expression } = this.#code
    const takers: { readonly thread: number; readonly source: number }[] = []
    const before = new Map<number, number>()
    this.#mark++
    from.threads.forEach((thread, source) => {
      this.#follow(thread, granted, (at) => {
        if (kind[at] === TAKE) takers.push({ thread: at, source })
        else if (!before.has(expression[at]!)) before.set(expression[at]!, source)
      })
    })
    for (const start of this.#starts) {
      this.#follow(start, granted, (at) => {
        if (kind[at] === TAKE) takers.push({ thread: at, source: NEW })
      })
    }
    const threads: number[] = []
    const sources: number[] = []
    const after = new Map<number, number>()
    this.#mark++
    for (const { thread, source } of takers) {
      // `second` of a TAKE is its set.
      if (traits === undefined || !this.alphabet.has(symbol, this.#code.second[thread]!)) continue
      this.#follow(first[thread]!, null, (at) => {
        if (kind[at] === MATCH) {
          if (!after.has(expression[at]!)) after.set(expression[at]!, source)
        } else {
          threads.push(at)
          sources.push(source)
        }
      })
    }
    const target = this.#intern(threads, afterCharacter(traits))
    const idle = threads.length === 0 && before.size === 0 && after.size === 0
    const step = {
      target,
      sources: Int32Array.from(sources),
      before: toFound(before),
      after: toFound(after),
      idle,
    }
    this.#remembered += sources.length
    from.steps[symbol] = step
    return step
  }

  /**
   * Visits the instructions that take a character or match, reached from one without taking any.
   * @param granted assertions that hold here; null where it is not known yet, so that they are visited too
   */
  #follow(from: number, granted: number | null, visit: (at: number) => void): void {
    const { kind, first, second } = this.#code
    const pending = [from]
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (this.#seen[at] === this.#mark) continue
      this.#seen[at] = this.#mark
      if (kind[at] === SPLIT) pending.push(second[at]!, first[at]!)
      else if (kind[at] === ASSERT && granted !== null) {
        if ((second[at]! & ~granted) === 0) pending.push(first[at]!)
      } else if (kind[at] !== FAIL) visit(at)
    }
  }

  #intern(threads: readonly number[], after: number): ThreadSet {
    const key = `${after}:${threads.join(',')}`
    const known = this.#states.get(key)
    if (known !== undefined) return known
    if (this.#states.size >= MAX_STATES || this.#remembered > MAX_REMEMBERED_THREADS) {
      this.#states = new Map()
      this.#remembered = 0
    }
    const set = { threads, after, steps: new Array(this.alphabet.size + 1).fill(undefined) }
    this.#remembered += threads.length
    this.#states.set(key, set)
    return set
  }
}

const toFound = (found: ReadonlyMap<number, number>): Found[] =>
  [...found].map(([expression, source]) => ({ expression, source }))

function afterCharacter(traits: Alphabet['traits'][number] | undefined): number {
  if (traits === undefined) return AFTER_OTHER
  if (traits.lineFeed) return AFTER_LINE_FEED
  return traits.word ? AFTER_WORD : AFTER_OTHER
}

/** The assertions that hold between two characters; no next one means the end of the text. */
function assertions(after: number, next: Alphabet['traits'][number] | undefined): number {
  let granted = 0
  if (after === AFTER_NOTHING) granted |= AT_TEXT_START | AT_LINE_START
  if (after === AFTER_LINE_FEED) granted |= AT_LINE_START
  if (next === undefined) granted |= AT_TEXT_END | AT_LINE_END
  if (next?.lineFeed === true) granted |= AT_LINE_END
  const boundary = (after === AFTER_WORD) !== (next?.word === true)
  return granted | (boundary ? AT_WORD_BOUNDARY : NOT_AT_WORD_BOUNDARY)
}

function assemble(programs: readonly Program[]): { code: Code; starts: number[]; sets: CharacterSet[] } {
  const size = programs.reduce((total, { instructions }) => total + instructions.length, 0)
  const code: Code = {
    kind: new Uint8Array(size).fill(FAIL),
    first: new Int32Array(size),
    second: new Int32Array(size),
    expression: new Uint16Array(size),
  }
  const starts: number[] = []
  const sets: CharacterSet[] = []
  const known = new Map<string, number>()
  const setNumber = (set: CharacterSet): number => {
    const key = set.join(',')
    const number = known.get(key) ?? sets.push(set) - 1
    known.set(key, number)
    return number
  }
  let base = 0
  programs.forEach(({ instructions, start }, expression) => {
    starts.push(base + start)
    instructions.forEach((instruction, index) => {
      const at = base + index
      code.expression[at] = expression
      if (instruction.kind === 'split')
        put(code, at, SPLIT, base + instruction.first, base + instruction.second)
      if (instruction.kind === 'assert') put(code, at, ASSERT, base + instruction.next, instruction.asked)
      if (instruction.kind === 'take')
        put(code, at, TAKE, base + instruction.next, setNumber(instruction.set))
      if (instruction.kind === 'match') put(code, at, MATCH, 0, 0)
    })
    base += instructions.length
  })
  return { code, starts, sets }
}

function put(code: Code, at: number, kind: number, first: number, second: number): void {
  code.kind[at] = kind
  code.first[at] = first
  code.second[at] = second
}
