// A caller on a socket, as the pipeline sees it.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { Client } from '../pipeline/client.ts'
import { BODY_LIMIT, readJsonBody } from './body.ts'
import { EventStream } from './eventstream.ts'
import { errorEvent, respond, respondError, STALL_MS, watchDelivery } from './respond.ts'

export class SocketClient implements Client {
  readonly headers: IncomingHttpHeaders
  readonly arrivedMs: Milliseconds
  cancelled = false
  interrupted = false
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #stallMs: Milliseconds
  readonly #listeners: (() => void)[] = []
  /** Once the answer has begun as one. */
  #stream: EventStream | null = null
  /** Ends the waiting for room in the socket. */
  #release: (() => void) | null = null
  /** Ends the waiting for the body. */
  #stopReading: (() => void) | null = null
  /** To be told when the answer is out, or the client gone. */
  readonly #deliveries: (() => void)[] = []

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    arrivedMs: Milliseconds,
    stallMs: Milliseconds = STALL_MS,
  ) {
    this.headers = request.headers
    this.arrivedMs = arrivedMs
    this.#request = request
    this.#response = response
    this.#stallMs = stallMs
    response.on('close', () => {
      if (!response.writableFinished) this.#cancel()
      for (const listener of this.#deliveries) listener()
    })
  }

  #cancel(): void {
    this.cancelled = true
    this.#release?.()
    this.#stopReading?.()
    for (const listener of this.#listeners.splice(0)) listener()
  }

  interrupt(): void {
    this.interrupted = true
    this.#cancel()
  }

  onCancel(listener: () => void): void {
    if (this.cancelled) listener()
    else this.#listeners.push(listener)
  }

  onDelivered(listener: () => void): void {
    if (this.#response.closed) listener()
    else this.#deliveries.push(listener)
  }

  readBody(limitBytes: number, keep: (bytes: number) => void): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stop = () =>
        reject(new GatewayError('bad_request', 'The call was ended before its body was read.'))
      if (this.cancelled) stop()
      // Not one of the listeners, which stay as long as the call: it holds the promise, and that the body.
      else this.#stopReading = stop
      readJsonBody(this.#request, limitBytes, { setBy: BODY_LIMIT, keep }).then((body) => {
        this.#stopReading = null
        resolve(body)
      }, reject)
    })
  }

  respond(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    respond(this.#response, status, headers, body, this.#stallMs)
  }

  startStream(headers: Readonly<Record<string, string>>): void {
    this.#stream = new EventStream(this.#response, headers)
  }

  write(text: string): Promise<void> | undefined {
    if (this.#response.destroyed || this.#stream?.write(text) !== false) return undefined
    if (this.cancelled) return undefined
    return new Promise((resolve) => {
      const response = this.#response
      // Of the socket, which takes any progress for a sign of life; it is closed where nobody listens for its end.
      response.setTimeout(this.#stallMs)
      const settle = () => {
        response.setTimeout(0)
        response.off('drain', settle)
        this.#release = null
        resolve()
      }
      this.#release = settle
      response.once('drain', settle)
    })
  }

  end(text: string): void {
    this.#stream?.end(text)
    watchDelivery(this.#response, this.#stallMs)
  }

  fail(error: GatewayError, headers: Readonly<Record<string, string>>): void {
    const stream = this.#stream
    if (stream === null) {
      respondError(this.#response, error, headers, this.#stallMs)
      return
    }
    if (!this.#response.writableEnded && !this.#response.destroyed)
      stream.end(errorEvent(error, headers['x-sidegate-audit']))
    watchDelivery(this.#response, this.#stallMs)
  }
}
