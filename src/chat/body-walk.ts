// Walks over every string of a body and lists what it leaves out: ids, words of the wire format and
// payloads in their places. Everything else, known or not, is a text.

import { GatewayError } from '../core/errors.ts'
import { isObject, isRawNumber, type JsonObject, type JsonValue } from '../core/json.ts'
import { Pace, type Steps } from '../core/steps.ts'
import type { PathNode } from './json-path.ts'
import { isFollowedUrl, readPayload } from './payload-places.ts'
import { MAXIMUM_DEPTH } from './strict-json.ts'
import {
  NameText,
  NumberText,
  Renames,
  SettingText,
  type Text,
  type TextContext,
  UnwrappedText,
  ValueText,
} from './text.ts'
import { isDisplayName, isFileId, isId, isLabel, isWireName, isWireValue } from './vocabulary.ts'
import {
  isFileIdPlace,
  isIdPlace,
  isMediaPart,
  isProviderNumber,
  isQuoting,
  isReadNumber,
  isResult,
  isSigned,
  isTokenPlace,
} from './walk-places.ts'

export type Container = JsonObject | JsonValue[]
type Key = string | number
const keys = (list: string): ReadonlySet<Key> => new Set<Key>(list.split(' '))

/** Maximum texts of one body. No conversation has more; such a body wastes memory. */
const MAXIMUM_TEXTS = 200_000

/** Members of content parts that a model reads as running text. */
const RUNNING_TEXT = keys('text content refusal thinking input_text system instructions input prompt output')
/** Members of a message that hold its content. */
const CONTENT = keys('content refusal output summary')

const isRunningName = (name: Key): boolean => RUNNING_TEXT.has(name) || CONTENT.has(name)

/** Top-level members of an answer that the provider fills in. */
const ENVELOPE = keys('id model system_fingerprint obfuscation')

/** Longest `token` under `logprobs` that is left out. */
const MAXIMUM_TOKEN_CHARACTERS = 128

/**
 * Smallest number that is a text for built-in kinds: seven digits. A shorter one identifies nobody,
 * unless a rule knows better.
 */
const MIN_NUMBER = 10 ** 6
/** Larger than any setting but a seed. */
const MAXIMUM_SETTING = 2 ** 32
/** Larger than any seed: they have 64 bits, with or without a sign. */
const MAXIMUM_SEED = 2n ** 64n
/** A whole number of so many digits at most. */
const SEED = /^-?\d{1,20}$/
/** Request settings with numeric values. One that is too large for a setting is a text. */
const SETTINGS = keys(
  'temperature top_p top_k top_a min_p max_tokens max_completion_tokens max_output_tokens n seed top_logprobs presence_penalty frequency_penalty repetition_penalty',
)

/** Tool results are mostly JSON, and a model reads through its escapes. */
const JSON_START = /^\s*[[{]/

/** Members that providers read before all others, in this order and not in that of the body. */
const READ_FIRST = ['tools', 'functions', 'system', 'instructions']
/** Members that change from turn to turn, in the order in which providers read them. */
const READ_LAST = ['messages', 'input', 'prediction']

const rankOf = (name: string): number =>
  READ_FIRST.includes(name) ? READ_FIRST.indexOf(name) - READ_FIRST.length : READ_LAST.indexOf(name) + 1

/**
 * Returns the names of a request's members in the order in which a provider reads them. Its cache
 * keeps a prefix of them, so that a value found in a later one must not change how an earlier one
 * is written.
 */
export const readingOrder = (body: JsonObject): string[] =>
  Object.keys(body).sort((one, other) => rankOf(one) - rankOf(other))

/**
 * Reports whether a number is the seed of a request. No model reads it, and a random one may look
 * like a card number.
 */
function isSeed(text: string, key: Key, node: PathNode | null): boolean {
  if (key !== 'seed' || node !== null || !SEED.test(text)) return false
  const size = BigInt(text)
  return size < MAXIMUM_SEED && size > -MAXIMUM_SEED
}

/** Reports whether a string is an id, in the place of one. */
const isIdInPlace = (text: string, key: Key, node: PathNode | null): boolean =>
  isFileIdPlace(key, node) ? isFileId(text) : isIdPlace(key, node) && isId(text)

export class BodyWalk {
  readonly texts: Text[] = []
  /** Ids of an answer that do not have the form of an id, or that hold a long number. */
  readonly ids: string[] = []
  /** Number of payloads that cannot be scanned as text. */
  binaryParts = 0
  /** As in Texts. */
  numbersEachInput = false
  readonly #side: 'request' | 'response'
  readonly #asksForJson: boolean
  readonly #readsNumbers: boolean
  #renames: Renames | null = null
  #role: string | null = null
  /** True inside the running text of the conversation. */
  #running = false
  #joined = 0
  readonly #pace = new Pace()

  /**
   * @param readsNumbers whether small numbers are texts, because rules define values or keywords
   * @param asksForJson whether the `text` members of an answer are JSON
   */
  constructor(side: 'request' | 'response', readsNumbers = false, asksForJson = false) {
    this.#side = side
    this.#readsNumbers = readsNumbers
    this.#asksForJson = asksForJson
  }

  /** Renames members, once for each object. Call it after the last `replace`. */
  commit(): void {
    this.#renames?.commit()
  }

  /**
   * Walks over an object. @param depth of containers, this one included
   * @throws GatewayError `invalid_body` for a request, `upstream_unavailable` for an answer, that
   *   is too deep or has too many texts
   */
  object(object: JsonObject, node: PathNode | null, depth: number): void {
    for (const key of Object.keys(object)) this.member(object, key, node, depth)
  }

  /** Walks over a member: its name and its value. */
  member(object: JsonObject, key: string, node: PathNode | null, depth: number): void {
    this.name(object, key, node)
    const role = this.#role
    if (isResult(object, key, node)) this.#role = 'tool'
    this.value(object, key, node, depth)
    this.#role = role
  }

  /** Adds the name of a member, unless it belongs to the wire format. */
  name(object: JsonObject, key: string, node: PathNode | null): void {
    if (key === '' || isWireName(key, node === null ? null : node.key)) return
    this.#renames ??= new Renames()
    this.#add(new NameText(key, object, node, this.#role, this.#renames))
  }

  /** Walks over the value of a member or an item of a list. */
  value(container: Container, key: Key, node: PathNode | null, depth: number): void {
    const value = (container as JsonObject)[key]
    if (typeof value === 'string') {
      if (value === '') this.#empty(container, key, node)
      else if (!isSigned(value, container, key, node) && !this.#skipsString(value, key, node))
        this.#string(value, container, key, node)
    } else if (typeof value === 'number') {
      if (!this.#skipsNumber(value, key, node)) this.#number(String(value), container, key, node)
    } else if (isRawNumber(value)) {
      const isSkipped =
        this.#side === 'request'
          ? isSeed(value.rawJSON, key, node)
          : this.#skipsNumber(Number(value.rawJSON), key, node)
      if (!isSkipped) this.#number(value.rawJSON, container, key, node)
    } else if (typeof value === 'object' && value !== null) {
      this.below(value, { parent: node, key }, depth + 1)
    }
  }

  /** Walks over a list or an object. */
  below(value: Container, node: PathNode, depth: number): void {
    if (depth > MAXIMUM_DEPTH) throw this.#tooMuch(`is nested deeper than ${MAXIMUM_DEPTH} levels`)
    if (isObject(value)) this.object(value, node, depth)
    else for (let index = 0; index < value.length; index++) this.value(value, index, node, depth)
  }

  /**
   * Walks over a message of the conversation. Its texts are adjacent to those of its neighbours.
   * @param role of its texts; the message's own by default
   */
  *message(message: JsonObject, node: PathNode, depth: number, role = message['role']): Steps<void> {
    const speaker = typeof role === 'string' ? role : null
    for (const key of Object.keys(message)) {
      this.#role = speaker
      this.name(message, key, node)
      if (isResult(message, key, node)) this.#role = 'tool'
      this.#running = CONTENT.has(key)
      const value = message[key]
      if (this.#running && Array.isArray(value)) yield* this.#parts(value, { parent: node, key }, depth + 1)
      else this.value(message, key, node, depth)
    }
    this.#running = false
    this.#role = null
    if (this.#pace.isOver(0)) yield
  }

  /**
   * Walks over an object in the form of a message outside the conversation. Its texts are adjacent
   * to each other only.
   */
  *separate(message: JsonObject, node: PathNode, depth: number): Steps<void> {
    this.#joined++
    yield* this.message(message, node, depth)
    this.#joined++
  }

  /** Walks over a text or parts of the conversation in a member of the body. */
  *spoken(body: JsonObject, key: string, role: string): Steps<void> {
    this.name(body, key, null)
    this.#role = role
    this.#running = true
    const value = body[key]
    if (Array.isArray(value)) yield* this.#parts(value, { parent: null, key }, 2)
    else this.value(body, key, null, 1)
    this.#running = false
    this.#role = null
  }

  /**
   * Walks over inputs that stand alone. @param isPayload whether an input cannot be read
   */
  *inputs(body: JsonObject, key: string, isPayload: (value: JsonValue | undefined) => boolean): Steps<void> {
    const value = body[key]
    this.#role = 'user'
    if (isPayload(value)) this.binaryParts++
    else if (Array.isArray(value)) {
      const list: PathNode = { parent: null, key }
      for (const [index, item] of value.entries()) {
        if (isPayload(item)) this.binaryParts++
        else this.value(value, index, list, 2)
        if (this.#pace.isOver(0)) yield
      }
    } else this.value(body, key, null, 1)
    this.#role = null
  }

  /** Walks over a list of objects without the members that are left out. */
  items(body: JsonObject, key: string, isLeftOut: (name: string, value: JsonValue) => boolean): void {
    const list = body[key] as JsonValue[]
    const around: PathNode = { parent: null, key }
    list.forEach((item, index) => {
      const node: PathNode = { parent: around, key: index }
      if (!isObject(item)) this.value(list, index, around, 2)
      else
        for (const name of Object.keys(item))
          if (!isLeftOut(name, item[name]!)) this.member(item, name, node, 3)
    })
  }

  *#parts(parts: JsonValue[], node: PathNode, depth: number): Steps<void> {
    const role = this.#role
    for (const [index, part] of parts.entries()) {
      const before = this.binaryParts
      this.#role = isQuoting(part) ? 'tool' : role
      this.value(parts, index, node, depth)
      this.#role = role
      // A media part counts once, also with a URL or an id that cannot be read here.
      if (isObject(part) && isMediaPart(part)) this.binaryParts = before + 1
      if (this.#pace.isOver(0)) yield
    }
  }

  /** An empty block of an answer does not separate its neighbours, so it is added as a text. */
  #empty(container: Container, key: Key, node: PathNode | null): void {
    if (this.#side === 'response' && key === 'text' && typeof node?.key === 'number')
      this.#text('', container, key, node)
  }

  #string(text: string, container: Container, key: Key, node: PathNode | null): void {
    if (isIdPlace(key, node)) {
      const isFollowed = this.#side === 'response'
      this.#add(new ValueText(text, container, key, node, { ...this.#alone, isId: true, isFollowed }))
      return
    }
    if (isFollowedUrl(text, key, node)) {
      this.#add(new ValueText(text, container, key, node, { ...this.#alone, isFollowed: true }))
      return
    }
    const payload = readPayload(text, container, key, node)
    if (payload === null) {
      this.#text(text, container, key, node)
      return
    }
    if (!payload.isText) this.binaryParts++
    for (const inside of payload.texts)
      if (inside.text !== '') this.#add(new UnwrappedText(inside, container, key, node, this.#alone))
  }

  /** Context of a text that no other text continues. */
  get #alone(): TextContext {
    return { encoding: 'plain', role: this.#role, joined: null }
  }

  #number(text: string, container: Container, key: Key, node: PathNode | null): void {
    const isSetting = this.#side === 'request' && node === null && SETTINGS.has(key)
    const Kind = isSetting ? SettingText : NumberText
    this.#add(new Kind(text, container, key, node, this.#contextOf(text, key, node)))
  }

  #text(text: string, container: Container, key: Key, node: PathNode | null): void {
    this.#add(new ValueText(text, container, key, node, this.#contextOf(text, key, node)))
  }

  #contextOf(text: string, key: Key, node: PathNode | null): TextContext {
    const running = this.#running && (RUNNING_TEXT.has(key) || typeof key === 'number')
    const around = node?.key
    const isCall = around === 'function' || around === 'function_call'
    const isArguments = key === 'arguments' && (isCall || JSON_START.test(text))
    const isResult = running && (this.#role === 'tool' || this.#role === 'function') && JSON_START.test(text)
    const isJson = isArguments || isResult || (this.#asksForJson && key === 'text')
    const joined = running ? this.#joined++ : null
    const named = typeof key === 'number' ? around : key
    return {
      encoding: isJson ? 'json' : 'plain',
      role: this.#role,
      joined,
      isNamed: !isJson && named !== undefined && !isRunningName(named),
    }
  }

  #add(text: Text): void {
    if (this.texts.length === MAXIMUM_TEXTS) throw this.#tooMuch(`holds more than ${MAXIMUM_TEXTS} texts`)
    this.texts.push(text)
  }

  #skipsString(text: string, key: Key, node: PathNode | null): boolean {
    const isOwnId = isIdPlace(key, node) || (node === null && key === 'id')
    if (this.#side === 'response' && isOwnId && !isId(text)) this.ids.push(text)
    const around = node === null ? null : node.key
    if (isWireValue(typeof key === 'number' && around !== null ? around : key, text)) return true
    if (this.#side === 'request') return (around === null && key === 'model') || isIdInPlace(text, key, node)
    if (around === null) return ENVELOPE.has(key) ? isLabel(text) : key === 'provider' && isDisplayName(text)
    if (key === 'token' && text.length <= MAXIMUM_TOKEN_CHARACTERS) return isTokenPlace(node)
    return isIdPlace(key, node) && isLabel(text)
  }

  #skipsNumber(value: number, key: Key, node: PathNode | null): boolean {
    if (Math.abs(value) < MIN_NUMBER && !(this.#readsNumbers && isReadNumber(this.#side, key, node)))
      return true
    if (this.#side === 'request')
      return (
        isSeed(String(value), key, node) ||
        (node === null && SETTINGS.has(key) && Math.abs(value) < MAXIMUM_SETTING)
      )
    return isProviderNumber(key, node)
  }

  #tooMuch(what: string): GatewayError {
    return this.#side === 'request'
      ? new GatewayError('invalid_body', `The body ${what}.`)
      : new GatewayError('upstream_unavailable', `The upstream's answer ${what}.`)
  }
}
