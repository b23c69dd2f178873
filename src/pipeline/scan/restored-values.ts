// Collects the values of a prompt that its answer gets back.

import { Restoration } from './restore.ts'

export class RestoredValues {
  /** By placeholder, in the first spelling of each. */
  readonly #values = new Map<string, string>()
  /** Placeholders of values that are no number somewhere. */
  readonly #texts = new Set<string>()

  /** @param isNumber whether the value is a number of JSON here */
  add(form: string, value: string, isNumber: boolean): void {
    if (!isNumber) this.#texts.add(form)
    if (!this.#values.has(form)) this.#values.set(form, value)
  }

  /** Null without values. */
  restoration(): Restoration | null {
    if (this.#values.size === 0) return null
    const numbers = new Set([...this.#values.keys()].filter((form) => !this.#texts.has(form)))
    return new Restoration(this.#values, numbers)
  }
}
