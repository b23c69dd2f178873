// Decodes JSON in a string that arrives in pieces, such as tool-call arguments, into spans. Text in
// it can be scanned and replaced while it stays valid JSON.

import { STEP_UNITS, type Steps } from '../core/steps.ts'

/**
 * A part of JSON text: decoded (`view`) and as written (`raw`).
 * - `text`: inside a string, or after the text stopped being JSON; view and raw are equal, and it
 *   may be cut anywhere
 * - `atom`: one escape sequence, or two for a surrogate pair; never cut
 * - `number`: a whole number token
 * - `structure`: punctuation, quotes, white space, true, false, null; never replaced
 */
export interface JsonSpan {
  readonly kind: 'text' | 'atom' | 'number' | 'structure'
  readonly view: string
  readonly raw: string
}

/** Longest token to wait for. No longer one is a number in practice, nor personal data. */
const MAX_TOKEN_CHARACTERS = 512

/** Most open containers. Text in deeper ones is not read as JSON. */
const MAX_DEPTH = 512

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

const PLAIN_IN_STRING = /[^"\\]+/y
const PLAIN_OUTSIDE = /[^\\]+/y
const TOKEN = /[-+.\w]+/y
/** RFC 8259 §6. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const LITERALS = ['true', 'false', 'null'] as const
const AFTER_VALUE = /[\s,\]}]/
const FULL_UNICODE_ESCAPE = /^\\u([0-9a-fA-F]{4})/

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

const structure = (raw: string): JsonSpan => ({ kind: 'structure', view: raw, raw })
const plain = (raw: string): JsonSpan => ({ kind: 'text', view: raw, raw })

/** What may come next outside strings; in `text`, anything. */
type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma or end' | 'text'

/**
 * Decodes any text. The spans joined are the text. However it is cut into pieces, the spans differ
 * only in where `text` and `structure` spans are cut.
 * Several JSON texts may follow each other. From the first character that cannot be JSON,
 * everything is `text`, punctuation included; escapes stay atoms. So a number in malformed
 * arguments, or in a sentence that begins with a bracket, is found and replaced as in plain text.
 */
export class JsonTextDecoder {
  #rest = ''
  #expected: Expected = 'value'
  /** Open containers, the innermost last. */
  #open: ('{' | '[')[] = []
  #inString = false
  /** True when the open string is a member name. */
  #isName = false

  /** Whether the beginning of a token is held back. */
  get holds(): boolean {
    return this.#rest !== ''
  }

  push(chunk: string): JsonSpan[] {
    return this.#decode(this.#rest + chunk, false)
  }

  /** Ends the text and flushes the text held back. */
  finish(): JsonSpan[] {
    const spans = this.#decode(this.#rest, true)
    this.#expected = 'value'
    this.#open = []
    this.#inString = false
    return spans
  }

  #decode(text: string, last: boolean): JsonSpan[] {
    const spans: JsonSpan[] = []
    let at = 0
    while (at < text.length) {
      const span = this.#next(text, at, last)
      if (span === null) break
      spans.push(span)
      at += span.raw.length
    }
    this.#rest = text.slice(at)
    return spans
  }

  /** Reads the span at an offset; null while it is incomplete. */
  #next(text: string, at: number, last: boolean): JsonSpan | null {
    if (this.#inString || this.#expected === 'text') {
      const some = matchAt(this.#inString ? PLAIN_IN_STRING : PLAIN_OUTSIDE, text, at)
      if (some !== '') return plain(some)
      if (text[at] === '\\') return readEscape(text.slice(at, at + MAX_ESCAPE_CHARACTERS), last)
    }
    let end = at
    while (end < text.length && this.#takesStructure(text[end]!)) {
      end++
      if (this.#inString) break
    }
    return end > at ? structure(text.slice(at, end)) : this.#token(text, at, last)
  }

  /** Accepts white space, or punctuation that is valid here. */
  #takesStructure(character: string): boolean {
    switch (character) {
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        return true
      case '"':
        return this.#takesQuote()
      case '{':
      case '[':
        return this.#opens(character)
      case '}':
        return this.#closes('{', 'name or }')
      case ']':
        return this.#closes('[', 'value or ]')
      case ',':
        if (this.#expected !== 'comma or end') return false
        this.#expected = this.#open.at(-1) === '{' ? 'name' : 'value'
        return true
      case ':':
        if (this.#expected !== 'colon') return false
        this.#expected = 'value'
        return true
      default:
        return false
    }
  }

  #takesQuote(): boolean {
    if (this.#inString) {
      this.#inString = false
      if (this.#isName) this.#expected = 'colon'
      else this.#endValue()
      return true
    }
    this.#isName = this.#expected === 'name' || this.#expected === 'name or }'
    this.#inString = this.#isName || this.#expectsValue
    return this.#inString
  }

  #opens(bracket: '{' | '['): boolean {
    if (!this.#expectsValue || this.#open.length === MAX_DEPTH) return false
    this.#open.push(bracket)
    this.#expected = bracket === '{' ? 'name or }' : 'value or ]'
    return true
  }

  #closes(bracket: '{' | '[', whenEmpty: Expected): boolean {
    if (this.#open.at(-1) !== bracket) return false
    if (this.#expected !== 'comma or end' && this.#expected !== whenEmpty) return false
    this.#open.pop()
    this.#endValue()
    return true
  }

  get #expectsValue(): boolean {
    return this.#expected === 'value' || this.#expected === 'value or ]'
  }

  #endValue(): void {
    this.#expected = this.#open.length > 0 ? 'comma or end' : 'value'
  }

  /** Reads a number or a literal. Any other token ends the JSON. */
  #token(text: string, at: number, last: boolean): JsonSpan | null {
    const token = matchAt(TOKEN, text, at)
    const follower = text[at + token.length]
    if (this.#expectsValue && token.length <= MAX_TOKEN_CHARACTERS && /^[-\dtfn]/.test(token)) {
      const complete = last || follower !== undefined
      if (!complete) return null
      const isLiteral = LITERALS.some((literal) => literal === token)
      if ((isLiteral || NUMBER.test(token)) && (follower === undefined || AFTER_VALUE.test(follower))) {
        this.#endValue()
        return isLiteral ? structure(token) : { kind: 'number', view: token, raw: token }
      }
    }
    this.#expected = 'text'
    return this.#next(text, at, last)
  }
}

/** Decodes a whole text, in steps. */
export function* decodeSteps(text: string): Steps<readonly JsonSpan[]> {
  const decoder = new JsonTextDecoder()
  const spans: JsonSpan[] = []
  for (let at = 0; at < text.length; at += STEP_UNITS) {
    if (at > 0) yield
    for (const span of decoder.push(text.slice(at, at + STEP_UNITS))) spans.push(span)
  }
  for (const span of decoder.finish()) spans.push(span)
  return spans
}

/** Returns the view of a whole text, in steps. Reads an escape anywhere as one. */
export function* decodeEscapes(text: string): Steps<string> {
  let at = text.indexOf('\\')
  if (at < 0) return text
  let view = ''
  let from = 0
  let pause = at + STEP_UNITS
  for (; at >= 0; at = text.indexOf('\\', from)) {
    if (at >= pause) {
      yield
      pause = at + STEP_UNITS
    }
    view += text.slice(from, at)
    const simple = ESCAPES[text[at + 1] ?? '']
    if (simple === undefined) {
      const span = readEscape(text.slice(at, at + MAX_ESCAPE_CHARACTERS), true)!
      view += span.view
      from = at + span.raw.length
    } else {
      view += simple
      from = at + 2
    }
  }
  return view + text.slice(from)
}

/** Length of a surrogate pair, two `\uXXXX`. */
const MAX_ESCAPE_CHARACTERS = 12

/** Reads the escape at the start of `text`; null while it is incomplete. */
function readEscape(text: string, last: boolean): JsonSpan | null {
  const letter = text[1]
  if (letter === undefined) return last ? { kind: 'text', view: '\\', raw: '\\' } : null
  if (letter !== 'u') {
    const raw = text.slice(0, 2)
    return { kind: 'atom', view: ESCAPES[letter] ?? raw, raw }
  }
  const first = FULL_UNICODE_ESCAPE.exec(text)
  if (first === null) {
    // Either more follows or it was never an escape.
    const hopeless = last || !/^\\u[0-9a-fA-F]{0,3}$/.test(text)
    return hopeless ? { kind: 'atom', view: '\\u', raw: '\\u' } : null
  }
  const code = Number.parseInt(first[1]!, 16)
  if (code < 0xd800 || code > 0xdbff) return { kind: 'atom', view: String.fromCharCode(code), raw: first[0] }
  const rest = text.slice(first[0].length)
  const second = FULL_UNICODE_ESCAPE.exec(rest)
  if (second === null && !last && /^(?:\\(?:u[0-9a-fA-F]{0,3})?)?$/.test(rest)) return null
  const low = second === null ? Number.NaN : Number.parseInt(second[1]!, 16)
  const isPair = low >= 0xdc00 && low <= 0xdfff
  // The view of half a surrogate pair is the replacement character; its raw text stays.
  return isPair
    ? { kind: 'atom', view: String.fromCharCode(code, low), raw: first[0] + second![0] }
    : { kind: 'atom', view: '\uFFFD', raw: first[0] }
}
