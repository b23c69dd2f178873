// Stores the transitions of the expression automaton in one table of numbers that a loop reads with
// one access per character. Cells are computed on demand. Knows no text.

import type { ExpressionAutomaton, ThreadSet, Transition } from '../regexp/automaton.ts'

/**
 * Cells of the table, 4 bytes each. When they are used up, the table starts over. It has at least
 * FIRST_ROWS rows, however wide.
 */
const MAXIMUM_CELLS = 1 << 16
const FIRST_ROWS = 16
/** Threads of the sets that have rows, 4 bytes each. With more, the table starts over, too. */
const MAXIMUM_THREADS = 500_000

/** Maximum character classes of a table. */
export const MAXIMUM_CLASSES = 2 ** 16 - 1
/** Every row begins before this cell. */
export const ROWS_END = FIRST_ROWS * (MAXIMUM_CLASSES + 1)

/** Take the place of a row: an expression matches here; the transition is not computed yet. */
const FOUND = -1
export const UNKNOWN = -2

/**
 * Has one row per set of threads, named by its first cell. Rows are valid until the table starts
 * over.
 */
export class TransitionTable {
  readonly #automaton: ExpressionAutomaton
  /** The threads at the beginning of a text. */
  readonly #first: ThreadSet
  /** Cells of a row: one per class, and one for the end of the text. */
  readonly #width: number
  readonly #maxRows: number
  #cells: Int32Array
  /** The set of threads of each row, and the row of each set. */
  #sets: ThreadSet[] = []
  #rows = new Map<ThreadSet, number>()
  #threads = 0
  #generation: object = {}

  /** @param automaton with at most MAXIMUM_CLASSES character classes */
  constructor(automaton: ExpressionAutomaton) {
    this.#automaton = automaton
    this.#first = automaton.begin()
    this.#width = automaton.alphabet.size + 1
    this.#maxRows = Math.max(FIRST_ROWS, Math.floor(MAXIMUM_CELLS / this.#width))
    this.#cells = new Int32Array(FIRST_ROWS * this.#width).fill(UNKNOWN)
  }

  /** By row and class: the next row, FOUND or UNKNOWN. Another array after the table has grown. */
  get cells(): Int32Array {
    return this.#cells
  }

  /**
   * Another object after the table has started over. It holds nothing, so keeping it keeps no
   * memory.
   */
  get generation(): object {
    return this.#generation
  }

  /** Returns the row at the beginning of a text. */
  begin(): number {
    return this.#rowOf(this.#first)
  }

  /** Whether the end of the text completes a match. */
  endsInMatch(row: number): boolean {
    const cached = this.#cells[row + this.#width - 1]!
    return (cached === UNKNOWN ? this.#computeEnd(row) : cached) === FOUND
  }

  /** Nothing follows the end: without a match any row will do. */
  #computeEnd(row: number): number {
    const { found } = this.#transitionFrom(this.#sets[row / this.#width]!, this.#width - 1)
    const next = found.length > 0 ? FOUND : row
    this.#cells[row + this.#width - 1] = next
    return next
  }

  /**
   * Computes the entry for a row and a class; stores it unless the table started over meanwhile.
   */
  compute(row: number, symbol: number): number {
    const sets = this.#sets
    const transition = this.#transitionFrom(sets[row / this.#width]!, symbol)
    const next = transition.found.length > 0 ? FOUND : this.#rowOf(transition.target)
    if (sets === this.#sets) this.#cells[row + symbol] = next
    return next
  }

  #transitionFrom(set: ThreadSet, symbol: number): Transition {
    return set.transitions[symbol] ?? this.#automaton.computeTransition(set, symbol)
  }

  #rowOf(set: ThreadSet): number {
    const cached = this.#rows.get(set)
    if (cached !== undefined) return cached
    if (this.#sets.length === this.#maxRows || this.#threads > MAXIMUM_THREADS) {
      this.#sets = []
      this.#rows = new Map()
      this.#threads = 0
      this.#generation = {}
      this.#cells.fill(UNKNOWN)
    }
    const row = (this.#sets.push(set) - 1) * this.#width
    this.#rows.set(set, row)
    this.#threads += set.threads.length
    if (row + this.#width > this.#cells.length) {
      const cells = new Int32Array(2 * this.#cells.length).fill(UNKNOWN)
      cells.set(this.#cells)
      this.#cells = cells
    }
    return row
  }
}
