// Finds the sentences of a message that may be an attack among innocent ones. Knows nothing about
// words.

import { scaleOf } from './features.ts'
import type { DecodedTable } from './model.ts'

/** Maximum sentences of a text whose own margin already shows an attack in one of them. */
const FEW_SENTENCES = 5
/** Maximum sentences of a text that are weighed again. Bounds the time. */
export const MAXIMUM_SUSPECTS = 4
/** Maximum UTF-16 units of such a sentence. A longer one is mostly blanks. */
const MAXIMUM_SUSPECT_UNITS = 4096
/** Margin from which a sentence is weighed again; hardly any innocent one has it. */
const SUSPECT_MARGIN = 1

/** The margin of a span of the text. */
export interface WeighedSpan {
  /** Logarithm of odds. */
  readonly margin: number
  /** UTF-16 offset in the weighed text. */
  readonly start: number
  /** UTF-16 offset after the last character. */
  readonly end: number
}

/** Keeps the sentences, and pairs of neighbouring ones, with the largest margins. */
export class SuspectList {
  #suspects: WeighedSpan[] = []
  #table!: DecodedTable
  #sentences = 0
  #lastSum = 0
  #lastCount = 0
  #lastStart = 0

  reset(table: DecodedTable): void {
    this.#suspects = []
    this.#table = table
    this.#sentences = 0
  }

  /** Adds a sentence with the sum of the weights of all its features and their number. */
  add(start: number, end: number, sum: number, count: number): void {
    this.#try(start, end, sum, count)
    if (this.#sentences > 0) this.#try(this.#lastStart, end, sum + this.#lastSum, count + this.#lastCount)
    this.#sentences++
    this.#lastSum = sum
    this.#lastCount = count
    this.#lastStart = start
  }

  #try(start: number, end: number, sum: number, count: number): void {
    const { scale, bias } = this.#table
    const margin = sum * scale * scaleOf(count) + bias
    if (margin < SUSPECT_MARGIN || end - start > MAXIMUM_SUSPECT_UNITS) return
    const suspects = this.#suspects
    let at = suspects.length
    while (at > 0 && (suspects[at - 1] as WeighedSpan).margin < margin) at--
    suspects.splice(at, 0, { margin, start, end })
    if (suspects.length > MAXIMUM_SUSPECTS) suspects.pop()
  }

  /** Returns the most suspicious spans first; none of a text of few sentences. */
  close(): readonly WeighedSpan[] {
    return this.#sentences > FEW_SENTENCES ? this.#suspects : []
  }
}
