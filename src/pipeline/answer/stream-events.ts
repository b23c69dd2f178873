// Relays the events of one stream: parses each, scans its texts and returns what is safe to send.
// Events without changes pass unchanged.

import type { StreamAssembler, StreamReader } from '../../chat/api-format.ts'
import { isToolCall } from '../../chat/channel.ts'
import { stripUsage } from '../../chat/chunk-forms.ts'
import { isBare, isEventName, isPing } from '../../chat/event-names.ts'
import { isHeartbeat } from '../../chat/heartbeat.ts'
import { rewriteSteps } from '../../chat/json-rewrite.ts'
import { DONE, encodeEvent, MAXIMUM_EVENT_BYTES, type SseEvent, SseParser } from '../../chat/sse.ts'
import {
  type Delta,
  incompleteAnswer,
  isErrorBody,
  notAnObject,
  type StreamChunk,
  toErrorEvent,
  withErrorInData,
} from '../../chat/stream-chunk.ts'
import { hasDuplicateKeys } from '../../chat/strict-json.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { RefusedTool } from '../../policy/tool-rules.ts'
import { removeFromText } from '../scan/credential-filter.ts'
import {
  deltasUnderNewNames,
  joinOutputs,
  loggedChunk,
  replaceTexts,
  type ScanOutput,
} from '../scan/scan-output.ts'
import type { ScanResult } from '../scan/text-scanner.ts'
import { ChoiceEnds } from './choice-ends.ts'
import { countsOf, EventTemplateMatcher, writeEvent } from './event-template.ts'
import { GrowingTexts, type KeptBlock } from './growing-texts.ts'
import { HeldTexts } from './held-texts.ts'
import { moveCitationsIn, moveGrowingCitations, moveInDocuments } from './moved-citations.ts'
import { countedOnce, StandaloneTexts, withBlocks, withRepeats } from './standalone-texts.ts'
import { StreamWriter, type Written } from './stream-writer.ts'
import { beginsNextText, finalDeltas, growsIn, textIn } from './text-boundaries.ts'
import { ToolGate } from './tool-gate.ts'
import { type ReceivedChunk, WaitingEvents } from './waiting-events.ts'
import { type Answer, readerOf } from './whole-answer.ts'

/** How a block ends that a chunk ends. */
interface BlockEnd {
  /** Whether the next block continues its text. */
  readonly goesOn: boolean
  /** Its own texts, when it continues another; such an event repeats them. */
  readonly kept: readonly KeptBlock[]
}

/** What lines without data cost besides their length, in UTF-16 units. */
const LINE_UNITS = 512

export class StreamEvents {
  readonly #reader: StreamReader
  readonly #writer: StreamWriter
  readonly #results: ScanResult[]
  readonly #standalone: StandaloneTexts
  #done = false
  readonly #ends = new ChoiceEnds()
  failure: GatewayError | null = null
  /** The error that came before any part of the answer, scanned. */
  firstError: JsonObject | null = null
  /** The last event of a whole answer, which waits for the receipt; '' until it is known. */
  last = ''
  readonly #answer: Answer
  readonly #includeUsage: boolean
  readonly #inForm: (body: JsonObject) => JsonObject
  readonly #credential: string | null
  readonly #parser = new SseParser(MAXIMUM_EVENT_BYTES)
  readonly #texts: GrowingTexts
  readonly #templates: EventTemplateMatcher
  readonly #pace = new Pace()
  readonly #held: HeldTexts
  readonly #waiting: WaitingEvents
  /** Null when no rule concerns a tool call. */
  readonly #gate: ToolGate | null
  /** Deltas of the current chunk that may be released inside that chunk only. */
  #bound: ReadonlySet<Delta> = new Set()

  constructor(answer: Answer, includeUsage: boolean) {
    this.#answer = answer
    this.#reader = readerOf(answer)
    this.#writer = new StreamWriter(this.#reader)
    this.#templates = new EventTemplateMatcher(this.#reader)
    this.#standalone = new StandaloneTexts(answer)
    this.#results = [this.#standalone.result]
    this.#texts = new GrowingTexts(answer, this.#results)
    this.#held = new HeldTexts(this.#reader, this.#writer, this.#texts, this.#ends)
    this.#waiting = new WaitingEvents(this.#texts)
    const { tools } = answer.call.api
    this.#gate =
      answer.calls === null || tools === undefined ? null : new ToolGate(answer, answer.calls, tools)
    this.#includeUsage = includeUsage
    this.#inForm = answer.call.api.errors.reported
    this.#credential = answer.scan.credential
  }

  /** Results of the scans so far. */
  get results(): readonly ScanResult[] {
    return countedOnce(this.#results, this.#standalone.repeated)
  }

  /** The tool call that a rule refuses; null while none is. */
  get refused(): RefusedTool | null {
    return this.#gate?.refused ?? null
  }

  /** Size of the events that wait for the arguments of tool calls. */
  get heldCharacters(): number {
    return this.#gate?.heldCharacters ?? 0
  }

  /** Signed reasoning so far. */
  get thoughts(): StreamReader['thoughts'] {
    return this.#reader.thoughts
  }

  /** The number of an event that ends the stream in place of `last`. */
  get nextNumber(): number {
    return Math.max(0, this.#reader.nextNumber - (this.last === '' ? 0 : 1))
  }

  /** The logged answer so far. */
  get assembler(): StreamAssembler {
    return this.#writer.assembler
  }

  /**
   * Takes bytes and returns the text to send. Runs in steps: an upstream may send its whole answer
   * at once.
   */
  *take(piece: Buffer): Steps<string> {
    let out = ''
    try {
      for (const event of this.#parser.push(piece)) {
        if (this.#pace.isOver(event.raw.length + (event.data === null ? LINE_UNITS : 0))) yield
        if (this.#gate === null) out += this.#relayKnown(event) ?? (yield* this.#relayEvent(event))
        else out += yield* this.#relayGated(event, this.#gate)
        if (this.done) break
      }
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      // Events that came earlier in the same piece are sent.
      this.#fail(error)
    }
    return out
  }

  /**
   * Ends the stream. Text held back is dropped unless `[DONE]` or the end of every choice arrived:
   * it may be the beginning of something to redact.
   */
  *end(): Steps<string> {
    let out = ''
    for (const event of this.#parser.finish()) {
      if (this.done) break
      out += yield* this.#gate === null ? this.#relayEvent(event) : this.#relayGated(event, this.#gate)
    }
    out += yield* this.#relayEnds(null)
    if (this.done) return out
    // Some servers end with the last choice and send no `[DONE]`.
    out += this.#held.sendPostponedEnds()
    if (!this.assembler.complete) this.#fail(incompleteAnswer())
    return this.done ? out : out + (yield* this.#relayDone())
  }

  /** True when no more events are read: after the last one, a failure or a rule that blocks. */
  get done(): boolean {
    return this.#done || this.#held.blocked
  }

  #fail(error: GatewayError): void {
    this.failure ??= error
    this.#done = true
  }

  /** Relays what the gate lets through, of this event and of earlier ones that waited there. */
  *#relayGated(event: SseEvent, gate: ToolGate): Steps<string> {
    let out = ''
    for (const one of yield* gate.take(event)) {
      if (this.done) return out
      out += this.#relayKnown(one) ?? (yield* this.#relayEvent(one))
    }
    out += this.#held.flush(gate.takeEndedTexts(), (_choice, channel) => isToolCall(channel))
    if (gate.refused !== null) this.#held.blocked = true
    return out
  }

  *#relayEvent(received: SseEvent): Steps<string> {
    const event = received.otherLines === '' ? received : withErrorInData(received, this.#inForm)
    const { data: written } = event
    const otherLines = isEventName(event.otherLines)
      ? event.otherLines
      : yield* this.#scanLines(event.otherLines)
    if (this.#standalone.blocked) this.#held.blocked = true
    const raw = otherLines === event.otherLines ? event.raw : encodeEvent(otherLines, written)
    if (written === null || this.done) return this.done ? '' : raw
    if (written.trimEnd() === DONE) return encodeEvent(otherLines, null) + (yield* this.#relayDone())
    const quotesCredential = this.#quotesCredential(written)
    const data = quotesCredential ? removeFromText(written, this.#credential) : written
    const chunk = this.#reader.read(data)
    if (isHeartbeat(data, chunk?.body ?? null, otherLines))
      return isPing(data) && isEventName(otherLines) ? raw : encodeEvent(otherLines, null)
    if (chunk === null) throw notAnObject()
    const reported = isErrorBody(chunk.body) ? this.#inForm(chunk.body) : chunk.body
    if (reported !== chunk.body) return yield* this.#relayEvent(toErrorEvent(reported, otherLines))
    this.#answer.call.record.addUsage(chunk.usage)
    this.#reader.note(chunk.body)
    this.#answer.givenIds.add(this.#answer.call.key.line, chunk.ids)
    const hasDuplicates = hasDuplicateKeys(data, chunk.body)
    if (!quotesCredential && !hasDuplicates) this.#templates.learn(data, otherLines, chunk)
    let out = quotesCredential ? encodeEvent(otherLines, data) : raw
    // Only the last of duplicate keys was scanned, so only that is sent.
    const source = hasDuplicates ? JSON.stringify(chunk.body) : data
    if (hasDuplicates) out = encodeEvent(otherLines, source)
    if (chunk.usageOnly && !this.#includeUsage) {
      if (!stripUsage(chunk.body)) return encodeEvent(otherLines, null) + this.#held.sendPostponedEnds()
      out = encodeEvent(otherLines, JSON.stringify(chunk.body))
    }
    return yield* this.#relayChunk(chunk, source, { raw: out, otherLines })
  }

  *#scanLines(lines: string): Steps<string> {
    return lines === '' ? '' : yield* this.#standalone.scanLines(lines)
  }

  *#relayDone(): Steps<string> {
    if (this.#reader.closing === null || !this.assembler.begun) {
      this.#fail(incompleteAnswer())
      return ''
    }
    const ends = yield* this.#relayEnds(null)
    const flushed = ends + this.#held.sendPostponedEnds() + this.#held.flush(this.#texts.choices())
    const out = flushed + (yield* this.#relayCited())
    this.last = this.#reader.closing
    this.#done = true
    return out
  }

  #quotesCredential(data: string | null): boolean {
    return this.#credential !== null && data?.includes(this.#credential) === true
  }

  /** Relays an event that fits the template; null for any other. Most events of a stream fit. */
  #relayKnown(event: SseEvent): string | null {
    const isLearnt = !this.#reader.holdsProbabilities && this.#waiting.isEmpty
    const matched = isLearnt ? this.#templates.match(event) : null
    if (matched === null || this.#quotesCredential(event.data)) return null
    const { template, text } = matched
    const { choice, channel, envelope, otherLines } = template
    const scanner = this.#texts.scannerOf({ choice, channel, encoding: 'plain' })
    const output = scanner.push(text)
    this.#writer.envelope = envelope
    if (scanner.blocked) {
      this.#held.blocked = true
      return this.#writer.send(choice, [[channel, output]])
    }
    const { sent, logged } = output
    this.#writer.log(choice, channel, logged)
    if (sent === '' && template.droppable) return ''
    const counts = countsOf(matched)
    if (!this.#reader.number(counts) && sent === text) return event.raw
    return encodeEvent(otherLines, writeEvent(matched, sent, counts))
  }

  /** Relays a chunk, after the end of a block that waited for it; keeps one that waits itself. */
  *#relayChunk(chunk: StreamChunk, data: string, written: Written): Steps<string> {
    const received = { chunk, data, written }
    if (this.#waiting.takesEnd(received)) return ''
    const isNext = this.#waiting.takesNext(received)
    const ends = yield* this.#relayEnds(isNext ? undefined : chunk)
    if (isNext || this.done) return ends
    if (this.#waiting.takesEnd(received) || this.#waiting.takesCitation(received)) return ends
    const kept = chunk.endsBlock === undefined ? [] : this.#texts.keptOf(chunk.endsBlock)
    return ends + (yield* this.#relayNow(received, { goesOn: false, kept }))
  }

  /**
   * Relays the end of a block that waits, once the next block is known to continue its text or not,
   * and the events of the next block received so far. @param after as in WaitingEvents
   */
  *#relayEnds(after: StreamChunk | null | undefined): Steps<string> {
    const ending = this.#waiting.takeEnd(after)
    if (ending === null) return ''
    const { choice, to, goesOn, events, next } = ending
    let out = goesOn ? '' : this.#held.flush([choice])
    const kept = this.#texts.keptOf(choice)
    if (goesOn && to !== null) this.#texts.continue(choice, to)
    for (const event of events) if (!this.done) out += yield* this.#relayNow(event, { goesOn, kept })
    for (const event of next) if (!this.done) out += yield* this.#relayNow(event, { goesOn: false, kept: [] })
    return out
  }

  /** Relays the citations whose text is sent. */
  *#relayCited(): Steps<string> {
    let out = ''
    for (const one of this.#waiting.takeCited())
      if (!this.done) out += yield* this.#relayNow(one, { goesOn: false, kept: [] })
    return out
  }

  *#relayNow({ chunk, data, written }: ReceivedChunk, { goesOn, kept }: BlockEnd): Steps<string> {
    const { raw, otherLines } = written
    const alone = yield* this.#standalone.scanChunk(chunk, goesOn)
    if (this.#standalone.blocked) this.#held.blocked = true
    if (this.done) return ''
    let out = ''
    if (chunk.usageOnly) out += this.#held.sendPostponedEnds()
    const starting = chunk.deltas.filter((delta) => beginsNextText(delta, this.#texts.ofChoice(delta.choice)))
    const isHere = growsIn(chunk)
    out += this.#held.flushEnded(chunk, starting, isHere)
    const { early, final } = this.#ends.findIn(chunk)
    const last = finalDeltas(chunk, final, starting)
    this.#bound = deltasUnderNewNames(chunk, alone.outputs)
    const deltas: ScanOutput[] = []
    for (const delta of chunk.deltas) deltas.push(yield* this.#scanDelta(delta, last.has(delta)))
    const repeated = { ...alone, outputs: withRepeats(chunk, alone.outputs, deltas) }
    const { outputs: others, edits } = withBlocks(chunk, repeated, kept)
    let changed = replaceTexts(chunk.others, others, 'sent')
    const logged = loggedChunk(
      { answer: this.#answer.call.api.answer, reader: this.#reader },
      chunk,
      data,
      others,
      deltas,
    )
    if (this.done) return out + this.#sendTexts(chunk, logged, deltas)
    for (const choice of early) {
      if (!this.#texts.holdsBack(choice)) continue
      this.#ends.postpone(choice, chunk.body, logged)
      changed = true
    }
    changed = replaceTexts(chunk.deltas, deltas, 'sent') || changed
    changed = moveCitationsIn(chunk.body, edits) || changed
    changed = moveInDocuments(chunk.body, this.#answer.documents) || changed
    changed = moveGrowingCitations(chunk, this.#texts.editsOf) || changed
    chunk.commit()
    out += this.#held.flush(chunk.isLast ? this.#texts.choices() : final, isHere)
    // Flushing may have blocked the answer. A finish reason would make it look complete.
    if (this.done) return out + this.#sendTexts(chunk, logged, deltas)
    out += yield* this.#relayCited()
    for (const choice of final) this.#ends.end(choice)
    changed =
      this.#reader.releaseProbabilities(chunk.body, this.#texts.progress, textIn(chunk), final) || changed
    if (goesOn) {
      // They repeat the text that is held back.
      this.#answer.call.api.answer.dropProbabilities(chunk.body)
      changed = true
    }
    this.#writer.envelope = logged
    if (chunk.error && !chunk.isLast && !this.assembler.begun) this.firstError = chunk.body
    this.assembler.add(logged)
    if (changed && !chunk.error && isBare(otherLines) && this.#isEmpty(chunk, deltas)) return out
    changed = this.#reader.number(chunk.body) || changed
    const event = changed ? encodeEvent(otherLines, yield* rewriteSteps(data, chunk.body)) : raw
    if (!chunk.error && !chunk.isLast) return out + event
    // It ends the stream, so it waits for the receipt.
    if (chunk.error) this.#fail(incompleteAnswer({ event }))
    else {
      this.last = event
      this.#done = true
    }
    return out
  }

  /** Reports whether a chunk holds only texts, and all of these are held back. */
  #isEmpty(chunk: StreamChunk, deltas: readonly ScanOutput[]): boolean {
    const isTextOnly = chunk.finished.length === 0 && chunk.usage === null && chunk.others.length === 0
    return (
      isTextOnly &&
      deltas.length > 0 &&
      deltas.every(({ sent }) => sent === '') &&
      this.#reader.isEmpty(chunk.body)
    )
  }

  /**
   * Scans a delta and returns what may be released.
   * @param isLast whether its text ends here
   */
  *#scanDelta(delta: Delta, isLast: boolean): Steps<ScanOutput> {
    const scanner = this.#texts.scannerOf(delta)
    let output = yield* scanner.pushSteps(delta.text)
    if (isLast || delta.whole || this.#bound.has(delta)) output = joinOutputs(output, scanner.finish())
    if (scanner.blocked) this.#held.blocked = true
    return output
  }

  /**
   * Sends the released texts of the last event and nothing else of it, because a rule blocks the
   * answer.
   */
  #sendTexts(chunk: StreamChunk, envelope: JsonObject, outputs: readonly ScanOutput[]): string {
    this.#writer.envelope = envelope
    const sendOne = ({ choice, channel }: Delta, index: number) =>
      this.#writer.send(choice, [[channel, outputs[index]!]])
    return chunk.deltas.map((delta, index) => (this.#bound.has(delta) ? '' : sendOne(delta, index))).join('')
  }
}
