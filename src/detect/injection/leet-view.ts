// The tokens of a text in which digits and signs inside words are read as letters. Few words have any: the others are taken over from
// the plain view, and only what stands around those few is read again, until both views would read on alike.

import type { Folded } from './folded-text.ts'
import type { Lexicon } from './lexicon.ts'
import {
  COLUMN_FIRST,
  COLUMN_HASH,
  COLUMN_LAST,
  COLUMN_STATE,
  COLUMN_SUM,
  COLUMN_TRAITS,
  createTokens,
  ROW_COLUMNS,
  STATE_CARRIED,
  STATE_LEET,
  type Tokens,
  TRAIT_WORD,
} from './token-list.ts'
import type { Tokeniser } from './tokens.ts'

/** Tokens handed on at a time. */
const BATCH_TOKENS = 1024

/** Holds the buffer for it; one piece at a time. Linear in the piece. */
export class LeetView {
  readonly #tokeniser: Tokeniser
  readonly #out = createTokens(BATCH_TOKENS)
  #plain!: Tokens
  /** Row of the plain view that is taken over next. */
  #row = 0

  constructor(tokeniser: Tokeniser) {
    this.#tokeniser = tokeniser
  }

  /**
   * Hands on the tokens of a piece in batches, those from an index on. `plain` are its tokens in the plain view, and
   * `folded` is as it was before they were read.
   */
  read(folded: Folded, plain: Tokens, lexicon: Lexicon, add: (tokens: Tokens, from: number) => void): void {
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
      while (this.#takeOver(sign < length ? sign - 1 : length)) from = this.#handOn(from, add)
      if (this.#row === plain.length && sign === length) break
      if (this.#row > 0)
        tokeniser.resume(
          plain.rows[(this.#row - 1) * ROW_COLUMNS + COLUMN_LAST] as number,
          this.#plainState(),
        )
      index = this.#row < plain.length ? Math.min(this.#column(COLUMN_FIRST), sign) : sign
      do {
        if (out.length === BATCH_TOKENS) from = this.#handOn(from, add)
        index = tokeniser.next(index)
        while (this.#row < plain.length && this.#column(COLUMN_FIRST) < index) this.#row++
      } while (index < length && !this.#readsOnAlike(index))
    }
    add(out, from)
  }

  /** Takes over rows that end before `end`, up to one to be read again; whether room for them ran out. */
  #takeOver(end: number): boolean {
    const { rows, length } = this.#plain
    const { rows: taken } = this.#out
    const room = BATCH_TOKENS * ROW_COLUMNS
    let at = this.#out.length * ROW_COLUMNS
    let row = this.#row * ROW_COLUMNS
    for (; row < length * ROW_COLUMNS && at < room; row += ROW_COLUMNS) {
      const state = rows[row + COLUMN_STATE] as number
      if ((state & STATE_LEET) !== 0 || (rows[row + COLUMN_LAST] as number) >= end) break
      taken[at + COLUMN_HASH] = rows[row + COLUMN_HASH] as number
      taken[at + COLUMN_SUM] = rows[row + COLUMN_SUM] as number
      taken[at + COLUMN_TRAITS] = rows[row + COLUMN_TRAITS] as number
      taken[at + COLUMN_FIRST] = rows[row + COLUMN_FIRST] as number
      taken[at + COLUMN_LAST] = rows[row + COLUMN_LAST] as number
      at += ROW_COLUMNS
    }
    this.#out.length = at / ROW_COLUMNS
    this.#row = row / ROW_COLUMNS
    return at === room
  }

  /** Hands on what there is from `from` on, and keeps the last token for the next to follow; returns where that begins. */
  #handOn(from: number, add: (tokens: Tokens, from: number) => void): number {
    const out = this.#out
    add(out, from)
    out.rows.copyWithin(0, (out.length - 1) * ROW_COLUMNS, out.length * ROW_COLUMNS)
    out.length = 1
    return 1
  }

  /** Whether the plain view reads on from `index` with the row that is next, and from the same state. */
  #readsOnAlike(index: number): boolean {
    const row = this.#row
    if (row > 0 && (this.#plain.rows[(row - 1) * ROW_COLUMNS + COLUMN_LAST] as number) >= index) return false
    return (
      this.#tokeniser.state === this.#plainState() &&
      lastMark(this.#plain, row) === lastMark(this.#out, this.#out.length)
    )
  }

  /** Parts of STATE after the row before the next. */
  #plainState(): number {
    return this.#row === 0
      ? 0
      : (this.#plain.rows[(this.#row - 1) * ROW_COLUMNS + COLUMN_STATE] as number) & STATE_CARRIED
  }

  #column(column: number): number {
    return this.#plain.rows[this.#row * ROW_COLUMNS + column] as number
  }
}

/** The hash of the mark before the token `row`, zero where none stands there. */
function lastMark({ rows }: Tokens, row: number): number {
  const last = (row - 1) * ROW_COLUMNS
  return row === 0 || ((rows[last + COLUMN_TRAITS] as number) & TRAIT_WORD) !== 0
    ? 0
    : (rows[last + COLUMN_HASH] as number)
}
