// Text hidden in text: base64, hexadecimal and binary runs, variation selectors, escapes, rot13 and reversal. Decodes what
// turns out to be text again and says where it stood; judges nothing.

import { encodingHints, HINT_UNITS_MAX, REVERSED_HINT, ROT13_HINT } from './encoding-hints.ts'

/** A text found by decoding, and how its offsets lead back. */
export interface Decoded {
  readonly text: string
  /** UTF-16 offset in the source of the character that `offset` in `text` came from. */
  origin(offset: number): number
  /** Whether it is shorter than what it was decoded from, so that decoding it again comes to an end. */
  readonly shrinks: boolean
}

/** Characters decoded at a time: bounds memory, and junk in front of a text does not hide it. */
const BLOCK_CHARACTERS = 4096
/** Text is unescaped, turned and rotated so many UTF-16 code units at a time, for the same reason. */
const STRETCH_UNITS = 65_536
/** One mention of reversing must not double the cost of a book: only so much around a hint is turned. */
const TURNED_BLOCK_UNITS = 2048
/** Shorter results say too little; longer runs of letters than this would decode by chance. */
const DECODED_MIN = 8
/** Share of letters, digits and white space in what counts as text; a stray byte at either end does no harm. */
const TEXT_SHARE = 0.8
const LETTERS = 26
/** Fewer escapes are everyday text. */
const ESCAPES_MIN = 3

/** Lines of one block belong together; the last may be short if nothing follows it. */
const BASE64 =
  /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]{16,})*(?:\r?\n[A-Za-z0-9+/_-]{2,15}={0,2}(?=\s|$))?/y
const HEX = /(?:(?:\\x|0x)?[0-9A-Fa-f]{2}[\s:,]{0,2}){12,}/g
const BINARY = /(?:[01]{8}\s?){8,}/g
/** A byte each, behind any character and drawn by nothing: U+FE00..FE0F are 0 to 15, U+E0100..E01EF the rest. */
const SELECTORS = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{8,}/gu
const ESCAPE =
  /%[0-9A-Fa-f]{2}|&#x?[0-9A-Fa-f]{1,6};|\\u\{?[0-9A-Fa-f]{4,5}\}?|&(?:lt|gt|amp|quot|nbsp|apos);/g
const NAMED: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  nbsp: ' ',
  apos: "'",
}
const NOT_TEXT = /[^\p{L}\p{M}\p{N}\t\n\r ]/gu

/** Everything that can be decoded out of `text`, one layer deep. Linear in its length; one view in memory at a time. */
export function* decodings(text: string): Generator<Decoded> {
  const hints = encodingHints(text)
  if (hints.digits) yield* blocks(text.matchAll(HEX), decodeHex)
  if (hints.digits) yield* blocks(text.matchAll(BINARY), decodeBinary)
  if (hints.base64.length > 0) yield* blocks(matchesAt(text, BASE64, hints.base64), decodeBase64)
  if (hints.selectors) yield* blocks(text.matchAll(SELECTORS), decodeSelectors)
  if (hints.escapes) yield* unescaped(text)
  if (!hints.turned) return
  for (const { stretch, start } of nearHints(text, ROT13_HINT)) {
    yield {
      text: mapUnits(stretch, rot13),
      shrinks: false,
      origin: (offset) => start + offset,
    }
  }
  for (const { stretch, start } of nearHints(text, REVERSED_HINT)) {
    const last = start + stretch.length - 1
    yield {
      text: reverse(stretch),
      shrinks: false,
      origin: (offset) => last - offset,
    }
  }
}

function* unescaped(text: string): Generator<Decoded> {
  for (let start = 0; start < text.length; start += STRETCH_UNITS) {
    const view = unescapeAll(text.slice(start, start + STRETCH_UNITS), start)
    if (view !== null) yield view
  }
}

/** Stretches of blocks that hold a hint or stand next to one that does. */
function* nearHints(text: string, hint: RegExp): Generator<{ stretch: string; start: number }> {
  const hinted = (at: number) =>
    at < text.length &&
    hint.test(text.slice(Math.max(0, at - HINT_UNITS_MAX), at + TURNED_BLOCK_UNITS + HINT_UNITS_MAX))
  let from = -1
  let before = false
  let here = hinted(0)
  for (let at = 0; at < text.length; at += TURNED_BLOCK_UNITS) {
    const after = hinted(at + TURNED_BLOCK_UNITS)
    const near = before || here || after
    if (from >= 0 && (!near || at - from >= STRETCH_UNITS)) {
      yield { stretch: text.slice(from, at), start: from }
      from = -1
    }
    if (near && from < 0) from = at
    before = here
    here = after
  }
  if (from >= 0) yield { stretch: text.slice(from), start: from }
}

/** Matches of a sticky pattern at these places, leaving out those inside the match before. */
function* matchesAt(text: string, pattern: RegExp, places: readonly number[]): Generator<RegExpExecArray> {
  const sticky = new RegExp(pattern)
  let after = 0
  for (const place of places) {
    if (place < after) continue
    sticky.lastIndex = place
    const match = sticky.exec(text)
    if (match === null) continue
    after = sticky.lastIndex
    yield match
  }
}

/** Decodes each match block by block, and keeps the blocks that are text. */
function* blocks(
  runs: Iterable<RegExpExecArray>,
  decode: (run: string) => string | null,
): Generator<Decoded> {
  for (const { 0: run, index } of runs) {
    for (let at = 0; at < run.length; at += BLOCK_CHARACTERS) {
      const block = run.slice(at, at + BLOCK_CHARACTERS)
      const decoded = decode(block)
      if (decoded === null || !isText(decoded)) continue
      const start = index + at
      const scale = block.length / decoded.length
      const origin = (offset: number) => start + Math.min(block.length - 1, Math.floor(offset * scale))
      yield { text: decoded, shrinks: true, origin }
    }
  }
}

function decodeBase64(run: string): string | null {
  // A hexadecimal run has been looked at already.
  return /^[0-9A-Fa-f]+$/.test(run) ? null : Buffer.from(run, 'base64').toString()
}

function decodeHex(run: string): string {
  return Buffer.from(run.replace(/\\x|0x|[\s:,]/g, ''), 'hex').toString()
}

function decodeBinary(run: string): string {
  const bytes = run.match(/[01]{8}/g) ?? []
  return Buffer.from(bytes.map((bits) => Number.parseInt(bits, 2))).toString()
}

function decodeSelectors(run: string): string {
  const bytes = Array.from(run, (selector) => {
    const codePoint = selector.codePointAt(0) as number
    return codePoint < 0xe0100 ? codePoint - 0xfe00 : codePoint - 0xe0100 + 16
  })
  return Buffer.from(bytes).toString()
}

function isText(decoded: string): boolean {
  if (decoded.length < DECODED_MIN) return false
  const others = decoded.match(NOT_TEXT)?.length ?? 0
  return others <= decoded.length * (1 - TEXT_SHARE)
}

/** The text with escapes replaced in place, or null when there are too few to matter. */
function unescapeAll(text: string, start: number): Decoded | null {
  const parts: string[] = []
  const starts: number[] = [0]
  const origins: number[] = [0]
  let length = 0
  let from = 0
  for (const { 0: found, index } of text.matchAll(ESCAPE)) {
    parts.push(text.slice(from, index), unescapeOne(found))
    length += index - from
    starts.push(length)
    origins.push(index)
    length += parts.at(-1)?.length ?? 0
    from = index + found.length
    starts.push(length)
    origins.push(from)
  }
  if (parts.length < 2 * ESCAPES_MIN) return null
  return {
    text: parts.join('') + text.slice(from),
    shrinks: false,
    origin: (offset) => {
      const segment = lastAtMost(starts, offset)
      return (
        start + Math.min(text.length - 1, (origins[segment] as number) + offset - (starts[segment] as number))
      )
    },
  }
}

function unescapeOne(sequence: string): string {
  const named = NAMED[sequence.slice(1, -1)]
  if (named !== undefined) return named
  const decimal = sequence.startsWith('&#') && !/^&#x/i.test(sequence)
  const digits = decimal
    ? sequence.replace(/[^0-9]/g, '')
    : sequence.replace(/^(?:%|&#x|\\u)/i, '').replace(/[^0-9A-Fa-f]/g, '')
  const codePoint = Number.parseInt(digits, decimal ? 10 : 16)
  const valid = codePoint <= 0x10ffff && (codePoint < 0xd800 || codePoint > 0xdfff)
  return valid ? String.fromCodePoint(codePoint) : ' '
}

/** Index of the last of ascending values that is not above `limit`. */
function lastAtMost(values: readonly number[], limit: number): number {
  let low = 0
  let high = values.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((values[middle] as number) <= limit) low = middle
    else high = middle - 1
  }
  return low
}

/** The letter thirteen places on, of ASCII letters; other units as they are. */
function rot13(unit: number): number {
  const base = unit < 0x61 ? 0x41 : 0x61
  const letter = unit - base
  return letter >= 0 && letter < LETTERS ? base + ((letter + LETTERS / 2) % LETTERS) : unit
}

function mapUnits(text: string, map: (unit: number) => number): string {
  const units = Uint16Array.from({ length: text.length }, (_, index) => map(text.charCodeAt(index)))
  return Buffer.from(units.buffer).toString('utf16le')
}

/** Backwards by UTF-16 unit: offsets stay arithmetic, and Latin text is all it is for. */
function reverse(text: string): string {
  const units = Uint16Array.from({ length: text.length }, (_, index) =>
    text.charCodeAt(text.length - 1 - index),
  )
  return Buffer.from(units.buffer).toString('utf16le')
}
