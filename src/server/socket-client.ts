// Implements the pipeline's Client on a request and a response of Node.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorShape } from '../chat/api-format.ts'
import { openAiErrors } from '../chat/error-shapes.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { ClientCertificate, RawClient } from '../pipeline/call/client.ts'
import { BODY_LIMIT, readBytes, readJsonBody } from './body.ts'
import { certificateOf } from './client-certificate.ts'
import { EventStream } from './eventstream.ts'
import { errorEvent, NO_SNIFF, respond, respondError, STALL_MS, watchDelivery } from './respond.ts'

export class SocketClient implements RawClient {
  readonly headers: IncomingHttpHeaders
  readonly arrivedMs: Milliseconds
  cancelled = false
  interrupted = false
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #stallMs: Milliseconds
  readonly #errors: ErrorShape
  readonly #cancelListeners: (() => void)[] = []
  /** True once an answer of any type has begun. */
  #isRaw = false
  /** Not null once the answer is a stream. */
  #stream: EventStream | null = null
  /** Resolves a write that waits for the buffer of the socket. */
  #stopWaiting: (() => void) | null = null
  /** Rejects a pending read of the body. */
  #stopReading: (() => void) | null = null
  /** Called once the answer is written or the client is gone. */
  readonly #deliveryListeners: (() => void)[] = []

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    arrivedMs: Milliseconds,
    errors: ErrorShape = openAiErrors,
    stallMs: Milliseconds = STALL_MS,
  ) {
    this.headers = request.headers
    this.arrivedMs = arrivedMs
    this.#request = request
    this.#response = response
    this.#stallMs = stallMs
    this.#errors = errors
    response.on('close', () => {
      if (!response.writableFinished) this.#cancel()
      for (const listener of this.#deliveryListeners) listener()
    })
  }

  get certificate(): ClientCertificate | null {
    return certificateOf(this.#request.socket)
  }

  #cancel(): void {
    this.cancelled = true
    this.#stopWaiting?.()
    this.#stopReading?.()
    for (const listener of this.#cancelListeners.splice(0)) listener()
  }

  interrupt(): void {
    this.interrupted = true
    this.#cancel()
  }

  onCancel(listener: () => void): void {
    if (this.cancelled) listener()
    else this.#cancelListeners.push(listener)
  }

  onDelivered(listener: () => void): void {
    if (this.#response.closed) listener()
    else this.#deliveryListeners.push(listener)
  }

  readBody(limitBytes: number, reserve: (bytes: number) => void): Promise<Buffer> {
    return this.#read(readJsonBody(this.#request, limitBytes, { setBy: BODY_LIMIT, reserve }))
  }

  #read(body: Promise<Buffer>): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stop = () => reject(new GatewayError('bad_request', 'The call ended before its body was read.'))
      if (this.cancelled) stop()
      // Not a cancel listener: those live as long as the call, and this one holds the promise of
      // the body.
      else this.#stopReading = stop
      body.then((bytes) => {
        this.#stopReading = null
        resolve(bytes)
      }, reject)
    })
  }

  readBytes(limitBytes: number, reserve: (bytes: number) => void): Promise<Buffer> {
    return this.#read(readBytes(this.#request, limitBytes, { setBy: BODY_LIMIT, reserve }))
  }

  startBytes(status: number, headers: Readonly<Record<string, string>>): void {
    this.#isRaw = true
    // An upstream may send any page, which must not run with the console's origin.
    this.#response.writeHead(status, { ...NO_SNIFF, 'content-security-policy': 'sandbox', ...headers })
    this.#response.flushHeaders()
  }

  writeBytes(bytes: Buffer): Promise<void> | undefined {
    if (this.#response.destroyed || this.#response.write(bytes)) return undefined
    return this.#roomForMore()
  }

  endBytes(): void {
    this.#response.end()
    watchDelivery(this.#response, this.#stallMs)
  }

  respond(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    respond(this.#response, status, headers, body, this.#stallMs)
  }

  startStream(headers: Readonly<Record<string, string>>): void {
    this.#stream = new EventStream(this.#response, headers)
  }

  write(text: string): Promise<void> | undefined {
    if (this.#response.destroyed || this.#stream?.write(text) !== false) return undefined
    return this.#roomForMore()
  }

  #roomForMore(): Promise<void> | undefined {
    if (this.cancelled) return undefined
    return new Promise((resolve) => {
      const response = this.#response
      // Any progress of the socket restarts the timeout. Nobody listens for it, so Node closes the
      // socket.
      response.setTimeout(this.#stallMs)
      const settle = () => {
        response.setTimeout(0)
        response.off('drain', settle)
        this.#stopWaiting = null
        resolve()
      }
      this.#stopWaiting = settle
      response.once('drain', settle)
    })
  }

  end(text: string): void {
    this.#stream?.end(text)
    watchDelivery(this.#response, this.#stallMs)
  }

  fail(error: GatewayError, headers: Readonly<Record<string, string>>, number = 0): void {
    const stream = this.#stream
    if (this.#isRaw) {
      // No form of an error is known to the client, but a connection that breaks is one.
      this.#response.destroy()
      return
    }
    if (stream === null) {
      respondError(this.#response, error, headers, { shape: this.#errors, stallMs: this.#stallMs })
      return
    }
    if (!this.#response.writableEnded && !this.#response.destroyed)
      stream.end(errorEvent({ error, number }, this.#errors, headers['x-sidegate-audit']))
    watchDelivery(this.#response, this.#stallMs)
  }
}
