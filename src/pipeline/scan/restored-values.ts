// Collects the values of a prompt that its answer gets back.

import { Restoration } from './restore.ts'
import { WHOLE_NUMBER } from './spans.ts'

export class RestoredValues {
  /** By placeholder, in the first spelling of each. */
  readonly #texts = new Map<string, string>()
  readonly #numbers = new Map<string, string>()

  /** @param isNumber whether the value is a number of JSON here */
  add(form: string, value: string, isNumber: boolean): void {
    const spellings = isNumber && WHOLE_NUMBER.test(value) ? this.#numbers : this.#texts
    if (!spellings.has(form)) spellings.set(form, value)
  }

  /** Null without values. */
  restoration(): Restoration | null {
    const isEmpty = this.#texts.size === 0 && this.#numbers.size === 0
    return isEmpty ? null : new Restoration(this.#texts, this.#numbers)
  }
}
