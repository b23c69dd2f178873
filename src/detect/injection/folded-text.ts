// A piece of text as folded UTF-16 code units, each with the offset it came from. Nothing here knows about words.

import {
  FOLD_INVISIBLE,
  FOLD_SEVERAL,
  FOLD_UNKNOWN,
  FOLDED_UNITS,
  foldCodePoint,
  foldToUnit,
  isTag,
  MAX_FOLD_UNITS,
} from './character-folding.ts'
import { CodeUnits } from './code-units.ts'

/** Source code units that are folded at a time: bounds the memory of scoring whatever the length of the text. */
export const PIECE_UNITS = 8192
/** A piece ends at white space if there is any in its last so many units, so that words stay whole. */
const CUT_SEARCH_UNITS = 256

/** Stands behind the last unit, so that readers may look one ahead: a separator. */
const END_OF_PIECE = 0x20

/** Room for one folded piece; made once and used again and again. */
export interface Folded {
  /** Folded code units; valid up to `length`. */
  readonly units: Uint16Array
  /** Offset in the source text of the character each unit came from; not filled where `plain`. */
  readonly origins: Int32Array
  length: number
  /** Offset of the piece in the source text. */
  base: number
  /** Each character is one unit: unit `i` came from `base + i`. */
  plain: boolean
  /** The piece before folding. */
  readonly source: CodeUnits
}

export function createFolded(): Folded {
  // One space may be added per source unit where visible text meets tag characters.
  const capacity = PIECE_UNITS * (MAX_FOLD_UNITS + 1) + 2
  return {
    units: new Uint16Array(capacity),
    origins: new Int32Array(capacity),
    length: 0,
    base: 0,
    plain: true,
    source: new CodeUnits(PIECE_UNITS),
  }
}

/** Source offset of the character that a folded unit came from. */
export function originOf(folded: Folded, unit: number): number {
  return folded.plain ? folded.base + unit : (folded.origins[unit] as number)
}

/** Where the piece that begins at `start` ends: at most PIECE_UNITS on, after white space where possible, never inside a surrogate pair. */
export function pieceEnd(text: string, start: number): number {
  const limit = start + PIECE_UNITS
  if (limit >= text.length) return text.length
  for (let end = limit; end > limit - CUT_SEARCH_UNITS; end--) {
    const code = text.charCodeAt(end - 1)
    if (code === 0x20 || code === 0x0a) return end
  }
  return isHighSurrogate(text.charCodeAt(limit - 1)) ? limit - 1 : limit
}

/** Folds `text[start, end)`, at most PIECE_UNITS, into `out`. Linear; allocates nothing for characters met before. */
export function fold(text: string, start: number, end: number, out: Folded): void {
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
  units[out.length] = END_OF_PIECE
}

/** Folds characters that are one unit after it, as nearly all of the basic plane are; returns where another stands that is not known to be. */
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

/** As foldUnits, for characters that it does not know yet too. */
function foldNewUnits(source: Uint16Array, start: number, size: number, units: Uint16Array): number {
  let index = start
  for (; index < size; index = foldUnits(source, index + 1, size, units)) {
    const unit = newUnit(source[index] as number)
    if (unit >= FOLD_SEVERAL) break
    units[index] = unit
  }
  return index
}

/** As foldUnits, to the units from `length` on, with their origins; returns how many. */
function foldRun(source: Uint16Array, start: number, size: number, length: number, out: Folded): number {
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

/** What a character that foldUnits does not know folds to, if that is one unit. */
function newUnit(code: number): number {
  if (code < 0x80) return code
  return isSurrogate(code) ? FOLD_SEVERAL : foldToUnit(code)
}

/** Goes on at the first character that is not one unit after folding; returns the folded length. */
function foldRest(source: Uint16Array, first: number, size: number, out: Folded): number {
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
      codePoint = pair(code, source[++index] as number)
    }
    const unit = code < 0x80 ? (FOLDED_UNITS[code] as number) : foldToUnit(codePoint)
    if (unit === FOLD_INVISIBLE) continue
    if (tagged !== isTag(codePoint)) {
      // Hidden text does not glue to the visible text around it.
      tagged = !tagged
      units[length] = 0x20
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

function addSeveral(codePoint: number, at: number, found: number, { units, origins }: Folded): number {
  let length = found
  const folded = foldCodePoint(codePoint)
  for (let index = 0; index < folded.length; index++) {
    units[length] = folded.charCodeAt(index)
    origins[length++] = at
  }
  return length
}

/** Offset after the source character at `offset`. */
export function afterCharacter(text: string, offset: number): number {
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

/** The code point of two surrogates. */
function pair(high: number, low: number): number {
  return ((high - 0xd800) << 10) + low - 0xdc00 + 0x10000
}
