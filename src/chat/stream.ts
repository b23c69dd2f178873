// One chunk of a streamed answer taken apart into the texts that grow from chunk to chunk and those that stand alone.
// No string of it is passed over but for what walk.ts lists.

import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { CHOICE_TEXT, type Channel, isTool } from './channel.ts'
import type { Place } from './place.ts'
import { setMember, type Text } from './text.ts'
import { readUsage, type Usage } from './usage.ts'
import { Walk } from './walk.ts'
import { isWireValue } from './wire.ts'

/** A piece of a text that grows from chunk to chunk. */
export interface Delta {
  readonly choice: number
  readonly channel: Channel
  readonly encoding: 'plain' | 'json'
  readonly text: string
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
  let body: unknown
  try {
    body = JSON.parse(data)
  } catch {
    // The parser's message would quote the answer.
    return null
  }
  if (!isObject(body)) return null
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
    error: saysError(body),
  }
}

/** Whether an answer or a chunk tells of a failure. Some servers write the member always, and nothing into it. */
export const saysError = ({ error }: JsonObject): boolean =>
  isObject(error) ? Object.keys(error).length > 0 : typeof error === 'string' && error !== ''

/** Choices of one answer. */
export const MAX_CHOICES = 1024

const CHOICES: Place = { parent: null, key: 'choices' }
/** Levels around the members of `choices[].delta`. */
const DELTA_DEPTH = 4
/** Objects in one another that are read like a delta. */
const MAX_DELTA_DEPTH = DELTA_DEPTH + 4

/** Fields of a delta that grow in a channel of their own name. */
const GROWING: ReadonlySet<string> = new Set(['content', 'refusal', 'reasoning', 'reasoning_content'])
/** Fields that say the same in each chunk, or something else, but do not grow. */
const STATED: ReadonlySet<string> = new Set(
  'role name type id channel status phase state model provider language title format'.split(' '),
)
/** What stands where a provider has signed, or encrypted, what its model thought. */
const SIGNATURES = ['signature', 'data', 'encrypted_content'] as const
/** A field we do not know grows like the known ones, provided it has a name that can be one; inside others none does. */
const FIELD_NAME = /^[A-Za-z_]\w{0,63}$/

class ChunkReader {
  readonly walk = new Walk('response')
  readonly deltas: Delta[] = []
  readonly finished: number[] = []
  readonly signed: number[] = []
  /** The choice that is being read. */
  #choice = 0
  /** Before the names of the texts of the object that is being read, and levels around its members. */
  #prefix = ''
  #depth = DELTA_DEPTH

  choices(choices: JsonValue[]): void {
    if (choices.length > MAX_CHOICES) {
      throw new GatewayError(
        'upstream_unavailable',
        `The upstream's answer has more than ${MAX_CHOICES} choices.`,
      )
    }
    this.#each(choices, CHOICES, 2, (choice, place) => this.#readChoice(choice, place))
  }

  #readChoice(choice: JsonObject, place: Place): void {
    this.#choice = choiceIndex(choice)
    if (finishReason(choice) !== null) this.finished.push(this.#choice)
    for (const key of Object.keys(choice)) {
      const value = choice[key]
      if (key === 'delta' && isObject(value)) this.#readDelta(value, { parent: place, key })
      else if (key === 'text' && typeof value === 'string') this.#push(choice, key, CHOICE_TEXT)
      else this.walk.member(choice, key, place, 3)
    }
  }

  #readDelta(delta: JsonObject, place: Place): void {
    for (const key of Object.keys(delta)) {
      const value = delta[key]
      if (typeof value === 'string') this.#readText(delta, key, value, place)
      else if (key === 'content' && Array.isArray(value)) this.#readParts(value, { parent: place, key })
      else if (key === 'tool_calls' && Array.isArray(value)) this.#readTools(value, { parent: place, key })
      else if (key === 'reasoning_details' && Array.isArray(value)) {
        this.#readDetails(value, { parent: place, key })
      } else if (key === 'thinking_blocks' && Array.isArray(value)) {
        this.#readThoughts(value, { parent: place, key })
      } else if (key === 'function_call' && isObject(value)) {
        this.#grow(value, { arguments: 'function_call' }, { parent: place, key }, this.#depth + 1)
      } else if (key === 'audio' && isObject(value)) {
        this.#grow(value, { transcript: 'audio' }, { parent: place, key }, this.#depth + 1)
      } else if (isObject(value) && FIELD_NAME.test(key) && this.#depth < MAX_DELTA_DEPTH) {
        this.walk.name(delta, key, place)
        this.#readInside(value, key, { parent: place, key })
      } else this.walk.member(delta, key, place, this.#depth)
    }
  }

  /** Some gateways repeat what a provider sent in an object of its own (`provider_specific_fields`). */
  #readInside(object: JsonObject, key: string, place: Place): void {
    const prefix = this.#prefix
    this.#prefix += `in:${key}:`
    this.#depth++
    this.#readDelta(object, place)
    this.#depth--
    this.#prefix = prefix
  }

  #readText(delta: JsonObject, key: string, value: string, place: Place): void {
    if (GROWING.has(key)) this.#push(delta, key, key)
    else if (STATED.has(key) || this.#prefix !== '' || isWireValue(key, value) || !FIELD_NAME.test(key)) {
      this.walk.member(delta, key, place, this.#depth)
    } else {
      this.walk.name(delta, key, place)
      this.#push(delta, key, `field:${key}`)
    }
  }

  /** Content as a list of parts, as some providers stream what a model thinks beside what it says. */
  #readParts(parts: JsonValue[], place: Place): void {
    this.#each(parts, place, this.#depth + 1, (part, at) => {
      const { thinking } = part
      const isList = Array.isArray(thinking)
      this.#grow(part, { text: 'content' }, at, this.#depth + 2, isList ? 'thinking' : null)
      if (!isList) return
      this.#each(thinking, { parent: at, key: 'thinking' }, this.#depth + 3, (thought, inside) => {
        this.#grow(thought, { text: 'thinking' }, inside, this.#depth + 4)
      })
    })
  }

  #readTools(calls: JsonValue[], place: Place): void {
    this.#each(calls, place, this.#depth + 1, (call, at, position) => {
      const channel = `tool:${indexOf(call, position)}`
      for (const key of Object.keys(call)) {
        const value = call[key]
        const inside: Place = { parent: at, key }
        if (key === 'function' && isObject(value)) {
          this.#grow(value, { arguments: channel }, inside, this.#depth + 3)
        } else if (key === 'custom' && isObject(value)) {
          this.#grow(value, { input: `${channel}:input` }, inside, this.#depth + 3)
        } else this.walk.member(call, key, at, this.#depth + 2)
      }
    })
  }

  #readDetails(details: JsonValue[], place: Place): void {
    this.#each(details, place, this.#depth + 1, (detail, at, position) => {
      const channel = `reasoning_details:${indexOf(detail, position)}`
      const growing = { text: `${channel}:text`, summary: `${channel}:summary` }
      this.#noteSignature(detail)
      this.#grow(detail, growing, at, this.#depth + 2)
    })
  }

  /** What a model thinks, as LiteLLM streams it. */
  #readThoughts(blocks: JsonValue[], place: Place): void {
    this.#each(blocks, place, this.#depth + 1, (block, at, position) => {
      this.#noteSignature(block)
      this.#grow(block, { thinking: `thinking_blocks:${indexOf(block, position)}` }, at, this.#depth + 2)
    })
  }

  #noteSignature(thought: JsonObject): void {
    if (SIGNATURES.some((name) => typeof thought[name] === 'string' && thought[name] !== ''))
      this.signed.push(this.#choice)
  }

  /** Objects of a list are read as said; what is none is walked over. @param depth of the list */
  #each(
    list: JsonValue[],
    place: Place,
    depth: number,
    read: (item: JsonObject, place: Place, position: number) => void,
  ): void {
    list.forEach((item, position) => {
      if (isObject(item)) read(item, { parent: place, key: position }, position)
      else this.walk.value(list, position, place, depth)
    })
  }

  /** An object in which some strings grow, each in its channel. @param except a member that was read already */
  #grow(
    object: JsonObject,
    channels: Readonly<Record<string, string>>,
    place: Place,
    depth: number,
    except: string | null = null,
  ): void {
    for (const key of Object.keys(object)) {
      const channel = Object.hasOwn(channels, key) ? channels[key] : undefined
      if (channel !== undefined && typeof object[key] === 'string') this.#push(object, key, channel)
      else if (key !== except) this.walk.member(object, key, place, depth)
    }
  }

  /** An empty first piece of a tool call matters: with it the text before has ended. */
  #push(object: JsonObject, key: string, channel: string): void {
    const text = object[key] as string
    if (text === '' && !isTool(channel)) return
    this.deltas.push(new DeltaPiece(this.#choice, this.#prefix + channel, object, key))
  }
}

class DeltaPiece implements Delta {
  readonly choice: number
  readonly channel: string
  readonly text: string
  readonly #object: JsonObject
  readonly #key: string

  constructor(choice: number, channel: string, object: JsonObject, key: string) {
    this.choice = choice
    this.channel = channel
    this.text = object[key] as string
    this.#object = object
    this.#key = key
  }

  get encoding(): 'plain' | 'json' {
    return this.#key === 'arguments' ? 'json' : 'plain'
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
