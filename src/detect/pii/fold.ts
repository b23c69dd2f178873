// Folds variants of characters to ASCII: digits of other scripts, full-width letters and signs,
// dashes, typographic spaces. Escaped line ends and tabs, as in pasted JSON, become spaces, so that
// a value can start after `\n`. Every code unit maps to one, so offsets stay valid and a stream can
// fold chunk by chunk.

import { DIGIT_0 } from '../../core/ascii.ts'
import { DIGITS, ZEROS } from '../../core/decimal-digits.ts'

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
