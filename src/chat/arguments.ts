// JSON inside a string, arriving in pieces: the arguments of a tool call. Splits it into runs, so that what it says
// can be scanned and replaced while how it is written stays valid JSON.

/**
 * A piece of JSON text: what it says (`view`) and how it is written (`raw`).
 * - `text`: inside a string, or where no JSON could stand: view and raw are the same and it may be cut anywhere
 * - `atom`: one escape sequence, a surrogate pair counting as one; stands or falls whole
 * - `number`: a whole number token
 * - `structure`: punctuation, quotes, white space, true, false, null
 */
export interface Run {
  readonly kind: 'text' | 'atom' | 'number' | 'structure'
  readonly view: string
  readonly raw: string
}

/** Longest token that is waited for; a longer one is let go of as text. No datum is a number of this length. */
const MAX_TOKEN_CHARACTERS = 512

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
const STRUCTURE = /[\s{}[\],:]+/y
const NUMBER = /[-+.0-9eE]+/y
const WORD = /(?:true|false|null)/y
/** Anything else outside a string: not JSON, and so not protected as JSON. */
const STRAY = /[^\s{}[\],:"\-+.0-9]+/y
const FULL_UNICODE_ESCAPE = /^\\u([0-9a-fA-F]{4})/

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

/**
 * Feeds on any text. The runs put together are the text, and for every way to cut it into pieces the runs are the
 * same but for where a `text` or `structure` run is cut.
 */
export class JsonTextDecoder {
  #rest = ''
  #inString = false
  /** Within a token that grew too long: its kind of characters, until another comes. */
  #longToken: RegExp | null = null

  push(chunk: string): Run[] {
    return this.#decode(this.#rest + chunk, false)
  }

  /** Nothing more comes: what was waited for is let go. */
  finish(): Run[] {
    const runs = this.#decode(this.#rest, true)
    this.#inString = false
    this.#longToken = null
    return runs
  }

  #decode(text: string, last: boolean): Run[] {
    const runs: Run[] = []
    let at = 0
    while (at < text.length) {
      const run = this.#inString ? this.#stringRun(text, at, last) : this.#outerRun(text, at, last)
      if (run === null) break
      runs.push(run)
      at += run.raw.length
    }
    this.#rest = text.slice(at)
    return runs
  }

  #stringRun(text: string, at: number, last: boolean): Run | null {
    const plain = matchAt(PLAIN_IN_STRING, text, at)
    if (plain !== '') return { kind: 'text', view: plain, raw: plain }
    if (text[at] === '"') {
      this.#inString = false
      return { kind: 'structure', view: '"', raw: '"' }
    }
    return readEscape(text.slice(at, at + MAX_ESCAPE_CHARACTERS), last)
  }

  #outerRun(text: string, at: number, last: boolean): Run | null {
    if (this.#longToken !== null) {
      const more = matchAt(this.#longToken, text, at)
      if (more !== '') return { kind: 'text', view: more, raw: more }
      this.#longToken = null
    }
    if (text[at] === '"') {
      this.#inString = true
      return { kind: 'structure', view: '"', raw: '"' }
    }
    const structure = matchAt(STRUCTURE, text, at)
    if (structure !== '') return { kind: 'structure', view: structure, raw: structure }
    const number = matchAt(NUMBER, text, at)
    const token = number === '' ? matchAt(STRAY, text, at) : number
    const complete = last || at + token.length < text.length
    if (!complete && token.length <= MAX_TOKEN_CHARACTERS) return null
    if (token.length > MAX_TOKEN_CHARACTERS) this.#longToken = number === '' ? STRAY : NUMBER
    else if (number !== '') return { kind: 'number', view: number, raw: number }
    if (matchAt(WORD, token, 0) === token) return { kind: 'structure', view: token, raw: token }
    return { kind: 'text', view: token, raw: token }
  }
}

/** Two `\uXXXX` of a surrogate pair. */
const MAX_ESCAPE_CHARACTERS = 12

/** The escape at the beginning of `text`, null while it is not all there. */
function readEscape(text: string, last: boolean): Run | null {
  const letter = text[1]
  if (letter === undefined) return last ? { kind: 'text', view: '\\', raw: '\\' } : null
  if (letter !== 'u') {
    const raw = text.slice(0, 2)
    return { kind: 'atom', view: ESCAPES[letter] ?? raw, raw }
  }
  const first = FULL_UNICODE_ESCAPE.exec(text)
  if (first === null) {
    // Either more is to come or it never was an escape.
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
  // Half a pair alone has no meaning; it is shown as the replacement character and kept as written.
  return isPair
    ? { kind: 'atom', view: String.fromCharCode(code, low), raw: first[0] + second![0] }
    : { kind: 'atom', view: '\uFFFD', raw: first[0] }
}
