// Recognises the header of a table: names of columns between separators, one of which says that its
// values are personal.

import { ASCII_END, isAlphanumeric, isDigit, LINE_FEED, VERTICAL_BAR } from '../../core/ascii.ts'
import { isBirthLabel } from './birthdate.ts'
import { isDocumentLabel } from './documents.ts'
import { CONTEXT_CHARACTERS } from './engine/segmenter.ts'
import { mayBePersonalLabel } from './nationalid/nationalid.ts'
import { ContextWords } from './words/context.ts'
import { toWords } from './words/label.ts'

/** Longest line that may be a header. */
export const MAXIMUM_HEADER = 1024
const MAXIMUM_COLUMNS = 64
/** Longest name of a column. */
export const MAXIMUM_NAME = 40
/** A name with more digits is a value. */
const MAXIMUM_DIGITS = 2

/** Classes of the characters of a header; 0 for others. */
const LETTER = 1
const DIGIT = 2
const SIGN = 3
const SEPARATOR = 4
/** A sign that may begin a line. */
const OPENING = 5
const CLASSES = new Uint8Array(ASCII_END)
for (let code = 0; code < ASCII_END; code++)
  if (isAlphanumeric(code)) CLASSES[code] = isDigit(code) ? DIGIT : LETTER
for (const sign of " -./()'\r") CLASSES[sign.charCodeAt(0)] = SIGN
for (const sign of '_"`#*') CLASSES[sign.charCodeAt(0)] = OPENING
for (const sign of ',;\t|') CLASSES[sign.charCodeAt(0)] = SEPARATOR
const classOf = (code: number): number => (code < ASCII_END ? CLASSES[code]! : LETTER)

/** The header of a table. */
export interface TableHeader {
  /** Code unit. */
  readonly separator: number
  /** For each column, what is written before its cells; empty for most. */
  readonly labels: readonly string[]
}

/** Reports whether the first character of a line may be that of a header. */
export function mayStartHeader(code: number): boolean {
  const found = classOf(code)
  return found === LETTER || found === OPENING || code === VERTICAL_BAR
}

/**
 * Prefilter: where the line ends that starts at an offset, if it consists of short names between
 * equal separators and if a line follows; -1 otherwise. Most lines fail at their first characters.
 * @param start of a character of `mayStartHeader`
 */
export function endOfNames(text: string, start: number): number {
  let separator = 0
  let name = 0
  let digits = 0
  const limit = Math.min(text.length, start + MAXIMUM_HEADER)
  for (let at = start; at < limit; at++) {
    const code = text.charCodeAt(at)
    const found = classOf(code)
    if (found === LETTER || found === OPENING || found === SIGN) {
      if (++name > MAXIMUM_NAME) return -1
    } else if (found === DIGIT) {
      if (++digits > MAXIMUM_DIGITS || ++name > MAXIMUM_NAME) return -1
    } else if (found === SEPARATOR) {
      separator ||= code
      if (code !== separator) return -1
      name = 0
      digits = 0
    } else return code === LINE_FEED && separator !== 0 ? at : -1
  }
  return -1
}

/** Prefilter: reports whether the first characters of a line may be those of a header. */
export function beginsWithNames(line: string): boolean {
  for (let at = 0; at <= MAXIMUM_NAME; at++) {
    const found = classOf(line.charCodeAt(at))
    if (found === 0) return false
    if (found === SEPARATOR) return true
  }
  return false
}

const NOT_IN_LABEL = /[^\p{L}\p{M}_./-]/gu
const QUOTES = /["'`*#]/g
const NAME_START = /^[A-Za-z\x80-\uffff_"`#*]/
const ANY_SEPARATOR = /[,;\t|]/

/** Reads a line of names, see `endOfNames`; null without a column of personal values. */
export function tableHeader(line: string): TableHeader | null {
  const separator = ANY_SEPARATOR.exec(line)?.[0]
  if (separator === undefined) return null
  const names = line.split(separator)
  // Only a Markdown table has separators at its sides, and spaces after them; prose has commas.
  if (separator !== '|' && !names.every((name, index) => index === 0 || NAME_START.test(name))) return null
  const labels = columnLabels(names)
  return labels === null ? null : { separator: separator.charCodeAt(0), labels }
}

/** Written before a cell for which the label of the cell before does not count. */
const OTHER = 'index: '

/**
 * The labels of columns by their names: of those with personal values, and one for the column after
 * them. Null without personal values.
 */
export function columnLabels(names: readonly string[]): readonly string[] | null {
  if (names.length > MAXIMUM_COLUMNS) return null
  const labels = names.map(labelOf)
  if (labels.every((label) => label === '')) return null
  return labels.map((label, index) => (label === '' && index > 0 && labels[index - 1] !== '' ? OTHER : label))
}

function labelOf(column: string): string {
  const name = column.replace(QUOTES, '').trim()
  return isPersonalLabel(name) ? `${name.replace(NOT_IN_LABEL, ' ')}: ` : ''
}

/** Words for a phone number that are not words for a call. */
const PHONE =
  /phone|tele?f|t[eé]l[eé]fon|mobil|m[oó]vil|celul|\b(?:cell|tel|fax|handy|gsm|msisdn)\b|rufnummer|whatsapp|電話|电话|手机|手機|전화|тел|τηλ/

/** Reports whether a name is that of values which count only after it. */
function isPersonalLabel(name: string): boolean {
  if (name === '' || name.length > MAXIMUM_NAME) return false
  const words = `${toWords(name)}: `
  if (isPhoneLabel(words) || isBirthLabel(words) || isDocumentLabel(words) || mayBePersonalLabel(words))
    return true
  const { card, ssn } = new ContextWords(name).before(name.length)
  return Math.min(card, ssn) <= CONTEXT_CHARACTERS
}

/** Reports whether a label is that of a phone number. */
export const isPhoneLabel = (words: string): boolean => PHONE.test(words)
