// Turns the text before a number into plain words; names from programs and tables are split into
// theirs.

/** Humps in `nhsNumber` and `NHSNumber`, but not before the plural of an abbreviation. */
const HUMP = /(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})/g
/** `tax_file_number`, `tax-file-number` */
const JOINT = /_|(?<=\p{L})-(?=\p{L})/gu
/** A stated length: `(11 digits)`. */
const LENGTH = /[([]\d{1,2}[ -]?\p{L}[^()[\]\d\n]{0,16}[)\]]/gu

/** Prefilter for HUMP, faster for the many texts without one. */
const ANY_HUMP = /[a-z][A-Z]|[A-Z]{3}[a-z]/

/** The words of the text before a number, in lower case, separated by spaces. */
export function toWords(before: string): string {
  let words = ANY_HUMP.test(before) ? before.replace(HUMP, ' ') : before
  if (words.includes('_') || words.includes('-')) words = words.replace(JOINT, ' ')
  if (words.includes('(') || words.includes('[')) words = words.replace(LENGTH, '')
  return words.toLowerCase()
}

/** The words of the last `characters` characters before an offset. */
export const labelBefore = (text: string, at: number, characters: number): string =>
  toWords(text.slice(Math.max(0, at - characters), at))

/**
 * Pattern for an abbreviation, with or without dots, perhaps joined to a word for number: `sin`,
 * `S.I.N.`, `sinnumber`.
 */
export const abbreviation = (letters: string): string =>
  `\\b${[...letters].join('\\.?')}(?:\\b|(?=num|n[or]\\b))`
