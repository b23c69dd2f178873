// Reads and writes the events of Anthropic's messages
// (https://docs.anthropic.com/en/docs/build-with-claude/streaming). Each content block is a choice.

import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { RepeatedForm, SignedText, StreamReader } from '../api-format.ts'
import { BodyWalk } from '../body-walk.ts'
import type { ChannelText } from '../channel.ts'
import { isChannelName, isReplacedString } from '../delta-fields.ts'
import { type Delta, GrowingPiece } from '../growing-piece.ts'
import type { PathNode } from '../json-path.ts'
import { isErrorBody, parseObject, type StreamChunk } from '../stream-chunk.ts'
import type { Usage } from '../token-usage.ts'
import { MessagesAssembler } from './messages-assembler.ts'
import { joinUsage, messagesUsage } from './messages-usage.ts'

/** Members of a delta or a new block that hold a text that grows. */
const GROWING: ReadonlySet<string> = new Set(['text', 'thinking', 'partial_json'])

/** Types of the deltas that add to a text, by its member. */
const DELTA_TYPES: Readonly<Record<string, string>> = {
  text: 'text_delta',
  thinking: 'thinking_delta',
  partial_json: 'input_json_delta',
}

export class MessagesStream implements StreamReader {
  readonly assembler = new MessagesAssembler()
  readonly thoughts: SignedText[] = []
  readonly closing = null
  readonly holdsProbabilities = false
  readonly nextNumber = 0
  readonly #asksForJson: boolean
  readonly #readsNumbers: boolean
  /** Reasoning of open blocks as received, bounded by the logged answer. */
  readonly #thinking = new Map<number, string>()
  /** Blocks that have begun and not ended. */
  readonly #open = new Set<number>()
  /** Number of the newest block, if it is a text. */
  #lastText: number | null = null
  /** The usage of the events so far: the first counts the cache, and the last may leave it out. */
  #usage: JsonObject | null = null

  constructor(asksForJson: boolean, readsNumbers = false) {
    this.#asksForJson = asksForJson
    this.#readsNumbers = readsNumbers
  }

  read(data: string): StreamChunk | null {
    const body = parseObject(data)
    if (body === null) return null
    const { type, message, delta } = body
    const walk = new BodyWalk('response', this.#readsNumbers, this.#asksForJson)
    const deltas: Delta[] = []
    const index = typeof body['index'] === 'number' ? body['index'] : 0
    for (const key of Object.keys(body)) {
      const value = body[key]
      if (key === 'message' && isObject(value)) walk.object(value, null, 1)
      else if ((key === 'delta' || key === 'content_block') && isObject(value)) {
        this.#readTexts(value, { parent: null, key }, index, walk, deltas)
      } else walk.member(body, key, null, 1)
    }
    const continues = type === 'content_block_start' ? this.#begin(index, body['content_block']) : null
    const isSigning = isObject(delta) && delta['type'] === 'signature_delta'
    return {
      body,
      deltas,
      others: walk.texts,
      ids: walk.ids,
      commit: () => walk.commit(),
      finished: this.#finished(type, index),
      ...(continues !== null && { continues }),
      ...(type === 'content_block_stop' && index === this.#lastText && { endsBlock: index }),
      signed: isSigning ? [index] : [],
      usage: this.#readUsage(isObject(message) ? message : body),
      usageOnly: false,
      error: type === 'error' || isErrorBody(body),
      isRepeat: false,
      isLast: type === 'message_stop',
    }
  }

  note({ index: choice, delta }: JsonObject): void {
    if (!isObject(delta) || typeof choice !== 'number') return
    const { thinking, signature } = delta
    const text = this.#thinking.get(choice) ?? ''
    if (typeof thinking === 'string') this.#thinking.set(choice, text + thinking)
    if (typeof signature === 'string') {
      this.thoughts.push({ choice, signature, text })
      this.#thinking.delete(choice)
    }
  }

  #readUsage({ usage }: JsonObject): Usage | null {
    if (!isObject(usage)) return null
    this.#usage = joinUsage(this.#usage, usage)
    return messagesUsage({ usage: this.#usage })
  }

  /** @returns the block of text before a new one, and the new one; null without two */
  #begin(index: number, block: JsonValue | undefined): { readonly from: number; readonly to: number } | null {
    this.#open.add(index)
    const before = this.#lastText
    this.#lastText = isObject(block) && block['type'] === 'text' ? index : null
    return before !== null && before === index - 1 && this.#lastText !== null
      ? { from: before, to: index }
      : null
  }

  #finished(type: unknown, index: number): readonly number[] {
    if (type === 'content_block_stop') return this.#open.delete(index) ? [index] : []
    if (type !== 'message_delta' && type !== 'message_stop') return []
    const open = [...this.#open]
    this.#open.clear()
    return open
  }

  #readTexts(object: JsonObject, node: PathNode, choice: number, walk: BodyWalk, deltas: Delta[]): void {
    for (const key of Object.keys(object)) {
      const value = object[key]
      const grows =
        typeof value === 'string' &&
        (GROWING.has(key) || this.#growsUnknown(node.key === 'delta', key, value))
      if (!grows) walk.member(object, key, node, 2)
      else if (value !== '') {
        const isJson = key === 'partial_json' || (key === 'text' && this.#asksForJson)
        deltas.push(
          new GrowingPiece({ choice, channel: key, encoding: isJson ? 'json' : 'plain' }, object, key),
        )
      }
    }
  }

  /** A delta of an unknown type may add to a text; clients that know it join its strings. */
  #growsUnknown(isDelta: boolean, key: string, value: string): boolean {
    return isDelta && isChannelName(key) && !isReplacedString(key, value)
  }

  flush(_like: JsonObject, choice: number, pieces: readonly ChannelText[]): JsonObject {
    const delta: JsonObject = {}
    for (const [channel, text] of pieces) {
      delta['type'] = DELTA_TYPES[channel] ?? `${channel}_delta`
      delta[channel] = text
    }
    return { type: 'content_block_delta', index: choice, delta }
  }

  /** An event ends a block without text, so that no end waits for one. */
  end(_like: JsonObject, choice: number): JsonObject {
    return { type: 'content_block_stop', index: choice }
  }

  repeats({ body, deltas, others }: StreamChunk): RepeatedForm | null {
    // Each piece of reasoning is read, because it is remembered until it is signed.
    const isOnlyText =
      body['type'] === 'content_block_delta' &&
      deltas.length === 1 &&
      deltas[0]!.channel !== 'thinking' &&
      others.length === 0
    return isOnlyText && body['usage'] === undefined ? { isDroppable: true, varying: [] } : null
  }

  isEmpty({ type }: JsonObject): boolean {
    return type === 'content_block_delta'
  }

  eventLine({ type }: JsonObject): string {
    return typeof type === 'string' ? `event: ${type}` : ''
  }

  /** The API has no probabilities. */
  releaseProbabilities(): boolean {
    return false
  }

  number(): boolean {
    return false
  }
}
