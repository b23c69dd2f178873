// A cheap walk over a text that says which encodings could be in it, and where, so that everyday text is spared the patterns
// that find them. May say yes too often, never no wrongly.

import { STEP_UNITS, type Steps } from '../../core/steps.ts'
import { BASE64_RUN_MIN } from './base64.ts'
import { CodeUnits } from './code-units.ts'
import { findHints, HINT_UNITS_MAX, isRare, RARE_TRIGRAMS, TRIGRAM_MASK } from './turned-hints.ts'

/** What the decoders have to look for; UTF-16 offsets, ascending. */
export interface EncodingHints {
  /** Where runs of base64 characters begin that are long enough. */
  readonly base64: readonly number[]
  /** Stretches of hexadecimal or binary digits, and what may stand between them, with enough digits. */
  readonly digits: readonly EncodedSpan[]
  readonly selectors: boolean
  readonly escapes: boolean
  /** Blocks of TURNED_BLOCK_UNITS with words in or next to them that occur in rotated text; null without any. */
  readonly rot13: Uint8Array | null
  /** The same for reversed text. */
  readonly reversed: Uint8Array | null
}

export interface EncodedSpan {
  readonly start: number
  readonly end: number
}

/** Text is turned and rotated by blocks of so many units: one mention of it must not double the cost of a book. */
export const TURNED_BLOCK_UNITS = 2048

/** What an ASCII character can be part of. The upper two bits become masks, so that runs are counted without branches. */
const BASE64_BIT = 1 << 31
/** Hexadecimal digits and what may stand between them: white space, `:`, `,`, `\x` and `0x`. */
const DIGITS_BIT = 1 << 30
const SIGN_SHIFT = 31
const HEX_DIGIT = 1
const ESCAPE_START = 2

/** Shortest runs that the patterns in encodings.ts match. */
const HEX_DIGITS_MIN = 24
const SELECTORS_MIN = 8
const ESCAPES_MIN = 3

/** Number of digits of a stretch that has been noted: it never comes to HEX_DIGITS_MIN again. */
const STRETCH_KNOWN = -(2 ** 30)

const UNICODE_SPACE = /\s/
const KINDS = kindsOfAscii()

/** What is going on at a place of a text. */
class Walk {
  /** Length of the run of base64 characters that ends here. */
  base64Run = 0
  /** How many digits the stretch of digits has. */
  hexDigits = 0
  trigram = 0
}

/** Reads hints out of texts; holds the buffer for it. Time is linear in the text. */
export class HintReader {
  readonly #source = new CodeUnits(TURNED_BLOCK_UNITS);

  *read(text: string): Steps<EncodingHints> {
    const base64: number[] = []
    const digits: EncodedSpan[] = []
    const turned: Turned = { rot13: null, reversed: null }
    const walk = new Walk()
    let selectors = 0
    let escapes = 0
    const { units } = this.#source
    for (let start = 0; start < text.length; start += TURNED_BLOCK_UNITS) {
      if (start > 0 && start % STEP_UNITS === 0) yield
      const length = this.#source.write(text, start, start + TURNED_BLOCK_UNITS)
      for (let at = skip(walk, units, 0, length); at < length; at = skip(walk, units, at + 1, length)) {
        const unit = units[at] as number
        const index = start + at
        if (unit >= 0x80) {
          // Such characters come in numbers: they are gone through here.
          if (walk.hexDigits !== 0 && !isUnicodeSpace(unit)) walk.hexDigits = 0
          if (isSelector(unit)) selectors++
          while (walk.hexDigits === 0 && at + 1 < length && (units[at + 1] as number) >= 0x80) {
            if (isSelector(units[++at] as number)) selectors++
          }
          walk.base64Run = 0
          walk.trigram = 0
          continue
        }
        if (isRare(walk.trigram)) markTurned(turned, text, index, walk.trigram)
        if (walk.base64Run === BASE64_RUN_MIN) base64.push(index + 1 - BASE64_RUN_MIN)
        if (walk.hexDigits === HEX_DIGITS_MIN) {
          digits.push(digitStretch(text, index))
          walk.hexDigits = STRETCH_KNOWN
        }
        if (isEscape(unit, text.charCodeAt(index + 1))) escapes++
      }
    }
    return {
      base64,
      digits,
      selectors: selectors >= SELECTORS_MIN,
      escapes: escapes >= ESCAPES_MIN,
      ...turned,
    }
  }
}

/**
 * Takes in units from `start` up to and with the next that calls for a closer look; returns its index, or `length`. A loop
 * without calls or branches for what is common: it sees every character of every text.
 */
function skip(walk: Walk, units: Uint16Array, start: number, length: number): number {
  let { base64Run, hexDigits, trigram } = walk
  const rare = RARE_TRIGRAMS
  let index = start
  for (; index < length; index++) {
    const unit = units[index] as number
    trigram = ((trigram << 5) | (unit & 31)) & TRIGRAM_MASK
    if (unit >= 0x80) break
    const kind = KINDS[unit] as number
    base64Run = (base64Run + 1) & (kind >> SIGN_SHIFT)
    hexDigits = (hexDigits + (kind & HEX_DIGIT)) & ((kind << 1) >> SIGN_SHIFT)
    if (base64Run === BASE64_RUN_MIN || hexDigits === HEX_DIGITS_MIN) break
    if ((kind & ESCAPE_START) !== 0) break
    if (((rare[trigram >> 5] as number) & (1 << (trigram & 31))) !== 0) break
  }
  walk.base64Run = base64Run
  walk.hexDigits = hexDigits
  walk.trigram = trigram
  return index
}

interface Turned {
  rot13: Uint8Array | null
  reversed: Uint8Array | null
}

/** Marks the blocks in or next to which a hint stands around the letters that end at `index`. */
function markTurned(turned: Turned, text: string, index: number, trigram: number): void {
  findHints(text, index, trigram, (view, start, end) => {
    turned[view] ??= new Uint8Array(Math.ceil(text.length / TURNED_BLOCK_UNITS))
    const first = Math.max(0, Math.ceil((end - HINT_UNITS_MAX) / TURNED_BLOCK_UNITS) - 1)
    const last = Math.floor((start + HINT_UNITS_MAX) / TURNED_BLOCK_UNITS)
    turned[view].fill(1, first, last + 1)
  })
}

/** The stretch of digits and fillers around `index`. */
function digitStretch(text: string, index: number): EncodedSpan {
  let start = index
  while (start > 0 && isHexOrFiller(text.charCodeAt(start - 1))) start--
  let end = index + 1
  while (end < text.length && isHexOrFiller(text.charCodeAt(end))) end++
  return { start, end }
}

function isHexOrFiller(unit: number): boolean {
  return unit < 0x80 ? ((KINDS[unit] as number) & DIGITS_BIT) !== 0 : isUnicodeSpace(unit)
}

function isUnicodeSpace(unit: number): boolean {
  return UNICODE_SPACE.test(String.fromCharCode(unit))
}

/** `%4`, `&#`, `&l`, `\u`: what may begin an escape; `next` is not a number at the end of the text. */
function isEscape(start: number, next: number): boolean {
  if (start === 0x25) return ((KINDS[next] ?? 0) & HEX_DIGIT) !== 0
  if (start === 0x5c) return next === 0x75
  return start === 0x26 && (next === 0x23 || (next >= 0x61 && next <= 0x71))
}

/** Variation selectors, those of the astral planes by their first half. */
function isSelector(unit: number): boolean {
  return (unit >= 0xfe00 && unit <= 0xfe0f) || unit === 0xdb40
}

function kindsOfAscii(): Int32Array {
  const kinds = new Int32Array(0x80)
  for (let unit = 0; unit < kinds.length; unit++) {
    const character = String.fromCharCode(unit)
    if (/[A-Za-z0-9+/_-]/.test(character)) kinds[unit]! |= BASE64_BIT
    if (/[0-9A-Fa-f\s:,\\x]/.test(character)) kinds[unit]! |= DIGITS_BIT
    if (/[0-9A-Fa-f]/.test(character)) kinds[unit]! |= HEX_DIGIT
    if (/[%&\\]/.test(character)) kinds[unit]! |= ESCAPE_START
  }
  return kinds
}
