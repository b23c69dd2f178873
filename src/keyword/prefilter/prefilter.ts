// Tells whether any literal or expression may occur in a text, at the cost of one table access per
// character. Every prompt and every answer passes this loop; hardly any needs more. Knows nothing
// about offsets or patterns.

import { STEP_UNITS, type Steps } from '../../core/steps.ts'
import { LITERAL_ENDS, type LiteralAutomaton } from '../literals.ts'
import type { ExpressionAutomaton } from '../regexp/automaton.ts'
import { ContextWindows, OUT_OF_REACH } from './context-windows.ts'
import { IN_CONTEXT, LEFT_OUT, Symbols } from './symbols.ts'
import { MAXIMUM_CLASSES, ROWS_END, TransitionTable, UNKNOWN } from './transition-table.ts'

/** Takes the place of a state: there is a match, or only a full search can tell. */
export const MAY_MATCH = -1

/**
 * Transitions of the expression automaton that may be computed for one text before it is left to a
 * full search.
 */
const MAXIMUM_COMPUTED = 500
/** Takes the place of an offset: the text is left to a full search. */
const STOPPED = -1

/**
 * The upper bits of a symbol are the class of a character in the literal automaton, the lower bits
 * its class in the expression automaton.
 */
const LITERAL_SHIFT = 16
const EXPRESSION_MASK = 2 ** LITERAL_SHIFT - 1

/** A table that matches nothing: one row, to which everything leads. */
const EMPTY_TABLE = new Int32Array(1)

/** Runs both automata along a text together. A state combines a row of each table in one number. */
export class Prefilter {
  readonly #symbols: Symbols
  readonly #windows: ContextWindows
  /** Null if there are too many literals or classes for a table: every text may match. */
  readonly #literals: Int32Array | null
  readonly #transitions: TransitionTable | null
  readonly #constantGeneration: object = {}
  #computationsLeft = MAXIMUM_COMPUTED
  /** The state that `#follow` has reached. */
  #state = 0

  constructor(literals: LiteralAutomaton | null, expressions: ExpressionAutomaton | null) {
    const alphabet = expressions?.alphabet
    const fits = alphabet === undefined || alphabet.size <= MAXIMUM_CLASSES
    this.#literals = !fits ? null : literals === null ? EMPTY_TABLE : literals.rows
    this.#transitions = expressions === null || !fits ? null : new TransitionTable(expressions)
    // A literal automaton with rows has far fewer classes than fit into the upper bits.
    const classOf = (plain: number, folded: number) =>
      ((literals?.classOf(folded) ?? 0) << LITERAL_SHIFT) | (alphabet?.classOf(plain, folded) ?? 0)
    this.#symbols = new Symbols(classOf)
    this.#windows = new ContextWindows(this.#symbols, classOf)
  }

  /** Returns false if nothing occurs in the text, true if something may. */
  mayMatch(text: string): boolean {
    const state = this.advance(this.begin(), text)
    return state < 0 || this.endsInMatch(state)
  }

  /** Like `mayMatch`, in steps. */
  *mayMatchSteps(text: string): Steps<boolean> {
    const state = yield* this.#scanText(text)
    return state < 0 || this.endsInMatch(state)
  }

  /** A state is valid only while this stays the same object. */
  get generation(): object {
    return this.#transitions?.generation ?? this.#constantGeneration
  }

  /** Returns the state at the beginning of a text. */
  begin(): number {
    this.#computationsLeft = MAXIMUM_COMPUTED
    return this.#transitions?.begin() ?? 0
  }

  /** Whether the end of the text completes a match. */
  endsInMatch(state: number): boolean {
    return this.#transitions?.endsInMatch(state % ROWS_END) === true
  }

  /**
   * Returns the state after a text alone, or MAY_MATCH.
   * @param prefilterState caches the state of this text
   */
  *scan(text: string, prefilterState: PrefilterState): Steps<number> {
    const known = prefilterState.stateIn(this.generation)
    if (known !== undefined) return known
    const state = yield* this.#scanText(text)
    // MAY_MATCH is not cached: more transitions may be known next time.
    if (state >= 0) prefilterState.store(this.generation, state)
    return state
  }

  *#scanText(text: string): Steps<number> {
    let state = this.begin()
    if (text.length <= STEP_UNITS) return this.advance(state, text)
    for (let at = 0; state >= 0 && at < text.length; ) {
      const { generation } = this
      if (at > 0) yield
      // Other texts may have made the tables start over meanwhile.
      if (this.generation !== generation) return MAY_MATCH
      const end = this.partEnd(text, at, STEP_UNITS)
      state = this.advance(state, text.slice(at, end))
      at = end
    }
    return state
  }

  /**
   * Returns the state after a text, or MAY_MATCH; also for MAY_MATCH, and if too many transitions
   * are not known yet. The text must be independent of the one before.
   */
  advance(state: number, text: string): number {
    let reached = state
    for (let at = 0; reached >= 0; ) {
      const { generation } = this
      const index = this.#follow(reached, text, at, text.length)
      if (index === text.length) return this.#state
      if (index === STOPPED) break
      const start = this.#windows.start(text, index, at)
      const end = this.#windows.end(text, index)
      if (start === OUT_OF_REACH || end === OUT_OF_REACH || this.generation !== generation) break
      // Follow again up to the window, because the first pass went beyond its start.
      if (this.#follow(reached, text, at, start) !== start) break
      reached = this.#followSymbols(this.#state, this.#windows.symbols(text.slice(start, end)))
      at = end
    }
    return MAY_MATCH
  }

  /** Whether two non-empty texts normalise together to what they normalise to alone. */
  areIndependent(before: string, after: string): boolean {
    return this.#windows.areIndependent(before, after)
  }

  /**
   * Returns the end of a part of about `units` from `start` that is independent of the text after
   * it.
   */
  partEnd(text: string, start: number, units: number): number {
    const end = this.#windows.end(text, start + units)
    return end === OUT_OF_REACH ? text.length : end
  }

  /**
   * Follows `text[from, to)`. Returns `to`, the index of a character that depends on its
   * neighbours, or STOPPED.
   */
  #follow(state: number, text: string, from: number, to: number): number {
    const { units } = this.#symbols
    const literals = this.#literals
    if (literals === null) return STOPPED
    let literalRow = Math.floor(state / ROWS_END)
    let row = state % ROWS_END
    let index = from
    for (; ; index++) {
      // The inner loop ends only where the tables have no answer. Anything more in it makes it half
      // as fast again.
      const cells = this.#transitions?.cells ?? EMPTY_TABLE
      let symbol = 0
      let next = row
      for (; index < to; index++) {
        symbol = units[text.charCodeAt(index)]!
        if (symbol < 0) break
        literalRow = literals[literalRow + (symbol >> LITERAL_SHIFT)]!
        next = cells[row + (symbol & EXPRESSION_MASK)]!
        if ((literalRow | next) < 0) break
        row = next
      }
      if (index === to) break
      if (symbol < 0) {
        symbol = this.#symbols.at(text, index)
        if (symbol === IN_CONTEXT) break
        if (symbol === LEFT_OUT) continue
        literalRow = literals[literalRow + (symbol >> LITERAL_SHIFT)]!
        next = cells[row + (symbol & EXPRESSION_MASK)]!
      }
      row = this.#nextRow(row, symbol, next)
      if (literalRow === LITERAL_ENDS || row < 0) return STOPPED
    }
    this.#state = literalRow * ROWS_END + row
    return index
  }

  /** Returns the state after some symbols, or MAY_MATCH. */
  #followSymbols(state: number, symbols: readonly number[]): number {
    let literalRow = Math.floor(state / ROWS_END)
    let row = state % ROWS_END
    for (const symbol of symbols) {
      literalRow = this.#literals?.[literalRow + (symbol >> LITERAL_SHIFT)] ?? LITERAL_ENDS
      const cells = this.#transitions?.cells ?? EMPTY_TABLE
      row = this.#nextRow(row, symbol, cells[row + (symbol & EXPRESSION_MASK)]!)
      if (literalRow === LITERAL_ENDS || row < 0) return MAY_MATCH
    }
    return literalRow * ROWS_END + row
  }

  /**
   * Returns `next`, the table's entry for a row and a symbol, or computes it if it is unknown and
   * computations are left.
   */
  #nextRow(row: number, symbol: number, next: number): number {
    if (next !== UNKNOWN || this.#transitions === null || this.#computationsLeft-- <= 0) return next
    return this.#transitions.compute(row, symbol & EXPRESSION_MASK)
  }
}

/** Caches where the prefilter ended on a text. */
export class PrefilterState {
  #generation: object | null = null
  #state = 0

  /** Returns the state after the text, or undefined if none is stored for this generation. */
  stateIn(generation: object): number | undefined {
    return this.#generation === generation ? this.#state : undefined
  }

  store(generation: object, state: number): void {
    this.#generation = generation
    this.#state = state
  }
}
