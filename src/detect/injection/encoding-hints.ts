// Tells in one cheap pass which encodings a text may contain, and where, so that ordinary text is
// not searched for them. May report an encoding that is not there; never misses one.

import {
  AMPERSAND,
  ASCII_END,
  BACKSLASH,
  HASH,
  LOWER_A,
  LOWER_Q,
  LOWER_U,
  PERCENT,
} from '../../core/ascii.ts'
import { STEP_UNITS, type Steps } from '../../core/steps.ts'
import { BASE64_RUN_MIN } from './base64.ts'
import { CodeUnits } from './code-units.ts'
import { findHints, HINT_UNITS_MAX, isRare, RARE_TRIGRAMS, TRIGRAM_MASK } from './turned-hints.ts'

/** Where the decoders have to search. UTF-16 offsets, ascending. */
export interface EncodingHints {
  /** Starts of base64 runs that are long enough. */
  readonly base64: readonly number[]
  /** Spans of hexadecimal or binary digits and their separators with enough digits. */
  readonly digits: readonly EncodedSpan[]
  readonly selectors: boolean
  readonly escapes: boolean
  /**
   * Marks blocks of TURNED_BLOCK_UNITS in or next to which a word of rotated text occurs; null
   * without any.
   */
  readonly rot13: Uint8Array | null
  /** The same for reversed text. */
  readonly reversed: Uint8Array | null
}

export interface EncodedSpan {
  readonly start: number
  readonly end: number
}

/**
 * Text is reversed and rotated in blocks, so that one mention of rot13 does not double the cost of
 * a book.
 */
export const TURNED_BLOCK_UNITS = 2048

/**
 * What an ASCII character can be part of. The upper two bits become masks, so that runs are counted
 * without branches.
 */
const BASE64_BIT = 1 << 31
/** Hexadecimal digits and their separators: white space, `:`, `,`, `\x` and `0x`. */
const DIGITS_BIT = 1 << 30
const SIGN_SHIFT = 31
const HEX_DIGIT = 1
const ESCAPE_START = 2

/** Shortest runs that the patterns in encodings.ts match. */
const HEX_DIGITS_MIN = 24
const SELECTORS_MIN = 8
const ESCAPES_MIN = 3

/** Count for a span that is already noted. It never reaches HEX_DIGITS_MIN again. */
const SPAN_NOTED = -(2 ** 30)

const UNICODE_SPACE = /\s/
const ROLES = rolesOfAscii()

/** Counters at the current offset. */
class RunCounts {
  /** Length of the run of base64 characters that ends here. */
  base64Run = 0
  /** Digits so far in the current span of digits. */
  hexDigits = 0
  trigram = 0
}

/** Reads hints with a reused buffer. Takes time linear in the text. */
export class HintReader {
  readonly #source = new CodeUnits(TURNED_BLOCK_UNITS);

  *read(text: string): Steps<EncodingHints> {
    const base64: number[] = []
    const digits: EncodedSpan[] = []
    const turned: TurnedBlocks = { rot13: null, reversed: null }
    const counts = new RunCounts()
    let selectors = 0
    let escapes = 0
    const { units } = this.#source
    for (let start = 0; start < text.length; start += TURNED_BLOCK_UNITS) {
      if (start > 0 && start % STEP_UNITS === 0) yield
      const length = this.#source.write(text, start, start + TURNED_BLOCK_UNITS)
      for (
        let at = skipPlain(counts, units, 0, length);
        at < length;
        at = skipPlain(counts, units, at + 1, length)
      ) {
        const unit = units[at] as number
        const index = start + at
        if (unit >= ASCII_END) {
          // Characters beyond ASCII come in runs, which this loop skips.
          if (counts.hexDigits !== 0 && !isUnicodeSpace(unit)) counts.hexDigits = 0
          if (isSelector(unit)) selectors++
          while (counts.hexDigits === 0 && at + 1 < length && (units[at + 1] as number) >= ASCII_END) {
            if (isSelector(units[++at] as number)) selectors++
          }
          counts.base64Run = 0
          counts.trigram = 0
          continue
        }
        if (isRare(counts.trigram)) markTurned(turned, text, index, counts.trigram)
        if (counts.base64Run === BASE64_RUN_MIN) base64.push(index + 1 - BASE64_RUN_MIN)
        if (counts.hexDigits === HEX_DIGITS_MIN) {
          digits.push(digitSpan(text, index))
          counts.hexDigits = SPAN_NOTED
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
 * Counts units from `start` up to and including the next that needs a closer look; returns its
 * index, or `length`. Every character of every text passes this loop, so its common path has no
 * calls or branches.
 */
function skipPlain(counts: RunCounts, units: Uint16Array, start: number, length: number): number {
  let { base64Run, hexDigits, trigram } = counts
  const rare = RARE_TRIGRAMS
  let index = start
  for (; index < length; index++) {
    const unit = units[index] as number
    trigram = ((trigram << 5) | (unit & 31)) & TRIGRAM_MASK
    if (unit >= ASCII_END) break
    const role = ROLES[unit] as number
    base64Run = (base64Run + 1) & (role >> SIGN_SHIFT)
    hexDigits = (hexDigits + (role & HEX_DIGIT)) & ((role << 1) >> SIGN_SHIFT)
    if (base64Run === BASE64_RUN_MIN || hexDigits === HEX_DIGITS_MIN) break
    if ((role & ESCAPE_START) !== 0) break
    if (((rare[trigram >> 5] as number) & (1 << (trigram & 31))) !== 0) break
  }
  counts.base64Run = base64Run
  counts.hexDigits = hexDigits
  counts.trigram = trigram
  return index
}

interface TurnedBlocks {
  rot13: Uint8Array | null
  reversed: Uint8Array | null
}

/** Marks the blocks in or next to which a hint surrounds the letters that end at `index`. */
function markTurned(turned: TurnedBlocks, text: string, index: number, trigram: number): void {
  findHints(text, index, trigram, (view, start, end) => {
    turned[view] ??= new Uint8Array(Math.ceil(text.length / TURNED_BLOCK_UNITS))
    const first = Math.max(0, Math.ceil((end - HINT_UNITS_MAX) / TURNED_BLOCK_UNITS) - 1)
    const last = Math.floor((start + HINT_UNITS_MAX) / TURNED_BLOCK_UNITS)
    turned[view].fill(1, first, last + 1)
  })
}

/** Returns the span of digits and separators around `index`. */
function digitSpan(text: string, index: number): EncodedSpan {
  let start = index
  while (start > 0 && isHexOrFiller(text.charCodeAt(start - 1))) start--
  let end = index + 1
  while (end < text.length && isHexOrFiller(text.charCodeAt(end))) end++
  return { start, end }
}

function isHexOrFiller(unit: number): boolean {
  return unit < ASCII_END ? ((ROLES[unit] as number) & DIGITS_BIT) !== 0 : isUnicodeSpace(unit)
}

function isUnicodeSpace(unit: number): boolean {
  return UNICODE_SPACE.test(String.fromCharCode(unit))
}

/**
 * Whether `start` and `next` may begin an escape: `%4`, `&#`, `&l` or `\u`. `next` is NaN at the
 * end of the text.
 */
function isEscape(start: number, next: number): boolean {
  if (start === PERCENT) return ((ROLES[next] ?? 0) & HEX_DIGIT) !== 0
  if (start === BACKSLASH) return next === LOWER_U
  return start === AMPERSAND && (next === HASH || (next >= LOWER_A && next <= LOWER_Q))
}

/** Variation selectors; those of the astral planes by their high surrogate. */
function isSelector(unit: number): boolean {
  return (unit >= 0xfe00 && unit <= 0xfe0f) || unit === 0xdb40
}

function rolesOfAscii(): Int32Array {
  const roles = new Int32Array(ASCII_END)
  for (let unit = 0; unit < roles.length; unit++) {
    const character = String.fromCharCode(unit)
    if (/[A-Za-z0-9+/_-]/.test(character)) roles[unit]! |= BASE64_BIT
    if (/[0-9A-Fa-f\s:,\\x]/.test(character)) roles[unit]! |= DIGITS_BIT
    if (/[0-9A-Fa-f]/.test(character)) roles[unit]! |= HEX_DIGIT
    if (/[%&\\]/.test(character)) roles[unit]! |= ESCAPE_START
  }
  return roles
}
