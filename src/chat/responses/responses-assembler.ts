// Assembles the events of a stream into one response for the log.

import { isObject, type JsonObject } from '../../core/json.ts'
import { AnswerSize, tooLong } from '../answer-size.ts'
import type { StreamAssembler } from '../api-format.ts'
import { setMember } from '../text.ts'

/** Maximum items of one response. */
const MAXIMUM_ITEMS = 4096

/** An item, and the texts that its events have added to it so far. */
interface Item {
  whole: JsonObject
  readonly texts: JsonObject
}

export class ResponsesAssembler implements StreamAssembler {
  #response: JsonObject | null = null
  readonly #items = new Map<number, Item>()
  readonly #size = new AnswerSize(() => [...this.#items.values()].map(({ texts }) => texts))
  complete = false
  readonly #eventOf: (choice: number) => JsonObject

  /** @param eventOf returns an event that added to the text of a choice */
  constructor(eventOf: (choice: number) => JsonObject) {
    this.#eventOf = eventOf
  }

  add(event: JsonObject): void {
    const { type, response, item, output_index: index } = event
    this.#response ??= {}
    if (isObject(response)) this.#response = this.#copy(response)
    if (typeof index === 'number') this.#addToItem(index, event, isObject(item) ? item : null)
    if (type === 'response.completed' || type === 'response.incomplete') this.complete = true
  }

  #addToItem(index: number, event: JsonObject, item: JsonObject | null): void {
    let known = this.#items.get(index)
    if (known === undefined) {
      if (this.#items.size === MAXIMUM_ITEMS) throw tooLong(`${MAXIMUM_ITEMS} items`)
      known = { whole: {}, texts: {} }
      this.#items.set(index, known)
    }
    if (item !== null) known.whole = this.#copy(item)
    const { type, delta } = event
    if (typeof type !== 'string' || typeof delta !== 'string') return
    const before = known.texts[type]
    this.#size.count(delta.length)
    setMember(known.texts, type, typeof before === 'string' ? before + delta : delta)
  }

  #copy(value: JsonObject): JsonObject {
    return this.#size.copy(value) as JsonObject
  }

  grow(choice: number, _channel: string, text: string): boolean {
    const { type, output_index: index } = this.#eventOf(choice)
    const texts = typeof index === 'number' ? this.#items.get(index)?.texts : undefined
    const present = texts?.[String(type)]
    if (texts === undefined || typeof present !== 'string') return false
    this.#size.count(text.length)
    texts[String(type)] = present + text
    return true
  }

  get finishReason(): string | null {
    return responseFinishReason(this.#response ?? {})
  }

  get characters(): number {
    return this.#size.characters
  }

  get begun(): boolean {
    return this.#response !== null
  }

  /**
   * The last response that an event held. One that broke off has the items so far, each with the
   * pieces of its texts, because no event repeated them whole.
   */
  result(): JsonObject {
    if (this.complete) return this.#response ?? {}
    const output = [...this.#items]
      .sort(([a], [b]) => a - b)
      .map(([, { whole, texts }]) => ({ ...whole, ...(whole['status'] === 'completed' ? {} : { texts }) }))
    return { ...this.#response, output }
  }
}

/** Why a response ended: its reason when it is incomplete, else its status; null while it runs. */
export function responseFinishReason({ status, incomplete_details: details }: JsonObject): string | null {
  if (isObject(details) && typeof details['reason'] === 'string') return details['reason']
  return typeof status === 'string' && status !== 'in_progress' && status !== 'queued' ? status : null
}
