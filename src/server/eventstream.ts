// The answer that is an event stream, on its way to the socket. Frames its own chunks (RFC 9112 §7.1): Node would
// hand the system four pieces for each, and an event in one piece costs half of that.

import type { ServerResponse } from 'node:http'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // A cache would replay it, a buffering proxy would hold it up.
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}
const CHUNKED = { ...HEADERS, 'transfer-encoding': 'chunked' }
const LAST_CHUNK = '0\r\n\r\n'

export class EventStream {
  readonly #response: ServerResponse
  /** HTTP/1.0 has no chunks: there the end of the connection is that of the answer. */
  readonly #framed: boolean
  #begun = false

  /** Hands the head over; it leaves with the first event when that is there already, and at once when not. */
  constructor(response: ServerResponse, headers: Readonly<Record<string, string>>) {
    this.#response = response
    this.#framed = response.req.httpVersion === '1.1'
    response.writeHead(200, { ...headers, ...(this.#framed ? CHUNKED : HEADERS) })
    // The header said so, and Node would frame what is framed already.
    response.chunkedEncoding = false
    setImmediate(() => {
      if (!this.#begun && !response.destroyed) response.flushHeaders()
    })
  }

  /** @returns false when the socket wants no more for now */
  write(text: string): boolean {
    return text === '' || this.#send(text, '', (bytes, encoding) => this.#response.write(bytes, encoding))
  }

  /** The last of it. */
  end(text: string): void {
    this.#send(text, LAST_CHUNK, (bytes, encoding) => this.#response.end(bytes, encoding))
  }

  #send<Result>(
    text: string,
    last: string,
    send: (text: string, encoding: 'latin1' | 'utf8') => Result,
  ): Result {
    this.#begun = true
    const bytes = Buffer.byteLength(text)
    // As many bytes as characters: all of it is ASCII, which the system takes without a conversion.
    const encoding = bytes === text.length ? 'latin1' : 'utf8'
    if (!this.#framed) return send(text, encoding)
    const chunk = bytes === 0 ? '' : `${bytes.toString(16)}\r\n${text}\r\n`
    return send(chunk + last, encoding)
  }
}
