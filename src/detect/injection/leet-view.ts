// Reads a text with digits and signs inside words as letters. Few words have any, so most tokens
// are copied from the plain view. Only the tokens around those words are read again, until both
// views are in step.

import type { FoldedText } from './folded-text.ts'
import type { Lexicon } from './lexicon.ts'
import {
  COLUMN_FIRST,
  COLUMN_HASH,
  COLUMN_LAST,
  COLUMN_STATE,
  COLUMN_SUM,
  COLUMN_TRAITS,
  createTokenList,
  ROW_COLUMNS,
  STATE_CARRIED,
  STATE_LEET,
  type TokenList,
  TRAIT_WORD,
} from './token-list.ts'
import type { Tokeniser } from './tokens.ts'

/** Tokens passed on at a time. */
const BATCH_TOKENS = 1024

/** Reads one piece at a time with a reused buffer. Takes time linear in the piece. */
export class LeetView {
  readonly #tokeniser: Tokeniser
  readonly #out = createTokenList(BATCH_TOKENS)
  #plain!: TokenList
  /** Row of the plain view to copy next. */
  #row = 0

  constructor(tokeniser: Tokeniser) {
    this.#tokeniser = tokeniser
  }

  /**
   * Passes the tokens of a piece to `add` in batches, each with the index of its first new token.
   * @param folded the piece before its plain view was read
   * @param plain the tokens of its plain view
   */
  read(
    folded: FoldedText,
    plain: TokenList,
    lexicon: Lexicon,
    add: (tokens: TokenList, from: number) => void,
  ): void {
    const tokeniser = this.#tokeniser
    const out = this.#out
    const { units, length } = folded
    this.#plain = plain
    this.#row = 0
    tokeniser.begin(folded, true, lexicon, out)
    let from = 0
    let index = 0
    let sign = -1
    for (;;) {
      if (sign < index) sign = tokeniser.leetSign(units, index, length)
      while (this.#copyRows(sign < length ? sign - 1 : length)) from = this.#flush(from, add)
      if (this.#row === plain.length && sign === length) break
      if (this.#row > 0)
        tokeniser.resume(
          plain.rows[(this.#row - 1) * ROW_COLUMNS + COLUMN_LAST] as number,
          this.#plainState(),
        )
      index = this.#row < plain.length ? Math.min(this.#column(COLUMN_FIRST), sign) : sign
      do {
        if (out.length === BATCH_TOKENS) from = this.#flush(from, add)
        index = tokeniser.next(index)
        while (this.#row < plain.length && this.#column(COLUMN_FIRST) < index) this.#row++
      } while (index < length && !this.#isInStep(index))
    }
    add(out, from)
  }

  /**
   * Copies rows that end before `end` up to one that must be read again. Returns whether the batch
   * is full.
   */
  #copyRows(end: number): boolean {
    const { rows, length } = this.#plain
    const { rows: copied } = this.#out
    const room = BATCH_TOKENS * ROW_COLUMNS
    let at = this.#out.length * ROW_COLUMNS
    let row = this.#row * ROW_COLUMNS
    for (; row < length * ROW_COLUMNS && at < room; row += ROW_COLUMNS) {
      const state = rows[row + COLUMN_STATE] as number
      if ((state & STATE_LEET) !== 0 || (rows[row + COLUMN_LAST] as number) >= end) break
      copied[at + COLUMN_HASH] = rows[row + COLUMN_HASH] as number
      copied[at + COLUMN_SUM] = rows[row + COLUMN_SUM] as number
      copied[at + COLUMN_TRAITS] = rows[row + COLUMN_TRAITS] as number
      copied[at + COLUMN_FIRST] = rows[row + COLUMN_FIRST] as number
      copied[at + COLUMN_LAST] = rows[row + COLUMN_LAST] as number
      at += ROW_COLUMNS
    }
    this.#out.length = at / ROW_COLUMNS
    this.#row = row / ROW_COLUMNS
    return at === room
  }

  /**
   * Passes on the tokens from `from` on, and keeps the last one as context of the next batch;
   * returns the index after it.
   */
  #flush(from: number, add: (tokens: TokenList, from: number) => void): number {
    const out = this.#out
    add(out, from)
    out.rows.copyWithin(0, (out.length - 1) * ROW_COLUMNS, out.length * ROW_COLUMNS)
    out.length = 1
    return 1
  }

  /** Whether the plain view continues at `index` with its next row, in the same state. */
  #isInStep(index: number): boolean {
    const row = this.#row
    if (row > 0 && (this.#plain.rows[(row - 1) * ROW_COLUMNS + COLUMN_LAST] as number) >= index) return false
    return (
      this.#tokeniser.state === this.#plainState() &&
      lastMark(this.#plain, row) === lastMark(this.#out, this.#out.length)
    )
  }

  /** STATE_CARRIED flags before the next row. */
  #plainState(): number {
    return this.#row === 0
      ? 0
      : (this.#plain.rows[(this.#row - 1) * ROW_COLUMNS + COLUMN_STATE] as number) & STATE_CARRIED
  }

  #column(column: number): number {
    return this.#plain.rows[this.#row * ROW_COLUMNS + column] as number
  }
}

/** Returns the hash of the mark directly before the token `row`, or zero. */
function lastMark({ rows }: TokenList, row: number): number {
  const last = (row - 1) * ROW_COLUMNS
  return row === 0 || ((rows[last + COLUMN_TRAITS] as number) & TRAIT_WORD) !== 0
    ? 0
    : (rows[last + COLUMN_HASH] as number)
}
