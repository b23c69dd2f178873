// A caller on a socket, as the pipeline sees it.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Milliseconds } from '../core/clock.ts'
import type { GatewayError } from '../core/errors.ts'
import type { Client } from '../pipeline/client.ts'
import { readJsonBody } from './body.ts'
import { respond, respondError } from './respond.ts'

/** A client that takes nothing of a stream for this long is gone for all purposes. */
const STALL_MS: Milliseconds = 60_000

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // A cache would replay it, a buffering proxy would hold it up.
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

export class SocketClient implements Client {
  readonly headers: IncomingHttpHeaders
  readonly arrivedMs: Milliseconds
  cancelled = false
  interrupted = false
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #listeners: (() => void)[] = []

  constructor(request: IncomingMessage, response: ServerResponse, arrivedMs: Milliseconds) {
    this.headers = request.headers
    this.arrivedMs = arrivedMs
    this.#request = request
    this.#response = response
    response.once('close', () => {
      if (!response.writableFinished) this.#cancel()
    })
  }

  #cancel(): void {
    this.cancelled = true
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

  readBody(limitBytes: number): Promise<Buffer> {
    return readJsonBody(this.#request, limitBytes)
  }

  respond(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    respond(this.#response, status, headers, body)
  }

  startStream(headers: Readonly<Record<string, string>>): void {
    this.#response.writeHead(200, { ...headers, ...STREAM_HEADERS })
    this.#response.flushHeaders()
  }

  write(text: string): Promise<void> | undefined {
    if (this.#response.destroyed || this.#response.write(text)) return undefined
    return new Promise((resolve) => {
      const response = this.#response
      const timer = setTimeout(() => response.destroy(), STALL_MS)
      const settle = () => {
        clearTimeout(timer)
        response.off('drain', settle)
        response.off('close', settle)
        resolve()
      }
      response.once('drain', settle)
      response.once('close', settle)
    })
  }

  end(text: string): void {
    this.#response.end(text)
  }

  fail(error: GatewayError, headers: Readonly<Record<string, string>>): void {
    respondError(this.#response, error, headers)
  }
}
