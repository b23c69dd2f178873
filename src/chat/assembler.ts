// Assembles delivered chunks into one answer for the log.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { AnswerSize, tooLong } from './answer-size.ts'
import type { StreamAssembler } from './api-format.ts'
import { growsInPart, isChannelName, isReplacedString, isWholeContainer } from './delta-fields.ts'
import { choiceIndex, finishReason, MAXIMUM_CHOICES } from './stream-chunk.ts'
import { setMember } from './text.ts'

/** Items of a list that may grow. Finding one is a linear search. */
const MAXIMUM_GROWING_ITEMS = 256

interface Choice {
  readonly index: number
  readonly message: JsonObject
  finishReason: string | null
}

/** Builds one answer from its chunks. Drops token probabilities, which repeat the text. */
export class Assembler implements StreamAssembler {
  readonly #object: 'chat.completion' | 'text_completion'
  readonly #envelope: JsonObject = {}
  readonly #choices = new Map<number, Choice>()
  #unfinished = 0
  #usage: JsonValue = null
  readonly #size = new AnswerSize(() => [...this.#choices.values()].map(({ message }) => message))

  constructor(object: 'chat.completion' | 'text_completion' = 'chat.completion') {
    this.#object = object
  }

  /** Adds a chunk. @throws GatewayError `upstream_unavailable` beyond MAXIMUM_CHARACTERS */
  add(chunk: JsonObject): void {
    const { choices, usage, ...envelope } = chunk
    this.#addEnvelope(envelope)
    if (isObject(usage)) this.#usage = usage
    for (const choice of Array.isArray(choices) ? choices : []) if (isObject(choice)) this.#addChoice(choice)
  }

  /**
   * Adds to one text; the same as `add` of a chunk with this delta alone.
   * @returns false, without a change, when the text has not begun
   * @throws GatewayError as `add`
   */
  grow(choice: number, name: string, text: string): boolean {
    const message = this.#choices.get(choice)?.message
    if (message === undefined || !Object.hasOwn(message, name)) return false
    const present = message[name]
    if (typeof present !== 'string' || isReplacedString(name, text)) return false
    this.#size.count(text.length)
    message[name] = present + text
    return true
  }

  /** Finish reason of the first choice. */
  get finishReason(): string | null {
    const [first] = this.#sorted()
    return first?.finishReason ?? null
  }

  /** Size of the answer; its memory is one to two bytes for each. */
  get characters(): number {
    return this.#size.characters
  }

  /** True once a choice has begun. */
  get begun(): boolean {
    return this.#choices.size > 0
  }

  /** True when there are choices and all have ended. */
  get complete(): boolean {
    return this.begun && this.#unfinished === 0
  }

  /** The answer so far, in the shape of an answer that was not streamed. */
  result(): JsonObject {
    const choices = this.#sorted().map(({ index, message, finishReason }) => ({
      index,
      ...(this.#object === 'chat.completion' ? { message } : { text: message['text'] ?? '' }),
      finish_reason: finishReason,
    }))
    return { ...this.#envelope, object: this.#object, choices, usage: this.#usage }
  }

  /** Keeps the members next to `choices`: the first string, the last list or object. */
  #addEnvelope(envelope: JsonObject): void {
    for (const [name, value] of Object.entries(envelope)) {
      const present = Object.hasOwn(this.#envelope, name) ? this.#envelope[name] : undefined
      const isSet = present != null && present !== ''
      if (isSet && (typeof value !== 'object' || value === null)) continue
      if (present !== undefined && JSON.stringify(present) === JSON.stringify(value)) continue
      this.#size.count(name.length)
      setMember(this.#envelope, name, this.#size.copy(value))
    }
  }

  #sorted(): Choice[] {
    return [...this.#choices.values()].sort((a, b) => a.index - b.index)
  }

  #addChoice(chunk: JsonObject): void {
    const index = choiceIndex(chunk)
    let choice = this.#choices.get(index)
    if (choice === undefined) {
      if (this.#choices.size === MAXIMUM_CHOICES) throw tooLong(`${MAXIMUM_CHOICES} choices`)
      choice = { index, message: { role: 'assistant' }, finishReason: null }
      this.#choices.set(index, choice)
      this.#unfinished++
    }
    const reason = finishReason(chunk)
    if (reason !== null) {
      if (choice.finishReason === null) this.#unfinished--
      choice.finishReason = reason
    }
    if (this.#object === 'text_completion') this.#grow(choice.message, { text: chunk['text'] ?? '' })
    else if (isObject(chunk['delta'])) this.#grow(choice.message, chunk['delta'])
    // Some upstreams send the whole message in the last chunk.
    else if (isObject(chunk['message'])) this.#grow(choice.message, chunk['message'])
  }

  /** @param isPart whether the target is a content part, in which few members grow */
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
        this.#size.count(value.length)
        setMember(target, name, present + value)
      } else if (grows && isObject(value) && isObject(present) && !isWholeContainer(name)) {
        this.#grow(present, value)
      } else if (Array.isArray(value)) {
        if (!Array.isArray(present)) this.#size.count(name.length)
        setMember(target, name, this.#growList(name, Array.isArray(present) ? present : [], value))
      } else if (value !== null || present === undefined) {
        this.#size.count(name.length)
        setMember(target, name, this.#size.copy(value))
      }
    }
  }

  /** Items with an `index` grow in place; others are added. */
  #growList(name: string, present: JsonValue[], added: readonly JsonValue[]): JsonValue[] {
    for (const item of added) {
      const index = isObject(item) && !isWholeContainer(name) ? item['index'] : undefined
      const existing = index === undefined ? undefined : itemOf(present, index)
      if (isObject(item) && isObject(existing)) {
        this.#grow(existing, item, name === 'content')
        continue
      }
      if (index !== undefined && present.length >= MAXIMUM_GROWING_ITEMS)
        throw tooLong(`${MAXIMUM_GROWING_ITEMS} items`)
      present.push(this.#size.copy(item))
    }
    return present
  }
}

/** Finds the item with this `index`. The newest one usually grows. */
function itemOf(list: readonly JsonValue[], index: JsonValue): JsonValue | undefined {
  for (let at = Math.min(list.length, MAXIMUM_GROWING_ITEMS) - 1; at >= 0; at--) {
    const item = list[at]
    if (isObject(item) && item['index'] === index) return item
  }
  return undefined
}
