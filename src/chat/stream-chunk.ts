// One chunk of a streamed answer taken apart into the texts that grow from chunk to chunk and those that stand alone.
// No string of it is passed over but for what walk.ts lists.

import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { BodyWalk } from './body-walk.ts'
import { CHOICE_TEXT, type Channel, isReasoning, isToolCall } from './channel.ts'
import { growsInPart, isChannelName, isReplacedString, isWholeContainer, itemKey } from './delta-fields.ts'
import type { PathNode } from './json-path.ts'
import { encodeEvent, type SseEvent } from './sse.ts'
import { isTooDeep, parseReceived } from './strict-json.ts'
import { setMember, type Text } from './text.ts'
import { readUsage, type Usage } from './token-usage.ts'

/** A piece of a text that grows from chunk to chunk. */
export interface Delta {
  readonly choice: number
  readonly channel: Channel
  readonly encoding: 'plain' | 'json'
  /** It leaves as a whole, though some callers append what comes later. */
  readonly whole: boolean
  readonly text: string
  /** The members around it whose names are texts too, and among the chunk's `others`. */
  readonly names: readonly Text[]
  /** To be called before `commit`. */
  replace(text: string): void
}

export interface StreamChunk {
  readonly body: JsonObject
  readonly deltas: readonly Delta[]
  /** Strings that do not grow; their changes are complete after `commit`. */
  readonly others: readonly Text[]
  commit(): void
  /** Choices that end with this chunk. */
  readonly finished: readonly number[]
  /** Choices in which what was thought ends with this chunk: the provider has signed it. */
  readonly signed: readonly number[]
  readonly usage: Usage | null
  /** The extra event that `stream_options.include_usage` asks for: no choices, only usage. */
  readonly usageOnly: boolean
  readonly error: boolean
}

/**
 * Reads the data of one event; null when it is not a JSON object.
 * @throws GatewayError `upstream_unavailable` for one that is too deep or holds too many choices or texts
 */
export function readStreamChunk(data: string): StreamChunk | null {
  const body = parseObject(data)
  if (body === null) return null
  const { choices } = body
  const reader = new ChunkReader()
  for (const key of Object.keys(body)) {
    if (key === 'choices' && Array.isArray(choices)) reader.choices(choices)
    else reader.walk.member(body, key, null, 1)
  }
  const usage = readUsage(body)
  return {
    body,
    deltas: reader.deltas,
    others: reader.walk.texts,
    commit: () => reader.walk.commit(),
    finished: reader.finished,
    signed: reader.signed,
    usage,
    usageOnly: usage !== null && Array.isArray(choices) && choices.length === 0,
    error: isErrorBody(body),
  }
}

function parseObject(data: string): JsonObject | null {
  try {
    const body = parseReceived(data)
    return isObject(body) ? body : null
  } catch {
    // The parser's message would quote the answer.
    return null
  }
}

/** Whether an answer or a chunk tells of a failure. Some servers write the member always, and nothing into it. */
export const isErrorBody = ({ error }: JsonObject): boolean =>
  isObject(error) ? Object.keys(error).length > 0 : typeof error === 'string' && error !== ''

/** What names an event an error (WHATWG HTML §9.2.6), among its lines that are no data. */
const ERROR_EVENT = /^event: ?error$/m

/** Some servers name an event an error, which most callers do not look at: its data say so too in what is returned. */
export function withErrorInData(event: SseEvent): SseEvent {
  const { data, around } = event
  const body = data !== null && ERROR_EVENT.test(around) && !isTooDeep(data) ? parseObject(data) : null
  if (body === null || isErrorBody(body)) return event
  const said = JSON.stringify({ error: { message: 'The upstream told of an error.', ...body } })
  return { data: said, around, raw: encodeEvent(around, said) }
}

/** Choices of one answer. */
export const MAX_CHOICES = 1024

const CHOICES: PathNode = { parent: null, key: 'choices' }
/** Levels around the members of `choices[].delta`, and around those of what stands furthest inside and may grow. */
const DELTA_DEPTH = 4
const MAX_GROWING_DEPTH = DELTA_DEPTH + 16

/** A part of what is said is read as the string that other servers send. */
const SAID_PART = /\bcontent\[(?:(?:output_)?text)?\]\.text$/
/** What stands where a provider has signed, or encrypted, what its model thought. */
const SIGNATURES = ['signature', 'data', 'encrypted_content'] as const

/**
 * Finds the texts that grow: those that callers append to, as they put chunks together. Strings at the same place go on,
 * through objects and through items of lists that can be told apart; what a caller would replace, or add to a list, is
 * complete in each chunk.
 */
class ChunkReader {
  readonly walk = new BodyWalk('response')
  readonly deltas: Delta[] = []
  readonly finished: number[] = []
  readonly signed: number[] = []
  /** The choice that is being read. */
  #choice = 0
  /** As in Delta, of the member that is being read. */
  #names: readonly Text[] = []

  choices(choices: JsonValue[]): void {
    if (choices.length > MAX_CHOICES) {
      throw new GatewayError(
        'upstream_unavailable',
        `The upstream's answer has more than ${MAX_CHOICES} choices.`,
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
        this.#readObject(value, { parent: node, key }, DELTA_DEPTH, '')
      } else if (key === 'text' && typeof value === 'string') this.#push(choice, key, CHOICE_TEXT)
      else this.walk.member(choice, key, node, 3)
    }
  }

  /** @param depth of containers, this one included @param path what the channels of its texts begin with */
  #readObject(object: JsonObject, node: PathNode, depth: number, path: Channel, isPart = false): void {
    if (depth > MAX_GROWING_DEPTH) {
      throw new GatewayError(
        'upstream_unavailable',
        "The upstream's answer has texts that are nested too deep.",
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
      if (isText) this.#push(object, key, isPart ? channel.replace(SAID_PART, 'content') : channel)
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

  /** An empty first piece of a tool call matters: with it the text before has ended. */
  #push(object: JsonObject, key: string, channel: string): void {
    const text = object[key] as string
    if (text === '' && !isToolCall(channel)) return
    this.deltas.push(new DeltaPiece(this.#choice, channel, object, key, this.#names))
  }
}

/** Names of functions are, to some callers, texts like any other. */
const isReplacedIn = (channel: Channel, key: string, value: string): boolean =>
  !(key === 'name' && isToolCall(channel)) && isReplacedString(key, value)

const isSigned = (thought: JsonObject): boolean =>
  SIGNATURES.some((name) => typeof thought[name] === 'string' && thought[name] !== '')

class DeltaPiece implements Delta {
  readonly choice: number
  readonly channel: string
  readonly text: string
  readonly names: readonly Text[]
  readonly #object: JsonObject
  readonly #key: string

  constructor(choice: number, channel: string, object: JsonObject, key: string, names: readonly Text[]) {
    this.choice = choice
    this.channel = channel
    this.names = names
    this.text = object[key] as string
    this.#object = object
    this.#key = key
  }

  get encoding(): 'plain' | 'json' {
    return this.#key === 'arguments' ? 'json' : 'plain'
  }

  get whole(): boolean {
    return this.#key === 'name'
  }

  replace(text: string): void {
    setMember(this.#object, this.#key, text)
  }
}

const indexOf = (item: JsonObject, fallback: number): number =>
  Number.isSafeInteger(item['index']) ? (item['index'] as number) : fallback

/** Why a choice ended; null while it goes on, which some servers write as `""` or `"null"`. */
export function finishReason(choice: JsonObject): string | null {
  const reason = choice['finish_reason']
  return typeof reason === 'string' && reason !== '' && reason !== 'null' ? reason : null
}

/** Takes it out of a chunk, as if the choice went on, and returns it. */
export function takeFinish({ choices }: JsonObject, index: number): string {
  let reason = ''
  for (const choice of Array.isArray(choices) ? choices : []) {
    if (!isObject(choice) || choiceIndex(choice) !== index) continue
    reason = finishReason(choice) ?? reason
    choice['finish_reason'] = null
  }
  return reason
}

/** The number of a choice; the only one where it is not said. */
export const choiceIndex = (choice: JsonObject): number => indexOf(choice, 0)
