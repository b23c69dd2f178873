// The tokens of a text in which digits and signs inside words are read as letters. Few words have any: the others are taken over from
// the plain view, and only what stands around those few is read again, until both views would read on alike.

import type { Folded } from './folded-text.ts'
import type { Lexicon } from './lexicon.ts'
import { createTokens, type STATE, type TOKEN, type Tokens, type TRAIT } from './token-list.ts'
import type { Tokeniser } from './tokens.ts'

/** Tokens handed on at a time. */
const BATCH_TOKENS = 1024

// Copies, kept the same by their types: constants of this module are part of the machine code, those of others are fetched.
const HASH: typeof TOKEN.hash = 0
const SUM: typeof TOKEN.sum = 1
const TRAITS: typeof TOKEN.traits = 2
const FIRST: typeof TOKEN.first = 3
const LAST: typeof TOKEN.last = 4
const STATE_COLUMN: typeof TOKEN.state = 6
const COLUMNS: typeof TOKEN.columns = 8
const WORD: typeof TRAIT.word = 1
const LEET: typeof STATE.leet = 4
const READ_ON: typeof STATE.readOn = 3

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
        tokeniser.resume(plain.rows[(this.#row - 1) * COLUMNS + LAST] as number, this.#plainState())
      index = this.#row < plain.length ? Math.min(this.#column(FIRST), sign) : sign
      do {
        if (out.length === BATCH_TOKENS) from = this.#handOn(from, add)
        index = tokeniser.next(index)
        while (this.#row < plain.length && this.#column(FIRST) < index) this.#row++
      } while (index < length && !this.#readsOnAlike(index))
    }
    add(out, from)
  }

  /** Takes over rows that end before `end`, up to one to be read again; whether room for them ran out. */
  #takeOver(end: number): boolean {
    const { rows, length } = this.#plain
    const { rows: taken } = this.#out
    const room = BATCH_TOKENS * COLUMNS
    let at = this.#out.length * COLUMNS
    let row = this.#row * COLUMNS
    for (; row < length * COLUMNS && at < room; row += COLUMNS) {
      const state = rows[row + STATE_COLUMN] as number
      if ((state & LEET) !== 0 || (rows[row + LAST] as number) >= end) break
      taken[at + HASH] = rows[row + HASH] as number
      taken[at + SUM] = rows[row + SUM] as number
      taken[at + TRAITS] = rows[row + TRAITS] as number
      taken[at + FIRST] = rows[row + FIRST] as number
      taken[at + LAST] = rows[row + LAST] as number
      at += COLUMNS
    }
    this.#out.length = at / COLUMNS
    this.#row = row / COLUMNS
    return at === room
  }

  /** Hands on what there is from `from` on, and keeps the last token for the next to follow; returns where that begins. */
  #handOn(from: number, add: (tokens: Tokens, from: number) => void): number {
    const out = this.#out
    add(out, from)
    out.rows.copyWithin(0, (out.length - 1) * COLUMNS, out.length * COLUMNS)
    out.length = 1
    return 1
  }

  /** Whether the plain view reads on from `index` with the row that is next, and from the same state. */
  #readsOnAlike(index: number): boolean {
    const row = this.#row
    if (row > 0 && (this.#plain.rows[(row - 1) * COLUMNS + LAST] as number) >= index) return false
    return (
      this.#tokeniser.state === this.#plainState() &&
      lastMark(this.#plain, row) === lastMark(this.#out, this.#out.length)
    )
  }

  /** Parts of STATE after the row before the next. */
  #plainState(): number {
    return this.#row === 0
      ? 0
      : (this.#plain.rows[(this.#row - 1) * COLUMNS + STATE_COLUMN] as number) & READ_ON
  }

  #column(column: number): number {
    return this.#plain.rows[this.#row * COLUMNS + column] as number
  }
}

/** The hash of the mark before the token `row`, zero where none stands there. */
function lastMark({ rows }: Tokens, row: number): number {
  const last = (row - 1) * COLUMNS
  return row === 0 || ((rows[last + TRAITS] as number) & WORD) !== 0 ? 0 : (rows[last + HASH] as number)
}
