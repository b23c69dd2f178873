// Bounds the logged answer of a stream, and keeps its strings compact while they grow.

import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { setMember } from './text.ts'

/**
 * Largest logged answer: characters of its strings and names, plus a flat charge for each value.
 */
const MAXIMUM_CHARACTERS = 64 * 1024 * 1024
const VALUE_CHARACTERS = 8

/**
 * Characters that may stay in pieces, besides a share of the whole. A string of small pieces takes
 * fourteen times its length and keeps the chunks it was cut from.
 */
const LOOSE_CHARACTERS = 4096
const LOOSE_PART = 1 / 8

export class AnswerSize {
  readonly #growing: () => Iterable<JsonObject>
  #characters = 0
  /** Characters added since strings were last made compact. */
  #loose = 0

  /** @param growing returns the objects in which strings grow */
  constructor(growing: () => Iterable<JsonObject>) {
    this.#growing = growing
  }

  /** Size of the answer; its memory is one to two bytes for each. */
  get characters(): number {
    return this.#characters
  }

  /** @throws GatewayError `upstream_unavailable` beyond MAXIMUM_CHARACTERS */
  count(characters: number): void {
    this.#characters += characters
    if (this.#characters > MAXIMUM_CHARACTERS) throw tooLong(`${MAXIMUM_CHARACTERS} characters`)
    this.#loose += characters
    if (this.#loose < LOOSE_CHARACTERS || this.#loose < this.#characters * LOOSE_PART) return
    this.#loose = 0
    for (const object of this.#growing()) compact(object)
  }

  /**
   * Copies a value and counts its size. Later chunks must not change the chunk it came from.
   * @throws GatewayError as `count`
   */
  copy(value: JsonValue): JsonValue {
    this.count(typeof value === 'string' ? value.length : VALUE_CHARACTERS)
    if (Array.isArray(value)) return value.map((item) => this.copy(item))
    if (!isObject(value)) return value
    const copy: JsonObject = {}
    for (const [name, member] of Object.entries(value)) {
      this.count(name.length)
      setMember(copy, name, this.copy(member))
    }
    return copy
  }
}

/** Makes V8 copy each string of pieces into one; reading a character does so. */
function compact(value: JsonValue): void {
  if (typeof value === 'string') value.charCodeAt(0)
  else if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) compact(member)
}

export const tooLong = (limit: string): GatewayError =>
  new GatewayError('upstream_unavailable', `The upstream's answer is longer than ${limit}.`)
