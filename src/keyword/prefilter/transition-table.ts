// The steps of the automaton of expressions as one table of numbers, which a loop reads at one look a character. It is
// worked out cell by cell as texts ask for it. Knows no text.

import type { ExpressionAutomaton, Step, ThreadSet } from '../regexp/automaton.ts'

/** Cells of the table, 4 bytes each; when they are used up, it starts over. It has room for some rows, however wide. */
const MAX_CELLS = 1 << 16
const FIRST_ROWS = 16
/** Threads of the sets that rows stand for, 4 bytes each; with more, it starts over as well. */
const MAX_THREADS = 500_000

/** More classes of characters than this are too many for a table. */
export const MAX_CLASSES = 2 ** 16 - 1
/** Every row begins before this cell. */
export const ROWS_END = FIRST_ROWS * (MAX_CLASSES + 1)

/** In place of where the next row begins: an expression matches here, or it has not been worked out yet. */
const FOUND = -1
export const UNKNOWN = -2

/** A row for each set of threads, named by where it begins. Rows count until the table starts over. */
export class StepTable {
  readonly #automaton: ExpressionAutomaton
  /** The threads at a text's beginning. */
  readonly #first: ThreadSet
  /** Cells of one row: a class each, and the end of the text. */
  readonly #width: number
  readonly #maxRows: number
  #cells: Int32Array
  /** The set of threads that each row stands for, and where the row of each begins. */
  #sets: ThreadSet[] = []
  #rows = new Map<ThreadSet, number>()
  #threads = 0
  #generation: object = {}

  /** @param automaton its alphabet has MAX_CLASSES at most */
  constructor(automaton: ExpressionAutomaton) {
    this.#automaton = automaton
    this.#first = automaton.begin()
    this.#width = automaton.alphabet.size + 1
    this.#maxRows = Math.max(FIRST_ROWS, Math.floor(MAX_CELLS / this.#width))
    this.#cells = new Int32Array(FIRST_ROWS * this.#width).fill(UNKNOWN)
  }

  /** By row and class: the next row, FOUND or UNKNOWN. Another one when the table has grown. */
  get cells(): Int32Array {
    return this.#cells
  }

  /** Another one when the table has started over; holds nothing, so that whoever keeps it keeps nothing else. */
  get generation(): object {
    return this.#generation
  }

  /** The row of a text's beginning. */
  begin(): number {
    return this.#rowOf(this.#first)
  }

  /** Whether the end of the text makes a match. */
  endsInMatch(row: number): boolean {
    const known = this.#cells[row + this.#width - 1]!
    return (known === UNKNOWN ? this.#workOutEnd(row) : known) === FOUND
  }

  /** Behind the end comes nothing: without a match any row will do. */
  #workOutEnd(row: number): number {
    const { found } = this.#stepFrom(this.#sets[row / this.#width]!, this.#width - 1)
    const next = found.length > 0 ? FOUND : row
    this.#cells[row + this.#width - 1] = next
    return next
  }

  /** What follows on a row by a class of characters; written down unless that made the table start over. */
  workOut(row: number, symbol: number): number {
    const sets = this.#sets
    const step = this.#stepFrom(sets[row / this.#width]!, symbol)
    const next = step.found.length > 0 ? FOUND : this.#rowOf(step.target)
    if (sets === this.#sets) this.#cells[row + symbol] = next
    return next
  }

  #stepFrom(set: ThreadSet, symbol: number): Step {
    return set.steps[symbol] ?? this.#automaton.workOut(set, symbol)
  }

  #rowOf(set: ThreadSet): number {
    const known = this.#rows.get(set)
    if (known !== undefined) return known
    if (this.#sets.length === this.#maxRows || this.#threads > MAX_THREADS) {
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
