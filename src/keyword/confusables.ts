// Lists characters that stand for ASCII ones: letters that look like Latin ones, the part of
// Unicode's confusables (UTS #39) that is known to bypass keyword lists; digits of other scripts;
// dashes. Data only.

import { DIGIT_0, HYPHEN } from '../core/ascii.ts'
import { DIGITS, ZEROS } from '../core/decimal-digits.ts'

/** Letters whose lower-case form looks like a Latin one, so that both cases fold. */
const LOWER_CASE = {
  // Cyrillic
  а: 'a',
  е: 'e',
  о: 'o',
  р: 'p',
  с: 'c',
  у: 'y',
  х: 'x',
  к: 'k',
  і: 'i',
  ј: 'j',
  ѕ: 's',
  һ: 'h',
  ԁ: 'd',
  ԛ: 'q',
  ԝ: 'w',
  ԍ: 'g',
  ѵ: 'v',
  ү: 'y',
  ӏ: 'l',
  // Greek
  α: 'a',
  ι: 'i',
  κ: 'k',
  ν: 'v',
  ο: 'o',
  ρ: 'p',
  υ: 'u',
  χ: 'x',
  ϳ: 'j',
  // Latin letters outside ASCII
  ı: 'i',
  ɑ: 'a',
  ɡ: 'g',
  ꞓ: 'c',
  // Armenian
  օ: 'o',
  ս: 'u',
  հ: 'h',
  ց: 'g',
  զ: 'q',
  յ: 'j',
  // Small capitals
  ᴀ: 'a',
  ʙ: 'b',
  ᴄ: 'c',
  ᴅ: 'd',
  ᴇ: 'e',
  ꜰ: 'f',
  ɢ: 'g',
  ʜ: 'h',
  ɪ: 'i',
  ᴊ: 'j',
  ᴋ: 'k',
  ʟ: 'l',
  ᴍ: 'm',
  ɴ: 'n',
  ᴏ: 'o',
  ᴘ: 'p',
  ꞯ: 'q',
  ʀ: 'r',
  ꜱ: 's',
  ᴛ: 't',
  ᴜ: 'u',
  ᴠ: 'v',
  ᴡ: 'w',
  ʏ: 'y',
  ᴢ: 'z',
}

/**
 * Code point of A in letters on discs and on squares, which NFKC leaves alone. Z follows 25 later.
 */
const ON_DARK_GROUND = [0x1f150, 0x1f170]
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz'

/**
 * Capitals that look Latin although their lower-case form does not. Folding them everywhere would
 * equate Russian «вот» and English "bot", so they fold only where scripts are mixed: next to an
 * ASCII letter, or in a word that began with one.
 */
const UPPER_CASE = {
  // Cyrillic
  В: 'b',
  М: 'm',
  Н: 'h',
  Т: 't',
  // Greek
  Β: 'b',
  Ε: 'e',
  Ζ: 'z',
  Η: 'h',
  Μ: 'm',
  Ν: 'n',
  Τ: 't',
  Υ: 'y',
}

const table = (letters: Readonly<Record<string, string>>): ReadonlyMap<number, number> =>
  new Map(Object.entries(letters).map(([letter, latin]) => [letter.codePointAt(0)!, latin.codePointAt(0)!]))

/** The ASCII letter by the folded code point that looks like it. */
export const LATIN_LOOKALIKES: ReadonlyMap<number, number> = new Map([
  ...table(LOWER_CASE),
  ...ON_DARK_GROUND.flatMap((first) =>
    Array.from(ALPHABET, (letter, index) => [first + index, letter.charCodeAt(0)] as const),
  ),
])

/** From hyphen to horizontal bar, and the minus sign. NFKC maps others to these or to `-`. */
const DASHES = [0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212]

/** The ASCII character by the folded code point that stands for it. */
export const ASCII_LOOKALIKES: ReadonlyMap<number, number> = new Map([
  ...LATIN_LOOKALIKES,
  ...DASHES.map((dash) => [dash, HYPHEN] as const),
  ...ZEROS.flatMap((zero) =>
    Array.from({ length: DIGITS }, (_, digit) => [zero + digit, DIGIT_0 + digit] as const),
  ),
])

/**
 * The lower-case ASCII letter by the code point of a capital, before case folding, that looks like
 * it.
 */
export const LATIN_LOOKALIKE_CAPITALS: ReadonlyMap<number, number> = table(UPPER_CASE)
