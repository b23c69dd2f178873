// Writes the name of a column before the cells of a table whose values count only after a word:
// below `name,dob` the cell `1990-05-12` becomes `dob: 1990-05-12`. Only the header of one table is
// remembered.

import {
  APOSTROPHE,
  CASE_BIT,
  CLOSE_PAREN,
  COMMA,
  DIGIT_0,
  LINE_FEED,
  LOWER_S,
  OPEN_PAREN,
  PLUS,
  QUOTE,
} from '../../core/ascii.ts'
import { isBirthLabel } from './birthdate.ts'
import { codeAt, isSpace } from './code-unit-classes.ts'
import { OffsetMap } from './offset-map.ts'
import {
  beginsWithNames,
  columnLabels,
  endOfNames,
  isPhoneLabel,
  MAXIMUM_HEADER,
  MAXIMUM_NAME,
  mayStartHeader,
  type TableHeader,
  tableHeader,
} from './table-header.ts'

/** A statement of SQL up to its rows. */
const INSERT_BEFORE =
  /\b(?:INTO|into)\s+[\w.`"[\]]{1,80}\s*\(([^()]{1,1024})\)\s{0,8}(?:VALUES|values)\s{0,8}$/
const VALUES_BEFORE = /(?:VALUES|values)\s{0,8}$/
/** Characters of VALUES_BEFORE. */
const MAXIMUM_VALUES = 16
/** Characters of INSERT_BEFORE that are read. */
const MAXIMUM_STATEMENT = 1200

/** The same before they are cut to MAXIMUM_STATEMENT: cutting costs more than keeping. */
const MAXIMUM_RECENT = 4096

/** Rows of numbers only are not about people, unless they have dates of birth. */
const NOT_ONLY_NUMBERS = /\p{L}|---/u

/** The table that the text is in. */
interface Table extends TableHeader {
  /** Whether rows are in brackets and texts in apostrophes. */
  readonly isSql: boolean
}

/** Reports whether `TableLabels` writes a name. Plain text costs little. */
export function mayHoldTable(text: string): boolean {
  const mayHaveHeader = text.includes('\n') && BEFORE_NAME.test(text)
  if (mayHaveHeader && SEPARATORS.some((separator) => hasHeader(text, separator))) return true
  return text.includes('(') && (hasRowsAfter(text, 'VALUES') || hasRowsAfter(text, 'values'))
}

/** A separator that a name may follow, see `hasHeader`. */
const BEFORE_NAME = /[,;\t][^ \t\r\n\d]|\|/
const SEPARATORS = [',', ';', '\t', '|']

/**
 * Reports whether a line is a header with a separator. Reads lines with a name after one, or with a
 * vertical bar.
 */
function hasHeader(text: string, separator: string): boolean {
  for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at)) {
    at++
    if (separator !== '|' && !mayStartHeader(codeAt(text, at))) continue
    const start = text.lastIndexOf('\n', at - 1) + 1
    const end = mayStartHeader(codeAt(text, start)) ? endOfNames(text, start) : -1
    if (end >= 0 && tableHeader(text.slice(start, end)) !== null) return true
    // The line has no other header.
    at = text.indexOf('\n', at)
    if (at < 0) return false
  }
  return false
}

/** Reports whether rows of SQL with labels follow one of the words. */
function hasRowsAfter(text: string, values: string): boolean {
  for (let at = text.indexOf(values); at >= 0; at = text.indexOf(values, at + 1)) {
    let open = at + values.length
    while (open - at < MAXIMUM_VALUES && isSpace(codeAt(text, open))) open++
    const isBefore = codeAt(text, open) === OPEN_PAREN
    if (isBefore && labelsBefore(text.slice(Math.max(0, open - MAXIMUM_STATEMENT), open)) !== null)
      return true
  }
  return false
}

/** The labels of the columns of SQL at the end of a text. */
function labelsBefore(statement: string): readonly string[] | null {
  if (!VALUES_BEFORE.test(statement.slice(-MAXIMUM_VALUES))) return null
  const columns = INSERT_BEFORE.exec(statement)?.[1]
  return columns === undefined ? null : columnLabels(columns.split(','))
}

/** Prefilter: reports whether the word `values` may end before an offset, or before the chunk. */
function mayBeAfterValues(chunk: string, at: number): boolean {
  let end = at
  while (end > 0 && at - end < MAXIMUM_VALUES && isSpace(chunk.charCodeAt(end - 1))) end--
  return end === 0 || (chunk.charCodeAt(end - 1) | CASE_BIT) === LOWER_S
}

/**
 * Whether a cell may be a phone number rather than a count: with the sign or the zero of one, or in
 * quotes.
 */
const mayStartPhone = (code: number): boolean =>
  code === PLUS || code === DIGIT_0 || code === OPEN_PAREN || code === QUOTE || code === APOSTROPHE

/** The cells of a row. */
function countCells(row: string, separator: number): number {
  let cells = 1
  let isQuoted = false
  let isStart = true
  for (let at = 0; at < row.length; at++) {
    const code = row.charCodeAt(at)
    if (code === QUOTE && (isStart || isQuoted)) isQuoted = !isQuoted
    isStart = code === separator && !isQuoted
    if (isStart) cells++
  }
  return cells
}

export class TableLabels {
  /** Offsets in what `push` returns. */
  readonly map = new OffsetMap()
  /** Characters returned so far. */
  #length = 0
  /** The last characters taken, at least MAXIMUM_STATEMENT and at most MAXIMUM_RECENT. */
  #recent = ''
  /** The header of a table whose first row is not complete. */
  #header: TableHeader | null = null
  /** The first row so far; at most MAXIMUM_HEADER characters. */
  #held = ''
  #table: Table | null = null
  /** The line so far, while it may be a header; null otherwise. */
  #line: string | null = ''
  #column = 0
  /** Whether no character of the cell has been read. */
  #isCellStart = false
  #isQuoted = false
  /** Open brackets in the rows of SQL. */
  #depth = 0

  /** Takes a chunk; returns what is decided, with the names of columns. */
  push(chunk: string): string {
    const isInTable = this.#table !== null || this.#header !== null
    if (isInTable || chunk.includes('\n') || chunk.includes('(')) return this.#read(chunk, false)
    this.#addToLine(chunk)
    this.#length += chunk.length
    this.#remember(chunk)
    return chunk
  }

  /** Ends the text; returns what is left of it. */
  finish(): string {
    return this.#held === '' ? '' : this.#read('', true)
  }

  #remember(text: string): void {
    this.#recent += text
    if (this.#recent.length > MAXIMUM_RECENT) this.#recent = this.#recent.slice(-MAXIMUM_STATEMENT)
  }

  #read(chunk: string, last: boolean): string {
    const text = this.#held + chunk
    let out = ''
    let at = 0
    while (at < text.length) {
      if (this.#header !== null && !this.#readFirstRow(text, at, last)) break
      const next = this.#table === null ? this.#readText(text, at) : at
      out += text.slice(at, next)
      this.#length += next - at
      at = next
      for (; at < text.length && this.#table !== null; at++) out += this.#readRow(text, at, this.#table)
    }
    this.#held = text.slice(at)
    this.#remember(text.slice(0, at))
    return out
  }

  /**
   * Begins a table if the line after its header has as many cells.
   * @returns false while later text decides
   */
  #readFirstRow(text: string, at: number, last: boolean): boolean {
    const lineEnd = text.indexOf('\n', at)
    if (lineEnd < 0 && !last && text.length - at <= MAXIMUM_HEADER) return false
    const row = text.slice(at, Math.min(lineEnd < 0 ? text.length : lineEnd, at + MAXIMUM_HEADER + 1))
    const header = this.#header!
    const isRow =
      row.length <= MAXIMUM_HEADER &&
      countCells(row, header.separator) === header.labels.length &&
      (NOT_ONLY_NUMBERS.test(row) || header.labels.some(isBirthLabel))
    this.#table = isRow ? { ...header, isSql: false } : null
    this.#header = null
    this.#line = ''
    this.#beginRow()
    return true
  }

  /** Reads a character of a table. Returns it with the label before it. */
  #readRow(text: string, at: number, table: Table): string {
    const code = text.charCodeAt(at)
    const label = table.isSql ? this.#readSql(code, table) : this.#readCell(code, table)
    if (label !== '') this.map.add(this.#length, label.length)
    this.#length += label.length + 1
    return label + text.charAt(at)
  }

  /** Reads on to the first row of a table, or the end of the text. Returns where. */
  #readText(chunk: string, from: number): number {
    for (let at = from; at < chunk.length; ) {
      const lineEnd = chunk.indexOf('\n', at)
      const end = lineEnd < 0 ? chunk.length : lineEnd
      const row = this.#rowOfSql(chunk, at, end)
      if (row >= 0) return row
      this.#addToLine(at === 0 && end === chunk.length ? chunk : chunk.slice(at, end))
      if (lineEnd < 0) return chunk.length
      at = lineEnd + 1
      if (this.#line !== null && this.#begin(this.#line)) return at
      this.#line = ''
    }
    return chunk.length
  }

  #addToLine(text: string): void {
    if (this.#line === null || text === '') return
    if (this.#line === '' && !mayStartHeader(text.charCodeAt(0))) {
      this.#line = null
      return
    }
    const line = this.#line + text
    const isLong = line.length > MAXIMUM_NAME && this.#line.length <= MAXIMUM_NAME
    this.#line = line.length >= MAXIMUM_HEADER || (isLong && !beginsWithNames(line)) ? null : line
  }

  /** Remembers a line that is the header of a table. */
  #begin(line: string): boolean {
    const isNames = line.length < MAXIMUM_HEADER && endOfNames(`${line}\n`, 0) >= 0
    const header = isNames ? tableHeader(line) : null
    if (header === null) return false
    this.#header = header
    return true
  }

  #beginRow(): void {
    this.#column = 0
    this.#isCellStart = true
    this.#isQuoted = false
  }

  /** Begins a table at the first bracket in [from, to) after the columns of SQL; -1 without one. */
  #rowOfSql(chunk: string, from: number, to: number): number {
    for (let at = chunk.indexOf('(', from); at >= 0 && at < to; at = chunk.indexOf('(', at + 1)) {
      if (!mayBeAfterValues(chunk, at)) continue
      const labels = labelsBefore(this.#before(chunk, at))
      if (labels === null) continue
      this.#table = { separator: COMMA, labels, isSql: true }
      this.#depth = 0
      this.#line = null
      return at
    }
    return -1
  }

  /** The last characters before an offset. */
  #before(chunk: string, at: number): string {
    return at >= MAXIMUM_STATEMENT
      ? chunk.slice(at - MAXIMUM_STATEMENT, at)
      : (this.#recent.slice(-MAXIMUM_STATEMENT) + chunk.slice(0, at)).slice(-MAXIMUM_STATEMENT)
  }

  /** Reads a character of a row. Returns the label to write before it. */
  #readCell(code: number, { separator, labels }: Table): string {
    if (code === LINE_FEED) {
      const isRow = !(this.#column === 0 && this.#isCellStart) && this.#column === labels.length - 1
      if (!isRow) this.#end('')
      this.#beginRow()
      return ''
    }
    if (code === separator && !this.#isQuoted) return this.#nextCell()
    if (code === QUOTE && (this.#isCellStart || this.#isQuoted)) this.#isQuoted = !this.#isQuoted
    return this.#labelAt(code, labels)
  }

  #nextCell(): string {
    this.#column++
    this.#isCellStart = true
    return ''
  }

  #labelAt(code: number, labels: readonly string[]): string {
    if (!this.#isCellStart || isSpace(code)) return ''
    this.#isCellStart = false
    const label = labels[this.#column] ?? ''
    return isPhoneLabel(label) && !mayStartPhone(code) ? '' : label
  }

  /** The same for the rows of SQL: `('Jo', '1990-05-12'), (…)`. */
  #readSql(code: number, { labels }: Table): string {
    if (this.#isQuoted) {
      if (code === APOSTROPHE) this.#isQuoted = false
      return ''
    }
    if (code === OPEN_PAREN && this.#depth++ === 0) {
      this.#beginRow()
      return ''
    }
    if (code === CLOSE_PAREN) this.#depth--
    else if (this.#depth === 0 && code !== COMMA && !isSpace(code)) this.#end(null)
    else if (this.#depth === 1 && code === COMMA) return this.#nextCell()
    else if (this.#depth > 0) {
      this.#isQuoted = code === APOSTROPHE
      return this.#labelAt(code, labels)
    }
    return ''
  }

  /** @param line the line so far */
  #end(line: string | null): void {
    this.#table = null
    this.#line = line
  }
}
