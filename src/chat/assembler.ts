// Chunks as they were delivered, put together into one answer for the log.

import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { growsInPart, isChannelName, isReplacedString, isWholeContainer } from './delta-fields.ts'
import { choiceIndex, finishReason, MAX_CHOICES } from './stream-chunk.ts'
import { setMember } from './text.ts'

/** Largest answer that is kept: characters of its strings and names, and a flat charge for every value. */
const MAX_CHARACTERS = 64 * 1024 * 1024
const VALUE_CHARACTERS = 8

/**
 * Characters of which each may still be a piece by itself, where that is no large part of all: put together piece by piece,
 * a text takes fourteen times its length, and all that the pieces were cut from.
 */
const LOOSE_CHARACTERS = 4096
const LOOSE_PART = 1 / 8

/** Items of one list that may grow, the first of it; looked up one by one. */
const MAX_GROWING_ITEMS = 256

interface Choice {
  readonly index: number
  readonly message: JsonObject
  finishReason: string | null
}

/** One answer from its chunks. Token probabilities, which repeat the text, are left out. Not safe to share. */
export class Assembler {
  readonly #envelope: JsonObject = {}
  readonly #choices = new Map<number, Choice>()
  #unfinished = 0
  #usage: JsonValue = null
  #characters = 0
  /** Those that came since texts were made compact. */
  #loose = 0

  /** @throws GatewayError `upstream_unavailable` when the answer outgrows MAX_CHARACTERS */
  add(chunk: JsonObject): void {
    const { choices, usage, ...envelope } = chunk
    this.#keepBeside(envelope)
    if (isObject(usage)) this.#usage = usage
    for (const choice of Array.isArray(choices) ? choices : []) if (isObject(choice)) this.#addChoice(choice)
  }

  /**
   * As `add` of a chunk with nothing but more of a text that has begun.
   * @returns false, having done nothing, for one that has not
   * @throws GatewayError as `add` does
   */
  grow(choice: number, name: string, text: string): boolean {
    const message = this.#choices.get(choice)?.message
    if (message === undefined || !Object.hasOwn(message, name)) return false
    const present = message[name]
    if (typeof present !== 'string' || isReplacedString(name, text)) return false
    this.#count(text.length)
    message[name] = present + text
    return true
  }

  /** Of the first choice. */
  get finishReason(): string | null {
    const [first] = this.#sorted()
    return first?.finishReason ?? null
  }

  /** What is kept: about as many bytes, or twice as many. */
  get characters(): number {
    return this.#characters
  }

  /** There are choices. */
  get begun(): boolean {
    return this.#choices.size > 0
  }

  /** There are choices and each has ended. */
  get complete(): boolean {
    return this.begun && this.#unfinished === 0
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

  /** What stands beside the choices: words as they were said first, lists and objects as they were last. */
  #keepBeside(envelope: JsonObject): void {
    for (const [name, value] of Object.entries(envelope)) {
      const present = Object.hasOwn(this.#envelope, name) ? this.#envelope[name] : undefined
      const isSaid = present != null && present !== ''
      if (isSaid && (typeof value !== 'object' || value === null)) continue
      if (present !== undefined && JSON.stringify(present) === JSON.stringify(value)) continue
      this.#count(name.length)
      setMember(this.#envelope, name, this.#copy(value))
    }
  }

  #sorted(): Choice[] {
    return [...this.#choices.values()].sort((a, b) => a.index - b.index)
  }

  #addChoice(chunk: JsonObject): void {
    const index = choiceIndex(chunk)
    let choice = this.#choices.get(index)
    if (choice === undefined) {
      if (this.#choices.size === MAX_CHOICES) throw tooLong(`${MAX_CHOICES} choices`)
      choice = { index, message: { role: 'assistant' }, finishReason: null }
      this.#choices.set(index, choice)
      this.#unfinished++
    }
    const reason = finishReason(chunk)
    if (reason !== null) {
      if (choice.finishReason === null) this.#unfinished--
      choice.finishReason = reason
    }
    if (isObject(chunk['delta'])) this.#grow(choice.message, chunk['delta'])
    // Some upstreams repeat or give the whole message in the last chunk.
    else if (isObject(chunk['message'])) this.#grow(choice.message, chunk['message'])
  }

  /** @param isPart it is an item without a number, of which little grows */
  #grow(target: JsonObject, delta: JsonObject, isPart = false): void {
    for (const [name, value] of Object.entries(delta)) {
      const present = Object.hasOwn(target, name) ? target[name] : undefined
      const grows = isChannelName(name) && (!isPart || growsInPart(name))
      if (
        grows &&
        typeof value === 'string' &&
        typeof present === 'string' &&
        !isReplacedString(name, value)
      ) {
        this.#count(value.length)
        setMember(target, name, present + value)
      } else if (grows && isObject(value) && isObject(present) && !isWholeContainer(name)) {
        this.#grow(present, value)
      } else if (Array.isArray(value)) {
        if (!Array.isArray(present)) this.#count(name.length)
        setMember(target, name, this.#growList(name, Array.isArray(present) ? present : [], value))
      } else if (value !== null || present === undefined) {
        this.#count(name.length)
        setMember(target, name, this.#copy(value))
      }
    }
  }

  /** Items with an `index` grow in place, where they do; others are added. */
  #growList(name: string, present: JsonValue[], added: readonly JsonValue[]): JsonValue[] {
    for (const item of added) {
      const index = isObject(item) && !isWholeContainer(name) ? item['index'] : undefined
      const existing = index === undefined ? undefined : itemOf(present, index)
      if (isObject(item) && isObject(existing)) {
        this.#grow(existing, item, name === 'content')
        continue
      }
      if (index !== undefined && present.length >= MAX_GROWING_ITEMS)
        throw tooLong(`${MAX_GROWING_ITEMS} items`)
      present.push(this.#copy(item))
    }
    return present
  }

  /** A copy that is counted: what arrives later must not change the chunk it came from. */
  #copy(value: JsonValue): JsonValue {
    this.#count(typeof value === 'string' ? value.length : VALUE_CHARACTERS)
    if (Array.isArray(value)) return value.map((item) => this.#copy(item))
    if (!isObject(value)) return value
    const copy: JsonObject = {}
    for (const [name, member] of Object.entries(value)) {
      this.#count(name.length)
      setMember(copy, name, this.#copy(member))
    }
    return copy
  }

  #count(characters: number): void {
    this.#characters += characters
    if (this.#characters > MAX_CHARACTERS) throw tooLong(`${MAX_CHARACTERS} characters`)
    this.#loose += characters
    if (this.#loose < LOOSE_CHARACTERS || this.#loose < this.#characters * LOOSE_PART) return
    this.#loose = 0
    for (const { message } of this.#choices.values()) compact(message)
  }
}

/** Has V8 write each text that was put together from pieces in one: it does so when it is asked for a character. */
function compact(value: JsonValue): void {
  if (typeof value === 'string') value.charCodeAt(0)
  else if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) compact(member)
}

/** The item that has this `index`: as a rule the newest is the one that grows. */
function itemOf(list: readonly JsonValue[], index: JsonValue): JsonValue | undefined {
  for (let at = Math.min(list.length, MAX_GROWING_ITEMS) - 1; at >= 0; at--) {
    const item = list[at]
    if (isObject(item) && item['index'] === index) return item
  }
  return undefined
}

const tooLong = (limit: string): GatewayError =>
  new GatewayError('upstream_unavailable', `The upstream's answer is longer than ${limit}.`)
