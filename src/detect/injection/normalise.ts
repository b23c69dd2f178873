// A piece of text as folded UTF-16 code units, each with the offset it came from. Nothing here knows about words.

import { foldCodePoint, isTag, MAX_FOLD_UNITS } from './characters.ts'

/** Source code units that are folded at a time: bounds the memory of scoring whatever the length of the text. */
export const PIECE_UNITS = 8192
/** A piece ends at white space if there is any in its last so many units, so that words stay whole. */
const CUT_SEARCH_UNITS = 256

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
  /** Offset in the source text of the character each unit came from. */
  readonly origins: Int32Array
  length: number
}

export function createFolded(): Folded {
  // One space may be added per source unit where visible text meets tag characters.
  const capacity = PIECE_UNITS * (MAX_FOLD_UNITS + 1) + 2
  return { units: new Uint16Array(capacity), origins: new Int32Array(capacity), length: 0 }
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

/** Folds `text[start, end)` into `out`. Linear; allocates nothing for ASCII. */
export function fold(text: string, start: number, end: number, out: Folded): void {
  const { units, origins } = out
  let length = 0
  let tagged = false
  for (let index = start; index < end; ) {
    let code = text.charCodeAt(index)
    if (code < 0x80) {
      if (tagged) {
        // Hidden text does not glue to the visible text around it.
        units[length] = 0x20
        origins[length++] = index
        tagged = false
      }
      for (; code < 0x80; code = index < end ? text.charCodeAt(index) : 0x80) {
        units[length] = LOWER_CASE[code] as number
        origins[length++] = index++
      }
    } else if (isPlainIdeograph(code)) {
      units[length] = code
      origins[length++] = index++
    } else {
      const codePoint = text.codePointAt(index) as number
      const folded = foldCodePoint(codePoint)
      if (folded !== '' && tagged !== isTag(codePoint)) {
        tagged = !tagged
        units[length] = 0x20
        origins[length++] = index
      }
      for (let unit = 0; unit < folded.length; unit++) {
        units[length] = folded.charCodeAt(unit)
        origins[length++] = index
      }
      index += codePoint > 0xffff ? 2 : 1
    }
  }
  out.length = length
  units[length] = END_OF_PIECE
}

/** Han, kana and Hangul syllables that fold to themselves: the bulk of East Asian text needs no look-up. */
function isPlainIdeograph(code: number): boolean {
  return (
    (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0x3041 && code <= 0x30fa)
  )
}

/** Offset after the source character at `offset`. */
export function afterCharacter(text: string, offset: number): number {
  return offset + (isHighSurrogate(text.charCodeAt(offset)) && offset + 1 < text.length ? 2 : 1)
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00
}
