// Event streams (WHATWG HTML §9.2): bytes into events and events into text. Knows nothing of what the data mean.

import { isAscii } from 'node:buffer'
import { Pieces } from '../core/chunks.ts'
import { GatewayError } from '../core/errors.ts'

export interface SseEvent {
  /** The event as it came, with the blank line that ends it: in a line feed, wherever the pieces were cut. */
  readonly raw: string
  /** Its data lines joined by line feeds; null when there are none, or nothing is in them. */
  readonly data: string | null
  /** Its other lines (comments, ids, fields nobody knows) joined by line feeds; empty for nearly every event. */
  readonly around: string
}

const BYTE_ORDER_MARK = '\ufeff'
const END_OF_LINE = /\r\n|\n|\r/

/**
 * Splits a stream into events, wherever the pieces are cut, inside of characters and line ends too. Looks for line
 * ends in the bytes, where none can be part of a character, and decodes whole events only: linear in the stream.
 */
export class SseParser {
  readonly #maxEventBytes: number
  /** Pieces of the event that is being received. */
  readonly #pieces = new Pieces()
  #bytes = 0
  /** The line that is being received has characters. */
  #inLine = false
  /** The event that is being received has lines. */
  #hasLines = false
  /** The last piece ended in a carriage return; a line feed that comes next belongs to it. */
  #afterReturn = false
  #first = true

  /** @param maxEventBytes a longer event is refused */
  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes
  }

  /**
   * Takes a piece and returns the events that end in it. Blank lines between events go with the next one.
   * @throws GatewayError `upstream_unavailable` for an event that is too long
   */
  push(piece: Buffer): SseEvent[] {
    const events: SseEvent[] = []
    // One byte a character: searching is as fast as in the bytes, without a call out of the engine for each line.
    const text = piece.toString('latin1')
    const isPlain = piece.length <= this.#maxEventBytes && isAscii(piece)
    const ends = new LineEnds(text)
    let at = this.#afterReturn && text.startsWith('\n') ? 1 : 0
    // Of an event that has been given out it is the end, which that has got already.
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
        // Not a part of the text, which would stay for as long as any part of it does.
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
   * The stream is over. An event without its blank line is none by §9.2.6, but servers exist that end their stream
   * right after `[DONE]`; so it is given out all the same. Data that were cut off will not parse.
   */
  finish(): SseEvent[] {
    if (!this.#hasLines && !this.#inLine) return []
    // Behind a carriage return the first line feed would belong to it.
    return [this.#take(Buffer.from(this.#inLine || this.#afterReturn ? '\n\n' : '\n'))]
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return
    this.#bytes += piece.length
    if (this.#bytes > this.#maxEventBytes) {
      throw new GatewayError('upstream_unavailable', 'The upstream sent an event that is too long.')
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
    // Where a line feed follows it is passed over: many callers split lines there alone.
    return eventOf(raw.endsWith('\r') ? `${raw}\n` : raw)
  }
}

/** Where lines end in a text; looks at no character twice, whichever kind of line end there is none of. */
class LineEnds {
  readonly #text: string
  #feed = -1
  #return = -1

  constructor(text: string) {
    this.#text = text
  }

  /** Offset of the first line end at or after `at`, the text's length when there is none. */
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

/** §9.2.6: the values of all `data` lines, and the lines that are none. */
function eventOf(raw: string): SseEvent {
  // Nearly every event is one line of data.
  if (raw.startsWith('data: ') && raw.indexOf('\n') === raw.length - 2 && !raw.includes('\r')) {
    const data = raw.slice('data: '.length, -2)
    return { raw, data: data === '' ? null : data, around: '' }
  }
  const values: string[] = []
  const around: string[] = []
  for (const line of raw.split(END_OF_LINE)) {
    const colon = line.indexOf(':')
    if ((colon < 0 ? line : line.slice(0, colon)) === 'data') {
      values.push(colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1))
    } else if (line !== '') around.push(line)
  }
  const data = values.join('\n')
  return { raw, data: data === '' ? null : data, around: around.join('\n') }
}

/** An event with these data; they must not have line breaks, which JSON does not. */
export const encodeData = (data: string): string => `data: ${data}\n\n`

/** An event of these lines, `data` among them where it is not null; nothing where there is neither. */
export function encodeEvent(around: string, data: string | null): string {
  if (around === '') return data === null ? '' : `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
  return data === null ? `${around}\n\n` : `${around}\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`
}

/** Fields by which some clients take lines without data for an event. */
const OF_AN_EVENT = /^(?:event|id|retry)(?::|$)/

/** Of the lines around data that do not leave, those that may without them: comments, and fields nobody knows. */
export function encodeRemarks(around: string): string {
  const remarks = around.split('\n').filter((line) => !OF_AN_EVENT.test(line))
  return encodeEvent(remarks.join('\n'), null)
}

/** A comment: clients pass over it, people and proofs find it. It must not have line breaks. */
export const encodeComment = (comment: string): string => `: ${comment}\n\n`
