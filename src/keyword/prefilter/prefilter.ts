// Whether words or expressions occur somewhere in a text, told at one look at each character. Every prompt and every
// answer goes through this loop, and nearly none any further. Knows no offsets and no rules.

import { STEP_UNITS, type Steps } from '../../core/steps.ts'
import { WORD_ENDS, type WordAutomaton } from '../literals.ts'
import type { ExpressionAutomaton } from '../regexp/automaton.ts'
import { ContextWindows, OUT_OF_REACH } from './context-windows.ts'
import { IN_CONTEXT, LEFT_OUT, Symbols } from './symbols.ts'
import { MAX_CLASSES, ROWS_END, StepTable, UNKNOWN } from './transition-table.ts'

/** In place of a place: a match is there, or only searching the text in full can tell. */
export const MAY_MATCH = -1

/** Steps of expressions that a glance works out for one text before it leaves the text to a run. */
const MAX_STEPS = 500
/** In place of an offset: no further than here. */
const STOPPED = -1

/** A character's class among words stands in the upper bits of its symbol, that among expressions in the lower. */
const WORD_SHIFT = 16
const EXPRESSION_MASK = 2 ** WORD_SHIFT - 1

/** A table without rules: one row, which everything leads to. */
const NO_RULES = new Int32Array(1)

/**
 * Words and expressions followed along a text together. A place is a row of either, as one number: what the characters so
 * far may be the beginning of.
 */
export class Prefilter {
  readonly #symbols: Symbols
  readonly #stretches: ContextWindows
  /** Null when there are too many words or classes for tables: every text may match. */
  readonly #words: Int32Array | null
  readonly #steps: StepTable | null
  readonly #onlyGeneration: object = {}
  #stepsLeft = MAX_STEPS
  /** Where the last walk has come to. */
  #place = 0

  constructor(words: WordAutomaton | null, expressions: ExpressionAutomaton | null) {
    const alphabet = expressions?.alphabet
    const fits = alphabet === undefined || alphabet.size <= MAX_CLASSES
    this.#words = !fits ? null : words === null ? NO_RULES : words.rows
    this.#steps = expressions === null || !fits ? null : new StepTable(expressions)
    // Words that have rows have far fewer classes than the upper bits can tell apart.
    const classOf = (plain: number, folded: number) =>
      ((words?.classOf(folded) ?? 0) << WORD_SHIFT) | (alphabet?.classOf(plain, folded) ?? 0)
    this.#symbols = new Symbols(classOf)
    this.#stretches = new ContextWindows(this.#symbols, classOf)
  }

  /** False when nothing occurs in the text; true when something does, and where that is not known. */
  mayMatch(text: string): boolean {
    const place = this.advance(this.begin(), text)
    return place < 0 || this.endsInMatch(place)
  }

  /** As `mayMatch`, in steps. */
  *mayMatchSteps(text: string): Steps<boolean> {
    const place = yield* this.#behind(text)
    return place < 0 || this.endsInMatch(place)
  }

  /** Places count only while this is the same. */
  get generation(): object {
    return this.#steps?.generation ?? this.#onlyGeneration
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

  /** The place behind a text by itself, or MAY_MATCH. @param glimpse of the same text, to be kept for the next time */
  *pass(text: string, glimpse: PrefilterState): Steps<number> {
    const known = glimpse.placeIn(this.generation)
    if (known !== undefined) return known
    const place = yield* this.#behind(text)
    // More steps may be known the next time.
    if (place >= 0) glimpse.keep(this.generation, place)
    return place
  }

  *#behind(text: string): Steps<number> {
    let place = this.begin()
    if (text.length <= STEP_UNITS) return this.advance(place, text)
    for (let at = 0; place >= 0 && at < text.length; ) {
      const { generation } = this
      if (at > 0) yield
      // Other texts may have taken the tables up by now.
      if (this.generation !== generation) return MAY_MATCH
      const end = this.partEnd(text, at, STEP_UNITS)
      place = this.advance(place, text.slice(at, end))
      at = end
    }
    return place
  }

  /**
   * The place behind a text, or MAY_MATCH: also behind MAY_MATCH, and where too many steps are not known yet. What the
   * place stands for and the text do not change one another.
   */
  advance(place: number, text: string): number {
    let before = place
    for (let at = 0; before >= 0; ) {
      const { generation } = this
      const index = this.#walk(before, text, at, text.length)
      if (index === text.length) return this.#place
      if (index === STOPPED) break
      const start = this.#stretches.start(text, index, at)
      const end = this.#stretches.end(text, index)
      if (start === OUT_OF_REACH || end === OUT_OF_REACH || this.generation !== generation) break
      // Once more as far as the stretch, where the walk had gone on.
      if (this.#walk(before, text, at, start) !== start) break
      before = this.#follow(this.#place, this.#stretches.symbols(text.slice(start, end)))
      at = end
    }
    return MAY_MATCH
  }

  /** Whether two texts, neither empty, are together what each is by itself. */
  areApart(before: string, behind: string): boolean {
    return this.#stretches.areApart(before, behind)
  }

  /** Where a part of a text ends, of some units or a few more: what it holds and what follows do not change one another. */
  partEnd(text: string, start: number, units: number): number {
    const end = this.#stretches.end(text, start + units)
    return end === OUT_OF_REACH ? text.length : end
  }

  /** Goes along `text` from an offset to another; returns that, or where a character has neighbours that count, or STOPPED. */
  #walk(place: number, text: string, from: number, to: number): number {
    const { units } = this.#symbols
    const words = this.#words
    if (words === null) return STOPPED
    let word = Math.floor(place / ROWS_END)
    let row = place % ROWS_END
    let index = from
    for (; ; index++) {
      // Left only where the tables do not say more; with anything else in it the loop takes half as long again.
      const cells = this.#steps?.cells ?? NO_RULES
      let symbol = 0
      let next = row
      for (; index < to; index++) {
        symbol = units[text.charCodeAt(index)]!
        if (symbol < 0) break
        word = words[word + (symbol >> WORD_SHIFT)]!
        next = cells[row + (symbol & EXPRESSION_MASK)]!
        if ((word | next) < 0) break
        row = next
      }
      if (index === to) break
      if (symbol < 0) {
        symbol = this.#symbols.at(text, index)
        if (symbol === IN_CONTEXT) break
        if (symbol === LEFT_OUT) continue
        word = words[word + (symbol >> WORD_SHIFT)]!
        next = cells[row + (symbol & EXPRESSION_MASK)]!
      }
      row = this.#nextRow(row, symbol, next)
      if (word === WORD_ENDS || row < 0) return STOPPED
    }
    this.#place = word * ROWS_END + row
    return index
  }

  /** The place behind some symbols, or MAY_MATCH. */
  #follow(place: number, symbols: readonly number[]): number {
    let word = Math.floor(place / ROWS_END)
    let row = place % ROWS_END
    for (const symbol of symbols) {
      word = this.#words?.[word + (symbol >> WORD_SHIFT)] ?? WORD_ENDS
      const cells = this.#steps?.cells ?? NO_RULES
      row = this.#nextRow(row, symbol, cells[row + (symbol & EXPRESSION_MASK)]!)
      if (word === WORD_ENDS || row < 0) return MAY_MATCH
    }
    return word * ROWS_END + row
  }

  /** @param next what the table says follows on a row by a symbol; worked out if it does not say, while steps are left */
  #nextRow(row: number, symbol: number, next: number): number {
    if (next !== UNKNOWN || this.#steps === null || this.#stepsLeft-- <= 0) return next
    return this.#steps.workOut(row, symbol & EXPRESSION_MASK)
  }
}

/** Empty until a place is kept in it. */
export class PrefilterState {
  #generation: object | null = null
  #place = 0

  /** The place behind the text, undefined if none was kept that still counts. */
  placeIn(generation: object): number | undefined {
    return this.#generation === generation ? this.#place : undefined
  }

  keep(generation: object, place: number): void {
    this.#generation = generation
    this.#place = place
  }
}
