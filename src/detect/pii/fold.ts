// Digits of other scripts, the signs that numbers and addresses are written with in full width, and the spaces of
// typography as those of ASCII; and line ends and tabs written as escapes, as in JSON that somebody pasted or asked
// for: what stands behind `\n` begins there. One for one, so that offsets stay what they are and a stream may fold
// piece by piece.

import { DIGIT_0 } from '../../core/ascii.ts'

/** The zeros of decimal digits that people write numbers with; nine more follow on each (Unicode, category Nd). */
const ZEROS = [
  0x0660, // Arabic
  0x06f0, // Persian, Urdu
  0x0966, // Devanagari
  0x09e6, // Bengali
  0x0e50, // Thai
  0xff10, // full width
]
const DIGITS = 10

const FOLDED = new Map<string, string>([
  ['＠', '@'],
  ['．', '.'],
  ['－', '-'],
  ['＋', '+'],
])
for (const zero of ZEROS) {
  for (let digit = 0; digit < DIGITS; digit++)
    FOLDED.set(String.fromCharCode(zero + digit), String.fromCharCode(DIGIT_0 + digit))
}
/** Spaces of other widths (Unicode, category Zs). */
for (const space of '\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f')
  FOLDED.set(space, ' ')
const FOREIGN = `[${[...FOLDED.keys()].join('')}]`
const ANY_FOREIGN = new RegExp(FOREIGN)
const EVERY_FOREIGN = new RegExp(FOREIGN, 'g')

const ESCAPED_SPACE = /\\[nrt]/g
const BACKSLASH = '\\'
/** By itself: the others are beyond Latin-1, so that most texts are not searched for them at all. */
const NO_BREAK_SPACE = '\u00a0'

/**
 * The text in which numbers are looked for; the same text if there is nothing to fold.
 * @param before what came before it in a stream, folded
 */
export function fold(text: string, before = ''): string {
  let folded = ANY_FOREIGN.test(text)
    ? text.replace(EVERY_FOREIGN, (character) => FOLDED.get(character) ?? character)
    : text
  if (folded.includes(NO_BREAK_SPACE)) folded = folded.replaceAll(NO_BREAK_SPACE, ' ')
  if (folded.includes(BACKSLASH)) folded = folded.replace(ESCAPED_SPACE, '\\ ')
  return before.endsWith(BACKSLASH) && /^[nrt]/.test(folded) ? ` ${folded.slice(1)}` : folded
}
