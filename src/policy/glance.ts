// Whether words or expressions occur somewhere in a text, told at one look at each character. Every prompt and every
// answer goes through this loop, and nearly none any further. Knows no offsets and no rules.

import type { ExpressionAutomaton } from './automaton.ts'
import { FOUND, MAX_CLASSES, ROWS_END, StepTable, UNKNOWN } from './step-table.ts'
import { IN_CONTEXT, LEFT_OUT, Symbols } from './symbols.ts'
import { WORD_ENDS, type WordAutomaton } from './words.ts'

/** In place of a place: a match is there, or only normalising the text can tell. */
export const MAY_MATCH = -1

/** Steps of expressions that a glance works out from the beginning of a text on before it leaves the text to a run. */
const MAX_STEPS = 500

/** A character's class among words stands in the upper bits of its symbol, that among expressions in the lower. */
const WORD_SHIFT = 16
const EXPRESSION_MASK = 2 ** WORD_SHIFT - 1

/** A table without rules: one row, which everything leads to. */
const NO_RULES = new Int32Array(1)

/**
 * Words and expressions followed along a text together. A place is a row of either, as one number: what the characters so
 * far may be the beginning of.
 */
export class Glance {
  readonly #symbols: Symbols
  /** Null when there are too many words or classes for tables: every text may match. */
  readonly #words: Int32Array | null
  readonly #steps: StepTable | null
  /** Steps that `step` may still work out. */
  #stepsLeft = MAX_STEPS

  constructor(words: WordAutomaton | null, expressions: ExpressionAutomaton | null) {
    const alphabet = expressions?.alphabet
    const fits = alphabet === undefined || alphabet.size <= MAX_CLASSES
    this.#words = !fits ? null : words === null ? NO_RULES : words.rows
    this.#steps = expressions === null || !fits ? null : new StepTable(expressions)
    // Words that have rows have far fewer classes than the upper bits can tell apart.
    this.#symbols = new Symbols(
      (plain, folded) =>
        ((words?.classOf(folded) ?? 0) << WORD_SHIFT) | (alphabet?.classOf(plain, folded) ?? 0),
    )
  }

  /** False when nothing occurs in the text; true when something does, and where that is not known. */
  mayMatch(text: string): boolean {
    const place = this.advance(this.begin(), text)
    return place < 0 || this.endsInMatch(place)
  }

  /** Places count only while this is the same. */
  get generation(): object {
    return this.#steps?.generation ?? this
  }

  /** The place where a text begins. */
  begin(): number {
    this.#stepsLeft = MAX_STEPS
    return this.#steps?.begin() ?? 0
  }

  /** Whether the end of the text makes a match. */
  endsInMatch(place: number): boolean {
    return this.#steps?.endsInMatch(place % ROWS_END) === true
  }

  /** The place behind one character, or MAY_MATCH: also where too many steps are not known yet, and behind MAY_MATCH. */
  step(place: number, codePoint: number): number {
    if (place < 0) return MAY_MATCH
    const symbol = this.#symbols.of(codePoint)
    if (symbol === LEFT_OUT) return place
    if (symbol === IN_CONTEXT || this.#words === null) return MAY_MATCH
    const word = this.#words[Math.floor(place / ROWS_END) + (symbol >> WORD_SHIFT)]!
    if (word === WORD_ENDS) return MAY_MATCH
    if (this.#steps === null) return word * ROWS_END
    const row = place % ROWS_END
    const { generation } = this
    let next = this.#steps.cells[row + (symbol & EXPRESSION_MASK)]!
    if (next === UNKNOWN && this.#stepsLeft-- > 0) next = this.#steps.workOut(row, symbol & EXPRESSION_MASK)
    // Whoever goes on from several places would go on from some that count no more.
    return next < 0 || this.generation !== generation ? MAY_MATCH : word * ROWS_END + next
  }

  /** The place behind a text, or MAY_MATCH. */
  advance(place: number, text: string): number {
    const { units } = this.#symbols
    const words = this.#words
    if (words === null) return MAY_MATCH
    let word = Math.floor(place / ROWS_END)
    let row = place % ROWS_END
    let index = 0
    for (let stepsLeft = MAX_STEPS; stepsLeft > 0; index++) {
      // Left only where the tables do not say more; with anything else in it the loop takes half as long again.
      const cells = this.#steps?.cells ?? NO_RULES
      let symbol = 0
      let next = row
      for (; index < text.length; index++) {
        symbol = units[text.charCodeAt(index)]!
        if (symbol < 0) break
        word = words[word + (symbol >> WORD_SHIFT)]!
        next = cells[row + (symbol & EXPRESSION_MASK)]!
        if ((word | next) < 0) break
        row = next
      }
      if (index === text.length) return word * ROWS_END + row
      if (symbol < 0) {
        symbol = this.#symbols.at(text, index)
        if (symbol === IN_CONTEXT) return MAY_MATCH
        if (symbol === LEFT_OUT) continue
        word = words[word + (symbol >> WORD_SHIFT)]!
        next = cells[row + (symbol & EXPRESSION_MASK)]!
      }
      if (word === WORD_ENDS) return MAY_MATCH
      if (next === UNKNOWN && this.#steps !== null) {
        next = this.#steps.workOut(row, symbol & EXPRESSION_MASK)
        stepsLeft--
      }
      if (next === FOUND) return MAY_MATCH
      row = next
    }
    return MAY_MATCH
  }
}
