// Joins the events of a stream into one answer, for a client that asked for a whole answer.

import type { JsonObject } from '../core/json.ts'
import type { StreamReader } from './api-format.ts'
import { isHeartbeat } from './heartbeat.ts'
import { DONE, MAXIMUM_EVENT_BYTES, type SseEvent, SseParser } from './sse.ts'
import {
  incompleteAnswer,
  inErrorForm,
  isErrorBody,
  notAnObject,
  parseObject,
  withErrorInData,
} from './stream-chunk.ts'
import { isTooDeep } from './strict-json.ts'

export class StreamCollector {
  /** True when no more events are read: after `[DONE]` or an error. */
  done = false
  readonly #parser = new SseParser(MAXIMUM_EVENT_BYTES)
  readonly #reader: StreamReader
  #error: JsonObject | null = null

  constructor(reader: StreamReader) {
    this.#reader = reader
  }

  /** Size of the answer so far, see StreamAssembler. */
  get characters(): number {
    return this.#reader.assembler.characters
  }

  /** As in StreamAssembler. */
  get begun(): boolean {
    return this.#reader.assembler.begun
  }

  /**
   * Takes bytes of the stream.
   * @throws GatewayError `upstream_unavailable` for an event that is no chunk, or beyond a limit
   */
  push(piece: Buffer): void {
    this.#addAll(this.#parser.push(piece))
  }

  /**
   * Returns the answer, in the shape of one that was not streamed, or the error event. Has no token
   * probabilities.
   * @throws GatewayError as `push`, and when the answer is incomplete: without `[DONE]` and without
   *   the end of every choice
   */
  finish(): JsonObject {
    this.#addAll(this.#parser.finish())
    if (this.#error !== null) return this.#error
    const { assembler } = this.#reader
    const isWhole = this.done ? assembler.begun : assembler.complete
    if (!isWhole) throw incompleteAnswer()
    return assembler.result()
  }

  #addAll(events: readonly SseEvent[]): void {
    for (const event of events) if (!this.done) this.#add(event)
  }

  #add(received: SseEvent): void {
    const { data, otherLines } = withErrorInData(received)
    if (data === null) return
    if (data.trimEnd() === DONE) {
      this.done = this.#reader.closing !== null
      return
    }
    const body = isTooDeep(data) ? null : parseObject(data)
    if (isHeartbeat(data, body, otherLines)) return
    if (body === null) throw notAnObject()
    if (isErrorBody(body) || body['type'] === 'error') {
      this.#error = inErrorForm(body)
      this.done = true
    } else this.#reader.assembler.add(body)
  }
}
