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

/** A head that says what is inside, how it is written, and no more: another, `;name=…`, is a text itself. */
const PLAIN_HEAD = /^data:(?!.*\d{4})[\w.+-]*\/?[\w.+-]*(?:;charset=[\w-]+)?(?:;base64)?,$/i

/** Text that was wrapped for transport. */
interface WrappedText {
  readonly text: string
  /** The string with another text in its place. */
  wrap(text: string): string
}

/** What a string in the place of a payload is to the scan. */
export interface Payload {
  /** What can be read of it: what is inside, before it what else is said. */
  readonly texts: readonly WrappedText[]
  /** Whether what is inside is text. */
  readonly isText: boolean
}

/** Reads a `data:` URL; null for what is to be scanned as it is written. */
export function readDataUrl(url: string): Payload | null {
  if (!/^data:/i.test(url)) return null
  const comma = url.slice(0, MAX_HEAD_CHARACTERS).indexOf(',')
  if (comma < 0) return null
  const [media = '', ...parameters] = url.slice('data:'.length, comma).split(';')
  const parts = { head: url.slice(0, comma + 1), data: url.slice(comma + 1) }
  const head = PLAIN_HEAD.test(parts.head) ? [] : [headOf(parts)]
  if (parameters.at(-1)?.trim().toLowerCase() !== 'base64') return percentText(parts, head)
  const data = unwrapped(parts.data)
  if (!isBase64(data)) return null
  const isBinary = BINARY_MEDIA.test(media.trim())
  if (isBinary && data.length < MIN_PAYLOAD_CHARACTERS) return null
  return isBinary ? { texts: head, isText: false } : base64Text(data, parts, head)
}

/** Reads bare base64; null for what is to be scanned as it is written. */
export function readBase64(written: string): Payload | null {
  const data = unwrapped(written)
  return isLongBase64(data) ? base64Text(data, { head: '', data }, []) : null
}

/** The parts of a URL as they are at the moment: each may be rewritten. */
interface Parts {
  head: string
  data: string
}

const headOf = (parts: Parts): WrappedText => ({
  text: parts.head,
  wrap(text) {
    parts.head = text
    return parts.head + parts.data
  },
})

const dataOf = (parts: Parts, text: string, encode: (text: string) => string): WrappedText => ({
  text,
  wrap(replacement) {
    parts.data = encode(replacement)
    return parts.head + parts.data
  },
})

/** Without the line breaks that MIME puts in (RFC 2045 §6.8). */
const unwrapped = (data: string): string => (/[\r\n]/.test(data) ? data.replace(/[\r\n\t ]+/g, '') : data)

/** Opaque strings that providers sign or encrypt: long base64 with every class of character, never prose. */
export const isOpaque = (text: string): boolean =>
  /[a-z]/.test(text) && /[A-Z]/.test(text) && /[0-9]/.test(text) && isLongBase64(text)

/** Base64 long enough to be a payload. */
export const isLongBase64 = (text: string): boolean => text.length >= MIN_PAYLOAD_CHARACTERS && isBase64(text)

/** Characters of RFC 4648 §4 or §5, padding only at the end. Linear, without backtracking. */
export const isBase64 = (text: string): boolean => !NOT_BASE64.test(text) && !PADDING_INSIDE.test(text)

function base64Text(data: string, parts: Parts, before: readonly WrappedText[]): Payload {
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length === 0 || !isUtf8(bytes)) return { texts: before, isText: false }
  const text = dataOf(parts, bytes.toString('utf8'), (written) => Buffer.from(written).toString('base64'))
  return { texts: [...before, text], isText: true }
}

function percentText(parts: Parts, before: readonly WrappedText[]): Payload | null {
  try {
    const text = dataOf(parts, decodeURIComponent(parts.data), encodeURIComponent)
    return { texts: [...before, text], isText: true }
  } catch {
    // Not well-formed percent-encoding: the URL is scanned as it is written.
    return null
  }
}
