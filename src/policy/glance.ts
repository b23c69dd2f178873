// Whether expressions match somewhere in a text, told at one look into a table for each character. Every prompt
// and every answer goes through this loop, and nearly none any further. Knows no offsets and no rules.

import type { ExpressionAutomaton, Step, ThreadSet } from './automaton.ts'
import { MAY_MATCH, type Walk } from './joined.ts'
import { IN_CONTEXT, LEFT_OUT, Symbols } from './symbols.ts'

/** Steps that a glance works out from the beginning of a text on before it leaves the text to a run. */
const MAX_STEPS = 500

/** Cells of the table, 4 bytes each; when they are used up, it starts over. */
const MAX_CELLS = 1 << 16
const FIRST_ROWS = 16

/** In place of where the next row begins: an expression matches here, or it has not been worked out yet. */
const FOUND = MAY_MATCH
const UNKNOWN = -2

export class Glance implements Walk {
  readonly #automaton: ExpressionAutomaton
  readonly #symbols: Symbols
  /** Cells of one row: a class each, and the end of the text. */
  readonly #width: number
  readonly #maxRows: number
  #cells: Int32Array
  /** The set of threads that each row stands for, and where the row of each begins. */
  #sets: ThreadSet[] = []
  #rows = new Map<ThreadSet, number>()
  /** Steps that `step` may still work out. */
  #stepsLeft = MAX_STEPS

  constructor(automaton: ExpressionAutomaton) {
    const { alphabet } = automaton
    this.#automaton = automaton
    this.#symbols = new Symbols((plain, folded) => alphabet.classOf(plain, folded))
    this.#width = alphabet.size + 1
    this.#maxRows = Math.max(FIRST_ROWS, Math.floor(MAX_CELLS / this.#width))
    this.#cells = new Int32Array(FIRST_ROWS * this.#width).fill(UNKNOWN)
  }

  /** False when no expression matches in the text; true when one does, and where that is not known. */
  mayMatch(text: string): boolean {
    const row = this.advance(this.begin(), text)
    return row < 0 || this.endsInMatch(row)
  }

  get table(): object {
    return this.#sets
  }

  begin(): number {
    this.#stepsLeft = MAX_STEPS
    return this.#rowOf(this.#automaton.begin())
  }

  step(row: number, codePoint: number): number {
    const symbol = this.#symbols.of(codePoint)
    if (symbol === LEFT_OUT) return row
    if (symbol === IN_CONTEXT) return MAY_MATCH
    const next = this.#cells[row + symbol]!
    if (next !== UNKNOWN) return next
    return this.#stepsLeft-- > 0 ? this.#workOut(row, symbol) : MAY_MATCH
  }

  advance(from: number, text: string): number {
    const { units } = this.#symbols
    let row = from
    let index = 0
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      // Left only where the table does not say more; a loop that may change what it reads takes twice as long.
      const cells = this.#cells
      let symbol = IN_CONTEXT
      let next = row
      for (; index < text.length; index++) {
        symbol = units[text.charCodeAt(index)]!
        if (symbol < 0) {
          symbol = this.#symbols.at(text, index)
          if (symbol === IN_CONTEXT) return MAY_MATCH
          if (symbol === LEFT_OUT) continue
        }
        next = cells[row + symbol]!
        if (next < 0) break
        row = next
      }
      if (index === text.length) return row
      if (next === UNKNOWN) next = this.#workOut(row, symbol)
      if (next === FOUND) return MAY_MATCH
      row = next
      index++
    }
    return MAY_MATCH
  }

  endsInMatch(row: number): boolean {
    const last = this.#sets[row / this.#width]!
    return this.#stepFrom(last, this.#automaton.alphabet.size).found.length > 0
  }

  /** What follows on a row by a class of characters; written down unless that made the table start over. */
  #workOut(row: number, symbol: number): number {
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
    if (this.#sets.length === this.#maxRows) {
      this.#sets = []
      this.#rows = new Map()
      this.#cells.fill(UNKNOWN)
    }
    const row = (this.#sets.push(set) - 1) * this.#width
    this.#rows.set(set, row)
    if (row + this.#width > this.#cells.length) {
      const cells = new Int32Array(2 * this.#cells.length).fill(UNKNOWN)
      cells.set(this.#cells)
      this.#cells = cells
    }
    return row
  }
}
