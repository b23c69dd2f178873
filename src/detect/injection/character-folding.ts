// What one character becomes before anything is counted: compatibility forms, case, accents, invisible characters.
// Knows nothing of words or of the model.

/** A fold is never longer, in UTF-16 code units; the rest of rare ligatures (U+FDFA has 18) is dropped. */
export const MAX_FOLD_UNITS = 4

/** Unicode tag characters repeat ASCII invisibly (U+E0020..U+E007E). */
const TAG_BASE = 0xe0000
const TAG_FIRST = 0xe0020
const TAG_LAST = 0xe007e
const REGIONAL_INDICATOR_A = 0x1f1e6
const NEGATIVE_CIRCLED_A = 0x1f150
const NEGATIVE_SQUARED_A = 0x1f170
const LETTERS = 26
/** What half a pair folds to: a space. */
const LONE_SURROGATE = 0x20

/** Format characters, marks of vowels that Arabic and Hebrew writers leave out, and combining accents. */
const INVISIBLE =
  /^(?:\p{Script=Inherited}|\p{Cf}|(?=\p{M})[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Cyrillic}]|[\u0640\u115f\u1160\u17b4\u17b5\u3164\uffa0])$/u
const ACCENTED = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Arabic}]/u
const MARKS = /[\u0300-\u036f\u0653-\u0655]/g
const SMALL_CAPITALS = 'ᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpꞯqʀrꜱsᴛtᴜuᴠvᴡwʏyᴢz'

// Table entries for a character that does not fold to one unit.

/** Not computed yet. */
export const FOLD_UNKNOWN = 0
/** Several units: foldCodePoint returns them. */
export const FOLD_SEVERAL = 0xfffe
/** No unit: the character is invisible. */
export const FOLD_INVISIBLE = 0xffff

/** What characters of the basic plane fold to, by code unit: a unit, or one of FOLDED. Beyond ASCII filled as they are met. */
export const FOLDED_UNITS = new Uint16Array(0x10000)
for (let unit = 0; unit < 0x80; unit++) FOLDED_UNITS[unit] = unit >= 0x41 && unit <= 0x5a ? unit | 0x20 : unit
/** The same for the other planes, in pages made as they are needed: at most 4,096 of half a kilobyte. */
const PAGE_BITS = 8
const PAGE_MASK = (1 << PAGE_BITS) - 1
const pages: (Uint16Array | undefined)[] = new Array(0x110000 >> PAGE_BITS).fill(undefined)
/** Folds of several units, of which Unicode has some three thousand. */
const several = new Map<number, string>()

/**
 * The unit that a code point above ASCII folds to, or one of FOLDED; as foldCodePoint, for the many characters that need no
 * string.
 */
export function foldToUnit(codePoint: number): number {
  const page = codePoint <= 0xffff ? FOLDED_UNITS : pages[codePoint >> PAGE_BITS]
  const at = codePoint <= 0xffff ? codePoint : codePoint & PAGE_MASK
  const known = page === undefined ? FOLD_UNKNOWN : (page[at] as number)
  return known === FOLD_UNKNOWN ? remember(codePoint) : known
}

/**
 * The folded form of a code point above ASCII: NFKC, lower case, without accents on Latin, Greek, Cyrillic and Arabic
 * letters; '' for invisible characters, the ASCII character for a tag character, and a space for what is left of the
 * astral planes (emoji).
 */
export function foldCodePoint(codePoint: number): string {
  const unit = foldToUnit(codePoint)
  if (unit === FOLD_INVISIBLE) return ''
  return unit === FOLD_SEVERAL ? (several.get(codePoint) as string) : String.fromCharCode(unit)
}

function remember(codePoint: number): number {
  // Half a pair is never remembered, so that the table says nothing of a unit that may be half of one.
  if (codePoint >= 0xd800 && codePoint < 0xe000) return LONE_SURROGATE
  const folded = isPlainSyllable(codePoint) ? String.fromCharCode(codePoint) : compute(codePoint)
  const unit = folded.charCodeAt(0)
  const one = folded.length === 1 && unit !== FOLD_UNKNOWN && unit < FOLD_SEVERAL
  if (folded.length > 0 && !one) several.set(codePoint, folded)
  const known = one ? unit : folded === '' ? FOLD_INVISIBLE : FOLD_SEVERAL
  if (codePoint <= 0xffff) FOLDED_UNITS[codePoint] = known
  else {
    const page = pages[codePoint >> PAGE_BITS] ?? new Uint16Array(PAGE_MASK + 1)
    pages[codePoint >> PAGE_BITS] = page
    page[codePoint & PAGE_MASK] = known
  }
  return known
}

/** Han, kana and Hangul syllables, which fold to themselves. */
function isPlainSyllable(codePoint: number): boolean {
  return (
    (codePoint >= 0x4e00 && codePoint <= 0x9fff) ||
    (codePoint >= 0xac00 && codePoint <= 0xd7a3) ||
    (codePoint >= 0x3041 && codePoint <= 0x30fa)
  )
}

/** Whether this is a tag character that repeats a printable ASCII character. */
export function isTag(codePoint: number): boolean {
  return codePoint >= TAG_FIRST && codePoint <= TAG_LAST
}

function compute(codePoint: number): string {
  if (isTag(codePoint)) return String.fromCharCode(codePoint - TAG_BASE).toLowerCase()
  const letter = pictureLetter(codePoint)
  if (letter !== '') return letter
  const character = String.fromCodePoint(codePoint)
  if (INVISIBLE.test(character)) return ''
  const small = SMALL_CAPITALS.indexOf(character)
  if (small >= 0 && small % 2 === 0) return SMALL_CAPITALS.charAt(small + 1)
  let folded = character.normalize('NFKC').toLowerCase()
  if (ACCENTED.test(folded)) folded = folded.normalize('NFD').replace(MARKS, '')
  if (folded.charCodeAt(0) >= 0xd800 && folded.charCodeAt(0) < 0xe000) return ' '
  return folded.slice(0, MAX_FOLD_UNITS)
}

/** Letters drawn as pictures that NFKC leaves alone: regional indicators, negative circled and squared capitals. */
function pictureLetter(codePoint: number): string {
  for (const first of [REGIONAL_INDICATOR_A, NEGATIVE_CIRCLED_A, NEGATIVE_SQUARED_A]) {
    if (codePoint >= first && codePoint < first + LETTERS)
      return String.fromCharCode(0x61 + codePoint - first)
  }
  return ''
}
