// Personal numbers that states give to people: by shape and check digits, and by the words before where those prove
// too little. The countries are in the tables of the continents, and in letters.ts.

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
import { LETTER_IDENTIFIERS } from './letters.ts'
import { IDENTIFIERS, identifiersOf } from './shapes.ts'

/** How far before a number the word for it may end, and how far back it is looked for. */
const MAX_BETWEEN = 32
const WINDOW_CHARACTERS = 60
/** Behind these no number of a person is meant. */
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

/** What `mayBePersonal` looks for. */
export const PERSONAL_LABELS = ANY_WORD.source

/** Whether a word before a number may be for a personal number: a quick look. */
export const mayBePersonalLabel = (before: string): boolean => ANY_WORD.test(toWords(before))

const compiled = new Map<string, RegExp>()

/** What stands before a number, read when it is first asked what it names. */
class NumberLabel {
  readonly #segment: Segment
  readonly #at: number
  #words: string | null = null

  constructor(segment: Segment, at: number) {
    this.#segment = segment
    this.#at = at
  }

  /** Whether one of the words is in it, with no digit behind. */
  names(words: string): boolean {
    if (!this.#segment.isAfterLetter(this.#at)) return false
    let pattern = compiled.get(words)
    if (pattern === undefined) {
      pattern = new RegExp(`(?:${words})[^\\d]{0,${MAX_BETWEEN}}$`)
      compiled.set(words, pattern)
    }
    this.#words ??= labelBefore(this.#segment.text, this.#at, WINDOW_CHARACTERS)
    return pattern.test(this.#words)
  }
}

/** The end of a longer identifier, of a path or of a version. */
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
 * Numbers of digits alone.
 * @param runs that begin at one digit
 * @returns where the number ends; 0 if there is none
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
      const proven = identifier.alone?.test(form) === true && !isIdentifierTail(segment.text, run.start)
      const named =
        proven || label.names(identifier.words) || (identifier.general && label.names(GENERAL_WORDS))
      if (named) return segment.add('national_id', run.start, run.end) ? run.end : 0
    }
  }
  return 0
}

/** Characters of Italian names in groups, as in `RSS MRA 85T10 A562S`. */
const ITALIAN_NAMES = 7

/** How many letters a number begins with. */
function lettersBetween(text: string, word: number, at: number): number {
  const before = codeAt(text, at - 1)
  const width = before === SPACE || before === HYPHEN ? Math.max(0, at - 1 - word) : at - word
  return width === ITALIAN_NAMES && codeAt(text, word + 3) === SPACE ? width - 1 : width
}

/** Small letters that might be hexadecimal digits. */
const HEXADECIMAL = /^[0-9a-f]*$/

/**
 * Numbers with letters.
 * @param word where the word begins that holds the digit, or the two letters before it and a space
 * @param at of the first digit
 * @param digitsEnd where the digits end that begin there
 * @returns where the number ends; 0 if there is none
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
    if (!proven && !label.names(words) && !label.names(GENERAL_WORDS)) continue
    return segment.add('national_id', word, end) ? end : 0
  }
  return 0
}

/** By the number of letters at the beginning, how many digits follow on them: one bit a number. */
const DIGITS_AFTER_LETTERS = [[6, 7, 8, 9, 17], [6, 7, 8, 9], [2, 4, 6], [7], [6, 7, 8, 9], [4], [2, 8]].map(
  (counts) => counts.reduce((mask, count) => mask | (1 << count), 0),
)
const MAX_DIGITS_AFTER_LETTERS = 17

/** A quick look: whether any number with so many letters goes on like this. */
function mayBeIdentifier(text: string, letters: number, at: number, end: number): boolean {
  const digits = end - at
  if (letters <= 1 && digits <= 2) return isInThousands(text, end) || isBeforeCorsica(text, end)
  if (digits > MAX_DIGITS_AFTER_LETTERS || letters >= DIGITS_AFTER_LETTERS.length) return false
  return (((DIGITS_AFTER_LETTERS[letters] ?? 0) >> digits) & 1) === 1
}

/** Whether digits go on as in `12.345`. */
export const isInThousands = (text: string, end: number): boolean =>
  codeAt(text, end) === DOT && endOfDigits(text, end + 1) === end + 4

/** `1 85 05 2A`, behind the first digit. */
const isBeforeCorsica = (text: string, end: number): boolean =>
  codeAt(text, end) === SPACE && CORSICA.has(text.slice(end + 7, end + 9))
const CORSICA = new Set(['2A', '2B', '2a', '2b'])

/** Whether any number with so many letters has as many digits behind them, or fewer: where a text is cut is not known. */
export const mayStartIdentifier = (letters: number, digits: number): boolean =>
  letters < DIGITS_AFTER_LETTERS.length && ((DIGITS_AFTER_LETTERS[letters] ?? 0) & ((2 << digits) - 1)) !== 0

/**
 * Where the letters begin that stand by themselves before a digit: `AB 12 34 56 C`, `X-1234567-L`, `RSS MRA 85T10 A562S`;
 * the digit if none do.
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

/** Whether a capital stands before the space before a group such as `85T10`, which are not many. */
export const isItalianDateGroup = (text: string, at: number): boolean =>
  codeAt(text, at - 1) === SPACE &&
  isAsciiUpper(codeAt(text, at - 2)) &&
  isAsciiUpper(codeAt(text, at + 2)) &&
  endOfDigits(text, at) === at + 2 &&
  endOfDigits(text, at + 3) === at + 5
