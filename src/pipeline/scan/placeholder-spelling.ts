// Reads and writes the escaped spellings of placeholders: Markdown `\[EMAIL\_1\]`, percent-encoding
// `%5BEMAIL_1%5D`, HTML `&#91;EMAIL_1&#93;` and quoted-printable `=5BEMAIL_1=5D`. JSON escapes are
// decoded before.

import { escapeForJson } from '../../chat/inner-json/json-span.ts'

/** How a placeholder is escaped. A value in its place is escaped in the same way. */
export type Escaping =
  | 'markdown'
  | 'markdown in json'
  | 'percent'
  | 'percent twice'
  | 'html'
  | 'quoted-printable'

/** One character of a placeholder, as written. */
export interface Spelling {
  readonly character: string
  /** Null for a character written as itself. */
  readonly escaping: Escaping | null
}

const HTML_NAMES: Readonly<Record<string, readonly string[]>> = {
  '[': ['lbrack', 'lsqb'],
  ']': ['rbrack', 'rsqb'],
  _: ['lowbar', 'UnderBar'],
}

/** Spellings of one character besides itself. */
function* spellingsOf(character: string): Generator<[written: string, escaping: Escaping]> {
  const code = character.charCodeAt(0)
  const upper = code.toString(16).toUpperCase()
  yield [`\\${character}`, 'markdown']
  yield [`\\\\${character}`, 'markdown in json']
  for (const name of HTML_NAMES[character]!) yield [`&${name};`, 'html']
  for (const zeros of ['', '0', '00']) yield [`&#${zeros}${code};`, 'html']
  yield [`=${upper}`, 'quoted-printable']
  for (const hex of new Set([upper, upper.toLowerCase()])) {
    yield [`%${hex}`, 'percent']
    yield [`%25${hex}`, 'percent twice']
    for (const zeros of ['', '00']) yield [`&#x${zeros}${hex};`, 'html']
    for (const zeros of ['', '00']) yield [`&#X${zeros}${hex};`, 'html']
  }
}

const SPELLINGS = new Map<string, Spelling>()
/** Beginnings of escaped spellings. */
const BEGINNINGS = new Set<string>()

for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789[]_')
  SPELLINGS.set(character, { character, escaping: null })
for (const character of '[]_') {
  for (const [written, escaping] of spellingsOf(character)) {
    SPELLINGS.set(written, { character, escaping })
    for (let length = 1; length < written.length; length++) BEGINNINGS.add(written.slice(0, length))
  }
}

/** Returns the character that a text spells; null when it spells none. */
export const readSpelling = (written: string): Spelling | null => SPELLINGS.get(written) ?? null

/** Reports whether a text is the beginning of an escaped character. */
export const beginsSpelling = (written: string): boolean => BEGINNINGS.has(written)

/** Finds the characters a placeholder may begin with. */
export const FIRST_CHARACTER = /[[\\%&=]/g

const ESCAPED = /[\\%&=]/
const ANY_SPELLING = new RegExp(
  [...SPELLINGS]
    .flatMap(([written, { escaping }]) => (escaping === null ? [] : [written]))
    .sort((one, other) => other.length - one.length)
    .map((written) => written.replace(/[\\[\]]/g, '\\$&'))
    .join('|'),
  'g',
)
const OPENING = new RegExp(
  ['\\[', ...[...spellingsOf('[')].flatMap(([written]) => (written.includes('[') ? [] : [written]))].join(
    '|',
  ),
)

/** False for a text that has no placeholder in any spelling. */
export const mayHoldPlaceholder = (text: string): boolean => OPENING.test(text)

/** Returns the text with all brackets and underscores written as themselves. */
export const withoutEscapes = (text: string): string =>
  ESCAPED.test(text) ? text.replace(ANY_SPELLING, (written) => SPELLINGS.get(written)!.character) : text

/** Characters that mean something to Markdown in the middle of a line. */
const MARKDOWN = /[\\`*_{}[\]<>~|]/g
const HTML = /[&<>"']/g

/** RFC 2045 §6.7. */
const NOT_QUOTED = /[ !-<>-~]/
const quotedPrintable = (value: string): string =>
  Array.from(Buffer.from(value), (byte) => {
    const character = String.fromCharCode(byte)
    return NOT_QUOTED.test(character) ? character : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')

const ENCODERS: Readonly<Record<Escaping, (value: string) => string>> = {
  markdown: (value) => value.replace(MARKDOWN, '\\$&'),
  'markdown in json': (value) => escapeForJson(value.replace(MARKDOWN, '\\$&'), 1),
  percent: (value) => encodeURIComponent(value.toWellFormed()),
  'percent twice': (value) => encodeURIComponent(encodeURIComponent(value.toWellFormed())),
  'quoted-printable': quotedPrintable,
  html: (value) => value.replace(HTML, (character) => `&#${character.charCodeAt(0)};`),
}

/** Writes a value in the place of a placeholder that is escaped so. */
export const escapeValue = (value: string, escaping: Escaping): string => ENCODERS[escaping](value)
