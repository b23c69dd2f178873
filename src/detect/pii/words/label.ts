// What stands before a number as somebody would say it: names that programs and tables give are taken apart.

/** `nhsNumber`, `NHSNumber`; not the plural of an abbreviation. */
const HUMP = /(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})/g
/** `tax_file_number`, `tax-file-number` */
const JOINT = /_|(?<=\p{L})-(?=\p{L})/gu
/** How long the number has to be: `(11 digits)`. */
const LENGTH = /[([]\d{1,2}[ -]?\p{L}[^()[\]\d\n]{0,16}[)\]]/gu

/** What a hump is like: quicker to look for where there are none, as in most texts. */
const ANY_HUMP = /[a-z][A-Z]|[A-Z]{3}[a-z]/

/** The words of a text before a number: small letters, spaces between them. */
export function toWords(before: string): string {
  let words = ANY_HUMP.test(before) ? before.replace(HUMP, ' ') : before
  if (words.includes('_') || words.includes('-')) words = words.replace(JOINT, ' ')
  if (words.includes('(') || words.includes('[')) words = words.replace(LENGTH, '')
  return words.toLowerCase()
}

/** The words before a position, from so many characters on. */
export const labelBefore = (text: string, at: number, characters: number): string =>
  toWords(text.slice(Math.max(0, at - characters), at))

/** Letters that stand for words, with or without dots, perhaps with what is numbered: `sin`, `S.I.N.`, `sinnumber`. */
export const abbreviation = (letters: string): string =>
  `\\b${[...letters].join('\\.?')}(?:\\b|(?=num|n[or]\\b))`
