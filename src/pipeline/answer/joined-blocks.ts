// Decides whether a value or a keyword is split over the end of a block of text and the beginning
// of the next. Only then the second continues the text of the first; else each keeps its own.

import type { Placeholders } from '../scan/placeholders.ts'
import { type ScanRules, TextScanner } from '../scan/text-scanner.ts'

/** Longest text of the next block that is read before blocks are joined, UTF-16 units. */
const MAXIMUM_UNITS = 2048

/** A block of fewer units that ends undecided may be the middle of a value. */
const MINIMUM_DECIDING = 64

/** `unknown` until more of the next block is read. */
export type Join = 'joined' | 'apart' | 'unknown'

export class JoinTrial {
  readonly #scanner: TextScanner
  readonly #boundary: number
  #read = 0

  /** @param held the text of the first block that is held back */
  constructor(held: string, rules: ScanRules, placeholders: Placeholders) {
    this.#scanner = new TextScanner(rules, placeholders.fork(), 'plain')
    this.#scanner.push(held)
    this.#boundary = held.length
  }

  /** Reads text of the next block. */
  push(text: string): Join {
    this.#read += text.length
    this.#scanner.push(text)
    if (this.#scanner.blocked || this.#read > MAXIMUM_UNITS) return 'joined'
    return this.#scanner.releasedCharacters < this.#boundary ? 'unknown' : this.#verdict()
  }

  /** Ends the next block. @param mayContinue whether another may continue it */
  finish(mayContinue: boolean): Join {
    if (mayContinue && this.#read < MINIMUM_DECIDING) return 'joined'
    this.#scanner.finish()
    return this.#verdict()
  }

  #verdict(): Join {
    const isSplit = this.#scanner.edits.some(
      ({ at, length }) => at < this.#boundary && at + length > this.#boundary,
    )
    return isSplit || this.#scanner.blocked ? 'joined' : 'apart'
  }
}
