// Chunks as they were delivered, put together into one answer for the log.

import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'

/** Largest answer that is kept, characters of its strings. */
const MAX_CHARACTERS = 64 * 1024 * 1024
/** Strings that are stated anew in each chunk and do not grow. */
const STATED = new Set([
  'id',
  'type',
  'role',
  'name',
  'format',
  'object',
  'model',
  'finish_reason',
  'signature',
])

interface Choice {
  readonly index: number
  readonly message: JsonObject
  finishReason: string | null
}

export class Assembler {
  #envelope: JsonObject = {}
  readonly #choices = new Map<number, Choice>()
  #usage: JsonValue = null
  #characters = 0

  /** @throws GatewayError `upstream_unavailable` when the answer outgrows MAX_CHARACTERS */
  add(chunk: JsonObject): void {
    const { choices, usage, ...envelope } = chunk
    if (Object.keys(this.#envelope).length === 0) this.#envelope = envelope
    if (isObject(usage)) this.#usage = usage
    for (const choice of Array.isArray(choices) ? choices : []) if (isObject(choice)) this.#addChoice(choice)
  }

  /** Of the first choice. */
  get finishReason(): string | null {
    const [first] = this.#sorted()
    return first?.finishReason ?? null
  }

  /** There are choices and each has ended. */
  get complete(): boolean {
    const choices = [...this.#choices.values()]
    return choices.length > 0 && choices.every(({ finishReason }) => finishReason !== null)
  }

  /** The answer so far, in the shape of one that was not streamed. */
  result(): JsonObject {
    const choices = this.#sorted().map(({ index, message, finishReason }) => ({
      index,
      message,
      finish_reason: finishReason,
    }))
    return { ...this.#envelope, object: 'chat.completion', choices, usage: this.#usage }
  }

  #sorted(): Choice[] {
    return [...this.#choices.values()].sort((a, b) => a.index - b.index)
  }

  #addChoice(chunk: JsonObject): void {
    const index = typeof chunk['index'] === 'number' ? chunk['index'] : 0
    let choice = this.#choices.get(index)
    if (choice === undefined) {
      choice = { index, message: { role: 'assistant' }, finishReason: null }
      this.#choices.set(index, choice)
    }
    if (typeof chunk['finish_reason'] === 'string') choice.finishReason = chunk['finish_reason']
    if (isObject(chunk['delta'])) this.#grow(choice.message, chunk['delta'])
  }

  #grow(target: JsonObject, delta: JsonObject): void {
    for (const [name, value] of Object.entries(delta)) {
      // Assigning it would change the object's prototype instead of a property.
      if (name === '__proto__') continue
      const present = target[name]
      if (typeof value === 'string' && typeof present === 'string' && !STATED.has(name)) {
        this.#count(value)
        target[name] = present + value
      } else if (isObject(value) && isObject(present)) {
        this.#grow(present, value)
      } else if (Array.isArray(value)) {
        target[name] = this.#growList(Array.isArray(present) ? present : [], value)
      } else if (value !== null || present === undefined) {
        if (typeof value === 'string') this.#count(value)
        target[name] = structuredClone(value)
      }
    }
  }

  /** Items with an `index` grow in place; others are added. */
  #growList(present: JsonValue[], added: readonly JsonValue[]): JsonValue[] {
    for (const item of added) {
      const index = isObject(item) ? item['index'] : undefined
      const existing = present.find((one) => isObject(one) && index !== undefined && one['index'] === index)
      if (isObject(item) && isObject(existing)) this.#grow(existing, item)
      else {
        this.#count(JSON.stringify(item))
        present.push(structuredClone(item))
      }
    }
    return present
  }

  #count(text: string): void {
    this.#characters += text.length
    if (this.#characters <= MAX_CHARACTERS) return
    throw new GatewayError(
      'upstream_unavailable',
      `The upstream's answer is longer than ${MAX_CHARACTERS} characters.`,
    )
  }
}
