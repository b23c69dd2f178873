// Payloads inside strings: base64 and `data:` URLs (RFC 2397, RFC 4648). Tells what cannot be read as text from
// what can, and opens the latter.

import { isUtf8 } from 'node:buffer'

/** A payload shorter than this is no picture or sound, but may be a number of somebody's: it is scanned as well. */
const MIN_PAYLOAD_CHARACTERS = 64

/** Media types whose payloads no text scan can judge; SVG is text. */
const BINARY_MEDIA = /^(?:image\/(?!svg)|audio\/|video\/|application\/pdf$)/i

/** Longest head of a `data:` URL that is looked at. */
const MAX_HEAD_CHARACTERS = 256

const NOT_BASE64 = /[^A-Za-z0-9+/_=-]/
const PADDING_INSIDE = /=(?!=?$)/

/** Text that was wrapped for transport. */
interface WrappedText {
  readonly text: string
  /** The same wrapping around another text. */
  wrap(text: string): string
}

/** What a string in the place of a payload is to the scan: nothing at all, or the text inside it. */
export type Payload = 'unreadable' | WrappedText

/** Reads a `data:` URL; null for what is to be scanned as it is written. */
export function readDataUrl(url: string): Payload | null {
  if (!/^data:/i.test(url)) return null
  const comma = url.slice(0, MAX_HEAD_CHARACTERS).indexOf(',')
  if (comma < 0) return null
  const [media = '', ...parameters] = url.slice('data:'.length, comma).split(';')
  const head = url.slice(0, comma + 1)
  const written = url.slice(comma + 1)
  if (parameters.at(-1)?.trim().toLowerCase() !== 'base64') return percentText(head, written)
  const data = unwrapped(written)
  if (!isBase64(data)) return null
  if (BINARY_MEDIA.test(media.trim())) return data.length < MIN_PAYLOAD_CHARACTERS ? null : 'unreadable'
  return base64Text(head, data) ?? 'unreadable'
}

/** Reads bare base64; null for what is to be scanned as it is written. */
export function readBase64(written: string): Payload | null {
  const data = unwrapped(written)
  if (!isLongBase64(data)) return null
  return base64Text('', data) ?? 'unreadable'
}

/** Without the line breaks that MIME puts in (RFC 2045 §6.8). */
const unwrapped = (data: string): string => (/[\r\n]/.test(data) ? data.replace(/[\r\n\t ]+/g, '') : data)

/** Opaque strings that providers sign or encrypt: long base64 with every class of character, never prose. */
export const isOpaque = (text: string): boolean =>
  /[a-z]/.test(text) && /[A-Z]/.test(text) && /[0-9]/.test(text) && isLongBase64(text)

/** Base64 long enough to be a payload. */
export const isLongBase64 = (text: string): boolean => text.length >= MIN_PAYLOAD_CHARACTERS && isBase64(text)

/** Characters of RFC 4648 §4 or §5, padding only at the end. Linear, without backtracking. */
export const isBase64 = (text: string): boolean => !NOT_BASE64.test(text) && !PADDING_INSIDE.test(text)

function base64Text(head: string, data: string): WrappedText | null {
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length === 0 || !isUtf8(bytes)) return null
  return { text: bytes.toString('utf8'), wrap: (text) => head + Buffer.from(text).toString('base64') }
}

function percentText(head: string, data: string): WrappedText | null {
  try {
    return { text: decodeURIComponent(data), wrap: (text) => head + encodeURIComponent(text) }
  } catch {
    // Not well-formed percent-encoding: the URL is scanned as it is written.
    return null
  }
}
