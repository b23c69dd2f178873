// Text hidden in text: base64, hexadecimal and binary runs, variation selectors, escapes, rot13 and reversal. Decodes what
// turns out to be text again and says where it stood; judges nothing.

import { base64End, isNoText } from './base64.ts'
import { CodeUnits } from './code-units.ts'
import { type EncodedSpan, HintReader, TURNED_BLOCK_UNITS } from './encoding-hints.ts'
import { Unescaper } from './escapes.ts'

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
/** Shorter results say too little; longer runs of letters than this would decode by chance. */
const DECODED_MIN = 8
/** Runs that are looked at without a pause. */
const PAUSE_RUNS = 1024
/** Share of letters, digits and white space in what counts as text; a stray byte at either end does no harm. */
const TEXT_SHARE = 0.8
const LETTERS = 26

/** Bytes of one run: what a pattern repeats without end takes a place each on the engine's stack. */
const HEX = /(?:(?:\\x|0x)?[0-9A-Fa-f]{2}[\s:,]{0,2}){12,4096}/g
const BINARY = /(?:[01]{8}\s?){8,4096}/g
/** No match of either is longer: a byte of the one is six characters at most, of the other nine. */
const RUN_UNITS_MAX = 9 * 4096
/** A byte each, behind any character and drawn by nothing: U+FE00..FE0F are 0 to 15, U+E0100..E01EF the rest. */
const SELECTORS = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{8,}/gu
/** Letters, digits and white space. */
const TEXT = /[\p{L}\p{M}\p{N}\t\n\r ]/u
const ASCII_TEXT = Uint8Array.from({ length: 0x80 }, (_, unit) =>
  TEXT.test(String.fromCharCode(unit)) ? 1 : 0,
)

/** Finds what is encoded in texts; holds the buffers for it. */
export class Decoder {
  readonly #hints = new HintReader()
  readonly #unescaper = new Unescaper();

  /**
   * Everything that can be decoded out of `text`, one layer deep; null now and then where nothing has been for a while.
   * Linear in its length; one view in memory at a time.
   */
  *decodings(text: string): Generator<Decoded | null> {
    const reading = this.#hints.read(text)
    let step = reading.next()
    for (; step.done !== true; step = reading.next()) yield null
    const hints = step.value
    if (hints.digits.length > 0) {
      yield* blocks(matchesIn(text, HEX, hints.digits), decodeHex)
      yield* blocks(matchesIn(text, BINARY, hints.digits), decodeBinary)
    }
    if (hints.base64.length > 0) yield* blocks(base64Runs(text, hints.base64), decodeBase64)
    if (hints.selectors) yield* blocks(text.matchAll(SELECTORS), decodeSelectors)
    if (hints.escapes) yield* this.#unescaped(text)
    if (hints.rot13 !== null) {
      for (const { start, end } of markedStretches(text, hints.rot13)) {
        yield {
          text: rotate(text, start, end),
          shrinks: false,
          origin: (offset) => start + offset,
        }
      }
    }
    if (hints.reversed !== null) {
      for (const { start, end } of markedStretches(text, hints.reversed)) {
        yield {
          text: reverse(text, start, end),
          shrinks: false,
          origin: (offset) => end - 1 - offset,
        }
      }
    }
  }

  *#unescaped(text: string): Generator<Decoded | null> {
    for (let start = 0; start < text.length; start += STRETCH_UNITS) {
      const stretch = text.slice(start, start + STRETCH_UNITS)
      const view = this.#unescaper.unescape(stretch)
      if (view === null) {
        yield null
        continue
      }
      const origin = (offset: number) => start + this.#unescaper.origin(stretch, offset)
      yield { text: view, shrinks: false, origin }
    }
  }
}

/** Stretches of blocks that are marked or stand next to one that is. */
function* markedStretches(text: string, marks: Uint8Array): Generator<EncodedSpan> {
  let from = -1
  for (let block = 0; block < marks.length; block++) {
    const at = block * TURNED_BLOCK_UNITS
    const near = marks[block - 1] === 1 || marks[block] === 1 || marks[block + 1] === 1
    if (from >= 0 && (!near || at - from >= STRETCH_UNITS)) {
      yield { start: from, end: at }
      from = -1
    }
    if (near && from < 0) from = at
  }
  if (from >= 0) yield { start: from, end: text.length }
}

/** A run that was found, and where. */
interface Match {
  readonly 0: string
  readonly index: number
}

/** Matches of a pattern within each of these stretches. */
function* matchesIn(
  text: string,
  pattern: RegExp,
  stretches: readonly EncodedSpan[],
): Generator<Match | null> {
  for (const { start, end } of stretches) {
    for (let from = start; from < end; ) {
      const until = Math.min(end, from + STRETCH_UNITS)
      let next = until
      const stretch = text.slice(from, Math.min(end, until + RUN_UNITS_MAX))
      for (const { 0: run, index } of stretch.matchAll(pattern)) {
        if (from + index >= until) break
        yield { 0: run, index: from + index }
        next = Math.max(until, from + index + run.length)
      }
      from = next
      if (from < end) yield null
    }
  }
}

/** Runs of base64 that begin at these places, leaving out those inside the run before, and those that are no text. */
function* base64Runs(text: string, places: readonly number[]): Generator<Match | null> {
  let after = 0
  for (const [index, place] of places.entries()) {
    if (index % PAUSE_RUNS === PAUSE_RUNS - 1) yield null
    if (place < after) continue
    after = base64End(text, place)
    const isShort = after - place <= BLOCK_CHARACTERS
    if (!isShort || !isNoText(text, place, after, ASCII_TEXT)) {
      yield { 0: text.slice(place, after), index: place }
    }
  }
}

/** Decodes each match block by block, and keeps the blocks that are text. */
function* blocks(
  runs: Iterable<Match | null>,
  decode: (run: string) => string | null,
): Generator<Decoded | null> {
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

/** Whether enough characters are of text; pairs of surrogates count once. */
function isText(decoded: string): boolean {
  if (decoded.length < DECODED_MIN) return false
  const limit = decoded.length * (1 - TEXT_SHARE)
  let others = 0
  for (let index = 0; index < decoded.length && others <= limit; index++) {
    const unit = decoded.charCodeAt(index)
    if (unit < 0x80) {
      if (ASCII_TEXT[unit] === 0) others++
      continue
    }
    const codePoint = decoded.codePointAt(index) as number
    if (!TEXT.test(String.fromCodePoint(codePoint))) others++
    if (codePoint > 0xffff) index++
  }
  return others <= limit
}

/** `text[start, end)` with each ASCII letter replaced by the one thirteen places on. */
function rotate(text: string, start: number, end: number): string {
  const out = new CodeUnits(end - start)
  const { units } = out
  const length = out.write(text, start, end)
  for (let index = 0; index < length; index++) {
    const unit = units[index] as number
    const base = unit < 0x61 ? 0x41 : 0x61
    const letter = unit - base
    if (letter >= 0 && letter < LETTERS) units[index] = base + ((letter + LETTERS / 2) % LETTERS)
  }
  return out.toString(length)
}

/** `text[start, end)` backwards by UTF-16 unit: offsets stay arithmetic, and Latin text is all it is for. */
function reverse(text: string, start: number, end: number): string {
  const out = new CodeUnits(end - start)
  const length = out.write(text, start, end)
  out.units.subarray(0, length).reverse()
  return out.toString(length)
}
