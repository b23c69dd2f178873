// Folds variants of characters to ASCII: digits of other scripts, full-width letters and signs,
// dashes, typographic spaces. Escaped line ends and tabs, as in pasted JSON, become spaces, so that
// a value can start after `\n`. Every code unit maps to one, so offsets stay valid and a stream can
// fold chunk by chunk.

import { DIGIT_0 } from '../../core/ascii.ts'

/**
 * The zeros of all decimal digits of one unit (Unicode 17, category Nd); nine digits follow each.
 * Digits of two units are read in invisible.ts.
 */
const ZEROS = [
  0x0660, // Arabic
  0x06f0, // Persian, Urdu
  0x07c0, // N'Ko
  0x0966, // Devanagari
  0x09e6, // Bengali
  0x0a66, // Gurmukhi
  0x0ae6, // Gujarati
  0x0b66, // Odia
  0x0be6, // Tamil
  0x0c66, // Telugu
  0x0ce6, // Kannada
  0x0d66, // Malayalam
  0x0de6, // Sinhala
  0x0e50, // Thai
  0x0ed0, // Lao
  0x0f20, // Tibetan
  0x1040, // Burmese
  0x1090, // Shan
  0x17e0, // Khmer
  0x1810, // Mongolian
  0x1946, // Limbu
  0x19d0, // New Tai Lue
  0x1a80, // Tai Tham
  0x1a90, // Tai Tham
  0x1b50, // Balinese
  0x1bb0, // Sundanese
  0x1c40, // Lepcha
  0x1c50, // Ol Chiki
  0xa620, // Vai
  0xa8d0, // Saurashtra
  0xa900, // Kayah Li
  0xa9d0, // Javanese
  0xa9f0, // Tai Laing
  0xaa50, // Cham
  0xabf0, // Meetei Mayek
  0xff10, // full width
]
const DIGITS = 10

/** Dashes that are written between the groups of numbers. */
const DASHES = '\u2010\u2011\u2012\u2013\u2212\ufe63'
const FULL_WIDTH =
  'ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ（）＋－．／：＠＿'

const FOLDED = new Map<string, string>()
for (const character of FULL_WIDTH) FOLDED.set(character, character.normalize('NFKC'))
for (const dash of DASHES) FOLDED.set(dash, '-')
for (const zero of ZEROS) {
  for (let digit = 0; digit < DIGITS; digit++)
    FOLDED.set(String.fromCharCode(zero + digit), String.fromCharCode(DIGIT_0 + digit))
}
/** Spaces of other widths (Unicode category Zs). */
for (const space of '\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000')
  FOLDED.set(space, ' ')
const FOREIGN = `[${[...FOLDED.keys()].join('')}]`
const ANY_FOREIGN = new RegExp(FOREIGN)
const EVERY_FOREIGN = new RegExp(FOREIGN, 'g')

const ESCAPED_SPACE = /\\[nrt]/g
const BACKSLASH = '\\'
/** Tested separately: the others lie beyond Latin-1, so V8 rejects them at once for most texts. */
const NO_BREAK_SPACE = '\u00a0'

/**
 * Returns the text to scan; the same string if nothing has to be folded.
 * @param before the folded text before it in a stream
 */
export function fold(text: string, before = ''): string {
  let folded = ANY_FOREIGN.test(text)
    ? text.replace(EVERY_FOREIGN, (character) => FOLDED.get(character) ?? character)
    : text
  if (folded.includes(NO_BREAK_SPACE)) folded = folded.replaceAll(NO_BREAK_SPACE, ' ')
  if (folded.includes(BACKSLASH)) folded = folded.replace(ESCAPED_SPACE, '\\ ')
  return before.endsWith(BACKSLASH) && /^[nrt]/.test(folded) ? ` ${folded.slice(1)}` : folded
}
