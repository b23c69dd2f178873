// Separates the comments, strings, templates and code of a TypeScript file, in linear time. A slash
// begins a regular expression unless an operand precedes it. Knows nothing of types.

/** Text written for people. Each line break in it is a line break of the file. */
export interface Prose {
  /** Line of the first character, from 1. */
  readonly line: number
  readonly text: string
}

export interface SourceText {
  /** Comments without their markers; adjacent lines of `//` are one comment. */
  readonly comments: readonly Prose[]
  /** Contents of strings and templates as written; `…` replaces each `${}` and each escape. */
  readonly strings: readonly Prose[]
  /**
   * The file, as long as before: blanks replace comments, and `_` replaces the contents of strings
   * and templates and whole regular expressions.
   */
  readonly code: string
  /** Lines that hold a comment or a part of one, from 1. */
  readonly commentLines: readonly number[]
}

const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$]*|\d[\w.]*/uy
const REGEXP = /\/(?:[^\\/[\n]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*\])+\/[a-z]*/y
/** Words after which an expression begins. */
const BEFORE_EXPRESSION = new Set(
  'await case delete do else in instanceof new of return throw typeof void yield'.split(' '),
)
/** Words whose parentheses end without a value. */
const BEFORE_CONDITION = new Set(['if', 'while', 'for', 'with'])
const MARKERS = /^[ \t]*(?:\/\/+|\/\*+|\*(?!\/))?|\*\/[ \t]*$/g

interface Template {
  line: number
  text: string
  /** Braces open inside the `${}` being read. */
  braces: number
  /** Line of that `${`. */
  holeLine: number
}

/** Reads a file. Text that is no valid TypeScript is read as far as it can be. */
export function readSourceText(text: string): SourceText {
  return new Reader(text).read()
}

class Reader {
  readonly #text: string
  readonly #comments: { line: number; lastLine: number; column: number; text: string }[] = []
  readonly #strings: Prose[] = []
  readonly #commentLines: number[] = []
  readonly #code: string[] = []
  readonly #templates: Template[] = []
  /** For each open parenthesis, whether it follows a word of BEFORE_CONDITION. */
  readonly #conditions: boolean[] = []
  #at = 0
  #line = 1
  #lineStart = 0
  /** Whether the last token ends an operand, after which a slash divides. */
  #operand = false
  #word = ''

  constructor(text: string) {
    this.#text = text
  }

  read(): SourceText {
    const text = this.#text
    if (text.startsWith('#!')) this.#take(text.indexOf('\n') + 1 || text.length, ' ')
    while (this.#at < text.length) {
      const unit = text[this.#at]!
      const next = text[this.#at + 1]
      if (unit === '\n' || unit === ' ' || unit === '\t' || unit === '\r') this.#take(1)
      else if (unit === '/' && next === '/') this.#lineComment()
      else if (unit === '/' && next === '*') this.#blockComment()
      else if (unit === "'" || unit === '"') this.#string(unit)
      else if (unit === '`') this.#beginTemplate()
      else if (unit === '}' && this.#templates.at(-1)?.braces === 0) this.#resumeTemplate()
      else if (unit === '/' && !this.#operand && this.#match(REGEXP) > 0) this.#regexp()
      else if (this.#match(WORD) > 0) this.#takeWord()
      else this.#punctuation(unit)
    }
    return {
      comments: this.#comments.map(({ line, text }) => ({ line, text })),
      strings: this.#strings,
      code: this.#code.join(''),
      commentLines: this.#commentLines,
    }
  }

  /** Length of what the sticky expression matches here, or 0. */
  #match(expression: RegExp): number {
    expression.lastIndex = this.#at
    return expression.test(this.#text) ? expression.lastIndex - this.#at : 0
  }

  /** Consumes text. The code gets the text, or `fill` for each character except line breaks. */
  #take(length: number, fill?: string): string {
    const taken = this.#text.slice(this.#at, this.#at + length)
    this.#code.push(fill === undefined ? taken : taken.replace(/[^\n]/g, fill))
    for (let at = taken.indexOf('\n'); at >= 0; at = taken.indexOf('\n', at + 1)) {
      this.#line++
      this.#lineStart = this.#at + at + 1
    }
    this.#at += taken.length
    return taken
  }

  #lineComment(): void {
    const end = this.#text.indexOf('\n', this.#at)
    const column = this.#at - this.#lineStart
    const alone = this.#text.slice(this.#lineStart, this.#at).trim() === ''
    const line = this.#line
    const comment = this.#take((end < 0 ? this.#text.length : end) - this.#at, ' ').replace(MARKERS, '')
    const last = this.#comments.at(-1)
    this.#commentLines.push(line)
    if (alone && last?.column === column && last.lastLine === line - 1) {
      last.text += `\n${comment}`
      last.lastLine = line
    } else this.#comments.push({ line, lastLine: line, column: alone ? column : -1, text: comment })
  }

  #blockComment(): void {
    const end = this.#text.indexOf('*/', this.#at + 2)
    const line = this.#line
    const comment = this.#take((end < 0 ? this.#text.length : end + 2) - this.#at, ' ')
    const lines = comment.split('\n').map((one) => one.replace(MARKERS, ''))
    lines.forEach((_, index) => {
      this.#commentLines.push(line + index)
    })
    this.#comments.push({ line, lastLine: -1, column: -1, text: lines.join('\n') })
  }

  #string(quote: string): void {
    const line = this.#line
    let end = this.#at + 1
    while (end < this.#text.length && this.#text[end] !== quote && this.#text[end] !== '\n')
      end += this.#text[end] === '\\' ? 2 : 1
    this.#take(1)
    this.#strings.push({ line, text: withoutEscapes(this.#take(end - this.#at, '_')) })
    if (this.#text[this.#at] === quote) this.#take(1)
    this.#operand = true
  }

  #beginTemplate(): void {
    this.#templates.push({ line: this.#line, text: '', braces: 0, holeLine: 0 })
    this.#take(1)
    this.#templateText()
  }

  #resumeTemplate(): void {
    const template = this.#templates.at(-1)!
    this.#take(1)
    template.text += `…${'\n'.repeat(this.#line - template.holeLine)}`
    this.#templateText()
  }

  /** Reads up to the next `${` or the end of the template. */
  #templateText(): void {
    const template = this.#templates.at(-1)!
    const text = this.#text
    let end = this.#at
    while (end < text.length && text[end] !== '`' && !(text[end] === '$' && text[end + 1] === '{'))
      end += text[end] === '\\' ? 2 : 1
    template.text += withoutEscapes(this.#take(end - this.#at, '_'))
    template.holeLine = this.#line
    this.#operand = false
    if (text[this.#at] === '$') return void this.#take(2)
    this.#take(1)
    this.#templates.pop()
    this.#strings.push({ line: template.line, text: template.text })
    this.#operand = true
  }

  #regexp(): void {
    this.#take(this.#match(REGEXP), '_')
    this.#operand = true
  }

  #takeWord(): void {
    const property = this.#text[this.#at - 1] === '.'
    this.#word = this.#take(this.#match(WORD))
    this.#operand = property || !BEFORE_EXPRESSION.has(this.#word)
  }

  #punctuation(unit: string): void {
    const doubled = (unit === '+' || unit === '-') && this.#text[this.#at - 1] === unit
    const template = this.#templates.at(-1)
    if (unit === '(') this.#conditions.push(BEFORE_CONDITION.has(this.#word))
    if (unit === ')') this.#operand = !this.#conditions.pop()
    // After an operand, `!` asserts that the operand is not null.
    else if (unit !== '!') this.#operand = doubled || unit === ']' || unit === '}'
    if (template !== undefined && unit === '{') template.braces++
    if (template !== undefined && unit === '}') template.braces--
    this.#word = ''
    this.#take(1)
  }
}

const withoutEscapes = (text: string): string => text.replace(/\\[^\n]/g, '…')
