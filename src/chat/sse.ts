// Event streams (WHATWG HTML §9.2): bytes into events and events into text. Knows nothing of what the data mean.

import { GatewayError } from '../core/errors.ts'

export interface SseEvent {
  /** The event as it came, with the blank line that ends it. */
  readonly raw: string
  /** Its data lines joined by line feeds; null when it has none (comments, ids). */
  readonly data: string | null
}

const END_OF_LINE = /\r\n|\n|\r/g

/** Splits a stream into events, wherever the pieces are cut, inside of characters and line ends too. */
export class SseParser {
  readonly #maxEventCharacters: number
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: false })
  /** Text that is not a whole line yet. */
  #line = ''
  /** Whole lines of the event being read. */
  #raw = ''
  #data: string | null = null

  /** @param maxEventCharacters a longer event is refused */
  constructor(maxEventCharacters: number) {
    this.#maxEventCharacters = maxEventCharacters
  }

  /** @throws GatewayError `upstream_unavailable` for an event that is too long */
  push(chunk: Uint8Array): SseEvent[] {
    return this.#lines(this.#decoder.decode(chunk, { stream: true }), false)
  }

  /** The stream is over. An event without its blank line is not one (§9.2.6). */
  finish(): SseEvent[] {
    return this.#lines(this.#decoder.decode(), true)
  }

  #lines(added: string, last: boolean): SseEvent[] {
    const events: SseEvent[] = []
    const from = Math.max(0, this.#line.length - 1)
    const text = this.#line + added
    let start = 0
    END_OF_LINE.lastIndex = from
    for (let end = END_OF_LINE.exec(text); end !== null; end = END_OF_LINE.exec(text)) {
      // A carriage return at the very end may be half of a pair.
      if (end[0] === '\r' && end.index === text.length - 1 && !last) break
      const event = this.#take(text.slice(start, end.index), end[0])
      if (event !== null) events.push(event)
      start = end.index + end[0].length
    }
    this.#line = text.slice(start)
    if (this.#raw.length + this.#line.length > this.#maxEventCharacters) {
      throw new GatewayError('upstream_unavailable', 'The upstream sent an event that is too long.')
    }
    return events
  }

  #take(line: string, end: string): SseEvent | null {
    this.#raw += line + end
    if (line !== '') {
      this.#field(line)
      return null
    }
    const event = { raw: this.#raw, data: this.#data }
    this.#raw = ''
    this.#data = null
    // Blank lines alone mean nothing.
    return event.raw === end ? null : event
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    if ((colon < 0 ? line : line.slice(0, colon)) !== 'data') return
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`
  }
}

/** An event with these data; they must not have line breaks, which JSON does not. */
export const encodeData = (data: string): string => `data: ${data}\n\n`

/** A comment: clients pass over it, people and proofs find it. */
export const encodeComment = (comment: string): string => `: ${comment}\n\n`
