// Decodes text hidden in text: base64, hexadecimal and binary runs, variation selectors, escapes,
// rot13 and reversal. Returns what decodes to text with its offsets in the source; does not judge
// it.

import { ASCII_END, LOWER_A, UPPER_A } from '../../core/ascii.ts'
import { base64End, isNotText } from './base64.ts'
import { CodeUnits } from './code-units.ts'
import { type EncodedSpan, HintReader, TURNED_BLOCK_UNITS } from './encoding-hints.ts'
import { Unescaper } from './escapes.ts'

/** A decoded text. */
export interface DecodedText {
  readonly text: string
  /** Returns the UTF-16 offset in the source of the character that `offset` in `text` came from. */
  origin(offset: number): number
  /** Whether the text is shorter than its source. Decoding such texts again terminates. */
  readonly shrinks: boolean
}

/** Characters decoded at a time. Bounds memory, and junk before a text does not hide it. */
const BLOCK_CHARACTERS = 4096
/** UTF-16 code units that are unescaped, reversed or rotated at a time, for the same reasons. */
const SPAN_UNITS_MAX = 65_536
/** Shorter results say too little, and short runs of letters decode to text by chance. */
const DECODED_MIN = 8
/** Runs examined in one step. */
const RUNS_PER_STEP = 1024
/** Share of letters, digits and white space in text. A stray byte at either end does no harm. */
const TEXT_SHARE = 0.8
const LETTERS = 26

/**
 * The bytes of a run are bounded: each repetition of an unbounded group takes space on the stack of
 * the regular expression engine.
 */
const HEX = /(?:(?:\\x|0x)?[0-9A-Fa-f]{2}[\s:,]{0,2}){12,4096}/g
const BINARY = /(?:[01]{8}\s?){8,4096}/g
/** No match is longer: a byte takes at most six characters in hexadecimal, nine in binary. */
const RUN_UNITS_MAX = 9 * 4096
/**
 * Each selector encodes one byte and is invisible after any character: U+FE00..FE0F are 0 to 15,
 * U+E0100..E01EF the rest.
 */
const SELECTORS = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{8,}/gu
/** Letters, digits and white space. */
const TEXT = /[\p{L}\p{M}\p{N}\t\n\r ]/u
const ASCII_TEXT = Uint8Array.from({ length: ASCII_END }, (_, unit) =>
  TEXT.test(String.fromCharCode(unit)) ? 1 : 0,
)

/** Decodes texts with reused buffers. */
export class Decoder {
  readonly #hints = new HintReader()
  readonly #unescaper = new Unescaper();

  /**
   * Yields everything that decodes to text, one layer deep, and null where a step ends without a
   * result. Takes linear time and holds one decoded view at a time.
   */
  *decodings(text: string): Generator<DecodedText | null> {
    const reading = this.#hints.read(text)
    let step = reading.next()
    for (; step.done !== true; step = reading.next()) yield null
    const hints = step.value
    if (hints.digits.length > 0) {
      yield* decodeBlocks(matchesIn(text, HEX, hints.digits), decodeHex)
      yield* decodeBlocks(matchesIn(text, BINARY, hints.digits), decodeBinary)
    }
    if (hints.base64.length > 0) yield* decodeBlocks(base64Runs(text, hints.base64), decodeBase64)
    if (hints.selectors) yield* decodeBlocks(text.matchAll(SELECTORS), decodeSelectors)
    if (hints.escapes) yield* this.#unescapedParts(text)
    if (hints.rot13 !== null) {
      for (const { start, end } of markedSpans(text, hints.rot13)) {
        yield {
          text: rotate(text, start, end),
          shrinks: false,
          origin: (offset) => start + offset,
        }
      }
    }
    if (hints.reversed !== null) {
      for (const { start, end } of markedSpans(text, hints.reversed)) {
        yield {
          text: reverse(text, start, end),
          shrinks: false,
          origin: (offset) => end - 1 - offset,
        }
      }
    }
  }

  *#unescapedParts(text: string): Generator<DecodedText | null> {
    for (let start = 0; start < text.length; start += SPAN_UNITS_MAX) {
      const part = text.slice(start, start + SPAN_UNITS_MAX)
      const view = this.#unescaper.unescape(part)
      if (view === null) {
        yield null
        continue
      }
      const origin = (offset: number) => start + this.#unescaper.origin(part, offset)
      yield { text: view, shrinks: false, origin }
    }
  }
}

/** Yields spans of blocks that are marked or next to a marked one. */
function* markedSpans(text: string, marks: Uint8Array): Generator<EncodedSpan> {
  let from = -1
  for (let block = 0; block < marks.length; block++) {
    const at = block * TURNED_BLOCK_UNITS
    const near = marks[block - 1] === 1 || marks[block] === 1 || marks[block + 1] === 1
    if (from >= 0 && (!near || at - from >= SPAN_UNITS_MAX)) {
      yield { start: from, end: at }
      from = -1
    }
    if (near && from < 0) from = at
  }
  if (from >= 0) yield { start: from, end: text.length }
}

/** A run with its start, like a match of a regular expression. */
interface EncodedRun {
  readonly 0: string
  readonly index: number
}

/** Yields the matches of a pattern within each span. */
function* matchesIn(
  text: string,
  pattern: RegExp,
  spans: readonly EncodedSpan[],
): Generator<EncodedRun | null> {
  for (const { start, end } of spans) {
    for (let from = start; from < end; ) {
      const until = Math.min(end, from + SPAN_UNITS_MAX)
      let next = until
      const part = text.slice(from, Math.min(end, until + RUN_UNITS_MAX))
      for (const { 0: run, index } of part.matchAll(pattern)) {
        if (from + index >= until) break
        yield { 0: run, index: from + index }
        next = Math.max(until, from + index + run.length)
      }
      from = next
      if (from < end) yield null
    }
  }
}

/**
 * Yields the base64 runs that begin at these offsets, except those inside an earlier run and those
 * that cannot be text.
 */
function* base64Runs(text: string, starts: readonly number[]): Generator<EncodedRun | null> {
  let after = 0
  for (const [index, start] of starts.entries()) {
    if (index % RUNS_PER_STEP === RUNS_PER_STEP - 1) yield null
    if (start < after) continue
    after = base64End(text, start)
    const isShort = after - start <= BLOCK_CHARACTERS
    if (!isShort || !isNotText(text, start, after, ASCII_TEXT)) {
      yield { 0: text.slice(start, after), index: start }
    }
  }
}

/** Decodes each run block by block and yields the blocks that are text. */
function* decodeBlocks(
  runs: Iterable<EncodedRun | null>,
  decode: (run: string) => string | null,
): Generator<DecodedText | null> {
  for (const match of runs) {
    if (match === null) {
      yield null
      continue
    }
    const { 0: run, index } = match
    for (let at = 0; at < run.length; at += BLOCK_CHARACTERS) {
      const block = run.slice(at, at + BLOCK_CHARACTERS)
      const decoded = decode(block)
      if (decoded === null || !isText(decoded)) {
        yield null
        continue
      }
      const start = index + at
      const scale = block.length / decoded.length
      const origin = (offset: number) => start + Math.min(block.length - 1, Math.floor(offset * scale))
      yield { text: decoded, shrinks: true, origin }
    }
  }
}

function decodeBase64(run: string): string | null {
  // A hexadecimal run is decoded elsewhere.
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

/** Whether enough characters are text. A surrogate pair counts once. */
function isText(decoded: string): boolean {
  if (decoded.length < DECODED_MIN) return false
  const limit = decoded.length * (1 - TEXT_SHARE)
  let others = 0
  for (let index = 0; index < decoded.length && others <= limit; index++) {
    const unit = decoded.charCodeAt(index)
    if (unit < ASCII_END) {
      if (ASCII_TEXT[unit] === 0) others++
      continue
    }
    const codePoint = decoded.codePointAt(index) as number
    if (!TEXT.test(String.fromCodePoint(codePoint))) others++
    if (codePoint > 0xffff) index++
  }
  return others <= limit
}

/** Returns `text[start, end)` with each ASCII letter rotated by thirteen places. */
function rotate(text: string, start: number, end: number): string {
  const out = new CodeUnits(end - start)
  const { units } = out
  const length = out.write(text, start, end)
  for (let index = 0; index < length; index++) {
    const unit = units[index] as number
    const base = unit < LOWER_A ? UPPER_A : LOWER_A
    const letter = unit - base
    if (letter >= 0 && letter < LETTERS) units[index] = base + ((letter + LETTERS / 2) % LETTERS)
  }
  return out.toString(length)
}

/**
 * Returns `text[start, end)` reversed by UTF-16 unit, which keeps offsets simple and is right for
 * Latin text.
 */
function reverse(text: string, start: number, end: number): string {
  const out = new CodeUnits(end - start)
  const length = out.write(text, start, end)
  out.units.subarray(0, length).reverse()
  return out.toString(length)
}
