// Parses and encodes event streams (WHATWG HTML §9.2). Does not read the data.

import { isAscii } from 'node:buffer'
import { Pieces } from '../core/chunks.ts'
import { GatewayError } from '../core/errors.ts'

export interface SseEvent {
  /** The event as received, up to and including the blank line. It ends in a line feed. */
  readonly raw: string
  /** Values of the data lines, joined by line feeds; null when empty. */
  readonly data: string | null
  /** All other lines (comments, ids, unknown fields), joined by line feeds; usually empty. */
  readonly otherLines: string
}

const BYTE_ORDER_MARK = '\ufeff'
const END_OF_LINE = /\r\n|\n|\r/

/**
 * Splits a stream into events. Pieces may be cut anywhere, also inside characters and line ends.
 * Searches bytes for line ends and decodes whole events only; linear in the stream.
 */
export class SseParser {
  readonly #maxEventBytes: number
  /** Pieces of the current event. */
  readonly #pieces = new Pieces()
  #bytes = 0
  /** True when the current line has characters. */
  #inLine = false
  /** True when the current event has lines. */
  #hasLines = false
  /**
   * True when the last piece ended in a carriage return; a line feed that follows belongs to it.
   */
  #afterReturn = false
  #first = true

  /** @param maxEventBytes longest event */
  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes
  }

  /**
   * Takes a piece and returns the events that end in it. Blank lines between events belong to the
   * next event.
   * @throws GatewayError `upstream_unavailable` for an event that is too long
   */
  push(piece: Buffer): SseEvent[] {
    const events: SseEvent[] = []
    // One character a byte: as fast to search as the bytes, without a native call for each line.
    const text = piece.toString('latin1')
    const isPlain = piece.length <= this.#maxEventBytes && isAscii(piece)
    const ends = new LineEnds(text)
    let at = this.#afterReturn && text.startsWith('\n') ? 1 : 0
    // After an event, this line feed is the rest of its line end.
    let start = this.#bytes === 0 ? at : 0
    if (text !== '') this.#afterReturn = false
    while (at < text.length) {
      const end = ends.after(at)
      const isBlank = end === at && !this.#inLine
      this.#inLine = end === text.length
      if (this.#inLine) break
      const isPair = text.startsWith('\r\n', end)
      at = end + (isPair ? 2 : 1)
      this.#afterReturn = at === text.length && text.endsWith('\r')
      if (!isBlank) {
        this.#hasLines = true
      } else if (this.#hasLines) {
        const whole = isPlain && this.#bytes === 0
        // A slice of `text` would keep all of `text` in memory.
        events.push(
          whole ? this.#event(piece.toString('latin1', start, at)) : this.#take(piece.subarray(start, at)),
        )
        start = at
      }
    }
    this.#keep(piece.subarray(start))
    return events
  }

  /**
   * Ends the stream. §9.2.6 ignores an event without a blank line, but some servers end right after
   * `[DONE]`, so it is returned. Data that were cut off do not parse.
   */
  finish(): SseEvent[] {
    if (!this.#hasLines && !this.#inLine) return []
    // After a carriage return, the first line feed would belong to it.
    return [this.#take(Buffer.from(this.#inLine || this.#afterReturn ? '\n\n' : '\n'))]
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return
    this.#bytes += piece.length
    if (this.#bytes > this.#maxEventBytes) {
      throw new GatewayError(
        'upstream_unavailable',
        `The upstream sent an event of more than ${this.#maxEventBytes} bytes.`,
      )
    }
    this.#pieces.add(piece)
  }

  #take(piece: Buffer): SseEvent {
    this.#keep(piece)
    this.#bytes = 0
    const raw = this.#pieces.take().toString('utf8')
    return this.#event(this.#first && raw.startsWith(BYTE_ORDER_MARK) ? raw.slice(1) : raw)
  }

  #event(raw: string): SseEvent {
    this.#first = false
    this.#hasLines = false
    this.#inLine = false
    // Parsers skip the added line feed, and clients that split at line feeds only need it.
    return eventOf(raw.endsWith('\r') ? `${raw}\n` : raw)
  }
}

/** Finds line ends. Reads each character once, also when one kind of line end never occurs. */
class LineEnds {
  readonly #text: string
  #feed = -1
  #return = -1

  constructor(text: string) {
    this.#text = text
  }

  /** Offset of the first line end at or after `at`; the length of the text without one. */
  after(at: number): number {
    if (this.#feed < at) this.#feed = this.#find('\n', at)
    if (this.#return < at) this.#return = this.#find('\r', at)
    return Math.min(this.#feed, this.#return)
  }

  #find(end: string, from: number): number {
    const at = this.#text.indexOf(end, from)
    return at < 0 ? this.#text.length : at
  }
}

/** Separates data lines from other lines (§9.2.6). */
function eventOf(raw: string): SseEvent {
  // Most events are one data line.
  if (raw.startsWith('data: ') && raw.indexOf('\n') === raw.length - 2 && !raw.includes('\r')) {
    const data = raw.slice('data: '.length, -2)
    return { raw, data: data === '' ? null : data, otherLines: '' }
  }
  const values: string[] = []
  const otherLines: string[] = []
  for (const line of raw.split(END_OF_LINE)) {
    const colon = line.indexOf(':')
    if ((colon < 0 ? line : line.slice(0, colon)) === 'data') {
      values.push(colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1))
    } else if (line !== '') otherLines.push(line)
  }
  const data = values.join('\n')
  return { raw, data: data === '' ? null : data, otherLines: otherLines.join('\n') }
}

/** Encodes an event. The data must not contain line breaks; JSON does not. */
export const encodeData = (data: string): string => `data: ${data}\n\n`

/** Encodes an event of other lines and data; '' without both. */
export function encodeEvent(otherLines: string, data: string | null): string {
  if (otherLines === '') return data === null ? '' : `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
  return data === null ? `${otherLines}\n\n` : `${otherLines}\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`
}

/** Fields that make some clients see an event without data. */
const OF_AN_EVENT = /^(?:event|id|retry)(?::|$)/

/** Encodes the lines that may be sent without their data: comments and unknown fields. */
export function encodeRemarks(otherLines: string): string {
  const remarks = otherLines.split('\n').filter((line) => !OF_AN_EVENT.test(line))
  return encodeEvent(remarks.join('\n'), null)
}

/** Encodes a comment, which clients ignore. It must not contain line breaks. */
export const encodeComment = (comment: string): string => `: ${comment}\n\n`
