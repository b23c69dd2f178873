// Writes an answer of Server-Sent Events to its socket.

import type { ServerResponse } from 'node:http'
import { NO_SNIFF } from './respond.ts'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // A cache would replay the stream; a buffering proxy would delay it.
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
  ...NO_SNIFF,
}

export class EventStream {
  readonly #response: ServerResponse
  #begun = false

  /**
   * Sends the head, together with the first event if that is written in the same turn of the event
   * loop.
   */
  constructor(response: ServerResponse, headers: Readonly<Record<string, string>>) {
    this.#response = response
    response.writeHead(200, { ...headers, ...HEADERS })
    setImmediate(() => {
      if (!this.#begun && !response.destroyed) response.flushHeaders()
    })
  }

  /** @returns false when the buffer of the socket is full */
  write(text: string | Buffer): boolean {
    this.#begun = true
    if (typeof text !== 'string') return this.#response.write(text)
    return text === '' || this.#response.write(text, encodingOf(text))
  }

  /** Writes the last events and ends the answer. */
  end(text: string): void {
    this.#begun = true
    this.#response.end(text, encodingOf(text))
  }
}

/** ASCII text has as many bytes as characters, and Node writes it as Latin-1 without conversion. */
const encodingOf = (text: string): 'latin1' | 'utf8' =>
  Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8'
