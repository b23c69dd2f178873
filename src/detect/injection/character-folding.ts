// Folds single characters: compatibility forms, case, accents and invisible characters. Knows
// nothing about words or weights.

import { ASCII_END, CASE_BIT, isAsciiUpper, LOWER_A, SPACE } from '../../core/ascii.ts'

/** Longest fold in UTF-16 code units. The rest of rare ligatures (U+FDFA has 18) is dropped. */
export const MAXIMUM_FOLD_UNITS = 4

/** Unicode tag characters repeat ASCII invisibly (U+E0020..U+E007E). */
const TAG_BASE = 0xe0000
const TAG_FIRST = 0xe0020
const TAG_LAST = 0xe007e
const REGIONAL_INDICATOR_A = 0x1f1e6
const NEGATIVE_CIRCLED_A = 0x1f150
const NEGATIVE_SQUARED_A = 0x1f170
const LETTERS = 26

/** Format characters, vowel marks that Arabic and Hebrew writers omit, and combining accents. */
const INVISIBLE =
  /^(?:\p{Script=Inherited}|\p{Cf}|(?=\p{M})[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Cyrillic}]|[\u0640\u115f\u1160\u17b4\u17b5\u3164\uffa0])$/u
const ACCENTED = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Arabic}]/u
const MARKS = /[\u0300-\u036f\u0653-\u0655]/g
const SMALL_CAPITALS = 'ɡgᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpꞯqʀrꜱsᴛtᴜuᴠvᴡwʏyᴢz'

// Table entries for a character that does not fold to one unit.

/** Not computed yet. */
export const FOLD_UNKNOWN = 0
/** Several units: foldCodePoint returns them. */
export const FOLD_SEVERAL = 0xfffe
/** No unit: the character is invisible. */
export const FOLD_INVISIBLE = 0xffff

/**
 * Fold of each character of the basic plane: a unit or a FOLD_… entry. Filled on demand beyond
 * ASCII.
 */
export const FOLDED_UNITS = new Uint16Array(0x10000)
for (let unit = 0; unit < ASCII_END; unit++) FOLDED_UNITS[unit] = isAsciiUpper(unit) ? unit | CASE_BIT : unit
/** The same for the other planes, in pages made on demand: at most 4,096 of half a kilobyte. */
const PAGE_BITS = 8
const PAGE_MASK = (1 << PAGE_BITS) - 1
const pages: (Uint16Array | undefined)[] = new Array(0x110000 >> PAGE_BITS).fill(undefined)
/** Folds of several units. Unicode has about three thousand. */
const severalUnits = new Map<number, string>()

/**
 * Returns the unit that a code point above ASCII folds to, or FOLD_SEVERAL or FOLD_INVISIBLE.
 * Allocates no string for most characters, unlike foldCodePoint.
 */
export function foldToUnit(codePoint: number): number {
  const page = codePoint <= 0xffff ? FOLDED_UNITS : pages[codePoint >> PAGE_BITS]
  const at = codePoint <= 0xffff ? codePoint : codePoint & PAGE_MASK
  const known = page === undefined ? FOLD_UNKNOWN : (page[at] as number)
  return known === FOLD_UNKNOWN ? computeUnit(codePoint) : known
}

/**
 * Returns the folded form of a code point above ASCII: NFKC, lower case, without accents on Latin,
 * Greek, Cyrillic and Arabic letters. Returns '' for an invisible character, the ASCII character
 * for a tag character, and a space for other characters that stay in the astral planes (emoji).
 */
export function foldCodePoint(codePoint: number): string {
  const unit = foldToUnit(codePoint)
  if (unit === FOLD_INVISIBLE) return ''
  return unit === FOLD_SEVERAL ? (severalUnits.get(codePoint) as string) : String.fromCharCode(unit)
}

function computeUnit(codePoint: number): number {
  // A lone surrogate folds to a space. It is not cached, because a unit in the table may be half of
  // a pair.
  if (codePoint >= 0xd800 && codePoint < 0xe000) return SPACE
  const folded = foldsToItself(codePoint) ? String.fromCharCode(codePoint) : computeFold(codePoint)
  const unit = folded.charCodeAt(0)
  const one = folded.length === 1 && unit !== FOLD_UNKNOWN && unit < FOLD_SEVERAL
  if (folded.length > 0 && !one) severalUnits.set(codePoint, folded)
  const known = one ? unit : folded === '' ? FOLD_INVISIBLE : FOLD_SEVERAL
  if (codePoint <= 0xffff) FOLDED_UNITS[codePoint] = known
  else {
    const page = pages[codePoint >> PAGE_BITS] ?? new Uint16Array(PAGE_MASK + 1)
    pages[codePoint >> PAGE_BITS] = page
    page[codePoint & PAGE_MASK] = known
  }
  return known
}

/** Han, kana and Hangul syllables fold to themselves. */
function foldsToItself(codePoint: number): boolean {
  return (
    (codePoint >= 0x4e00 && codePoint <= 0x9fff) ||
    (codePoint >= 0xac00 && codePoint <= 0xd7a3) ||
    (codePoint >= 0x3041 && codePoint <= 0x30fa)
  )
}

/** Whether a code point is a tag character that repeats a printable ASCII character. */
export function isTag(codePoint: number): boolean {
  return codePoint >= TAG_FIRST && codePoint <= TAG_LAST
}

function computeFold(codePoint: number): string {
  if (isTag(codePoint)) return String.fromCharCode(codePoint - TAG_BASE).toLowerCase()
  const letter = pictureLetter(codePoint)
  if (letter !== '') return letter
  const character = String.fromCodePoint(codePoint)
  if (INVISIBLE.test(character)) return ''
  const smallCapital = SMALL_CAPITALS.indexOf(character)
  if (smallCapital >= 0 && smallCapital % 2 === 0) return SMALL_CAPITALS.charAt(smallCapital + 1)
  let folded = character.normalize('NFKC').toLowerCase()
  if (ACCENTED.test(folded)) folded = folded.normalize('NFD').replace(MARKS, '')
  if (folded.charCodeAt(0) >= 0xd800 && folded.charCodeAt(0) < 0xe000) return ' '
  return folded.slice(0, MAXIMUM_FOLD_UNITS)
}

/**
 * Returns the letter of a pictograph that NFKC leaves alone (regional indicators, negative circled
 * and squared capitals), or ''.
 */
function pictureLetter(codePoint: number): string {
  for (const first of [REGIONAL_INDICATOR_A, NEGATIVE_CIRCLED_A, NEGATIVE_SQUARED_A]) {
    if (codePoint >= first && codePoint < first + LETTERS)
      return String.fromCharCode(LOWER_A + codePoint - first)
  }
  return ''
}
