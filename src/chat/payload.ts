// Reads payloads in strings: base64 and `data:` URLs (RFC 2397, RFC 4648). Separates binary
// payloads from text and decodes the text.

import { isUtf8 } from 'node:buffer'

/**
 * A shorter payload is no image or audio but may be an identifying number, so it is scanned as
 * text.
 */
const MIN_PAYLOAD_CHARACTERS = 64

/** Media types that a text scan cannot read. SVG is text. */
const BINARY_MEDIA = /^(?:image\/(?!svg)|audio\/|video\/|application\/pdf$)/i

/** Longest head of a `data:` URL. */
const MAXIMUM_HEAD_CHARACTERS = 256

const NOT_BASE64 = /[^A-Za-z0-9+/_=-]/
const PADDING_INSIDE = /=(?!=?$)/

/**
 * A head with a media type, a charset and base64 only. Any other parameter (`;name=…`) is a text.
 */
const PLAIN_HEAD = /^data:(?!.*\d{4})[\w.+-]*\/?[\w.+-]*(?:;charset=[\w-]+)?(?:;base64)?,$/i

/** Text that was encoded for transport. */
interface WrappedText {
  readonly text: string
  /** Returns the string with another text encoded in place of this one. */
  wrap(text: string): string
}

/** The decoded content of a payload. */
export interface Payload {
  /** The texts in it: first the head, if it is one, then the content. */
  readonly texts: readonly WrappedText[]
  /** Whether the content is text. */
  readonly isText: boolean
}

/** Reads a `data:` URL; null for a string to scan as written. */
export function readDataUrl(url: string): Payload | null {
  if (!/^data:/i.test(url)) return null
  const comma = url.slice(0, MAXIMUM_HEAD_CHARACTERS).indexOf(',')
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

/**
 * Reads bare base64; null for a string to scan as written.
 * @param isText whether the body declares the content as text, which may be short
 */
export function readBase64(written: string, isText = false): Payload | null {
  const data = unwrapped(written)
  const isLong = isLongBase64(data)
  if (!isLong && !(isText && isBase64(data))) return null
  const payload = base64Text(data, { head: '', data }, [])
  return isLong || payload.isText ? payload : null
}

/** The current parts of a URL; each may be rewritten. */
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

/** Removes the line breaks of MIME (RFC 2045 §6.8). */
const unwrapped = (data: string): string => (/[\r\n]/.test(data) ? data.replace(/[\r\n\t ]+/g, '') : data)

/**
 * Reports whether a string looks signed or encrypted: long base64 with letters of both cases and
 * digits.
 */
export const isOpaque = (text: string): boolean =>
  /[a-z]/.test(text) && /[A-Z]/.test(text) && /[0-9]/.test(text) && isLongBase64(text)

/**
 * First bytes of pictures, sounds, videos, documents and archives: PNG, JPEG, GIF, BMP, TIFF, RIFF
 * (WebP, WAV), ISO media (MP4, AVIF, HEIC), Matroska, Ogg, FLAC, MP3, PDF, ZIP, gzip, zstd.
 */
const FILE_HEAD =
  /^(?:\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|BM....\0\0\0\0|II\*\0|MM\0\*|RIFF....(?:WEBP|WAVE)|....ftyp|\x1a\x45\xdf\xa3|OggS\0|fLaC\0|ID3[\x02-\x04]|\xff[\xf3\xfb]|%PDF-1|PK\x03\x04|\x1f\x8b\x08|\x28\xb5\x2f\xfd)/s
const HEAD_CHARACTERS = 24

/** Reports whether a string is a file of a known type, in base64. */
export const isKnownFile = (text: string): boolean =>
  FILE_HEAD.test(Buffer.from(text.slice(0, HEAD_CHARACTERS), 'base64').toString('latin1')) && isBase64(text)

/** Reports whether a string is base64 long enough for a payload. */
export const isLongBase64 = (text: string): boolean => text.length >= MIN_PAYLOAD_CHARACTERS && isBase64(text)

/** Reports whether a string is base64 (RFC 4648 §4 or §5) with padding only at the end. Linear. */
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
    // The percent-encoding is malformed: scan the URL as written.
    return null
  }
}
