// The values of one call that are put back into its answer, by placeholder. They live here for that call alone, and must
// not be logged, counted or thrown. Knows no text.

import { GatewayError } from '../core/errors.ts'

/**
 * Characters put back into one answer. A placeholder of ten characters may stand for a private key of sixteen
 * thousand, so an answer within its own limit could grow beyond all memory; no honest one comes near this.
 */
const MAX_RESTORED_CHARACTERS = 16 * 1024 * 1024

/** Every placeholder begins with it. */
export const OPENING = '['

/**
 * The placeholders of one call that are undone, with their values. Only the exact form is: `[email_1]`, `\[EMAIL\_1\]`
 * and numbers that were not given out stay as the model wrote them, because a client that sees a placeholder loses
 * little, and one that gets a value in the wrong place may lose much.
 */
export class Restoration {
  readonly #values: ReadonlyMap<string, string>
  /** In the order of their code units, so that prefixes can be looked up. */
  readonly #forms: readonly string[]
  #left = MAX_RESTORED_CHARACTERS

  /** @param values by placeholder; as first written where one value has several writings */
  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values
    this.#forms = [...values.keys()].sort()
  }

  /** Whether a placeholder was given out for a value that is put back. */
  has(form: string): boolean {
    return this.#values.has(form)
  }

  /**
   * The value to put in the place of a placeholder that was given out.
   * @throws GatewayError `upstream_unavailable` when the answer grows beyond MAX_RESTORED_CHARACTERS by it
   */
  take(form: string): string {
    const value = this.#values.get(form)!
    this.#left -= value.length
    if (this.#left < 0) {
      throw new GatewayError(
        'upstream_unavailable',
        `The upstream's answer names so many placeholders that the values for them take more than ${MAX_RESTORED_CHARACTERS} characters.`,
      )
    }
    return value
  }

  /** False for a text in which no placeholder can stand. */
  mayOccurIn(text: string): boolean {
    return text.includes(OPENING)
  }

  /** Whether some placeholder that was given out begins with this. */
  begins(start: string): boolean {
    let low = 0
    let high = this.#forms.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#forms[middle]! < start) low = middle + 1
      else high = middle
    }
    return this.#forms[low]?.startsWith(start) === true
  }
}
