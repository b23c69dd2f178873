// Decodes a text that arrives in pieces into spans: JSON in it, with the JSON in its strings. Text
// can then be scanned as a reader sees it and replaced while JSON stays valid.

import { GatewayError } from '../../core/errors.ts'
import { STEP_UNITS, type Steps } from '../../core/steps.ts'
import { readEscape } from './json-escape.ts'
import { type JsonSpan, plainSpan, viewOf } from './json-span.ts'
import { MAXIMUM_LEVELS, TextLevel } from './text-level.ts'

export type Side = 'request' | 'response'

const tooDeep = (side: Side) => (): GatewayError =>
  side === 'request'
    ? new GatewayError(
        'invalid_body',
        `The body has JSON in strings in more than ${MAXIMUM_LEVELS} levels; send it as objects.`,
      )
    : new GatewayError(
        'upstream_unavailable',
        `The upstream's answer has JSON in strings in more than ${MAXIMUM_LEVELS} levels.`,
      )

/**
 * Decodes any text. The raw forms of the spans joined are the text. However it is cut into pieces,
 * the spans differ only in where `text` and `structure` spans are cut: what a character is depends
 * on the text before it, and for a number on the next character that is not white space.
 *
 * - `plain`: prose. An object or a list in it is read as JSON once its first name or string is
 *   complete, and a list that begins a line at once. `\uXXXX` is an escape anywhere.
 * - `json`: JSON texts that follow each other. From the first character that cannot be JSON, all is
 *   the content of a string: every escape is one.
 *
 * The content of a JSON string is prose, up to MAXIMUM_LEVELS strings deep.
 */
export class JsonTextDecoder {
  readonly #top: TextLevel
  readonly #isDocument: boolean
  #spans: JsonSpan[] = []

  /** @param side of the error for text in more than MAXIMUM_LEVELS strings */
  constructor(encoding: 'plain' | 'json' = 'json', side: Side = 'response') {
    this.#isDocument = encoding === 'json'
    this.#top = new TextLevel(0, this.#isDocument, { push: (span) => this.#spans.push(span) }, tooDeep(side))
  }

  /** Whether the beginning of a token or an escape is held back. */
  get holds(): boolean {
    return this.#top.holds
  }

  /** @throws GatewayError for text in more than MAXIMUM_LEVELS strings */
  push(chunk: string): readonly JsonSpan[] {
    // One pattern cannot match megabytes.
    for (let at = 0; at < chunk.length; at += STEP_UNITS)
      this.#top.read([plainSpan(chunk.slice(at, at + STEP_UNITS))])
    return this.#take()
  }

  /** Flushes the text held back. Later text continues prose, and begins a new document. */
  finish(): readonly JsonSpan[] {
    this.#top.flush()
    if (this.#isDocument) this.#top.restart()
    return this.#take()
  }

  #take(): readonly JsonSpan[] {
    const spans = this.#spans
    this.#spans = []
    return spans
  }
}

/** A whole text to decode. */
interface EncodedText {
  readonly text: string
  readonly encoding: 'plain' | 'json'
}

/** Yields the spans of each piece of a whole text. */
function* piecesOf({ text, encoding }: EncodedText, side: Side): Generator<readonly JsonSpan[]> {
  const decoder = new JsonTextDecoder(encoding, side)
  for (let at = 0; at < text.length; at += STEP_UNITS) yield decoder.push(text.slice(at, at + STEP_UNITS))
  yield decoder.finish()
}

/** Decodes a whole text, in steps. @throws GatewayError as JsonTextDecoder */
export function* decodeSteps(text: EncodedText, side: Side): Steps<readonly JsonSpan[]> {
  const spans: JsonSpan[] = []
  for (const piece of piecesOf(text, side)) {
    if (spans.length > 0) yield
    for (const span of piece) spans.push(span)
  }
  return spans
}

/** Returns the view of a whole text, in steps. @throws GatewayError as JsonTextDecoder */
export function* decodeView(text: EncodedText, side: Side): Steps<string> {
  if (!text.text.includes('\\')) return text.text
  if (text.encoding === 'json') {
    const once = yield* decodeEscapes(text.text)
    if (!once.includes('\\')) return once
  }
  let view = ''
  for (const piece of piecesOf(text, side)) {
    if (view !== '') yield
    view += viewOf(piece)
  }
  return view
}

/** Decodes all escapes once. */
function* decodeEscapes(text: string): Steps<string> {
  let view = ''
  let from = 0
  let pause = STEP_UNITS
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', from)) {
    if (at >= pause) {
      yield
      pause = at + STEP_UNITS
    }
    const read = readEscape(text, at, true)!
    view += text.slice(from, at) + read.view
    from = at + read.length
  }
  return view + text.slice(from)
}
