// Finds private keys in PEM (RFC 7468) and OpenPGP armour (RFC 9580 §6.2), from BEGIN to END across
// line ends.

import { GREATER_THAN, LINE_FEED } from '../../core/ascii.ts'
import { codeAt, matchesAt } from './code-unit-classes.ts'

/** A range of a text: UTF-16 offsets, end exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

export const KEY_BEGIN = '-----BEGIN '
export const KEY_END = '-----END '

/** A line of a key, including characters added by quoting, indentation and diffs. */
const KEY_LINE = /^[A-Za-z0-9+/=:,.\s<>|"'\\#*()@-]*$/
const MAXIMUM_KEY_LINE = 4096
const KEY_HEADER = /-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----/g
const KEY_HEADER_HERE = new RegExp(KEY_HEADER, 'y')
const KEY_FOOTER = /-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----/
const KEY_BODY = /[A-Za-z0-9+/=:,.\s<>|"'\\#*()@-]*/y
/** A text with a shorter body only mentions keys. */
const MIN_BODY = 40

/** Reports whether the header of a private key starts at an offset. */
export const isKeyHeader = (text: string, at: number): boolean => matchesAt(KEY_HEADER_HERE, text, at)

/**
 * Reports whether a key that began in the segment is still open at `end`, where a line ends.
 * Only the last line is read: had an earlier one closed the key, the segment would have ended
 * there.
 */
export function isInsideKey(text: string, start: number, end: number): boolean {
  // Search the segment only: searching the whole text for every line would take quadratic time.
  const line = start + text.slice(start, end).lastIndexOf('\n') + 1
  const last = text.slice(line, Math.min(end, line + MAXIMUM_KEY_LINE))
  const begin = last.lastIndexOf(KEY_BEGIN)
  if (begin >= 0) return !last.includes(KEY_END, begin)
  return line > start && !last.includes(KEY_END) && KEY_LINE.test(last)
}

/** Reports whether a line of a key may end at `end`: at a line end or after `<br>`. */
export function mayEndKeyLine(text: string, end: number): boolean {
  const last = codeAt(text, end - 1)
  return last === LINE_FEED || (last === GREATER_THAN && /<br ?\/?>$/i.test(text.slice(end - 6, end)))
}

/** A line that consists of key material only. */
const BARE_LINE = /^[A-Za-z0-9+/]{16,}={0,2}$/

/** Reports whether a found key lacks its END line. */
export const isOpenKey = (value: string): boolean => value.startsWith(KEY_BEGIN) && !value.includes(KEY_END)

export interface KeyRest {
  /** End of the rest in the text; 0 if the text does not continue the key. */
  readonly end: number
  /** Reports whether the key ends there. */
  readonly isOver: boolean
}

/**
 * Returns the rest of a key that began in a previous text: up to its END line, or the whole text if
 * it consists of key material only.
 */
export function restOfKey(text: string): KeyRest {
  KEY_BODY.lastIndex = 0
  const footer = KEY_FOOTER.exec(KEY_BODY.exec(text)?.[0] ?? '')
  if (footer !== null) return { end: footer.index + footer[0].length, isOver: true }
  const lines = text.split('\n').map((line) => line.trim())
  const isBare =
    lines.every((line) => line === '' || BARE_LINE.test(line)) && lines.some((line) => line !== '')
  return { end: isBare ? text.length : 0, isOver: false }
}

/** Yields the keys of a segment, up to END or as far as the text looks like a key. */
export function* keyBlocks(text: string, from: number): Generator<Span> {
  KEY_HEADER.lastIndex = from
  for (let header = KEY_HEADER.exec(text); header !== null; header = KEY_HEADER.exec(text)) {
    const bodyStart = header.index + header[0].length
    KEY_BODY.lastIndex = bodyStart
    const rest = KEY_BODY.exec(text)?.[0] ?? ''
    const footer = KEY_FOOTER.exec(rest)
    const body = footer === null ? rest.trimEnd() : rest.slice(0, footer.index)
    const end = bodyStart + body.length + (footer?.[0].length ?? 0)
    KEY_HEADER.lastIndex = end
    if (body.replace(/[^A-Za-z0-9+/]/g, '').length >= MIN_BODY) yield { start: header.index, end }
  }
}
