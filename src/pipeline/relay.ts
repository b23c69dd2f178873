// Step 5 for an answer that streams: each event is parsed, its texts pass their scans, and what is safe leaves at
// once. Events nothing changed in leave as they came. Nothing waits for the end of the stream but its last bytes.

import { encodeComment, encodeData, type SseEvent, SseParser } from '../chat/sse.ts'
import { Assembler, type Delta, flushChunk, readStreamChunk, type StreamChunk } from '../chat/stream.ts'
import { estimateTokens } from '../chat/usage.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { clientHeaders } from '../upstream/headers.ts'
import { type Answer, noteResponse } from './answer.ts'
import { callHeaders } from './call.ts'
import { responseBlockedBy } from './denial.ts'
import type { Delivery } from './handle.ts'
import { formatReceipt } from './record.ts'
import type { TextScan } from './textscan.ts'

/** Largest single event; an upstream that sends more is cut off. */
const MAX_EVENT_BYTES = 4 * 1024 * 1024

/** Texts that may grow side by side in one answer: choices × channels. */
const MAX_TEXTS = 4096

const DONE = '[DONE]'

/**
 * Relays a stream up to, not including, `[DONE]`, which waits for the entry.
 * @param includeUsage whether the client asked for the usage event
 * @throws GatewayError `upstream_*` or `response_blocked_by_policy`; what was safe has left before
 */
export async function relayStream(
  answer: Answer,
  includeUsage: boolean,
  credential: string | null,
): Promise<Delivery> {
  const { call, client, response, selection } = answer
  const relay = new Relay(answer, includeUsage, credential)
  client.startStream({ ...clientHeaders(response.headers), ...callHeaders(call) })
  try {
    await pump(answer, relay)
    response.discard()
  } catch (error) {
    response.abort()
    throw error
  } finally {
    call.response = relay.assembler.result()
    call.finishReason = relay.assembler.finishReason
    relay.blocking = noteResponse(call, selection, relay.scans)
  }
  if (relay.blocking !== null) throw responseBlockedBy(relay.blocking)
  if (relay.failure !== null) throw relay.failure
  return {
    ending: { outcome: 'ok', status: response.status, errorCode: null },
    finish: (receipt) =>
      client.end(encodeComment(`sidegate-audit ${formatReceipt(receipt)}`) + encodeData(DONE)),
  }
}

async function pump(answer: Answer, relay: Relay): Promise<void> {
  const { call, client, response } = answer
  while (!relay.done) {
    const piece = await call.waitForUpstream(response.read())
    const text = call.measure('response', () => (piece === null ? relay.end() : relay.take(piece)))
    if (text !== '') {
      call.markFirstToken()
      const room = client.write(text)
      if (room !== undefined) await call.waitForClient(room)
    }
    if (client.cancelled) throw new GatewayError('upstream_unavailable', 'The client has left.')
  }
}

const brokenOff = () =>
  new GatewayError('upstream_unavailable', 'The upstream broke off its answer before it was complete.')

/** The state of one stream: bytes in, text for the client out. */
class Relay {
  readonly assembler = new Assembler()
  readonly scans: TextScan[] = []
  /** Nothing more is to be read: `[DONE]` came, or a failure. */
  done = false
  failure: GatewayError | null = null
  blocking: ReturnType<typeof noteResponse> = null
  readonly #answer: Answer
  readonly #includeUsage: boolean
  readonly #credential: string | null
  readonly #parser = new SseParser(MAX_EVENT_BYTES)
  /** Scans by choice, then by channel. */
  readonly #texts = new Map<number, Map<string, TextScan>>()
  #last: JsonObject = {}

  constructor(answer: Answer, includeUsage: boolean, credential: string | null) {
    this.#answer = answer
    this.#includeUsage = includeUsage
    this.#credential = credential
  }

  take(piece: Buffer): string {
    let out = ''
    for (const event of this.#parser.push(piece)) {
      out += this.#event(event)
      if (this.done) break
    }
    return out
  }

  /** The upstream closed its answer without `[DONE]`: what was held back may leave, the stream has still failed. */
  end(): string {
    let out = ''
    for (const event of this.#parser.finish()) if (!this.done) out += this.#event(event)
    if (this.done) return out
    this.#fail(brokenOff())
    return out + this.#flush([...this.#texts.keys()])
  }

  #fail(error: GatewayError | null): void {
    this.failure ??= error
    this.done = true
  }

  #event(event: SseEvent): string {
    if (event.data === null) return event.raw
    if (event.data === DONE) return this.#end()
    const quoted = this.#credential !== null && event.data.includes(this.#credential)
    const data = quoted ? event.data.replaceAll(this.#credential ?? '', '[UPSTREAM_CREDENTIAL]') : event.data
    const chunk = readStreamChunk(data)
    if (chunk === null) {
      this.#fail(
        new GatewayError('upstream_unavailable', 'The upstream sent an event that is not a JSON object.'),
      )
      return ''
    }
    if (chunk.usage !== null) this.#answer.call.usage = chunk.usage
    if (chunk.usageOnly && !this.#includeUsage) return ''
    return this.#chunk(chunk, quoted ? encodeData(data) : event.raw)
  }

  #end(): string {
    const rest = this.#flush([...this.#texts.keys()])
    if (this.assembler.complete) this.done = true
    else this.#fail(brokenOff())
    return rest
  }

  #chunk(chunk: StreamChunk, raw: string): string {
    let changed = this.#scanOthers(chunk)
    let before = this.#beforeTools(chunk)
    for (const delta of chunk.deltas) changed = this.#scanDelta(delta, chunk) || changed
    if (this.done) return before + this.#send(this.#withheld(chunk))
    const inChunk = new Set(chunk.deltas.map(({ choice, channel }) => `${choice} ${channel}`))
    before += this.#flush(chunk.finished, inChunk)
    this.#last = chunk.body
    this.assembler.add(chunk.body)
    if (chunk.error !== null) this.#fail(brokenOff())
    return before + (changed ? encodeData(JSON.stringify(chunk.body)) : raw)
  }

  /** Strings that do not grow from event to event. */
  #scanOthers(chunk: StreamChunk): boolean {
    let changed = false
    for (const text of chunk.others) {
      const scan = this.#newScan(text.encoding)
      const sent = scan.push(text.text) + scan.finish()
      if (scan.blocked) this.#fail(null)
      if (sent === text.text) {
        this.scans.pop()
        continue
      }
      text.replace(sent)
      changed = true
    }
    return changed
  }

  #scanDelta(delta: Delta, chunk: StreamChunk): boolean {
    const scan = this.#scanOf(delta)
    let sent = scan.push(delta.text)
    const last = chunk.deltas.findLast(
      (other) => other.choice === delta.choice && other.channel === delta.channel,
    )
    if (delta === last && chunk.finished.includes(delta.choice)) sent += scan.finish()
    this.#answer.call.estimatedCompletionTokens += estimateTokens(sent)
    if (scan.blocked) this.#fail(null)
    if (sent === delta.text) return false
    delta.replace(sent)
    return true
  }
}
