// Finds matches of patterns in the written forms in which built-in kinds are found: through
// percent-encoding, HTML entities, quoted-printable and escapes of program text.

import { STEP_UNITS, type Steps } from '../core/steps.ts'
import { ESCAPE_SIGNS, mayHoldEscapes } from '../detect/pii/encoded-characters.ts'
import { hasHiddenOrPaired, TextView } from '../detect/pii/text-view.ts'
import { namesAny } from '../keyword/regexp/instructions.ts'
import type { SpanPattern } from '../keyword/spans/span-finder.ts'
import {
  findInStream,
  type PatternSpan,
  type SpanIndex,
  type SpanSearcher,
  type SpanStream,
} from '../keyword/spans/span-search.ts'

/** Maximum changes of a text that are kept; each takes some bytes until the text is searched. */
const MAXIMUM_CHANGED = 65_536

const SIGNS = ESCAPE_SIGNS.map((sign) => sign.charCodeAt(0))

/** Whether a pattern names a sign of escapes. It is searched in the text as written, too. */
const namesSign = ({ programs }: SpanPattern): boolean => programs.some((program) => namesAny(program, SIGNS))

const BACKSLASH = '\\'
const ESCAPED_SPACE = /\\[nrt]/g

/** Returns a view in which the letter of an escaped line end or tab is a space. */
const withSpaces = (view: string): string =>
  view.includes(BACKSLASH) ? view.replace(ESCAPED_SPACE, '\\ ') : view

/** Returns the searcher of the active patterns of an index; null for none. */
export function encodedSearcher(
  index: SpanIndex,
  patterns: readonly SpanPattern[],
  active: readonly boolean[],
): SpanSearcher | null {
  const decoded = index.select(active)
  if (decoded === null) return null
  const written = index.select(active.map((one, pattern) => one && namesSign(patterns[pattern]!)))
  return new EncodedSearcher(decoded, written)
}

class EncodedSearcher implements SpanSearcher {
  readonly #decoded: SpanSearcher
  /** Searches the text as written; null without patterns that ask for it. */
  readonly #written: SpanSearcher | null

  constructor(decoded: SpanSearcher, written: SpanSearcher | null) {
    this.#decoded = decoded
    this.#written = written
  }

  *find(text: string): Steps<PatternSpan[]> {
    const isPlain = !(mayHoldEscapes(text) || hasHiddenOrPaired(text))
    const found = isPlain ? yield* this.#decoded.find(withSpaces(text)) : yield* this.#findInView(text)
    if (this.#written === null || (isPlain && !text.includes(BACKSLASH))) return found
    const known = new Set(found.map(keyOf))
    const more = (yield* this.#written.find(text)).filter((span) => !known.has(keyOf(span)))
    return [...found, ...more]
  }

  stream(): SpanStream {
    const decoded = new DecodedStream(this.#decoded.stream())
    return this.#written === null ? decoded : new BothStreams(decoded, this.#written.stream())
  }

  *#findInView(text: string): Steps<PatternSpan[]> {
    const view = new TextView()
    const pieces: string[] = []
    let length = 0
    for (let at = 0; at < text.length; at += STEP_UNITS) {
      if (at > 0) yield
      const piece = view.push(text.slice(at, at + STEP_UNITS))
      pieces.push(piece)
      length += piece.length
      // Characters held back count, too.
      if (at + STEP_UNITS - length > MAXIMUM_CHANGED)
        return yield* findInStream(new DecodedStream(this.#decoded.stream()), text)
    }
    pieces.push(view.finish())
    const found = yield* this.#decoded.find(withSpaces(pieces.join('')))
    return mapped(found, view)
  }
}

/** Matches in a view with their offsets in the text. */
const mapped = (found: readonly PatternSpan[], { map }: TextView): PatternSpan[] =>
  found.map(({ pattern, start, end }) => ({ pattern, start: map.startOf(start), end: map.endOf(end) }))

/** Searches the view of a growing text. */
class DecodedStream implements SpanStream {
  readonly #view = new TextView()
  readonly #stream: SpanStream
  /** Whether the view so far ends in a backslash. */
  #isEscape = false

  constructor(stream: SpanStream) {
    this.#stream = stream
  }

  get safe(): number {
    return this.#view.map.startOf(this.#stream.safe)
  }

  get work(): number {
    return this.#stream.work
  }

  push(chunk: string): PatternSpan[] {
    const found = mapped(this.#stream.push(this.#spaced(this.#view.push(chunk))), this.#view)
    this.#view.map.release(this.#stream.safe)
    return found
  }

  finish(): PatternSpan[] {
    const rest = this.#stream.push(this.#spaced(this.#view.finish()))
    return mapped([...rest, ...this.#stream.finish()], this.#view)
  }

  #spaced(view: string): string {
    if (view === '') return view
    const spaced = withSpaces(this.#isEscape ? BACKSLASH + view : view)
    const isEscape = this.#isEscape
    this.#isEscape = view.endsWith(BACKSLASH)
    return isEscape ? spaced.slice(1) : spaced
  }
}

const keyOf = ({ pattern, start, end }: PatternSpan): string => `${pattern} ${start} ${end}`

/** Matches that are remembered before those that cannot come again are forgotten. */
const REMEMBERED_MATCHES = 256

/** Searches a growing text decoded and as written. Reports a match that both find once. */
class BothStreams implements SpanStream {
  readonly #streams: readonly SpanStream[]
  /** Starts of the matches reported, by their keys. */
  readonly #reported = new Map<string, number>()

  constructor(...streams: readonly SpanStream[]) {
    this.#streams = streams
  }

  get safe(): number {
    return Math.min(...this.#streams.map(({ safe }) => safe))
  }

  get work(): number {
    return this.#streams.reduce((sum, { work }) => sum + work, 0)
  }

  push(chunk: string): PatternSpan[] {
    return this.#new(this.#streams.flatMap((stream) => stream.push(chunk)))
  }

  finish(): PatternSpan[] {
    return this.#new(this.#streams.flatMap((stream) => stream.finish()))
  }

  #new(found: readonly PatternSpan[]): PatternSpan[] {
    const reported = this.#reported
    const unknown = found.filter((span) => {
      const key = keyOf(span)
      if (reported.has(key)) return false
      reported.set(key, span.start)
      return true
    })
    if (reported.size > REMEMBERED_MATCHES) {
      const { safe } = this
      for (const [key, start] of reported) if (start < safe) reported.delete(key)
    }
    return unknown
  }
}
