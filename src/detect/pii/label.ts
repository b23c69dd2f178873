// What stands before a number as somebody would say it: names that programs and tables give are taken apart.

/** `nhsNumber`, `NHSNumber`; not the plural of an abbreviation. */
const HUMP = /(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})/g
/** `tax_file_number`, `tax-file-number` */
const JOINT = /_|(?<=\p{L})-(?=\p{L})/gu
/** How long the number has to be: `(11 digits)`. */
const LENGTH = /[([]\d{1,2}[ -]?\p{L}[^()[\]\d\n]{0,16}[)\]]/gu

/** The words of a text before a number: small letters, spaces between them. */
export const asWords = (before: string): string =>
  before.replace(HUMP, ' ').replace(JOINT, ' ').replace(LENGTH, '').toLowerCase()

/** Letters that stand for words, with or without dots, perhaps with what is numbered: `sin`, `S.I.N.`, `sinnumber`. */
export const abbreviation = (letters: string): string =>
  `\\b${[...letters].join('\\.?')}(?:\\b|(?=num|n[or]\\b))`
