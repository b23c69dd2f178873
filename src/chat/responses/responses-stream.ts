// Reads and writes the events of the Responses API
// (https://platform.openai.com/docs/api-reference/responses-streaming). Every text that grows is a
// choice of its own; later events repeat it whole.

import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { RepeatedForm, StreamReader } from '../api-format.ts'
import { BodyWalk } from '../body-walk.ts'
import type { ChannelText } from '../channel.ts'
import { type Delta, GrowingPiece } from '../growing-piece.ts'
import { type GrowingCitations, isErrorBody, parseObject, type StreamChunk } from '../stream-chunk.ts'
import { parseReceived } from '../strict-json.ts'
import { setMember } from '../text.ts'
import type { ProgressOf } from '../token-probabilities.ts'
import { readUsage } from '../token-usage.ts'
import { isLabel, isWireValue } from '../vocabulary.ts'
import { DELTA, readPieces, writePieces } from './piece-texts.ts'
import { dropResponseProbabilities } from './response-probabilities.ts'
import { ResponsesAssembler } from './responses-assembler.ts'

/** Ends the type of an event that adds to a text, and of the event that repeats it whole. */
const PIECE = /^(.+)\.delta$/
const WHOLE = /^(.+)\.done$/

/** The type of an event that adds a citation to a text. */
const CITATION = /^(.+)\.annotation\.added$/

/** Events after which an answer has no more. */
const LAST: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
])

/**
 * Reports whether a member of an event that adds to a text holds nothing else to scan: the piece
 * itself, its place, and what the provider fills in.
 */
function isPieceMember(name: string, value: JsonValue | undefined): boolean {
  if (name === DELTA || name === 'type') return true
  if (name === 'item_id' || name === 'obfuscation') return typeof value === 'string' && isLabel(value)
  if (name === 'logprobs') return Array.isArray(value) && value.length === 0
  return typeof value === 'number' && Math.abs(value) < MAXIMUM_PLACE
}

/** Works like `isPieceMember`, without the piece itself. */
const isPlaceMember = (name: string, value: JsonValue): boolean =>
  name !== DELTA && isPieceMember(name, value)

/** The number of an event, and random characters that hide the length of its piece. */
const VARYING = ['sequence_number', 'obfuscation'] as const

/** Larger than any index or number of an event. */
const MAXIMUM_PLACE = 10 ** 6

/** Ended texts that may still be held back, besides those that end with one event. */
const MAXIMUM_ENDED = 16

/** Texts that are JSON: arguments of functions and tools. */
const JSON_PIECE = /arguments$/
/** Pieces of sound and pictures, base64. */
const PAYLOAD_PIECE = /^response\.(?:output_)?(?:audio|image)$/

/** Members that identify a text within its item: `content_index`, `summary_index`, and others. */
const PLACE = /(?:^|_)index$/

/** A text that grows, with the last event that added to it. */
interface GrowingPlace {
  readonly choice: number
  readonly item: string | number
  like: JsonObject
}

/** The text that ended last, while the next part of its item may continue it. */
interface EndedText {
  readonly choice: number
  readonly kind: string
  readonly item: string | number
  /** The member that numbers its part, and the number. */
  readonly place: string
  readonly number: number
  readonly like: JsonObject
}

export class ResponsesStream implements StreamReader {
  readonly assembler = new ResponsesAssembler((choice) => this.#likeOf(choice))
  /** Reasoning that returns is encrypted. */
  readonly thoughts = []
  readonly closing = null
  readonly holdsProbabilities = false
  readonly #asksForJson: boolean
  readonly #readsNumbers: boolean
  /** Open texts by the kind of their events and their place. */
  readonly #open = new Map<string, GrowingPlace>()
  #choices = 0
  #last: EndedText | null = null
  /** Null before the first event, whose number is that of the provider. */
  #next: number | null = null
  /** Events like those of the texts that ended last, the oldest first. */
  readonly #ended = new Map<number, JsonObject>()
  /** True once the text of the answer was redacted. */
  #redacted = false

  constructor(asksForJson: boolean, readsNumbers = false) {
    this.#asksForJson = asksForJson
    this.#readsNumbers = readsNumbers
  }

  get nextNumber(): number {
    return this.#next ?? 0
  }

  read(data: string): StreamChunk | null {
    const body = parseObject(data)
    if (body === null) return null
    const { response } = body
    const type = typeof body['type'] === 'string' ? body['type'] : ''
    const kind = PIECE.exec(type)?.[1]
    // Also in an event of a type that is not known yet; its type is then a text like any other.
    const grows = kind !== undefined && !PAYLOAD_PIECE.test(kind)
    const walk = new BodyWalk('response', this.#readsNumbers, this.#asksForJson)
    const continues = grows ? this.#continues(kind, body) : null
    const deltas = grows ? this.#piecesOf(kind, body, walk) : []
    if (!grows)
      for (const key of Object.keys(body)) {
        const value = body[key]
        if (key === 'response' && isObject(value)) walk.object(value, null, 1)
        else walk.member(body, key, null, 1)
      }
    const isLast = LAST.has(type)
    const finished = this.#finished(type, body, isLast)
    const cited = this.#citedBy(type, body)
    const endsBlock = grows ? null : this.#endOf(type, body, finished)
    return {
      body,
      deltas,
      others: walk.texts,
      ids: walk.ids,
      commit: () => walk.commit(),
      finished,
      ...(cited !== null && { cited: [cited] }),
      ...(endsBlock !== null && { endsBlock }),
      ...(continues !== null && { continues }),
      signed: [],
      usage: isObject(response) ? readUsage(response) : null,
      usageOnly: false,
      error: type === 'error' || isErrorBody(body) || type === 'response.failed',
      isRepeat: isLast || WHOLE.test(type),
      isLast,
    }
  }

  #piecesOf(kind: string, body: JsonObject, walk: BodyWalk): Delta[] {
    const isKnown = isWireValue('type', `${kind}.delta`)
    const isOther = (name: string, value: JsonValue) =>
      isPlaceMember(name, value) && (name !== 'type' || isKnown)
    const pieces = readPieces(body, walk, isOther)
    if (pieces.length === 0) return []
    const key = placeOf(kind, body)
    let place = this.#open.get(key)
    if (place === undefined) {
      place = { choice: this.#choices++, item: itemOf(body), like: body }
      this.#open.set(key, place)
    }
    place.like = body
    const { choice } = place
    const isJson = JSON_PIECE.test(kind) || (this.#asksForJson && kind === 'response.output_text')
    return pieces.map(({ channel, object, key: name, names }) => {
      const encoding = isJson && channel === DELTA ? 'json' : 'plain'
      return new GrowingPiece({ choice, channel, encoding }, object, name, names)
    })
  }

  /** The texts that an event repeats whole, and that have no later piece. */
  #finished(type: string, body: JsonObject, isLast: boolean): readonly number[] {
    const kind = WHOLE.exec(type)?.[1]
    if (kind === undefined && !isLast) return []
    const item = type === 'response.output_item.done' ? itemOf(body) : null
    const key = kind === undefined ? '' : placeOf(kind, body)
    const ending = [...this.#open].filter(([open, place]) => isLast || open === key || place.item === item)
    if (ending.length === 0) return []
    for (const [open, { choice, like }] of ending) {
      this.#open.delete(open)
      this.#ended.set(choice, like)
    }
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= MAXIMUM_ENDED + ending.length) break
      this.#ended.delete(oldest)
    }
    return ending.map(([, { choice }]) => choice)
  }

  /**
   * Returns the choice of the text that an event ends, repeats at its end or announces the next
   * part of; null for any other event. The next part may continue such a text.
   */
  #endOf(type: string, event: JsonObject, finished: readonly number[]): number | null {
    const kind = WHOLE.exec(type)?.[1]
    const place = Object.keys(event).find(isPartNumber)
    const number = place === undefined ? undefined : event[place]
    if (place === undefined || typeof number !== 'number') return null
    const item = itemOf(event)
    const [choice] = finished
    if (kind !== undefined && choice !== undefined) {
      this.#last = { choice, kind, item, place, number, like: this.#likeOf(choice) }
      return choice
    }
    const last = this.#last
    if (last === null || last.item !== item || last.place !== place) return null
    const isNext = number === last.number + 1
    // An empty part does not separate its neighbours.
    if (isNext && kind !== undefined && isEmptyPart(event)) this.#last = { ...last, number }
    else if (kind === undefined ? !isNext || !type.endsWith('.added') : number !== last.number) return null
    return last.choice
  }

  /**
   * Returns the text that ended last and the one that begins with an event, when the second
   * continues the first in the next part of the item, or in the same; null otherwise.
   */
  #continues(kind: string, event: JsonObject): { readonly from: number; readonly to: number } | null {
    const last = this.#last
    if (last === null || kind !== last.kind || itemOf(event) !== last.item) return null
    const key = placeOf(kind, event)
    const number = event[last.place]
    const isNear = number === last.number || number === last.number + 1
    if (!isNear || this.#open.has(key)) return null
    this.#last = null
    const to = this.#choices++
    this.#open.set(key, { choice: to, item: last.item, like: event })
    return { from: last.choice, to }
  }

  /** The citation that an event adds to a text; null for any other event. */
  #citedBy(type: string, event: JsonObject): GrowingCitations | null {
    const kind = CITATION.exec(type)?.[1]
    if (kind === undefined) return null
    const { annotation, annotation_index: _, ...place } = event
    const choice = this.#open.get(placeOf(kind, place))?.choice
    return choice === undefined ? null : { choice, channel: DELTA, citations: [annotation ?? null] }
  }

  note({ sequence_number: number }: JsonObject): void {
    if (typeof number === 'number') this.#next ??= Math.max(0, Math.trunc(number))
  }

  flush(_like: JsonObject, choice: number, pieces: readonly ChannelText[]): JsonObject {
    const { logprobs, obfuscation: _obfuscation, ...like } = this.#likeOf(choice)
    const others = logprobs === undefined ? {} : { logprobs: [] }
    if (typeof like[DELTA] === 'string' && pieces.every(([channel]) => channel === DELTA))
      return { ...like, [DELTA]: pieces.map(([, piece]) => piece).join(''), ...others }
    const event = parseReceived(JSON.stringify(like)) as JsonObject
    for (const { object, key } of readPieces(event, new BodyWalk('response'), isPlaceMember))
      setMember(object, key, '')
    writePieces(event, pieces)
    return { ...event, ...others }
  }

  #likeOf(choice: number): JsonObject {
    const ended = this.#ended.get(choice)
    if (ended !== undefined) return ended
    for (const place of this.#open.values()) if (place.choice === choice) return place.like
    return {}
  }

  /** An event ends a text without a piece of it, so that no end waits for one. */
  end(): JsonObject {
    return {}
  }

  repeats({ body, deltas, others }: StreamChunk): RepeatedForm | null {
    const isPiece = deltas.length === 1 && others.length === 0
    if (
      !isPiece ||
      typeof body[DELTA] !== 'string' ||
      !Object.keys(body).every((name) => isPieceMember(name, body[name]))
    )
      return null
    return { isDroppable: true, varying: VARYING.filter((name) => body[name] !== undefined) }
  }

  isEmpty({ type }: JsonObject): boolean {
    return typeof type === 'string' && PIECE.test(type)
  }

  eventLine({ type }: JsonObject): string {
    return typeof type === 'string' ? `event: ${type}` : ''
  }

  releaseProbabilities(
    event: JsonObject,
    progress: ProgressOf,
    _here: unknown,
    finished: readonly number[],
  ): boolean {
    const type = typeof event['type'] === 'string' ? event['type'] : ''
    const kind = PIECE.exec(type)?.[1]
    const choice = kind === undefined ? undefined : this.#open.get(placeOf(kind, event))?.choice
    const text = choice === undefined ? null : progress(choice, DELTA)
    // The end of a text may redact what it held back, and later events list its probabilities.
    const isRedacted = (one: number) => progress(one, DELTA)?.redacted === true
    this.#redacted ||= text?.redacted === true || finished.some(isRedacted)
    const isSent = text === null || text.sentCharacters === text.receivedCharacters
    return this.#redacted || !isSent ? dropResponseProbabilities(event) : false
  }

  /** Numbers the events as they are sent: some are held back, and some are new. */
  number(event: JsonObject): boolean {
    const { sequence_number: number } = event
    if (typeof number !== 'number') return false
    const next = this.nextNumber
    this.#next = next + 1
    event['sequence_number'] = next
    return number !== next
  }
}

/** Names the item of an event by its index; by its id without one. Some providers change the id. */
const itemOf = ({ output_index: index, item_id: id, item }: JsonObject): string | number => {
  if (typeof index === 'number') return index
  const named = id ?? (isObject(item) ? item['id'] : undefined)
  return typeof named === 'string' ? named : ''
}

/** Reports whether the event that repeats a part whole has no text. */
const isEmptyPart = ({ text, part }: JsonObject): boolean =>
  (text ?? (isObject(part) ? part['text'] : undefined)) === ''

const isPartNumber = (name: string): boolean => PLACE.test(name) && name !== 'output_index'

const placeOf = (kind: string, event: JsonObject): string =>
  JSON.stringify([
    kind,
    itemOf(event),
    ...Object.keys(event)
      .filter(isPartNumber)
      .sort()
      .map((name) => [name, event[name] ?? null]),
  ])
