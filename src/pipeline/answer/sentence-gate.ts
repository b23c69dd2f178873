// Holds the events of a stream until recognisers have judged the sentences in them. What they find
// is there when the scanners read an event. Cuts depend on the events alone, not on chunk
// boundaries.

import type { StreamReader } from '../../chat/api-format.ts'
import type { Channel } from '../../chat/channel.ts'
import { isEventName } from '../../chat/event-names.ts'
import { DONE, MAXIMUM_EVENT_BYTES, type SseEvent, SseParser } from '../../chat/sse.ts'
import type { Delta, StreamChunk } from '../../chat/stream-chunk.ts'
import type { Text } from '../../chat/text.ts'
import { GatewayError } from '../../core/errors.ts'
import { atOnce } from '../../core/steps.ts'
import { GrowingSentences, JoinedValues, type TextWindow } from '../../recognisers/sentences.ts'
import type { RecognisedValue } from '../../recognisers/values.ts'
import type { JsonWalls } from '../scan/json-walls.ts'
import type { OutsideValue, OutsideValues } from '../scan/outside-values.ts'
import { readView, ViewReader } from '../scan/view-reader.ts'
import { assertTexts } from './growing-texts.ts'
import { type Answer, readerOf } from './whole-answer.ts'

/**
 * Maximum characters of events that wait. At more, sentences are cut where they are. One sentence
 * with a token of a few characters in each event takes about half of it.
 */
const MAXIMUM_WAITING_CHARACTERS = 1024 * 1024

/** A growing text as far as it was received. */
interface GatedText {
  readonly choice: number
  readonly channel: Channel
  readonly reader: ViewReader
  readonly sentences: GrowingSentences
  readonly joined: JoinedValues<RecognisedValue>
  /** Offset up to which it is judged. */
  judged: number
}

interface WaitingEvent {
  readonly raw: string
  /** Texts that must be judged up to an offset. */
  readonly needs: readonly { readonly text: GatedText; readonly end: number }[]
}

/** A piece of text to ask about. */
interface Question {
  readonly window: TextWindow
  /** Takes the values in it; offsets count in it. */
  take(found: readonly RecognisedValue[]): void
}

export class SentenceGate {
  readonly #answer: Answer
  readonly #outside: OutsideValues
  readonly #reader: StreamReader
  readonly #parser = new SseParser(MAXIMUM_EVENT_BYTES)
  readonly #texts = new Map<number, Map<Channel, GatedText>>()
  #count = 0
  #waiting: WaitingEvent[] = []
  #questions: Question[] = []
  #heldCharacters = 0

  constructor(answer: Answer, outside: OutsideValues) {
    this.#answer = answer
    this.#outside = outside
    this.#reader = readerOf(answer)
  }

  /** Size of the events that wait. */
  get heldCharacters(): number {
    return this.#heldCharacters
  }

  /**
   * Takes bytes, null at the end of the stream, and resolves with the events that may be relayed.
   * @throws GatewayError (rejects) `recogniser_unavailable`, and `upstream_unavailable` for a
   *   stream that cannot be read
   */
  async take(piece: Buffer | null): Promise<Buffer> {
    const { call, clock } = this.#answer
    const startMs = clock.monotonic()
    let out = ''
    for (const event of piece === null ? this.#parser.finish() : this.#parser.push(piece)) {
      const { otherLines } = event
      if (!isEventName(otherLines)) this.#askAboutWhole({ text: otherLines, encoding: 'plain' })
      // A comment keeps the connection alive.
      if (event.data === null) out += event.raw
      else this.#enter(event, event.data)
    }
    if (piece === null || this.#heldCharacters > MAXIMUM_WAITING_CHARACTERS) this.#endAll()
    if (this.#questions.length > 0) {
      await this.#ask()
      call.addPhase('recognise', clock.monotonic() - startMs)
    }
    return Buffer.from(out + this.#release())
  }

  async #ask(): Promise<void> {
    const questions = this.#questions
    this.#questions = []
    const found = await this.#outside.find(questions.map(({ window }) => window.text))
    for (const [index, { take }] of questions.entries()) take(found[index]!)
  }

  #release(): string {
    const isOpen = ({ needs }: WaitingEvent) => needs.some(({ text, end }) => text.judged < end)
    const held = this.#waiting.findIndex(isOpen)
    const released = held < 0 ? this.#waiting : this.#waiting.slice(0, held)
    this.#waiting = held < 0 ? [] : this.#waiting.slice(held)
    const raw = released.map((event) => event.raw).join('')
    this.#heldCharacters -= raw.length
    return raw
  }

  #enter({ raw }: SseEvent, data: string): void {
    const chunk = this.#chunkOf(data)
    this.#heldCharacters += raw.length
    if (data.trimEnd() === DONE) this.#endAll()
    this.#waiting.push({ raw, needs: chunk === null ? [] : this.#read(chunk) })
  }

  /** The chunk in an event; null for none. The relay says what is wrong with one. */
  #chunkOf(data: string): StreamChunk | null {
    try {
      const chunk = this.#reader.read(data)
      if (chunk !== null) this.#reader.note(chunk.body)
      return chunk
    } catch (error) {
      if (error instanceof GatewayError) return null
      throw error
    }
  }

  /** Reads the texts of a chunk. @returns what must be judged before it is relayed */
  #read(chunk: StreamChunk): WaitingEvent['needs'] {
    this.#readOthers(chunk)
    const grown = new Set<GatedText>()
    // The name of a tool, which is whole in its event, is exact.
    for (const delta of chunk.deltas) if (!delta.whole) grown.add(this.#grow(delta))
    // The first delta of another text ends those before it.
    for (const { choice } of chunk.deltas)
      for (const text of this.#textsOf(choice)) if (!grown.has(text)) this.#end(text)
    const { finished, signed, endsBlock, continues } = chunk
    const ended = [...finished, ...signed, endsBlock ?? [], continues?.from ?? []].flat()
    for (const choice of ended) for (const text of this.#textsOf(choice)) this.#end(text)
    if (chunk.isLast || chunk.error) this.#endAll()
    return [...grown].map((text) => ({ text, end: text.sentences.end }))
  }

  /**
   * Asks about the texts that do not grow. Several events repeat a text; its sentences are known.
   */
  #readOthers({ others }: StreamChunk): void {
    if (others.length === 0) return
    const { call } = this.#answer
    for (const one of atOnce(call.api.answer.group(others, call.record.asksForJson)))
      if (!one.isExact) this.#askAboutWhole(one)
  }

  #askAboutWhole(text: Pick<Text, 'text' | 'encoding'>): void {
    const values: OutsideValue[] = []
    const sentences = new GrowingSentences()
    const joined = new JoinedValues<RecognisedValue>()
    const { view, walls } = readView(text, this.#answer.scan)
    const windows = [...sentences.push(view), ...sentences.finish()]
    for (const [index, window] of windows.entries())
      this.#questions.push({
        window,
        take: (found) => {
          values.push(...finalValues(window, found, joined, walls))
          if (index === windows.length - 1) this.#outside.keep(text, values)
        },
      })
  }

  #grow(delta: Delta): GatedText {
    const text = this.#textOf(delta)
    this.#askAbout(text, text.sentences.push(text.reader.push(delta.text)))
    return text
  }

  #textOf({ choice, channel, encoding }: Delta): GatedText {
    const texts = this.#texts.get(choice) ?? new Map<Channel, GatedText>()
    this.#texts.set(choice, texts)
    const known = texts.get(channel)
    if (known !== undefined) return known
    assertTexts(this.#count++)
    const reader = new ViewReader(this.#answer.scan, encoding)
    const sentences = new GrowingSentences()
    const joined = new JoinedValues<RecognisedValue>()
    const text = { choice, channel, reader, sentences, joined, judged: 0 }
    texts.set(channel, text)
    return text
  }

  #textsOf(choice: number): Iterable<GatedText> {
    return this.#texts.get(choice)?.values() ?? []
  }

  #endAll(): void {
    for (const choice of this.#texts.keys()) for (const text of this.#textsOf(choice)) this.#end(text)
  }

  #end(text: GatedText): void {
    const { reader, sentences } = text
    this.#askAbout(text, [...sentences.push(reader.finish()), ...sentences.finish()])
  }

  #askAbout(text: GatedText, windows: readonly TextWindow[]): void {
    const known = this.#outside.growing(text.choice, text.channel)
    for (const window of windows)
      this.#questions.push({
        window,
        take: (found) => {
          const { walls } = text.reader
          known.push(...finalValues(window, found, text.joined, walls))
          walls.forget(window.until)
          text.judged = window.until
        },
      })
  }
}

/** Returns the values that are final after a window, with offsets in the text. */
function finalValues(
  window: TextWindow,
  found: readonly RecognisedValue[],
  joined: JoinedValues<RecognisedValue>,
  walls: JsonWalls,
): readonly OutsideValue[] {
  const { start: from, text } = window
  const inText = found.map(({ kind, start, end }) => ({ kind, start: start + from, end: end + from }))
  const parts = walls.cut(joined.add(window, inText), text, from, from + text.length)
  return parts.map(({ kind, start, end }) => ({
    kind,
    start,
    end,
    value: text.slice(start - from, end - from),
  }))
}
