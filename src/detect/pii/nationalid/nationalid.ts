// Detects personal numbers issued by states: by shape and check digits, and by a label where these
// prove too little. The countries are listed by continent, those with letters in letters.ts.

import {
  DOT,
  HYPHEN,
  isAlphanumeric,
  isAsciiUpper,
  isWordCharacter,
  PLUS,
  SLASH,
  SPACE,
} from '../../../core/ascii.ts'
import { codeAt, endOfDigits, isLetter } from '../code-unit-classes.ts'
import type { Segment } from '../engine/segment.ts'
import type { NumberRuns } from '../number/run.ts'
import { labelBefore, toWords } from '../words/label.ts'
import { isNumberOfThing } from '../words/other-number.ts'
import { LETTER_IDENTIFIERS } from './letters.ts'
import { IDENTIFIERS, identifiersOf } from './shapes.ts'

/** Maximum characters between a label and its number, and how far back a label is sought. */
const MAXIMUM_BETWEEN = 32
const WINDOW_CHARACTERS = 60
/** General labels for the number of a person. */
const GENERAL_WORDS =
  'national ?(?:id|identity|identification|insurance|registration)|identity ?(?:card|number|code|document)|' +
  '(?:personal|social|citizen|national|tax|taxpayer) ?(?:id|identification|identity)(?: (?:number|code|no))?|' +
  "ausweis|carte d['’]identit|documento d['’]identit|documento de identidad|identiteits|dowod|dowód|" +
  '身份|身分|주민|บัตรประชาชน|هوية|удостоверени'

const ANY_WORD = new RegExp(
  [GENERAL_WORDS, ...new Set([...IDENTIFIERS, ...LETTER_IDENTIFIERS.flat()].map(({ words }) => words))].join(
    '|',
  ),
)

/** Source of the pattern that `mayBePersonalLabel` tests. */
export const PERSONAL_LABELS = ANY_WORD.source

/** Reports whether the text before a number may hold the label of a personal number. */
export const mayBePersonalLabel = (before: string): boolean => ANY_WORD.test(toWords(before))

/**
 * Abbreviations that are also names of programs, settings and devices: `ci`, `run`, `nic`. They
 * count in a text of people, before a word for a number or, in capitals, before a number that its
 * form proves.
 */
const AMBIGUOUS =
  /^(?:ci|cc|nid|nic|nik|run|rut|rg|sin|uid|pan|fin|tin|nis|nit|pis|sss|cpr|inn|iin|dpi|cui|dui|spi|ird|cni|qid|rrn|frn|nin|cnp|egn|pnr|fnr|oib|taj|afm|utr|nas|ic|rsa|kra|epic|lnch|embg|ahv|avs)(?![a-z])/
/** More digits than counters and ids of programs have. */
const MIN_LONG_DIGITS = 11
/** Words of people before a number: possessives, and words and letters of other languages. */
const SPOKEN =
  /[\u00bf\u00e0-\u00f6\u00f8-\u02ff\u0370-\u1fff\u3040-\ud7ff]|(?<![a-z_.-])(?:my|your|his|her|their|our|mine|mi|mis|su|sus|tu|mein\w{0,2}|meu|minha|mon|ma|mio|mia|mijn|min|mitt|moj\w|mój|nasz|el|la|los|las|del|dela|con|una|soy|tengo|señor\w*|sr|sra|cliente|titular|nombre|nome|numero|cedula|identidad|ciudadan\w+|documento|person\w{0,3}|patient|employee|resident|citizen|customer|applicant|taxpayer)(?![a-z_.-])/i
/** `nid number`, `nic no.` */
const NUMBER_OF = /^(?!run[ _])[a-z.]+[ _]?(?:numbers?|num|nr|no|n[º°o]|card|№)(?![a-z])/

const compiled = new Map<string, RegExp>()

/** The text before a number, read only when it is needed. */
class NumberLabel {
  readonly #segment: Segment
  readonly #at: number
  #words: string | null = null

  constructor(segment: Segment, at: number) {
    this.#segment = segment
    this.#at = at
  }

  /**
   * Reports whether one of the words precedes, with no digit after it.
   * @param isProven the number has a check digit or separators
   * @param isDistinctive it has letters and digits, as other numbers do not
   */
  names(words: string, isProven: boolean, isDistinctive = false): boolean {
    if (!this.#segment.isAfterLetter(this.#at)) return false
    let pattern = compiled.get(words)
    if (pattern === undefined) {
      pattern = new RegExp(`(?:${words})[^\\d]{0,${MAXIMUM_BETWEEN}}$`)
      compiled.set(words, pattern)
    }
    this.#words ??= labelBefore(this.#segment.text, this.#at, WINDOW_CHARACTERS)
    const label = pattern.exec(this.#words)?.[0]
    if (label === undefined) return false
    return isDistinctive || !AMBIGUOUS.test(label) || this.#isSpoken(label, isProven)
  }

  /** Reports whether the text is one in which an abbreviation means a personal number. */
  #isSpoken(label: string, isProven: boolean): boolean {
    const { text } = this.#segment
    const start = Math.max(0, this.#at - WINDOW_CHARACTERS)
    const before = text.slice(start, this.#at)
    // The first word may be cut.
    const window = start > 0 ? before.replace(/^\S+/, '') : before
    if (SPOKEN.test(window) || NUMBER_OF.test(label)) return true
    return isProven && window.includes(/^\w+/.exec(label)![0].toUpperCase())
  }
}

/** Reports whether the number ends a longer identifier, a path or a version. */
function isIdentifierTail(text: string, start: number): boolean {
  const before = codeAt(text, start - 1)
  return (
    (before === HYPHEN || before === SLASH || before === DOT || before === PLUS) &&
    isWordCharacter(codeAt(text, start - 2))
  )
}

const continuesAfter = (text: string, end: number): boolean =>
  (text[end] === '-' || text[end] === '/' || text[end] === '.' || text[end] === ':') &&
  isAlphanumeric(codeAt(text, end + 1))

/**
 * Detects numbers that consist of digits.
 * @param runs the runs that start at one digit
 * @returns end of the number; 0 if there is none
 */
export function scanDigitIdentifier(segment: Segment, runs: NumberRuns): number {
  const mayBeLabelled = segment.isAfterLetter(runs.start)
  const label = new NumberLabel(segment, runs.start)
  for (let i = runs.count - 1; i >= 0; i--) {
    const identifiers = identifiersOf(runs.shape(i), mayBeLabelled)
    if (identifiers.length === 0 || runs.isOpen(i)) continue
    const run = runs.run(i)
    const form = `${run.groups} ${run.separators}`
    for (const identifier of identifiers) {
      if (!identifier.valid(run.digits) || !identifier.form.test(form)) continue
      const isProven = identifier.general || !run.isPlain || run.digitCount >= MIN_LONG_DIGITS
      const proven = identifier.alone?.test(form) === true && !isIdentifierTail(segment.text, run.start)
      const named =
        proven ||
        label.names(identifier.words, isProven) ||
        (identifier.general && label.names(GENERAL_WORDS, true))
      if (!named || isNumberOfThing(segment.text, run.start)) continue
      return segment.add('national_id', run.start, run.end) ? run.end : 0
    }
  }
  return 0
}

/** Characters of the two groups of an Italian name, as in `RSS MRA 85T10 A562S`. */
const ITALIAN_NAMES = 7

/** Count of letters that a number starts with. */
function lettersBetween(text: string, word: number, at: number): number {
  const before = codeAt(text, at - 1)
  const width = before === SPACE || before === HYPHEN ? Math.max(0, at - 1 - word) : at - word
  return width === ITALIAN_NAMES && codeAt(text, word + 3) === SPACE ? width - 1 : width
}

/** Lower-case letters and digits that may be hexadecimal. */
const HEXADECIMAL = /^[0-9a-f]*$/

/**
 * Detects numbers that contain letters.
 * @param word start of the word with the digit, or of the letters before it and a space
 * @param at of the first digit
 * @param digitsEnd end of the digits that start there
 * @returns end of the number; 0 if there is none
 */
export function scanLetterIdentifier(segment: Segment, word: number, at: number, digitsEnd: number): number {
  const { text } = segment
  const letters = lettersBetween(text, word, at)
  if (!mayBeIdentifier(text, letters, at, digitsEnd)) return 0
  const label = new NumberLabel(segment, word)
  for (const { shape, alone, words, valid } of LETTER_IDENTIFIERS[letters] ?? []) {
    shape.lastIndex = word
    const found = shape.exec(text)?.[0]
    if (found === undefined) continue
    const end = word + found.length
    if (continuesAfter(text, end) || !valid(found.replace(/[^A-Za-z0-9ñÑ]/g, '').toUpperCase())) continue
    const proven = alone && !isIdentifierTail(text, word) && !HEXADECIMAL.test(found)
    if (!proven && !label.names(words, true, /[a-z]/i.test(found)) && !label.names(GENERAL_WORDS, true))
      continue
    if (isNumberOfThing(text, word)) continue
    return segment.add('national_id', word, end) ? end : 0
  }
  return 0
}

/** Counts of digits after the letters, one bit each, by the count of letters at the start. */
const DIGITS_AFTER_LETTERS = [[6, 7, 8, 9, 17], [6, 7, 8, 9], [2, 4, 6], [7], [6, 7, 8, 9], [4], [2, 8]].map(
  (counts) => counts.reduce((mask, count) => mask | (1 << count), 0),
)
const MAXIMUM_DIGITS_AFTER_LETTERS = 17

/** Prefilter: reports whether any number with so many letters continues like this. */
function mayBeIdentifier(text: string, letters: number, at: number, end: number): boolean {
  const digits = end - at
  if (letters <= 1 && digits <= 2) return isInThousands(text, end) || isBeforeCorsica(text, end)
  if (digits > MAXIMUM_DIGITS_AFTER_LETTERS || letters >= DIGITS_AFTER_LETTERS.length) return false
  return (((DIGITS_AFTER_LETTERS[letters] ?? 0) >> digits) & 1) === 1
}

/** Reports whether the digits continue as in `12.345`. */
export const isInThousands = (text: string, end: number): boolean =>
  codeAt(text, end) === DOT && endOfDigits(text, end + 1) === end + 4

/** The first digit of `1 85 05 2A`. */
const isBeforeCorsica = (text: string, end: number): boolean =>
  codeAt(text, end) === SPACE && CORSICA.has(text.slice(end + 7, end + 9))
const CORSICA = new Set(['2A', '2B', '2a', '2b'])

/**
 * Reports whether any number with so many letters has at least one digit and at most so many after
 * them, since the text may be cut after any digit.
 */
export const mayStartIdentifier = (letters: number, digits: number): boolean =>
  letters < DIGITS_AFTER_LETTERS.length && ((DIGITS_AFTER_LETTERS[letters] ?? 0) & ((2 << digits) - 1)) !== 0

/**
 * Where separate letters before a digit start: `AB 12 34 56 C`, `X-1234567-L`,
 * `RSS MRA 85T10 A562S`. Returns `at` if there are none.
 */
export function startOfLettersBefore(text: string, at: number, from: number): number {
  const separator = codeAt(text, at - 1)
  if (separator !== SPACE && separator !== HYPHEN) return at
  const single = at - 2
  if (single >= from && isLetter(codeAt(text, single)) && !isWordCharacter(codeAt(text, single - 1)))
    return single
  const start = at - 3
  if (start < from || !isLetter(codeAt(text, start)) || !isLetter(codeAt(text, start + 1))) return at
  return isWordCharacter(codeAt(text, start - 1)) ? italianNamesBefore(text, at, from) : start
}

/** The names before the date in an Italian number in groups. */
const ITALIAN = /(?<![A-Za-z0-9_])[A-Z]{3} ?[A-Z]{3} $/

function italianNamesBefore(text: string, at: number, from: number): number {
  if (!isItalianDateGroup(text, at)) return at
  const names = ITALIAN.exec(text.slice(Math.max(0, at - ITALIAN_NAMES - 2), at))?.[0] ?? ''
  return names !== '' && at - names.length >= from ? at - names.length : at
}

/** Reports whether a group such as `85T10` follows a capital and a space, which is rare. */
export const isItalianDateGroup = (text: string, at: number): boolean =>
  codeAt(text, at - 1) === SPACE &&
  isAsciiUpper(codeAt(text, at - 2)) &&
  isAsciiUpper(codeAt(text, at + 2)) &&
  endOfDigits(text, at) === at + 2 &&
  endOfDigits(text, at + 3) === at + 5
