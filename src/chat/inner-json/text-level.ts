// Decodes the text at one level of JSON strings in JSON strings: prose with JSON in it, or one JSON
// document. The content of each string is a text of the next level.

import { countBackslashes, readEscape, readUnicode } from './json-escape.ts'
import { JsonGrammar } from './json-grammar.ts'
import { escapeForJson, type JsonSpan, rawOf, SpanBuffer, type SpanSink, viewOf } from './json-span.ts'
import { readToken } from './json-token.ts'
import {
  endsAtLineStart,
  IN_ESCAPED_JSON,
  IN_STRING,
  IN_STRING_ON_LINE,
  matchAt,
  NOT_ESCAPE,
  PROSE,
} from './text-runs.ts'

/** Maximum JSON strings around a text. Each doubles the backslashes of its escapes. */
export const MAXIMUM_LEVELS = 6

/** More backslashes escape a character in more than MAXIMUM_LEVELS strings. */
const MAXIMUM_BACKSLASHES = 2 ** (MAXIMUM_LEVELS + 1) - 1

const INCOMPLETE = -1

/**
 * - `prose`: any text; JSON begins at a bracket
 * - `json`: inside an object or a list, or a document
 * - `escaped`: inside JSON whose quotes are escaped, or a document that is not JSON
 */
type Mode = 'prose' | 'json' | 'escaped'

export class TextLevel {
  readonly #level: number
  readonly #isDocument: boolean
  readonly #out: SpanSink
  readonly #tooDeep: () => Error
  readonly #grammar = new JsonGrammar()
  readonly #buffer = new SpanBuffer()
  #mode: Mode = 'prose'
  /** Whether the text so far is certainly JSON. A bracket may also be part of a sentence. */
  #isSure = false
  /** How the last quote of a string is written. */
  #quote = '"'
  #isAtLineStart = true
  #child: TextLevel | null = null

  /**
   * @param level number of JSON strings around the text
   * @param isDocument true for text that should be JSON: any value counts, also several in a row
   * @param out receives the spans of this level and those below
   * @param tooDeep makes the error for text in more than MAXIMUM_LEVELS strings
   */
  constructor(level: number, isDocument: boolean, out: SpanSink, tooDeep: () => Error) {
    this.#level = level
    this.#isDocument = isDocument
    this.#out = out
    this.#tooDeep = tooDeep
    this.restart()
  }

  /** Whether the beginning of a token or an escape is held back. */
  get holds(): boolean {
    return this.#buffer.view !== '' || this.#child?.holds === true
  }

  /** Begins a new text. Call it after `flush`. */
  restart(): void {
    this.#mode = this.#isDocument ? 'json' : 'prose'
    this.#isSure = this.#isDocument
    this.#isAtLineStart = true
    this.#grammar.restart()
  }

  /** Reads a part of the text and passes on the spans that are complete. */
  read(spans: readonly JsonSpan[]): void {
    if (this.#mode === 'prose' && this.#buffer.view === '') {
      const view = viewOf(spans)
      if (matchAt(PROSE, view, 0).length === view.length) {
        this.#readLine(view)
        for (const span of spans) this.#out.push(span)
        return
      }
    }
    for (const span of spans) this.#buffer.push(span)
    this.#decode(false)
  }

  /** Passes on the spans held back. The text may continue. */
  flush(): void {
    if (this.#buffer.view !== '') this.#decode(true)
    if (this.#child?.holds === true) this.#child.flush()
  }

  #decode(last: boolean): void {
    const text = this.#buffer.view
    let at = 0
    while (at < text.length) {
      const next = this.#step(text, at, last)
      if (next === INCOMPLETE) break
      at = next
    }
    this.#buffer.drop(at)
  }

  /** Reads at an offset. @returns the next offset, or INCOMPLETE */
  #step(text: string, at: number, last: boolean): number {
    switch (this.#mode) {
      case 'prose':
        return this.#readProse(text, at, last)
      case 'escaped':
        return this.#readEscaped(text, at, last)
      case 'json':
        return this.#grammar.inString ? this.#readString(text, at, last) : this.#readJson(text, at, last)
    }
  }

  #readProse(text: string, at: number, last: boolean): number {
    const some = matchAt(PROSE, text, at)
    if (some !== '') {
      this.#readLine(some)
      return this.#passText(at, some.length)
    }
    const character = text[at]!
    if (character === '\\') return this.#readUnicode(text, at, last)
    this.#begin([character], this.#isAtLineStart && character === '[')
    this.#isAtLineStart = false
    return this.#passText(at, 1)
  }

  #readLine(text: string): void {
    this.#isAtLineStart = endsAtLineStart(text) ?? this.#isAtLineStart
  }

  /** Begins JSON at opening brackets. */
  #begin(open: readonly string[], isSure: boolean): void {
    this.#mode = 'json'
    this.#isSure = isSure
    this.#quote = escapeForJson('"', this.#level)
    this.#grammar.restart()
    for (const bracket of open) this.#grammar.accepts(bracket)
  }

  /** Reads a `\uXXXX`, escaped any number of times. A model reads through it anywhere. */
  #readUnicode(text: string, at: number, last: boolean): number {
    this.#isAtLineStart = false
    const run = countBackslashes(text, at)
    if (run > MAXIMUM_BACKSLASHES && at + run === text.length)
      return this.#passText(at, last ? run : run - MAXIMUM_BACKSLASHES)
    const read = readUnicode(text, at, run, MAXIMUM_BACKSLASHES, last)
    if (read === null) return INCOMPLETE
    if (read === 'none') return this.#passText(at, run)
    const levels = this.#level + Math.floor(Math.log2(run + 1))
    if (levels > MAXIMUM_LEVELS) throw this.#tooDeep()
    const raw = rawOf(this.#buffer.take(read.length))
    this.#out.push({ kind: 'atom', view: read.view, raw, level: levels })
    return at + read.length
  }

  /** Reads JSON outside strings. */
  #readJson(text: string, at: number, last: boolean): number {
    let end = at
    let from = at
    let kind = this.#structureKind
    while (end < text.length && this.#grammar.accepts(text[end]!)) {
      this.#isSure ||= text[end] === ':'
      if (kind !== this.#structureKind) {
        this.#emit(kind, end - from)
        from = end
        kind = this.#structureKind
      }
      end++
      if (this.#grammar.inString || this.#isOver) break
    }
    if (end === at) return this.#readToken(text, at, last)
    const opensValue = this.#grammar.inString && !this.#grammar.isName && kind === 'structure'
    if (opensValue) {
      this.#emit(kind, end - 1 - from)
      this.#openValue()
    } else this.#emit(kind, end - from)
    this.#readLine(text.slice(at, end))
    if (this.#grammar.inString) this.#startChild()
    else if (this.#isOver) this.#mode = 'prose'
    return end
  }

  get #structureKind(): 'structure' | 'text' {
    return this.#isSure && (this.#isDocument || !this.#grammar.isFresh) ? 'structure' : 'text'
  }

  /** Whether the last bracket is closed. */
  get #isOver(): boolean {
    return !this.#isDocument && this.#grammar.open.length === 0
  }

  /** Reads a number or a literal. Any other token ends the JSON. */
  #readToken(text: string, at: number, last: boolean): number {
    const { expectsValue, isInArray, open } = this.#grammar
    const token = expectsValue ? readToken(text, at, open.length > 0, last) : 'none'
    if (token === null) return INCOMPLETE
    if (token === 'none') return this.#leaveJson(text, at, last)
    this.#isAtLineStart = false
    this.#grammar.endValue()
    const isLiteral = token.kind === 'literal'
    this.#emit(this.#isSure ? (isLiteral ? 'structure' : 'number') : 'text', token.length)
    this.#isSure ||= isLiteral && isInArray
    return at + token.length
  }

  /** Leaves JSON at a character that cannot be JSON. */
  #leaveJson(text: string, at: number, last: boolean): number {
    const run = this.#grammar.isFresh ? countBackslashes(text, at) : 0
    if (run > 0 && at + run === text.length && run <= MAXIMUM_BACKSLASHES && !last) return INCOMPLETE
    const isEscaped = run > 0 && text[at + run] === '"'
    this.#mode = this.#isDocument || isEscaped ? 'escaped' : 'prose'
    if (this.#mode === 'prose') return at
    const child = this.#startChild()
    child.#isAtLineStart = false
    if (isEscaped) child.#begin(this.#grammar.open, false)
    return at
  }

  #readString(text: string, at: number, last: boolean): number {
    const some = matchAt(this.#isSure ? IN_STRING : IN_STRING_ON_LINE, text, at)
    if (some !== '') return this.#readBelow(at, this.#buffer.take(some.length))
    if (text[at] === '\\') return this.#readEscape(text, at, last)
    this.#child!.flush()
    if (text[at] !== '"') {
      // A line ends in the string, so the quote was part of a sentence.
      this.#mode = 'prose'
      return at
    }
    this.#isAtLineStart = false
    this.#grammar.accepts('"')
    this.#emit(this.#isSure ? 'structure' : 'text', 1)
    this.#isSure ||= this.#grammar.isInArray
    return at + 1
  }

  #readEscaped(text: string, at: number, last: boolean): number {
    const some = matchAt(this.#isDocument ? NOT_ESCAPE : IN_ESCAPED_JSON, text, at)
    if (some !== '') {
      const end = this.#readBelow(at, this.#buffer.take(some.length))
      if (!this.#isDocument && /[}\]]/.test(some) && this.#child!.#mode === 'prose') this.#mode = 'prose'
      return end
    }
    if (text[at] === '\\') return this.#readEscape(text, at, last)
    this.#child!.flush()
    this.#mode = 'prose'
    return at
  }

  /** Reads an escape of a string; a run of backslashes at once, or it takes quadratic time. */
  #readEscape(text: string, at: number, last: boolean): number {
    const pairs = countBackslashes(text, at) >> 1
    const read = pairs > 0 ? { view: '\\', length: 2 } : readEscape(text, at, last)
    if (read === null) return INCOMPLETE
    const spans: JsonSpan[] = []
    let end = at
    do {
      const taken = this.#buffer.take(read.length)
      end += read.length
      if (read.view === viewOf(taken)) spans.push(...taken)
      else spans.push({ kind: 'atom', view: read.view, raw: rawOf(taken), level: 0 })
    } while (end < at + 2 * pairs)
    this.#readBelow(at, spans)
    return end
  }

  /** Begins the text of a string. */
  #startChild(): TextLevel {
    if (this.#level === MAXIMUM_LEVELS) throw this.#tooDeep()
    this.#child ??= new TextLevel(this.#level + 1, false, this.#out, this.#tooDeep)
    this.#child.restart()
    return this.#child
  }

  /** Reads text of a string. @returns the offset after text without escapes */
  #readBelow(at: number, spans: readonly JsonSpan[]): number {
    const level = this.#level + 1
    this.#child!.read(spans.map(({ kind, view, raw }) => ({ kind, view, raw, level })))
    return at + viewOf(spans).length
  }

  /** Passes on the quote that opens a value. */
  #openValue(): void {
    const taken = this.#buffer.take(1)
    this.#quote = rawOf(taken)
    this.#out.push({
      kind: 'structure',
      view: '"',
      raw: this.#quote,
      level: taken[0]!.level,
      opensValue: true,
    })
  }

  #passText(at: number, length: number): number {
    for (const span of this.#buffer.take(length)) this.#out.push(span)
    return at + length
  }

  /** Passes on spans outside strings. */
  #emit(kind: 'text' | 'structure' | 'number', length: number): void {
    if (length === 0) return
    const taken = this.#buffer.take(length)
    if (kind === 'number') {
      const [view, raw] = [viewOf(taken), rawOf(taken)]
      this.#out.push({ kind, view, raw, level: this.#level, quote: this.#quote })
      return
    }
    for (const { view, raw, level, kind: written } of taken) {
      if (view === '"') this.#quote = raw
      this.#out.push({ kind: kind === 'text' ? written : kind, view, raw, level })
    }
  }
}
