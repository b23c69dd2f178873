// Reads the path of a request as any server may read it, so that what is matched is what is
// forwarded.

import { hasHidden } from './hidden-characters.ts'

/** Encodings inside each other that are read; a path with more is refused. */
const MAXIMUM_DECODINGS = 8
const PLAIN = /^\/[\x21-\x7e]*$/
/** Characters that servers take for the end of a path, a parameter or a separator. */
const AMBIGUOUS = /[\\;#?\x00-\x1f\x7f]/
/** What AMBIGUOUS and a path of several segments have, as the compatible form of one character. */
const AMBIGUOUS_FORM = /[\\;#?%./]/
/** A segment that servers may trim to dots or to nothing. */
const DOTS = /^[\s.]+$/
/** Percent-encoded characters that need no encoding (RFC 3986 §2.3). */
const UNRESERVED = /%(?:2[de]|3\d|[46][1-9a-f]|[57][0-9a]|5f|7e)/gi

/** Returns the path and the query, without `?`, of a request target (RFC 9112 §3.2). */
export function splitTarget(target: string): { readonly path: string; readonly search: string } {
  const mark = target.indexOf('?')
  if (mark < 0) return { path: target, search: '' }
  return { path: target.slice(0, mark), search: target.slice(mark + 1) }
}

/**
 * Returns the normal form of a path (RFC 3986 §6.2.2), without its query; null for one that servers
 * read in different ways: with an empty or a dot segment, or in any encoding with an ambiguous
 * character, a slash, a character that nobody sees, or one that is compatible with a dot or with
 * one of those (Unicode NFKC).
 */
export function normalisePath(path: string): string | null {
  if (!PLAIN.test(path)) return null
  const levels = decodings(path)
  if (levels === null) return null
  const slashes = path.split('/').length
  for (const text of levels) {
    const segments = text.split('/')
    if (segments.length !== slashes || isAmbiguous(text) || segments.some((one) => DOTS.test(one)))
      return null
    if (segments.slice(1, -1).includes('')) return null
  }
  return path
    .replace(UNRESERVED, (encoded) => decodeURIComponent(encoded))
    .replace(/%[\da-f]{2}/gi, (encoded) => encoded.toUpperCase())
}

const isAmbiguous = (text: string): boolean =>
  AMBIGUOUS.test(text) ||
  hasHidden(text) ||
  AMBIGUOUS_FORM.test(text.replace(/[\0-\x7f]+/g, '').normalize('NFKC'))

/** From the first character on that is no part of a word, such as `.json` and `:batch`. */
const SUFFIX = /[-_]*(?:[^\p{L}\p{N}_-].*)?$/u

/**
 * Returns the path that a tolerant server may take a normal path for: decoded, in small letters,
 * without a final slash, and each segment without white space around it and without punctuation or
 * an extension after its first word.
 */
export const looseForm = (path: string): string =>
  (decodings(path)?.at(-1) ?? path)
    .normalize('NFKC')
    .toLowerCase()
    .split('/')
    .map((segment) => segment.trim().replace(SUFFIX, ''))
    .join('/')
    .replace(/(?<=.)\/+$/, '')

/** A text and what each decoding of it gives; null if it is malformed or encoded too often. */
function decodings(text: string): string[] | null {
  const levels = [text]
  for (let count = 0; count < MAXIMUM_DECODINGS; count++) {
    const last = levels.at(-1)!
    const decoded = decodedOnce(last)
    if (decoded === null) return null
    if (decoded === last) return levels
    levels.push(decoded)
  }
  return null
}

function decodedOnce(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
