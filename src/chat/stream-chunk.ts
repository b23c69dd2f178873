// Splits a chunk of a streamed answer into deltas of growing texts and standalone texts. Only what
// body-walk.ts lists is left out.

import { type ErrorDetails, GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { BodyWalk } from './body-walk.ts'
import { CHOICE_TEXT, type Channel, isReasoning, isToolCall } from './channel.ts'
import { growsInPart, isChannelName, isReplacedString, isWholeContainer, itemKey } from './delta-fields.ts'
import { type Delta, GrowingPiece } from './growing-piece.ts'
import type { PathNode } from './json-path.ts'
import { encodeEvent, type SseEvent } from './sse.ts'
import { isTooDeep, parseReceived } from './strict-json.ts'
import type { Text } from './text.ts'
import { readUsage, type Usage } from './token-usage.ts'

export type { Delta } from './growing-piece.ts'

/** Citations in an event, and the text that they cite from. */
export interface GrowingCitations {
  readonly choice: number
  readonly channel: Channel
  readonly citations: JsonValue
}

export interface StreamChunk {
  readonly body: JsonObject
  readonly deltas: readonly Delta[]
  /** Texts that do not grow. Their changes are complete after `commit`. */
  readonly others: readonly Text[]
  /** As in Texts. */
  readonly ids: readonly string[]
  commit(): void
  /** Choices that end in this chunk. */
  readonly finished: readonly number[]
  /**
   * A choice whose block of text this event ends, or repeats at its end; the next block may
   * continue the text. Absent for any other chunk.
   */
  readonly endsBlock?: number
  /**
   * A choice and the new one that continues its text, as neighbouring blocks of text do. Absent for
   * any other chunk.
   */
  readonly continues?: { readonly from: number; readonly to: number }
  /** Citations of texts that grow. */
  readonly cited?: readonly GrowingCitations[]
  /** Choices whose reasoning ends in this chunk, because the provider signed it. */
  readonly signed: readonly number[]
  readonly usage: Usage | null
  /** True for an event whose texts earlier events had, whole or in pieces. */
  readonly isRepeat: boolean
  /** True for the last event of an answer. */
  readonly isLast: boolean
  /** True for the extra event of `stream_options.include_usage`: usage without choices. */
  readonly usageOnly: boolean
  readonly error: boolean
}

/**
 * Reads the data of an event; null when it is not a JSON object.
 * @param asksForJson whether the content is JSON
 * @param readsNumbers as in BodyWalk
 * @throws GatewayError `upstream_unavailable` for a chunk that is too deep or has too many choices
 *   or texts
 */
export function readStreamChunk(data: string, asksForJson = false, readsNumbers = false): StreamChunk | null {
  const body = parseObject(data)
  if (body === null) return null
  const { choices } = body
  const reader = new ChunkReader(asksForJson, readsNumbers)
  for (const key of Object.keys(body)) {
    if (key === 'choices' && Array.isArray(choices)) reader.choices(choices)
    else reader.walk.member(body, key, null, 1)
  }
  const usage = readUsage(body)
  return {
    body,
    deltas: reader.deltas,
    others: reader.walk.texts,
    ids: reader.walk.ids,
    commit: () => reader.walk.commit(),
    finished: reader.finished,
    cited: reader.cited,
    signed: reader.signed,
    usage,
    usageOnly: usage !== null && Array.isArray(choices) && choices.length === 0,
    error: isErrorBody(body),
    isRepeat: false,
    isLast: false,
  }
}

/** Parses a JSON object; null for anything else. */
export function parseObject(data: string): JsonObject | null {
  try {
    const body = parseReceived(data)
    return isObject(body) ? body : null
  } catch {
    // The parser's message quotes the answer.
    return null
  }
}

const INCOMPLETE = 'The upstream ended the stream before its answer was complete.'

/** The error of a stream that ended too early. */
export const incompleteAnswer = (details?: ErrorDetails): GatewayError =>
  new GatewayError('upstream_unavailable', INCOMPLETE, details)

/** The error of an event that is neither a chunk nor a heartbeat. */
export const notAnObject = (): GatewayError =>
  new GatewayError('upstream_unavailable', 'The upstream sent an event that is not a JSON object.')

/**
 * Reports whether an answer or a chunk is an error. Some servers always send an empty `error`; vLLM
 * has sent errors as `object`.
 */
export const isErrorBody = ({ error, object }: JsonObject): boolean =>
  object === 'error' ||
  (isObject(error) ? Object.keys(error).length > 0 : typeof error === 'string' && error !== '')

/** An error in the form that clients read, with a member `error`. */
export const inErrorForm = (body: JsonObject): JsonObject =>
  body['error'] == null ? { error: { message: 'The upstream reported an error.', ...body } } : body

/** Marks an error event (WHATWG HTML §9.2.6). */
const ERROR_EVENT = /^event: ?error$/m

/**
 * Writes an event that is an error by name only as an error by its data, too. Most clients ignore
 * the name.
 * @param inForm returns an error in the form that clients read
 */
export function withErrorInData(event: SseEvent, inForm = inErrorForm): SseEvent {
  const { data, otherLines } = event
  const body = data !== null && ERROR_EVENT.test(otherLines) && !isTooDeep(data) ? parseObject(data) : null
  if (body === null || isErrorBody(body)) return event
  const reported = inForm(body)
  return reported === body ? event : toErrorEvent(reported, otherLines)
}

/** The event of an error. */
export function toErrorEvent(body: JsonObject, otherLines: string): SseEvent {
  const data = JSON.stringify(body)
  return { data, otherLines, raw: encodeEvent(otherLines, data) }
}

/** Maximum choices of one answer. */
export const MAXIMUM_CHOICES = 1024

const CHOICES: PathNode = { parent: null, key: 'choices' }
/** Depth of the members of `choices[].delta`, and of the deepest member that may grow. */
const DELTA_DEPTH = 4
const MAXIMUM_GROWING_DEPTH = DELTA_DEPTH + 16

/** A text part of the content is read as the `content` string of other servers. */
const CONTENT_PART = /\bcontent\[(?:(?:output_)?text)?\]\.text$/
/** Members that hold a provider's signature of reasoning, or its encrypted form. */
const SIGNATURES = ['signature', 'data', 'encrypted_content'] as const

/**
 * Finds the texts that clients append to when they join chunks: strings with the same path, through
 * objects and through list items that can be identified. A value that clients replace, or add to a
 * list, is complete in each chunk.
 */
class ChunkReader {
  readonly walk: BodyWalk
  readonly deltas: Delta[] = []
  readonly finished: number[] = []
  readonly signed: number[] = []
  readonly cited: GrowingCitations[] = []
  /** The current choice. */
  #choice = 0
  /** `Delta.names` of the current member. */
  #names: readonly Text[] = []
  readonly #asksForJson: boolean

  constructor(asksForJson: boolean, readsNumbers: boolean) {
    this.#asksForJson = asksForJson
    this.walk = new BodyWalk('response', readsNumbers)
  }

  choices(choices: JsonValue[]): void {
    if (choices.length > MAXIMUM_CHOICES) {
      throw new GatewayError(
        'upstream_unavailable',
        `The upstream's answer has more than ${MAXIMUM_CHOICES} choices.`,
      )
    }
    choices.forEach((choice, index) => {
      if (isObject(choice)) this.#readChoice(choice, { parent: CHOICES, key: index })
      else this.walk.value(choices, index, CHOICES, 2)
    })
  }

  #readChoice(choice: JsonObject, node: PathNode): void {
    this.#choice = choiceIndex(choice)
    if (finishReason(choice) !== null) this.finished.push(this.#choice)
    for (const key of Object.keys(choice)) {
      const value = choice[key]
      if (key === 'delta' && isObject(value)) {
        const { annotations: citations } = value
        if (Array.isArray(citations)) this.cited.push({ choice: this.#choice, channel: 'content', citations })
        this.#readObject(value, { parent: node, key }, DELTA_DEPTH, '')
      } else if (key === 'text' && typeof value === 'string') this.#push(choice, key, CHOICE_TEXT)
      else this.walk.member(choice, key, node, 3)
    }
  }

  /**
   * @param depth of containers, this one included
   * @param path prefix of the channels in it
   */
  #readObject(object: JsonObject, node: PathNode, depth: number, path: Channel, isPart = false): void {
    if (depth > MAXIMUM_GROWING_DEPTH) {
      throw new GatewayError(
        'upstream_unavailable',
        `The upstream's answer has texts nested deeper than ${MAXIMUM_GROWING_DEPTH} levels.`,
      )
    }
    if (isReasoning(path) && isSigned(object)) this.signed.push(this.#choice)
    for (const key of Object.keys(object)) {
      const value = object[key]!
      const isText = typeof value === 'string'
      const channel = path + key
      const mayGrow = (isText || Array.isArray(value) || isObject(value)) && (!isPart || growsInPart(key))
      const isWhole = isText ? isReplacedIn(channel, key, value) : isWholeContainer(key)
      if (!mayGrow || isWhole || !isChannelName(key)) {
        this.walk.member(object, key, node, depth)
        continue
      }
      const around = this.#names
      this.#names = this.#named(object, key, node)
      if (isText) this.#push(object, key, isPart ? channel.replace(CONTENT_PART, 'content') : channel)
      else if (Array.isArray(value)) this.#readList(value, key, { parent: node, key }, depth + 1, channel)
      else this.#readObject(value, { parent: node, key }, depth + 1, `${channel}.`)
      this.#names = around
    }
  }

  #named(object: JsonObject, key: string, node: PathNode): readonly Text[] {
    const { texts } = this.walk
    const { length } = texts
    this.walk.name(object, key, node)
    return texts.length === length ? this.#names : [...this.#names, texts[length]!]
  }

  #readList(list: JsonValue[], name: string, node: PathNode, depth: number, path: Channel): void {
    list.forEach((item, position) => {
      const key = isObject(item) ? itemKey(item, name, position) : null
      if (key === null) this.walk.value(list, position, node, depth)
      else {
        const at = { parent: node, key: position }
        this.#readObject(item as JsonObject, at, depth + 1, `${path}[${key}].`, typeof key === 'string')
      }
    })
  }

  /** Keeps the empty first delta of a tool call: it ends the text before. */
  #push(object: JsonObject, key: string, channel: string): void {
    const text = object[key] as string
    if (text === '' && !isToolCall(channel)) return
    const isJson = key === 'arguments' || (this.#asksForJson && channel === 'content')
    const place = { choice: this.#choice, channel, encoding: isJson ? 'json' : 'plain' } as const
    this.deltas.push(new GrowingPiece(place, object, key, this.#names))
  }
}

/** Some clients append the names of functions. */
const isReplacedIn = (channel: Channel, key: string, value: string): boolean =>
  !(key === 'name' && isToolCall(channel)) && isReplacedString(key, value)

const isSigned = (thought: JsonObject): boolean =>
  SIGNATURES.some((name) => typeof thought[name] === 'string' && thought[name] !== '')

const indexOf = (item: JsonObject, fallback: number): number =>
  Number.isSafeInteger(item['index']) ? (item['index'] as number) : fallback

/**
 * Returns why a choice ended; null while it continues, which some servers write as `""` or
 * `"null"`.
 */
export function finishReason(choice: JsonObject): string | null {
  const reason = choice['finish_reason']
  return typeof reason === 'string' && reason !== '' && reason !== 'null' ? reason : null
}

/** The finish reason of the first choice of an answer; null without one. */
export function firstFinishReason({ choices }: JsonObject): string | null {
  const first = Array.isArray(choices) ? choices[0] : undefined
  const reason = isObject(first) ? first['finish_reason'] : null
  return typeof reason === 'string' ? reason : null
}

/** Removes and returns the finish reason of a choice. */
export function takeFinish({ choices }: JsonObject, index: number): string {
  let reason = ''
  for (const choice of Array.isArray(choices) ? choices : []) {
    if (!isObject(choice) || choiceIndex(choice) !== index) continue
    reason = finishReason(choice) ?? reason
    choice['finish_reason'] = null
  }
  return reason
}

/** The index of a choice; 0 without one. */
export const choiceIndex = (choice: JsonObject): number => indexOf(choice, 0)
