// Assembles the events of a stream into one message for the log.

import { isObject, type JsonObject } from '../../core/json.ts'
import { AnswerSize, tooLong } from '../answer-size.ts'
import type { StreamAssembler } from '../api-format.ts'
import { isReplacedString } from '../delta-fields.ts'
import { parseReceived } from '../strict-json.ts'
import { setMember } from '../text.ts'
import { joinUsage } from './messages-usage.ts'

/** Maximum content blocks of one message. */
const MAXIMUM_BLOCKS = 4096

export class MessagesAssembler implements StreamAssembler {
  #message: JsonObject | null = null
  readonly #blocks = new Map<number, JsonObject>()
  readonly #size = new AnswerSize(() => this.#blocks.values())
  complete = false

  add(event: JsonObject): void {
    const { type, index, message, content_block: block, delta, usage } = event
    this.#message ??= {}
    if (isObject(message)) this.#keep(this.#message, message)
    if (type === 'message_stop') this.complete = true
    if (typeof index === 'number' && (isObject(block) || isObject(delta))) {
      const target = this.#block(index)
      if (isObject(block)) this.#keep(target, block)
      if (isObject(delta)) this.#extend(target, delta)
    } else if (isObject(delta)) this.#keep(this.#message, delta)
    if (isObject(usage)) this.#message['usage'] = joinUsage(this.#message['usage'], usage)
  }

  grow(choice: number, channel: string, text: string): boolean {
    const block = this.#blocks.get(choice)
    const present = block?.[channel]
    if (block === undefined || typeof present !== 'string') return false
    this.#size.count(text.length)
    block[channel] = present + text
    return true
  }

  get finishReason(): string | null {
    const reason = this.#message?.['stop_reason']
    return typeof reason === 'string' ? reason : null
  }

  get characters(): number {
    return this.#size.characters
  }

  get begun(): boolean {
    return this.#message !== null
  }

  result(): JsonObject {
    const content = [...this.#blocks].sort(([a], [b]) => a - b).map(([, block]) => withInput(block))
    return { ...this.#message, content }
  }

  #block(index: number): JsonObject {
    let block = this.#blocks.get(index)
    if (block === undefined) {
      if (this.#blocks.size === MAXIMUM_BLOCKS) throw tooLong(`${MAXIMUM_BLOCKS} content blocks`)
      block = {}
      this.#blocks.set(index, block)
    }
    return block
  }

  #keep(target: JsonObject, members: JsonObject): void {
    for (const [name, value] of Object.entries(members)) {
      this.#size.count(name.length)
      setMember(target, name, this.#size.copy(value))
    }
  }

  /** Appends the texts of a delta, adds its citation, and keeps its other members. */
  #extend(block: JsonObject, { type: _type, citation, ...texts }: JsonObject): void {
    for (const [name, value] of Object.entries(texts)) {
      const present = block[name]
      if (typeof value === 'string' && typeof present === 'string' && !isReplacedString(name, value)) {
        this.#size.count(value.length)
        setMember(block, name, present + value)
      } else this.#keep(block, { [name]: value })
    }
    if (citation === undefined) return
    const citations = Array.isArray(block['citations']) ? block['citations'] : []
    citations.push(this.#size.copy(citation))
    block['citations'] = citations
  }
}

/** Replaces the pieces of a tool's input by the input that they spell. */
function withInput({ partial_json: written, ...block }: JsonObject): JsonObject {
  if (typeof written !== 'string') return block
  try {
    return { ...block, input: parseReceived(written) }
  } catch {
    return { ...block, input: written }
  }
}
