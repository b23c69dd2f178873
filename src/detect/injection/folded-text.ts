// Folds a piece of text to UTF-16 code units and keeps the offset that each of them came from.
// Knows nothing about words.

import { ASCII_END, LINE_FEED, SPACE } from '../../core/ascii.ts'
import {
  FOLD_INVISIBLE,
  FOLD_SEVERAL,
  FOLD_UNKNOWN,
  FOLDED_UNITS,
  foldCodePoint,
  foldToUnit,
  isTag,
  MAXIMUM_FOLD_UNITS,
} from './character-folding.ts'
import { CodeUnits } from './code-units.ts'

/** Source code units that are folded at a time. Bounds the memory of scoring. */
export const PIECE_UNITS = 8192
/** A piece ends at white space if there is some among its last units, so that words stay whole. */
const SPACE_SEARCH_UNITS = 256

/** Buffers for one folded piece, made once and reused. */
export interface FoldedText {
  /** Folded code units, valid up to `length`. */
  readonly units: Uint16Array
  /** Source offset of the character that each unit came from. Not filled when `plain`. */
  readonly origins: Int32Array
  length: number
  /** Source offset of the piece. */
  base: number
  /** Every character is one unit: unit `i` came from `base + i`. */
  plain: boolean
  /** The piece before folding. */
  readonly source: CodeUnits
}

export function createFoldedText(): FoldedText {
  // Each source unit may add one space, where visible text meets tag characters.
  const capacity = PIECE_UNITS * (MAXIMUM_FOLD_UNITS + 1) + 2
  return {
    units: new Uint16Array(capacity),
    origins: new Int32Array(capacity),
    length: 0,
    base: 0,
    plain: true,
    source: new CodeUnits(PIECE_UNITS),
  }
}

/** Returns the source offset of the character that a folded unit came from. */
export function originOf(folded: FoldedText, unit: number): number {
  return folded.plain ? folded.base + unit : (folded.origins[unit] as number)
}

/**
 * Returns the end of the piece that begins at `start`: at most PIECE_UNITS later, after white space
 * where possible, never inside a surrogate pair.
 */
export function pieceEnd(text: string, start: number): number {
  const limit = start + PIECE_UNITS
  if (limit >= text.length) return text.length
  for (let end = limit; end > limit - SPACE_SEARCH_UNITS; end--) {
    const code = text.charCodeAt(end - 1)
    if (code === SPACE || code === LINE_FEED) return end
  }
  return isHighSurrogate(text.charCodeAt(limit - 1)) ? limit - 1 : limit
}

/**
 * Folds `text[start, end)`, at most PIECE_UNITS, into `out`. Takes linear time and allocates
 * nothing for characters it has folded before.
 */
export function foldPiece(text: string, start: number, end: number, out: FoldedText): void {
  const { units } = out
  const source = out.source.units
  const folds = FOLDED_UNITS
  const size = out.source.write(text, start, end)
  let index = 0
  for (; index < size; index++) {
    const one = folds[source[index] as number] as number
    if (one === FOLD_UNKNOWN || one >= FOLD_SEVERAL) break
    units[index] = one
  }
  if (index < size) index = foldNewUnits(source, index, size, units)
  out.base = start
  out.plain = index === size
  out.length = out.plain ? size : foldRest(source, index, size, out)
  // Readers look one unit ahead; past the end they find a separator.
  units[out.length] = SPACE
}

/**
 * Folds characters up to the first that is not known to fold to one unit; returns its index. Nearly
 * all characters of the basic plane do.
 */
function foldUnits(source: Uint16Array, start: number, size: number, units: Uint16Array): number {
  let index = start
  for (; index < size; index++) {
    const code = source[index] as number
    const one = FOLDED_UNITS[code] as number
    if (one === FOLD_UNKNOWN || one >= FOLD_SEVERAL) break
    units[index] = one
  }
  return index
}

/** Like foldUnits, but also computes folds that are not known yet. */
function foldNewUnits(source: Uint16Array, start: number, size: number, units: Uint16Array): number {
  let index = start
  for (; index < size; index = foldUnits(source, index + 1, size, units)) {
    const unit = newUnit(source[index] as number)
    if (unit >= FOLD_SEVERAL) break
    units[index] = unit
  }
  return index
}

/** Like foldUnits, but appends the units and their origins from `length` on; returns how many. */
function foldRun(source: Uint16Array, start: number, size: number, length: number, out: FoldedText): number {
  const { units, origins, base } = out
  const folds = FOLDED_UNITS
  let index = start
  const shift = length - start
  for (; index < size; index++) {
    const one = folds[source[index] as number] as number
    if (one === FOLD_UNKNOWN || one >= FOLD_SEVERAL) break
    units[index + shift] = one
    origins[index + shift] = base + index
  }
  return index - start
}

/** Returns the unit that a character not yet known folds to, or FOLD_SEVERAL or FOLD_INVISIBLE. */
function newUnit(code: number): number {
  if (code < ASCII_END) return code
  return isSurrogate(code) ? FOLD_SEVERAL : foldToUnit(code)
}

/**
 * Folds the rest of the piece from `first` on, where a character does not fold to one unit; returns
 * the folded length.
 */
function foldRest(source: Uint16Array, first: number, size: number, out: FoldedText): number {
  const { units, origins, base } = out
  for (let index = 0; index < first; index++) origins[index] = base + index
  let length = first
  let tagged = false
  for (let index = first; index < size; index++) {
    if (!tagged) {
      const run = foldRun(source, index, size, length, out)
      length += run
      index += run
      if (index === size) break
    }
    const code = source[index] as number
    const at = base + index
    let codePoint = code
    if (isHighSurrogate(code) && index + 1 < size && isLowSurrogate(source[index + 1] as number)) {
      codePoint = codePointOf(code, source[++index] as number)
    }
    const unit = code < ASCII_END ? (FOLDED_UNITS[code] as number) : foldToUnit(codePoint)
    if (unit === FOLD_INVISIBLE) continue
    if (tagged !== isTag(codePoint)) {
      // A space keeps hidden text apart from the visible text around it.
      tagged = !tagged
      units[length] = SPACE
      origins[length++] = at
    }
    if (unit === FOLD_SEVERAL) length = addSeveral(codePoint, at, length, out)
    else {
      units[length] = unit
      origins[length++] = at
    }
  }
  return length
}

function addSeveral(codePoint: number, at: number, found: number, { units, origins }: FoldedText): number {
  let length = found
  const folded = foldCodePoint(codePoint)
  for (let index = 0; index < folded.length; index++) {
    units[length] = folded.charCodeAt(index)
    origins[length++] = at
  }
  return length
}

/** Returns the offset after the source character at `offset`. */
export function characterEnd(text: string, offset: number): number {
  return offset + (isHighSurrogate(text.charCodeAt(offset)) && offset + 1 < text.length ? 2 : 1)
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xe000
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000
}

function codePointOf(high: number, low: number): number {
  return ((high - 0xd800) << 10) + low - 0xdc00 + 0x10000
}
