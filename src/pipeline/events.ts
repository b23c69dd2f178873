// The events of a stream, one after the other: each is parsed, its texts pass their scans, and what is safe leaves at
// once. Events nothing changed in leave as they came.

import { Assembler } from '../chat/assembler.ts'
import { flushChunk } from '../chat/channel.ts'
import { encodeData, encodeEvent, type SseEvent, SseParser } from '../chat/sse.ts'
import { type Delta, readStreamChunk, type StreamChunk } from '../chat/stream.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { atOnce } from '../core/steps.ts'
import { type Answer, isClean } from './answer.ts'
import { cleanText } from './credential.ts'
import { isEmpty } from './empty.ts'
import { LogprobGate, type TextProgress } from './logprobs.ts'
import { join, keptChunk, type Passage, replaceTexts } from './passage.ts'
import { EventForm, type EventTemplate, writeEvent } from './template.ts'
import { type Met, TextScan } from './textscan.ts'

/** Largest single event; an upstream that sends more is cut off. */
const MAX_EVENT_BYTES = 4 * 1024 * 1024

/** Texts that may grow side by side in one answer: choices × channels. */
const MAX_TEXTS = 4096

export const DONE = '[DONE]'

const brokenOff = () =>
  new GatewayError('upstream_unavailable', 'The upstream broke off its answer before it was complete.')

/** An event as it leaves when nothing in its data is changed, and its lines without data as they leave in any case. */
interface Written {
  readonly raw: string
  readonly around: string
}

/** The state of one stream: bytes in, text for the client out. */
export class EventRelay {
  readonly assembler = new Assembler()
  /** Of all texts that do not grow, of which there is no end. */
  readonly #others: Met = { findings: [], keywordHits: [] }
  /** What was met, by texts. */
  readonly met: Met[] = [this.#others]
  /** Nothing more is to be read: `[DONE]` came, or a failure. */
  done = false
  /** Choices that have ended. What of one comes all the same waits for the end: it may go on. */
  readonly #finished = new Set<number>()
  failure: GatewayError | null = null
  readonly #answer: Answer
  readonly #includeUsage: boolean
  readonly #credential: string | null
  readonly #parser = new SseParser(MAX_EVENT_BYTES)
  /** Scans by choice, then by channel. */
  readonly #texts = new Map<number, Map<string, TextScan>>()
  readonly #logprobs = new LogprobGate()
  readonly #form = new EventForm()
  /** Probabilities listed with one text may be of another: of the arguments of a tool, or of what a model thinks. */
  readonly #progress = (choice: number, channel: string): TextProgress | null => {
    const texts = this.#texts.get(choice)
    const text = texts?.get(channel)
    if (texts === undefined || text === undefined) return null
    return { sentCharacters: text.sentCharacters, redacted: [...texts.values()].some((one) => one.redacted) }
  }
  #blocked = false
  /** Texts that grow, so far. */
  #growing = 0
  /** The last chunk seen: what is flushed borrows its id, model and time. */
  #envelope: JsonObject = {}

  constructor(answer: Answer, includeUsage: boolean) {
    this.#answer = answer
    this.#includeUsage = includeUsage
    this.#credential = answer.scan.credential
  }

  take(piece: Buffer): string {
    let out = ''
    for (const event of this.#parser.push(piece)) {
      out += this.#event(event)
      if (this.done) break
    }
    return out
  }

  /**
   * The upstream closed its answer. Without `[DONE]` what is held back stays back: it might have been the beginning
   * of something that must not leave.
   */
  end(): string {
    let out = ''
    for (const event of this.#parser.finish()) if (!this.done) out += this.#event(event)
    if (!this.done) this.#fail(brokenOff())
    return out
  }

  /** A rule forbids what comes next. */
  #block(): void {
    this.#blocked = true
    this.done = true
  }

  #fail(error: GatewayError): void {
    this.failure ??= error
    this.done = true
  }

  #event(event: SseEvent): string {
    const { data: received } = event
    const around = event.around === '' ? '' : this.#scanAround(event.around)
    const raw = around === event.around ? event.raw : encodeEvent(around, received)
    if (received === null || this.done) return this.done ? '' : raw
    if (received.trimEnd() === DONE) return this.#end()
    const { template } = this.#form
    const text = template === null ? null : this.#form.read(received)
    const quoted = this.#credential !== null && received.includes(this.#credential)
    if (template !== null && text !== null && !quoted && !this.#logprobs.held) {
      return this.#grow(template, text, { raw, around })
    }
    const data = quoted ? cleanText(received, this.#credential) : received
    const chunk = readStreamChunk(data)
    if (chunk === null) {
      this.#fail(
        new GatewayError('upstream_unavailable', 'The upstream sent an event that is not a JSON object.'),
      )
      return ''
    }
    if (chunk.usage !== null) this.#answer.call.usage = chunk.usage
    if (chunk.usageOnly && !this.#includeUsage) return ''
    if (!quoted) this.#form.learn(data, chunk)
    return this.#chunk(chunk, data, { raw: quoted ? encodeEvent(around, data) : raw, around })
  }

  /** Lines without data pass, but are read like a text. */
  #scanAround(around: string): string {
    const rules = { ...this.#answer.scan, restoration: null }
    const text = cleanText(around, this.#credential)
    // Some servers keep a connection alive with a great deal of it.
    if (text === around && atOnce(isClean({ text, encoding: 'plain' }, rules))) return around
    const scan = new TextScan(rules, this.#answer.placeholders.fork(), 'plain')
    const { sent } = scan.all(text)
    this.#noteOther(scan)
    return sent
  }

  #end(): string {
    if (!this.assembler.complete) {
      this.#fail(brokenOff())
      return ''
    }
    this.done = true
    return this.#flush(this.#texts.keys())
  }

  /** As `#chunk` for an event of which all but its text was met before, and has nothing to be scanned. */
  #grow(template: EventTemplate, text: string, { raw, around }: Written): string {
    const { choice, channel, envelope } = template
    const scan = this.#scanOf({ choice, channel, encoding: 'plain' })
    const passage = scan.push(text)
    this.#envelope = envelope
    if (scan.blocked) {
      this.#block()
      return this.#sendText(choice, channel, passage)
    }
    const { sent, kept } = passage
    if (!this.assembler.grow(choice, channel, kept))
      this.assembler.add(flushChunk(envelope, choice, channel, kept))
    if (sent === text) return raw
    const isDropped = sent === '' && template.droppable
    return encodeEvent(around, isDropped ? null : writeEvent(template, sent))
  }

  #chunk(chunk: StreamChunk, data: string, { raw, around }: Written): string {
    const others = this.#scanOthers(chunk)
    let changed = replaceTexts(chunk.others, others, 'sent')
    if (changed) chunk.commit()
    let out = this.#beforeTools(chunk)
    const finished = chunk.finished.filter((choice) => !this.#finished.has(choice))
    const last = lastPieces(chunk, finished)
    const deltas = chunk.deltas.map((delta) => this.#scanDelta(delta, last.has(delta)))
    const kept = keptChunk(chunk, data, others, deltas)
    if (this.done) return out + this.#onlyTexts(chunk, kept, deltas)
    changed = replaceTexts(chunk.deltas, deltas, 'sent') || changed
    const inChunk = new Set(chunk.deltas.map(({ choice, channel }) => textName(choice, channel)))
    out += this.#flush(finished, (name) => inChunk.has(name))
    for (const choice of finished) this.#finished.add(choice)
    changed = this.#logprobs.apply(chunk.body, this.#progress, finished) || changed
    this.#envelope = kept
    this.assembler.add(kept)
    if (chunk.error) this.#fail(brokenOff())
    if (!changed) return out + raw
    return out + encodeEvent(around, isEmpty(chunk, deltas) ? null : JSON.stringify(chunk.body))
  }

  /** Strings that do not grow from event to event. */
  #scanOthers(chunk: StreamChunk): Passage[] {
    // An error keeps its placeholders.
    const rules = chunk.error ? { ...this.#answer.scan, restoration: null } : this.#answer.scan
    return chunk.others.map((text) => {
      const scan = new TextScan(rules, this.#answer.placeholders.fork(), text.encoding)
      const passage = scan.all(text.text)
      this.#noteOther(scan)
      return passage
    })
  }

  /** A text that does not grow. */
  #noteOther(scan: TextScan): void {
    for (const kind of scan.findings) this.#others.findings.push(kind)
    for (const rule of scan.keywordHits) {
      if (!this.#others.keywordHits.includes(rule)) this.#others.keywordHits.push(rule)
    }
    if (scan.blocked) this.#block()
  }

  /** What of a delta may leave now. @param isLast of its text */
  #scanDelta(delta: Delta, isLast: boolean): Passage {
    const scan = this.#scanOf(delta)
    let passage = scan.push(delta.text)
    if (isLast) passage = join(passage, scan.finish())
    if (scan.blocked) this.#block()
    return passage
  }

  /** Callers take the first piece of a tool call for the end of the text before it. */
  #beforeTools(chunk: StreamChunk): string {
    const starting = chunk.deltas.filter(
      ({ choice, channel }) => isTool(channel) && this.#texts.get(choice)?.has(channel) === false,
    )
    return this.#flush(new Set(starting.map(({ choice }) => choice)), isToolName)
  }

  /** Sends what the scans of some choices hold back, each text in an event of its own. */
  #flush(choices: Iterable<number>, except: (name: string) => boolean = () => false): string {
    let out = ''
    for (const choice of choices) {
      for (const [channel, scan] of this.#texts.get(choice) ?? []) {
        if (except(textName(choice, channel)) || this.#blocked) continue
        const rest = scan.finish()
        if (scan.blocked) this.#block()
        out += this.#sendText(choice, channel, rest)
      }
    }
    return out
  }

  /** Where a rule stops the stream, the texts of the last event that may still leave, and nothing else of it. */
  #onlyTexts(chunk: StreamChunk, envelope: JsonObject, passages: readonly Passage[]): string {
    this.#envelope = envelope
    return chunk.deltas
      .map(({ choice, channel }, index) => this.#sendText(choice, channel, passages[index]!))
      .join('')
  }

  #sendText(choice: number, channel: string, { sent, kept }: Passage): string {
    if (sent === '') return ''
    this.assembler.add(flushChunk(this.#envelope, choice, channel, kept))
    return encodeData(JSON.stringify(flushChunk(this.#envelope, choice, channel, sent)))
  }

  #scanOf({ choice, channel, encoding }: Pick<Delta, 'choice' | 'channel' | 'encoding'>): TextScan {
    let texts = this.#texts.get(choice)
    if (texts === undefined) {
      texts = new Map()
      this.#texts.set(choice, texts)
    }
    let scan = texts.get(channel)
    if (scan === undefined) {
      if (this.#growing++ >= MAX_TEXTS) throw brokenOff()
      scan = new TextScan(this.#answer.scan, this.#answer.placeholders.fork(), encoding)
      texts.set(channel, scan)
      this.met.push(scan)
    }
    return scan
  }
}

/** The last piece of each text that ends with a chunk. */
function lastPieces(chunk: StreamChunk, finished: readonly number[]): ReadonlySet<Delta> {
  if (finished.length === 0) return NO_PIECES
  const ending = new Set(finished)
  const pieces = chunk.deltas.filter(({ choice }) => ending.has(choice))
  return new Set(new Map(pieces.map((piece) => [textName(piece.choice, piece.channel), piece])).values())
}

const NO_PIECES: ReadonlySet<Delta> = new Set()

const isTool = (channel: string): boolean => channel.startsWith('tool:')
const textName = (choice: number, channel: string): string => `${choice} ${channel}`
const isToolName = (name: string): boolean => isTool(name.slice(name.indexOf(' ') + 1))
