// What the readers of escapes share: the text around an escape that decides what it is, and bytes
// in hexadecimal digits.

import { CARRIAGE_RETURN, LINE_FEED, SPACE, TAB } from '../../core/ascii.ts'

/** Characters before an escape that decide what it is. */
export const LOOK_BEHIND = 64
/** Characters from its first on. A longer escape is not one. */
export const LOOK_AHEAD = 80

/** What is written at an offset. */
export interface Decoded {
  /** Empty for a character that is not part of the text. */
  readonly view: string
  /** Characters that it takes in the text. */
  readonly length: number
  /** True if it shows that the text is quoted-printable. */
  readonly isEvidence?: true
}

/** What precedes an escape, besides the text. */
export interface Before {
  /** Whether the text is known to be quoted-printable. */
  readonly isQuotedPrintable: boolean
  /** Whether the character directly before was written as an escape, too. */
  readonly isAfterEscape: boolean
}

export const verbatim = (text: string, at: number, length: number): Decoded => ({
  view: text.slice(at, at + length),
  length,
})

/** The text before an offset as far as it decides. */
export const behind = (text: string, at: number): string => text.slice(Math.max(0, at - LOOK_BEHIND), at)
/** The text from an offset on as far as it decides. */
export const ahead = (text: string, at: number): string => text.slice(at, at + LOOK_AHEAD)
/** Reports whether more text may still change what is read from `rest` to the end of the text. */
export const isOpen = (text: string, at: number, last: boolean): boolean =>
  !last && text.length - at < LOOK_AHEAD

/** The character of a code unit; null for a control and half a surrogate pair. */
export const characterOf = (code: number): string | null =>
  code === TAB ||
  code === LINE_FEED ||
  code === CARRIAGE_RETURN ||
  (code >= SPACE && code < 0x7f) ||
  isPrintable(code)
    ? String.fromCharCode(code)
    : null
/** Beyond ASCII, without controls and surrogates. */
const isPrintable = (code: number): boolean => code >= 0xa0 && code <= 0xffff && (code & 0xf800) !== 0xd800

/** Reads one byte, or the bytes of one character in UTF-8 of at most three. */
export function readBytes(
  text: string,
  byte: RegExp,
): { readonly code: number; readonly length: number } | null {
  byte.lastIndex = 0
  const first = byte.exec(text)
  if (first === null) return null
  const lead = Number.parseInt(first[1]!, 16)
  const more = lead < 0xc2 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 0
  let code = more === 0 ? lead : lead & (more === 1 ? 0x1f : 0x0f)
  let length = first[0].length
  if (lead >= 0x80 && more === 0) return lead === 0xa0 ? { code: lead, length } : null
  for (let index = 0; index < more; index++) {
    byte.lastIndex = length
    const next = byte.exec(text)
    const value = next === null ? 0 : Number.parseInt(next[1]!, 16)
    if ((value & 0xc0) !== 0x80) return null
    code = (code << 6) | (value & 0x3f)
    length += next![0].length
  }
  return { code, length }
}
