// What stands between words of letters a to z: marks, numbers, and all other words, with digits or an apostrophe in them, long, or in
// other scripts. A function that returns the index it was given has read nothing: what stands there takes more thought.

import {
  CLASS_DIGIT,
  CLASS_IDEOGRAPH,
  CLASS_JOINER,
  CLASS_LETTER,
  CLASS_SEPARATOR,
  CLASS_STOP,
} from './character-classes.ts'
import { moveTogether } from './letter-folding.ts'
import {
  ASCII_WORD_LETTERS_MAX,
  type Lexicon,
  OPAQUE_IDENTIFIER,
  OPAQUE_LONG,
  OPAQUE_NONE,
  OPAQUE_NUMBER,
} from './lexicon.ts'
import {
  type Before,
  COLUMN_FIRST,
  COLUMN_HASH,
  COLUMN_LAST,
  COLUMN_LETTERS_END,
  COLUMN_STATE,
  COLUMN_SUM,
  COLUMN_TRAITS,
  ROW_COLUMNS,
  STATE_LATIN,
  STATE_LEET,
  STATE_SPACED,
  type Tokens,
} from './token-list.ts'
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
  if (unit === DOT && known[units[index + 1] as number] !== CLASS_SEPARATOR) {
    // A dot may stand inside a name or number.
    const next = known[units[index + 1] as number] as number
    const last = index === 0 ? CLASS_SEPARATOR : (known[units[index - 1] as number] as number)
    if (next === 0 || last === 0) return index
    if ((next === CLASS_LETTER || next === CLASS_DIGIT) && (last === CLASS_LETTER || last === CLASS_DIGIT))
      return index + 1
  }
  addMark(out, lexicon, known[unit] as number, index, before)
  return index + 1
}

/** Adds a mark of a class; of a run of the same mark the first counts. */
export function addMark(out: Tokens, lexicon: Lexicon, kind: number, index: number, before: Before): void {
  const { rows } = out
  const hash = lexicon.marks[kind * 2] as number
  const previous = (out.length - 1) * ROW_COLUMNS
  if (
    out.length > 0 &&
    rows[previous + COLUMN_HASH] === hash &&
    rows[previous + COLUMN_TRAITS] === MARK_TRAITS
  )
    return
  before.state &= ~STATE_SPACED
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
  if (end - index > ASCII_WORD_LETTERS_MAX || (after !== CLASS_SEPARATOR && after < CLASS_STOP)) return index
  before.state = STATE_LATIN
  addWhole(out, lexicon, OPAQUE_NUMBER, index, end - 1, STATE_LATIN)
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
    if (kind === CLASS_LETTER) {
      if (unit < 0x80) latin++
      else {
        foreign++
        if (twins[unit] !== 0) alike++
      }
      mixed |= digits
    } else if (kind === CLASS_DIGIT) {
      if (unit <= DIGIT_9) digits++
      else {
        foreign++
        mixed |= digits
      }
    } else if (kind === CLASS_JOINER && end > index && known[units[end + 1] as number] === CLASS_LETTER) {
      joiners++
      continue
    } else break
    if (count > MAX_WORD_UNITS) continue
    hash = hashLetter(hash, unit)
    count++
  }
  if (kind === 0 || (kind === CLASS_JOINER && known[units[end + 1] as number] === 0)) return index
  if (
    end === index + 1 &&
    digits === 0 &&
    kind !== CLASS_JOINER &&
    known[units[index] as number] === CLASS_LETTER
  ) {
    if (kind === CLASS_IDEOGRAPH || !standsAlone(units, known, index, (before.state & STATE_SPACED) !== 0))
      return index
  }
  // Look-alikes may stand for Latin letters.
  if (alike > 0 && (latin > 0 || ((before.state & STATE_LATIN) !== 0 && alike === count))) return index
  if (joiners > 0) {
    moveTogether(units, index, end, count, known)
    out.rewritten = true
  }
  if (mixed !== 0) out.mixedWords++
  before.state = foreign === 0 ? STATE_LATIN : 0
  let state = before.state
  if (digits > 0 && latin + foreign > 0) {
    state |= STATE_LEET
    out.leetWords++
  }
  const whole = wholeOf(count, digits)
  if (whole !== OPAQUE_NONE) addWhole(out, lexicon, whole, index, end - 1, state)
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
  const row = out.length++ * ROW_COLUMNS
  rows[row + COLUMN_HASH] = hash
  rows[row + COLUMN_SUM] = sum
  rows[row + COLUMN_TRAITS] = traits
  rows[row + COLUMN_FIRST] = first
  rows[row + COLUMN_LAST] = last
  rows[row + COLUMN_LETTERS_END] = first
  rows[row + COLUMN_STATE] = state
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
    if (next === CLASS_SEPARATOR || next >= CLASS_STOP) return true
    const second = known[units[at + 1] as number] as number
    if (second === CLASS_LETTER || second === CLASS_DIGIT) return true
    if (spacedBefore) return false
    // So far two letters, then three, then four.
    if (at < index + 6 && units[at + 1] !== separator) return true
  }
  return false
}

/** Which of WHOLE a word of so many letters and digits, of them so many digits, is. */
export function wholeOf(letters: number, digits: number): number {
  if (letters === digits) return OPAQUE_NUMBER
  if (letters > MAX_WORD_UNITS) return OPAQUE_LONG
  return letters > IDENTIFIER_UNITS && digits >= IDENTIFIER_DIGITS ? OPAQUE_IDENTIFIER : OPAQUE_NONE
}
