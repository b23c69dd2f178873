// The events of a stream, one after the other: each is parsed, its texts pass their scans, and what is safe leaves at
// once. Events nothing changed in leave as they came.

import { Assembler } from '../../chat/assembler.ts'
import {
  type Channel,
  finishChunk,
  flushChunk,
  groupCompatible,
  isReasoning,
  isToolCall,
} from '../../chat/channel.ts'
import { encodeData, encodeEvent, encodeRemarks, type SseEvent, SseParser } from '../../chat/sse.ts'
import {
  type Delta,
  readStreamChunk,
  type StreamChunk,
  takeFinish,
  withErrorInData,
} from '../../chat/stream-chunk.ts'
import { hasDuplicateKeys } from '../../chat/strict-json.ts'
import { type ErrorDetails, GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import { removeFromText } from '../scan/credential-filter.ts'
import {
  deltasUnderNewNames,
  joinOutputs,
  loggedChunk,
  replaceTexts,
  type ScanOutput,
} from '../scan/scan-output.ts'
import type { ScanResult } from '../scan/text-scanner.ts'
import {
  type EventTemplate,
  EventTemplateMatcher,
  isDroppable,
  stripUsage,
  writeEvent,
} from './event-template.ts'
import { GrowingTexts } from './growing-texts.ts'
import { LogprobGate } from './logprobs.ts'
import { StandaloneTexts, withRepeats } from './standalone-texts.ts'
import { beginsNextText, finalPieces, growsIn, type IsText, textIn } from './text-boundaries.ts'
import type { Answer } from './whole-answer.ts'

/** Largest single event; an upstream that sends more is cut off. Pictures come in one. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024

export const DONE = '[DONE]'

const BROKEN_OFF = 'The upstream broke off its answer before it was complete.'
const brokenOff = (details: ErrorDetails = {}) =>
  new GatewayError('upstream_unavailable', BROKEN_OFF, details)

/** An event as it leaves when nothing in its data is changed, and its lines without data as they leave in any case. */
interface Written {
  readonly raw: string
  readonly around: string
}

/** The state of one stream: bytes in, text for the client out. */
export class StreamEvents {
  readonly assembler = new Assembler()
  /** What was met, by texts. */
  readonly results: ScanResult[]
  readonly #standalone: StandaloneTexts
  /** Nothing more is to be read: `[DONE]` came, or a failure. */
  done = false
  /** Choices that have ended. What of one comes all the same waits for the end: it may go on. */
  readonly #finished = new Set<number>()
  /** Ends of choices that wait for what is held back of them, with why they ended, as the log keeps it. */
  readonly #postponed = new Map<number, string>()
  failure: GatewayError | null = null
  readonly #answer: Answer
  readonly #includeUsage: boolean
  readonly #credential: string | null
  readonly #parser = new SseParser(MAX_EVENT_BYTES)
  readonly #texts: GrowingTexts
  readonly #logprobs = new LogprobGate()
  readonly #templates = new EventTemplateMatcher()
  readonly #pace = new Pace()
  #blocked = false
  /** Of the chunk at hand, what may leave in its place alone. */
  #bound: ReadonlySet<Delta> = new Set()
  /** The last chunk seen: what is flushed borrows its id, model and time. */
  #envelope: JsonObject = {}

  constructor(answer: Answer, includeUsage: boolean) {
    this.#answer = answer
    this.#standalone = new StandaloneTexts(answer)
    this.results = [this.#standalone.result]
    this.#texts = new GrowingTexts(answer, this.results)
    this.#includeUsage = includeUsage
    this.#credential = answer.scan.credential
  }

  /** Takes a piece and returns what may leave. In steps, as an upstream may send all it has at once. */
  *take(piece: Buffer): Steps<string> {
    let out = ''
    try {
      for (const event of this.#parser.push(piece)) {
        if (this.#pace.isOver(event.raw.length)) yield
        out += yield* this.#relayEvent(event)
        if (this.done) break
      }
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      // What came before it in the same piece leaves.
      this.#fail(error)
    }
    return out
  }

  /**
   * The upstream closed its answer. Where neither `[DONE]` nor every choice's end came, what is held back stays back: it
   * might have been the beginning of something that must not leave.
   */
  *end(): Steps<string> {
    let out = ''
    for (const event of this.#parser.finish()) if (!this.done) out += yield* this.#relayEvent(event)
    if (this.done) return out
    // Some servers end with the last choice and no more words.
    out += this.#sendPostponedEnds()
    if (!this.assembler.complete) this.#fail(brokenOff())
    return this.done ? out : out + this.#relayDone()
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

  *#relayEvent(came: SseEvent): Steps<string> {
    const event = came.around === '' ? came : withErrorInData(came)
    const { data: received } = event
    const around = event.around === '' ? '' : yield* this.#standalone.scanLines(event.around)
    if (this.#standalone.blocked) this.#block()
    const raw = around === event.around ? event.raw : encodeEvent(around, received)
    if (received === null || this.done) return this.done ? '' : raw
    if (received.trimEnd() === DONE) return encodeRemarks(around) + this.#relayDone()
    const { template } = this.#templates
    const text = template === null ? null : this.#templates.match(received)
    const quoted = this.#credential !== null && received.includes(this.#credential)
    if (template !== null && text !== null && !quoted && !this.#logprobs.hasTokens) {
      return this.#relayTemplated(template, text, { raw, around })
    }
    const data = quoted ? removeFromText(received, this.#credential) : received
    const chunk = readStreamChunk(data)
    if (chunk === null)
      throw new GatewayError('upstream_unavailable', 'The upstream sent an event that is not a JSON object.')
    if (chunk.usage !== null) this.#answer.call.record.usage = chunk.usage
    const doubled = hasDuplicateKeys(data, chunk.body)
    if (!quoted && !doubled) this.#templates.learn(data, chunk)
    let written = quoted ? encodeEvent(around, data) : raw
    // Of a key that stands twice only what is read is sent on.
    if (doubled) written = encodeEvent(around, JSON.stringify(chunk.body))
    if (chunk.usageOnly && !this.#includeUsage) {
      if (!stripUsage(chunk.body)) return encodeRemarks(around) + this.#sendPostponedEnds()
      written = encodeEvent(around, JSON.stringify(chunk.body))
    }
    return yield* this.#relayChunk(chunk, data, { raw: written, around })
  }

  #relayDone(): string {
    if (!this.assembler.begun) {
      this.#fail(brokenOff())
      return ''
    }
    const out = this.#sendPostponedEnds() + this.#flush(this.#texts.choices())
    this.done = true
    return out
  }

  /** As `#relayChunk` for an event of which all but its text was met before, and has nothing to be scanned. */
  #relayTemplated(template: EventTemplate, text: string, { raw, around }: Written): string {
    const { choice, channel, envelope } = template
    const scanner = this.#texts.scannerOf({ choice, channel, encoding: 'plain' })
    const output = scanner.push(text)
    this.#envelope = envelope
    if (scanner.blocked) {
      this.#block()
      return this.#send(choice, [[channel, output]])
    }
    const { sent, logged } = output
    if (!this.assembler.grow(choice, channel, logged))
      this.assembler.add(flushChunk(envelope, choice, [[channel, logged]]))
    if (sent === text) return raw
    // Some clients take lines without data for an event.
    const isDropped = sent === '' && template.droppable && around === ''
    return isDropped ? '' : encodeEvent(around, writeEvent(template, sent))
  }

  *#relayChunk(chunk: StreamChunk, data: string, { raw, around }: Written): Steps<string> {
    const alone = yield* this.#standalone.scanChunk(chunk)
    if (this.#standalone.blocked) this.#block()
    let out = chunk.usageOnly ? this.#sendPostponedEnds() : ''
    const starting = chunk.deltas.filter((delta) => beginsNextText(delta, this.#texts.ofChoice(delta.choice)))
    const isHere = growsIn(chunk)
    const begun = new Set(starting.map(({ choice }) => choice))
    const continues: IsText = (...text) => isHere(...text) || this.#texts.holdsValue(...text, starting)
    out += this.#flush(begun, (choice, channel) => isToolCall(channel) || continues(choice, channel))
    const signed = new Set(chunk.signed)
    out += this.#flush(signed, (choice, channel) => !isReasoning(channel) || isHere(choice, channel))
    const ending = chunk.finished.filter((choice) => !this.#finished.has(choice))
    const speaking = new Set(chunk.deltas.flatMap(({ choice, text }) => (text === '' ? [] : [choice])))
    const doubtful = ending.filter((choice) => speaking.has(choice))
    const finished = ending.filter((choice) => !speaking.has(choice))
    const last = finalPieces(chunk, finished, starting)
    this.#bound = deltasUnderNewNames(chunk, alone)
    const deltas: ScanOutput[] = []
    for (const delta of chunk.deltas) deltas.push(yield* this.#scanDelta(delta, last.has(delta)))
    const others = withRepeats(chunk, alone, deltas)
    let changed = replaceTexts(chunk.others, others, 'sent')
    const logged = loggedChunk(chunk, data, others, deltas)
    if (this.done) return out + this.#onlyTexts(chunk, logged, deltas)
    changed = this.#postpone(doubtful, chunk.body, logged) || changed
    changed = replaceTexts(chunk.deltas, deltas, 'sent') || changed
    chunk.commit()
    out += this.#flush(finished, isHere)
    // What was held back may show that no end may follow: a client that stops there would take it for all there is.
    if (this.done) return out + this.#onlyTexts(chunk, logged, deltas)
    for (const choice of finished) {
      this.#finished.add(choice)
      this.#postponed.delete(choice)
    }
    changed = this.#logprobs.apply(chunk.body, this.#texts.progress, textIn(chunk), finished) || changed
    this.#envelope = logged
    this.assembler.add(logged)
    // The event itself says what went wrong.
    if (chunk.error) this.#fail(brokenOff({ isReported: true }))
    if (!changed) return out + raw
    const isDropped = around === '' && isDroppable(chunk, deltas)
    return isDropped ? out : out + encodeEvent(around, JSON.stringify(chunk.body))
  }

  /** What of a delta may leave now. @param isLast of its text */
  *#scanDelta(delta: Delta, isLast: boolean): Steps<ScanOutput> {
    const scanner = this.#texts.scannerOf(delta)
    let output = yield* scanner.pushSteps(delta.text)
    if (isLast || delta.whole || this.#bound.has(delta)) output = joinOutputs(output, scanner.finish())
    if (scanner.blocked) this.#block()
    return output
  }

  /**
   * Some servers say with every piece that it is the last. The end of a choice that comes with text waits, where some of
   * that text does, until more is said. @returns whether there was one
   */
  #postpone(choices: readonly number[], sent: JsonObject, logged: JsonObject): boolean {
    const waiting = choices.filter((choice) =>
      [...(this.#texts.ofChoice(choice) ?? [])].some(([, scanner]) => scanner.holds),
    )
    for (const choice of waiting) {
      for (const body of new Set([sent, logged])) this.#postponed.set(choice, takeFinish(body, choice))
    }
    return waiting.length > 0
  }

  /** The ends that were put off, behind what is held back of their choices. */
  #sendPostponedEnds(): string {
    let out = ''
    for (const [choice, reason] of this.#postponed) {
      out += this.#flush([choice])
      if (this.#blocked) break
      const end = finishChunk(this.#envelope, choice, reason)
      this.#logprobs.apply(end, this.#texts.progress, () => '', [choice])
      this.assembler.add(end)
      this.#finished.add(choice)
      out += encodeData(JSON.stringify(end))
    }
    this.#postponed.clear()
    return out
  }

  /**
   * Sends what the scans of some choices hold back, each text in an event of its own; but what a model thinks, which some
   * servers write twice in each chunk and callers take from either, in one where one can hold it.
   */
  #flush(choices: Iterable<number>, except: IsText = () => false): string {
    let out = ''
    for (const choice of choices) {
      const thoughts: [Channel, ScanOutput][] = []
      let said = ''
      for (const [channel, scanner] of this.#texts.ofChoice(choice) ?? []) {
        if (except(choice, channel) || this.#blocked) continue
        const rest = scanner.finish()
        if (scanner.blocked) this.#block()
        if (isReasoning(channel)) thoughts.push([channel, rest])
        else said += this.#send(choice, [[channel, rest]])
      }
      out += groupCompatible(thoughts).reduce((sent, group) => sent + this.#send(choice, group), '') + said
    }
    return out
  }

  /** Where a rule stops the stream, the texts of the last event that may still leave, and nothing else of it. */
  #onlyTexts(chunk: StreamChunk, envelope: JsonObject, outputs: readonly ScanOutput[]): string {
    this.#envelope = envelope
    const sendOne = ({ choice, channel }: Delta, index: number) =>
      this.#send(choice, [[channel, outputs[index]!]])
    return chunk.deltas.map((delta, index) => (this.#bound.has(delta) ? '' : sendOne(delta, index))).join('')
  }

  #send(choice: number, outputs: readonly (readonly [Channel, ScanOutput])[]): string {
    const leaving = outputs.filter(([, { sent }]) => sent !== '')
    if (leaving.length === 0) return ''
    const written = (form: 'sent' | 'logged') =>
      flushChunk(
        this.#envelope,
        choice,
        leaving.map(([channel, output]) => [channel, output[form]]),
      )
    this.assembler.add(written('logged'))
    return encodeData(JSON.stringify(written('sent')))
  }
}
