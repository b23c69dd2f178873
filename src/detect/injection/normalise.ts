// A piece of text as folded UTF-16 code units, each with the offset it came from. Nothing here knows about words.

import { type FOLDED, FOLDED_UNITS, foldCodePoint, foldToUnit, isTag, MAX_FOLD_UNITS } from './characters.ts'
import { CodeUnits } from './code-units.ts'

/** Source code units that are folded at a time: bounds the memory of scoring whatever the length of the text. */
export const PIECE_UNITS = 8192
/** A piece ends at white space if there is any in its last so many units, so that words stay whole. */
const CUT_SEARCH_UNITS = 256

// Copies, kept the same by their types: constants of this module are part of the machine code, those of others are fetched.
const UNKNOWN: typeof FOLDED.unknown = 0
const SEVERAL: typeof FOLDED.several = 0xfffe
const INVISIBLE: typeof FOLDED.invisible = 0xffff

/** Stands behind the last unit, so that readers may look one ahead: a separator. */
const END_OF_PIECE = 0x20

/** ASCII in lower case, by code unit. */
const LOWER_CASE = Uint8Array.from({ length: 0x80 }, (_, unit) =>
  unit >= 0x41 && unit <= 0x5a ? unit | 0x20 : unit,
)

/** Room for one folded piece; made once and used again and again. */
export interface Folded {
  /** Folded code units; valid up to `length`. */
  readonly units: Uint16Array
  /** Offset in the source text of the character each unit came from; not filled where `plain`. */
  readonly origins: Int32Array
  length: number
  /** Offset of the piece in the source text. */
  base: number
  /** All ASCII: unit `i` came from `base + i`. */
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
  const size = out.source.write(text, start, end)
  let index = 0
  for (; index < size; index++) {
    const code = source[index] as number
    if (code >= 0x80) break
    units[index] = LOWER_CASE[code] as number
  }
  out.base = start
  out.plain = index === size
  out.length = out.plain ? size : foldRest(source, index, size, out)
  units[out.length] = END_OF_PIECE
}

/** Goes on at the first character above ASCII; returns the folded length. */
function foldRest(source: Uint16Array, first: number, size: number, out: Folded): number {
  const { units, origins, base } = out
  for (let index = 0; index < first; index++) origins[index] = base + index
  let length = first
  let tagged = false
  for (let index = first; index < size; index++) {
    const code = source[index] as number
    if (!tagged) {
      // Nearly all characters of the basic plane are one unit after folding.
      const one = FOLDED_UNITS[code] as number
      if (one !== UNKNOWN && one < SEVERAL && (code & 0xf800) !== 0xd800) {
        units[length] = one
        origins[length++] = base + index
        continue
      }
      if (one === INVISIBLE) continue
    }
    const at = base + index
    let codePoint = code
    if (isHighSurrogate(code) && index + 1 < size && isLowSurrogate(source[index + 1] as number)) {
      codePoint = pair(code, source[++index] as number)
    }
    const unit = code < 0x80 ? (LOWER_CASE[code] as number) : foldToUnit(codePoint)
    if (unit === INVISIBLE) continue
    if (tagged !== isTag(codePoint)) {
      // Hidden text does not glue to the visible text around it.
      tagged = !tagged
      units[length] = 0x20
      origins[length++] = at
    }
    if (unit === SEVERAL) length = addSeveral(codePoint, at, length, out)
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
