// What stands between words of letters a to z: marks, numbers, and all other words, with digits or an apostrophe in them, long, or in
// other scripts. A function that returns the index it was given has read nothing: what stands there takes more thought.

import type { CLASS } from './character-classes.ts'
import { moveTogether } from './letter-folding.ts'
import type { Lexicon, PLAIN, WHOLE } from './lexicon.ts'
import type { Before, STATE, TOKEN, Tokens } from './token-list.ts'
import { hashLetter, WORD_SEED } from './word-hash.ts'

/** Longer words are no words: they count as one kind of thing, whatever their letters. */
export const MAX_WORD_UNITS = 40
/** Longer words with so many digits are identifiers, hashes or encoded data. */
const IDENTIFIER_UNITS = 12
const IDENTIFIER_DIGITS = 3

const DOT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

/** One feature, the mark itself, and no word. */
const MARK_TRAITS = 1 << 8
/** One feature, and counts as a word. */
const WHOLE_TRAITS = MARK_TRAITS | 1

// Copies, kept the same by their types: constants of this module are part of the machine code, those of others are fetched.
const SEPARATOR: typeof CLASS.separator = 1
const LETTER: typeof CLASS.letter = 2
const DIGIT: typeof CLASS.digit = 3
const SINGLE: typeof CLASS.single = 4
const JOINER: typeof CLASS.joiner = 5
const STOP: typeof CLASS.stop = 6
const LETTERS_MAX: typeof PLAIN.lettersMax = 12
const NO_WHOLE: typeof WHOLE.none = -1
const NUMBER: typeof WHOLE.number = 0
const LONG: typeof WHOLE.long = 2
const IDENTIFIER: typeof WHOLE.identifier = 4
const HASH: typeof TOKEN.hash = 0
const SUM: typeof TOKEN.sum = 1
const TRAITS: typeof TOKEN.traits = 2
const FIRST: typeof TOKEN.first = 3
const LAST: typeof TOKEN.last = 4
const LETTERS_END: typeof TOKEN.lettersEnd = 5
const STATE_COLUMN: typeof TOKEN.state = 6
const COLUMNS: typeof TOKEN.columns = 8
const LATIN: typeof STATE.latin = 1
const SPACED: typeof STATE.spaced = 2
const LEET: typeof STATE.leet = 4

/** Adds the mark at `index`; returns where to go on. */
export function readMark(
  units: Uint16Array,
  index: number,
  known: Uint8Array,
  lexicon: Lexicon,
  before: Before,
  out: Tokens,
): number {
  const unit = units[index] as number
  if (unit === DOT && known[units[index + 1] as number] !== SEPARATOR) {
    // A dot may stand inside a name or number.
    const next = known[units[index + 1] as number] as number
    const last = index === 0 ? SEPARATOR : (known[units[index - 1] as number] as number)
    if (next === 0 || last === 0) return index
    if ((next === LETTER || next === DIGIT) && (last === LETTER || last === DIGIT)) return index + 1
  }
  addMark(out, lexicon, known[unit] as number, index, before)
  return index + 1
}

/** Adds a mark of a class; of a run of the same mark the first counts. */
export function addMark(out: Tokens, lexicon: Lexicon, kind: number, index: number, before: Before): void {
  const { rows } = out
  const hash = lexicon.marks[kind * 2] as number
  const previous = (out.length - 1) * COLUMNS
  if (out.length > 0 && rows[previous + HASH] === hash && rows[previous + TRAITS] === MARK_TRAITS) return
  before.state &= ~SPACED
  addRow(out, hash, lexicon.marks[kind * 2 + 1] as number, MARK_TRAITS, index, index, before.state)
}

/** Adds the number at `index`, of ASCII digits with nothing else in it; returns where it ends. */
export function readNumber(
  units: Uint16Array,
  index: number,
  known: Uint8Array,
  lexicon: Lexicon,
  before: Before,
  out: Tokens,
): number {
  let end = index
  while ((units[end] as number) >= DIGIT_0 && (units[end] as number) <= DIGIT_9) end++
  const after = known[units[end] as number] as number
  if (end - index > LETTERS_MAX || (after !== SEPARATOR && after < STOP)) return index
  before.state = LATIN
  addWhole(out, lexicon, NUMBER, index, end - 1, LATIN)
  return end
}

/** Adds any other word; returns where it ends. @param twins as in readWords */
export function readOther(
  units: Uint16Array,
  index: number,
  known: Uint8Array,
  twins: Uint16Array,
  lexicon: Lexicon,
  before: Before,
  out: Tokens,
): number {
  let hash = WORD_SEED
  let count = 0
  let digits = 0
  let latin = 0
  let foreign = 0
  let alike = 0
  let joiners = 0
  let mixed = 0
  let kind = 0
  let end = index
  for (; ; end++) {
    const unit = units[end] as number
    kind = known[unit] as number
    if (kind === LETTER) {
      if (unit < 0x80) latin++
      else {
        foreign++
        if (twins[unit] !== 0) alike++
      }
      mixed |= digits
    } else if (kind === DIGIT) {
      if (unit <= DIGIT_9) digits++
      else {
        foreign++
        mixed |= digits
      }
    } else if (kind === JOINER && end > index && known[units[end + 1] as number] === LETTER) {
      joiners++
      continue
    } else break
    if (count > MAX_WORD_UNITS) continue
    hash = hashLetter(hash, unit)
    count++
  }
  if (kind === 0 || (kind === JOINER && known[units[end + 1] as number] === 0)) return index
  if (end === index + 1 && digits === 0 && kind !== JOINER && known[units[index] as number] === LETTER) {
    if (kind === SINGLE || !standsAlone(units, known, index, (before.state & SPACED) !== 0)) return index
  }
  // Look-alikes may stand for Latin letters.
  if (alike > 0 && (latin > 0 || ((before.state & LATIN) !== 0 && alike === count))) return index
  if (joiners > 0) {
    moveTogether(units, index, end, count, known)
    out.rewritten = true
  }
  if (mixed !== 0) out.mixedWords++
  before.state = foreign === 0 ? LATIN : 0
  let state = before.state
  if (digits > 0 && latin + foreign > 0) {
    state |= LEET
    out.leetWords++
  }
  const whole = wholeOf(count, digits)
  if (whole !== NO_WHOLE) addWhole(out, lexicon, whole, index, end - 1, state)
  else {
    const entry = lexicon.other(units, index, index + count, hash)
    lexicon.addWord(out, entry, index, index + count, end - 1, state)
  }
  return end
}

/** Adds what is one thing whatever its letters: see WHOLE. */
export function addWhole(
  out: Tokens,
  lexicon: Lexicon,
  whole: number,
  first: number,
  last: number,
  state: number,
): void {
  const { wholes } = lexicon
  addRow(out, wholes[whole] as number, wholes[whole + 1] as number, WHOLE_TRAITS, first, last, state)
}

/** Adds a token without letters of its own. */
function addRow(
  out: Tokens,
  hash: number,
  sum: number,
  traits: number,
  first: number,
  last: number,
  state: number,
): void {
  const { rows } = out
  const row = out.length++ * COLUMNS
  rows[row + HASH] = hash
  rows[row + SUM] = sum
  rows[row + TRAITS] = traits
  rows[row + FIRST] = first
  rows[row + LAST] = last
  rows[row + LETTERS_END] = first
  rows[row + STATE_COLUMN] = state
}

/** Whether the single letter at `index` is surely no part of a spaced-out word; often no. */
export function standsAlone(
  units: Uint16Array,
  known: Uint8Array,
  index: number,
  spacedBefore: boolean,
): boolean {
  const separator = units[index + 1] as number
  for (let at = index + 2; at < index + 8; at += 2) {
    const next = known[units[at] as number] as number
    if (next === SEPARATOR || next >= STOP) return true
    const second = known[units[at + 1] as number] as number
    if (second === LETTER || second === DIGIT) return true
    if (spacedBefore) return false
    // So far two letters, then three, then four.
    if (at < index + 6 && units[at + 1] !== separator) return true
  }
  return false
}

/** Which of WHOLE a word of so many letters and digits, of them so many digits, is. */
export function wholeOf(letters: number, digits: number): number {
  if (letters === digits) return NUMBER
  if (letters > MAX_WORD_UNITS) return LONG
  return letters > IDENTIFIER_UNITS && digits >= IDENTIFIER_DIGITS ? IDENTIFIER : NO_WHOLE
}
