// The answer that is an event stream, on its way to the socket.

import type { ServerResponse } from 'node:http'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // A cache would replay it, a buffering proxy would hold it up.
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

export class EventStream {
  readonly #response: ServerResponse
  #begun = false

  /** Hands the head over; it leaves with the first event when that is there already, and at once when not. */
  constructor(response: ServerResponse, headers: Readonly<Record<string, string>>) {
    this.#response = response
    response.writeHead(200, { ...headers, ...HEADERS })
    setImmediate(() => {
      if (!this.#begun && !response.destroyed) response.flushHeaders()
    })
  }

  /** @returns false when the socket wants no more for now */
  write(text: string): boolean {
    this.#begun = true
    return text === '' || this.#response.write(text, encodingOf(text))
  }

  /** The last of it. */
  end(text: string): void {
    this.#begun = true
    this.#response.end(text, encodingOf(text))
  }
}

/** As many bytes as characters: all of it is ASCII, which the system takes without a conversion. */
const encodingOf = (text: string): 'latin1' | 'utf8' =>
  Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8'
