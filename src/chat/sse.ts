// Parses and encodes event streams (WHATWG HTML §9.2). Does not read the data.

import { isAscii } from 'node:buffer'
import { Pieces } from '../core/chunks.ts'
import { GatewayError } from '../core/errors.ts'

export interface SseEvent {
  /**
   * The lines as received, each with a line feed, and a blank line after data. Without data, as
   * `encodeEvent` has it.
   */
  readonly raw: string
  /** Values of the data lines, joined by line feeds; null when empty. */
  readonly data: string | null
  /** All other lines (comments, ids, unknown fields), joined by line feeds; usually empty. */
  readonly otherLines: string
}

/** Largest event of an answer in bytes; larger ones end the call. An image is one event. */
export const MAXIMUM_EVENT_BYTES = 16 * 1024 * 1024

/** Data of the event that ends a stream. */
export const DONE = '[DONE]'

/** A line that begins with a second one is dropped: as the first line sent it would be a field. */
const MARK = '\ufeff'
const BYTE_ORDER_MARK = Buffer.from(MARK)
const END_OF_LINE = /\r\n|\n|\r/
const NO_EVENT: SseEvent = { raw: '', data: null, otherLines: '' }

/**
 * Splits a stream into events. Pieces may be cut anywhere, also inside characters and line ends.
 * Searches bytes for line ends and decodes whole events only; linear in the stream. Returns a
 * comment before the first field of an event as soon as its line ends: it keeps the connection
 * alive.
 */
export class SseParser {
  readonly #maxEventBytes: number
  /** Pieces of the current event. */
  readonly #pieces = new Pieces()
  #bytes = 0
  /** True when the current line has characters. */
  #inLine = false
  /** True when the current line is a comment. */
  #isComment = false
  /** True when the current event has lines besides the comments already returned. */
  #hasLines = false
  /**
   * True when the last piece ended in a carriage return; a line feed that follows belongs to it.
   */
  #afterReturn = false
  /** Bytes of the byte order mark read so far; all of them once the stream has begun. */
  #markBytes = 0

  /** @param maxEventBytes longest event */
  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes
  }

  /**
   * Takes a piece and returns the events that end in it. Skips blank lines between events.
   * @throws GatewayError `upstream_unavailable` for an event that is too long
   */
  push(received: Buffer): SseEvent[] {
    const piece = this.#withoutMark(received)
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
      if (!this.#inLine) this.#isComment = text[at] === ':'
      this.#inLine = end === text.length
      if (this.#inLine) break
      const isPair = text.startsWith('\r\n', end)
      at = end + (isPair ? 2 : 1)
      this.#afterReturn = at === text.length && text.endsWith('\r')
      if (isBlank ? this.#hasLines : this.#isComment && !this.#hasLines) {
        const whole = isPlain && this.#bytes === 0
        // A slice of `text` would keep all of `text` in memory.
        events.push(
          whole ? this.#event(piece.toString('latin1', start, at)) : this.#take(piece.subarray(start, at)),
        )
        start = at
      } else if (isBlank) start = at
      else this.#hasLines = true
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

  /** Drops a byte order mark at the start of the stream (§9.2.5). */
  #withoutMark(piece: Buffer): Buffer {
    if (this.#markBytes === BYTE_ORDER_MARK.length) return piece
    let at = 0
    while (at < piece.length && piece[at] === BYTE_ORDER_MARK[this.#markBytes]) {
      at++
      this.#markBytes++
    }
    if (at === piece.length || this.#markBytes === BYTE_ORDER_MARK.length) return piece.subarray(at)
    const others = BYTE_ORDER_MARK.subarray(0, this.#markBytes)
    this.#markBytes = BYTE_ORDER_MARK.length
    return others.length === 0 ? piece : Buffer.concat([others, piece.subarray(at)])
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
    return this.#event(this.#pieces.take().toString('utf8'))
  }

  #event(raw: string): SseEvent {
    this.#hasLines = false
    this.#inLine = false
    return eventOf(raw)
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

/** The name and the data of an event that has one line of each. */
const NAMED_EVENT = /^(event: [^\r\n]+)\ndata: (?=[^\r\n]+\n\n$)/

/** Separates data lines from other lines (§9.2.6). Some clients split at line feeds only. */
function eventOf(raw: string): SseEvent {
  // Most events are one data line.
  if (raw.startsWith('data: ') && raw.indexOf('\n') === raw.length - 2 && !raw.includes('\r')) {
    const data = raw.slice('data: '.length, -2)
    return data === '' ? NO_EVENT : { raw, data, otherLines: '' }
  }
  const named = NAMED_EVENT.exec(raw)
  if (named !== null) return { raw, data: raw.slice(named[0].length, -2), otherLines: named[1]! }
  const values: string[] = []
  const otherLines: string[] = []
  const lines = raw.split(END_OF_LINE).filter((line) => line !== '' && !line.startsWith(MARK))
  for (const line of lines) {
    const colon = line.indexOf(':')
    if ((colon < 0 ? line : line.slice(0, colon)) === 'data') {
      values.push(colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1))
    } else otherLines.push(line)
  }
  const data = values.join('\n')
  const others = otherLines.join('\n')
  if (data === '') return { raw: encodeEvent(others, null), data: null, otherLines: others }
  return { raw: `${lines.join('\n')}\n\n`, data, otherLines: others }
}

/** Encodes an event. The data must not contain line breaks; JSON does not. */
export const encodeData = (data: string): string => `data: ${data}\n\n`

/**
 * Encodes an event. Without data it has no blank line: its lines belong to the next event, because
 * some clients take a block without data for an event. The name of an event is dropped with its
 * data, or it would name the next one.
 */
export function encodeEvent(otherLines: string, data: string | null): string {
  if (data === null) return otherLines === '' ? '' : encodeLines(otherLines)
  const encoded = `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
  return otherLines === '' ? encoded : `${otherLines}\n${encoded}`
}

const EVENT_NAME = /^event(?::|$)/

const encodeLines = (lines: string): string =>
  lines
    .split('\n')
    .map((line) => (EVENT_NAME.test(line) ? '' : `${line}\n`))
    .join('')

const EVENT_END = '\n\n'
const FIRST_DATA = /^data(?::|$)/m

/** Inserts a comment directly above the data of the last event. */
export function withComment(events: string, comment: string): string {
  const last = events.lastIndexOf(EVENT_END, events.length - EVENT_END.length - 1) + 1
  const data = last + events.slice(last).search(FIRST_DATA)
  return events.slice(0, data) + encodeComment(comment) + events.slice(data)
}

/**
 * Encodes a comment, which clients ignore, as a line of the event that follows. It must not contain
 * line breaks.
 */
export const encodeComment = (comment: string): string => `: ${comment}\n`
