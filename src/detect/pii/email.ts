// E-mail addresses (RFC 5321, RFC 6531) as people write them: from the @ to both sides, bounded.

import { isAlphanumeric, isSpacedLetter } from './characters.ts'
import { scanUserInfo } from './secrets.ts'
import type { Segment } from './segment.ts'

/** RFC 5321 §4.5.3.1. */
const MAX_LOCAL = 64
const MAX_DOMAIN = 255
const MAX_LABEL = 63
const MAX_TOP_LEVEL = 24

const LOCAL_PUNCTUATION = new Set(Array.from("._%+-'&~=#!", (character) => character.charCodeAt(0)))
/** May stand in a local part, but at its beginning belongs to what is around. */
const LEADING = /^(?:[.'&~=#!%+-]+|[^=]*=(?=[^=]))+/
/** `\nfoo@…`, `\u003cfoo@…`: escapes of JSON in a text that is not decoded. */
const ESCAPED = /^(?:u00[0-9a-f]{2}|[nrt])/
const TOP_LEVEL = /^(?:xn--[a-z0-9-]{2,59}|[a-z\u00c0-\u1fff]{2,24})$/i
/** What files and members of programs end in: `logo@2x.png`, `this@Service.java`. */
const NOT_TOP_LEVEL = new Set(
  (
    'png jpg jpeg gif svg webp avif ico bmp tiff pdf css scss less html htm js mjs cjs jsx ts tsx json map lock toml ' +
    'yaml yml xml md txt py rb java kt cs cpp hpp php exe dll zip tar gz tgz whl jar conf cfg ini log sql csv tmp bak ' +
    'service socket target timer mount length prototype exports'
  ).split(' '),
)
/** Users of version control over SSH. */
const NOT_LOCAL = /^(?:git|svn|hg)$/i
/** What stands before a local part inside `scheme://user:password@host`. */
const USER_INFO = /\/\/[^\s/@]*$/

const isLocal = (code: number): boolean =>
  isAlphanumeric(code) || LOCAL_PUNCTUATION.has(code) || isSpacedLetter(code)
const DOT = 0x2e
const HYPHEN = 0x2d

/** @param at of the @; returns where to go on */
export function scanEmail(segment: Segment, at: number): number {
  const { text } = segment
  const end = domainEnd(text, at + 1)
  if (scanUserInfo(segment, at) || end === 0) return at + 1
  const start = localStart(segment, at)
  if (start === at || NOT_LOCAL.test(text.slice(start, at)) || text[start - 1] === '@') return at + 1
  const before = text[start - 1]
  if ((before === '/' || before === ':') && USER_INFO.test(text.slice(Math.max(0, start - MAX_LOCAL), start)))
    return at + 1
  return segment.add('email', start, end) ? end : at + 1
}

function localStart({ text, end: limit }: Segment, at: number): number {
  let start = at
  while (start > limit && at - start < MAX_LOCAL && isLocal(text.charCodeAt(start - 1))) start--
  if (text[start - 1] === '\\') start += ESCAPED.exec(text.slice(start, at))?.[0].length ?? 0
  const leading = LEADING.exec(text.slice(start, at))?.[0].length ?? 0
  if (text[at - 1] === '.') return at
  return start + leading
}

/** End of the longest domain name that ends in a top-level domain; 0 for none. */
function domainEnd(text: string, start: number): number {
  const limit = Math.min(text.length, start + MAX_DOMAIN)
  let end = 0
  let label = start
  for (let at = start; at <= limit; at++) {
    const code = at < limit ? text.charCodeAt(at) : DOT
    if (isAlphanumeric(code) || (code === HYPHEN && at > label) || isSpacedLetter(code)) continue
    const length = at - label
    if (length === 0 || length > MAX_LABEL || text.charCodeAt(at - 1) === HYPHEN) break
    if (label > start && length <= MAX_LABEL && isTopLevel(text.slice(label, at))) end = at
    if (code !== DOT) {
      // A file's ending, or a name that goes on otherwise, is no domain.
      if (end !== at && label > start) end = 0
      break
    }
    label = at + 1
  }
  return end
}

const isTopLevel = (label: string): boolean =>
  (label.length <= MAX_TOP_LEVEL || label.startsWith('xn--')) &&
  TOP_LEVEL.test(label) &&
  !NOT_TOP_LEVEL.has(label.toLowerCase())
