// What one character becomes before anything is counted: compatibility forms, case, accents, invisible characters.
// Knows nothing of words or of the model.

/** A fold is never longer, in UTF-16 code units; the rest of rare ligatures (U+FDFA has 18) is dropped. */
export const MAX_FOLD_UNITS = 4

/** Code points below are remembered, which bounds the memory at one entry each. */
const REMEMBERED_BELOW = 0x20000
/** Unicode tag characters repeat ASCII invisibly (U+E0020..U+E007E). */
const TAG_BASE = 0xe0000
const TAG_FIRST = 0xe0020
const TAG_LAST = 0xe007e
const REGIONAL_INDICATOR_A = 0x1f1e6
const NEGATIVE_CIRCLED_A = 0x1f150
const NEGATIVE_SQUARED_A = 0x1f170
const LETTERS = 26

/** Format characters, marks of vowels that Arabic and Hebrew writers leave out, and combining accents. */
const INVISIBLE =
  /^(?:\p{Script=Inherited}|\p{Cf}|(?=\p{M})[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Cyrillic}]|[\u0640\u115f\u1160\u17b4\u17b5\u3164\uffa0])$/u
const ACCENTED = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Arabic}]/u
const MARKS = /[\u0300-\u036f\u0653-\u0655]/g
const SMALL_CAPITALS = 'ᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpꞯqʀrꜱsᴛtᴜuᴠvᴡwʏyᴢz'

const remembered = new Map<number, string>()

/**
 * The folded form of a code point above ASCII: NFKC, lower case, without accents on Latin, Greek, Cyrillic and Arabic
 * letters; '' for invisible characters, the ASCII character for a tag character, and a space for what is left of the
 * astral planes (emoji).
 */
export function foldCodePoint(codePoint: number): string {
  const known = remembered.get(codePoint)
  if (known !== undefined) return known
  const folded = compute(codePoint)
  if (codePoint < REMEMBERED_BELOW) remembered.set(codePoint, folded)
  return folded
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
