// Personal numbers that states give to people: by shape and check digits, and by the words before where those prove
// too little. The countries are in the tables nationalid-digits.ts and nationalid-letters.ts.

import { endOfDigits, isAlphanumeric, isBehindWords, isLetter, isWordCharacter } from './characters.ts'
import { identifiersOf } from './nationalid-digits.ts'
import { LETTER_IDENTIFIERS } from './nationalid-letters.ts'
import type { Run } from './numberrun.ts'
import type { Segment } from './segment.ts'

/** How far before a number the word for it may end, and how far back it is looked for. */
const MAX_BETWEEN = 24
const WINDOW_CHARACTERS = 60
/** Behind these no number of a person is meant. */
const GENERAL_WORDS =
  'national (?:id|identity|identification|insurance|registration)|identity (?:card|number|code|document)|' +
  '(?:personal|social|citizen|national|tax|taxpayer)[ -]?(?:id|identification|identity)(?: (?:number|code|no))?|' +
  "ausweis|carte d['’]identit|documento d['’]identit|documento de identidad|identiteits|dowod|dowód|" +
  '身份|身分|주민|บัตรประชาชน|هوية|удостоверени'

const compiled = new Map<string, RegExp>()

/** Whether one of the words stands before a place, with no digit between. */
function isNamed(segment: Segment, at: number, words: string): boolean {
  if (!isBehindWords(segment.text, at)) return false
  let pattern = compiled.get(words)
  if (pattern === undefined) {
    pattern = new RegExp(`(?:${words})[^\\d]{0,${MAX_BETWEEN}}$`)
    compiled.set(words, pattern)
  }
  return pattern.test(segment.windowBefore(at, WINDOW_CHARACTERS))
}

/** The end of a longer identifier, of a path or of a version. */
function isTail(text: string, start: number): boolean {
  const before = text[start - 1]
  return (
    (before === '-' || before === '/' || before === '.' || before === '+') &&
    isWordCharacter(text.charCodeAt(start - 2))
  )
}

const goesOn = (text: string, end: number): boolean =>
  (text[end] === '-' || text[end] === '/' || text[end] === '.' || text[end] === ':') &&
  isAlphanumeric(text.charCodeAt(end + 1))

/**
 * Numbers of digits alone.
 * @param runs that begin at one digit
 * @returns where the number ends; 0 if there is none
 */
export function scanDigitIdentifier(segment: Segment, runs: readonly Run[]): number {
  const behindWords = isBehindWords(segment.text, runs[0]?.start ?? 0)
  for (let i = runs.length - 1; i >= 0; i--) {
    const run = runs[i]
    if (run === undefined || run.open) continue
    const identifiers = identifiersOf(run, behindWords)
    if (identifiers.length === 0) continue
    const form = `${run.groups} ${run.separators}`
    for (const identifier of identifiers) {
      if (!identifier.form.test(form) || !identifier.valid(run.digits)) continue
      const proven = identifier.alone?.test(form) === true && !isTail(segment.text, run.start)
      const named =
        proven ||
        isNamed(segment, run.start, identifier.words) ||
        (identifier.general && isNamed(segment, run.start, GENERAL_WORDS))
      if (named) return segment.add('national_id', run.start, run.end) ? run.end : 0
    }
  }
  return 0
}

/** Small letters that might be hexadecimal digits. */
const HEXADECIMAL = /^[0-9a-f]*$/

/**
 * Numbers with letters.
 * @param word where the word begins that holds the digit, or the two letters before it and a space
 * @param at of the first digit
 * @returns where the number ends; 0 if there is none
 */
export function scanLetterIdentifier(segment: Segment, word: number, at: number): number {
  const { text } = segment
  const letters = text[at - 1] === ' ' || text[at - 1] === '-' ? Math.max(0, at - 1 - word) : at - word
  if (letters === 0 && !maySuit(text, at)) return 0
  for (const { shape, alone, words, valid } of LETTER_IDENTIFIERS[letters] ?? []) {
    shape.lastIndex = word
    const found = shape.exec(text)?.[0]
    if (found === undefined) continue
    const end = word + found.length
    if (goesOn(text, end) || !valid(found.replace(/[^A-Za-z0-9ñÑ]/g, '').toUpperCase())) continue
    const proven = alone && !isTail(text, word) && !HEXADECIMAL.test(found)
    if (!proven && !isNamed(segment, word, words) && !isNamed(segment, word, GENERAL_WORDS)) continue
    return segment.add('national_id', word, end) ? end : 0
  }
  return 0
}

const DOT = 0x2e

/** How many digits the numbers begin with that have their letters at the end: a quick look. */
function maySuit(text: string, at: number): boolean {
  const end = endOfDigits(text, at)
  const digits = end - at
  if (digits <= 2) return text.charCodeAt(end) === DOT && endOfDigits(text, end + 1) === end + 4
  return (digits >= 6 && digits <= 8) || digits === 17
}

/** Where two letters begin that stand by themselves before a digit: `AB 12 34 56 C`; the digit if none do. */
export function lettersBefore(text: string, at: number, from: number): number {
  if (text[at - 1] !== ' ' && text[at - 1] !== '-') return at
  const start = at - 3
  if (start < from || !isLetter(text.charCodeAt(start)) || !isLetter(text.charCodeAt(start + 1))) return at
  return isWordCharacter(text.charCodeAt(start - 1)) ? at : start
}
