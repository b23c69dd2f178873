// Reads the tokens that are not short words of letters a to z: marks, numbers, and words that are
// long or contain digits, apostrophes or other scripts. A function that returns the index it was
// given has added nothing and leaves a hard case to tokens.ts.

import { ASCII_END, DIGIT_0, DIGIT_9, DOT } from '../../core/ascii.ts'
import {
  CLASS_DIGIT,
  CLASS_IDEOGRAPH,
  CLASS_JOINER,
  CLASS_LETTER,
  CLASS_SEPARATOR,
  CLASS_STOP,
} from './character-classes.ts'
import { dropJoiners } from './letter-folding.ts'
import {
  ASCII_WORD_LETTERS_MAX,
  type Lexicon,
  OPAQUE_IDENTIFIER,
  OPAQUE_LONG,
  OPAQUE_NONE,
  OPAQUE_NUMBER,
} from './lexicon.ts'
import {
  COLUMN_FIRST,
  COLUMN_HASH,
  COLUMN_LAST,
  COLUMN_LETTERS_END,
  COLUMN_STATE,
  COLUMN_SUM,
  COLUMN_TRAITS,
  type PrecedingState,
  ROW_COLUMNS,
  STATE_LATIN,
  STATE_LEET,
  STATE_SPACED,
  type TokenList,
} from './token-list.ts'
import { hashLetter, WORD_SEED } from './word-hash.ts'

/** Longer words count as one kind of token; their letters do not matter. */
export const WORD_UNITS_MAX = 40
/**
 * Words longer than this with at least IDENTIFIER_DIGITS digits are identifiers, hashes or encoded
 * data.
 */
const IDENTIFIER_UNITS = 12
const IDENTIFIER_DIGITS = 3

/** One feature, and not a word. */
const MARK_TRAITS = 1 << 8
/** One feature, and a word. */
const OPAQUE_TRAITS = MARK_TRAITS | 1

/** Adds the mark at `index`; returns where to continue. */
export function readMark(
  units: Uint16Array,
  index: number,
  classes: Uint8Array,
  lexicon: Lexicon,
  preceding: PrecedingState,
  out: TokenList,
): number {
  const unit = units[index] as number
  if (unit === DOT && classes[units[index + 1] as number] !== CLASS_SEPARATOR) {
    // A dot may be inside a name or number.
    const next = classes[units[index + 1] as number] as number
    const last = index === 0 ? CLASS_SEPARATOR : (classes[units[index - 1] as number] as number)
    if (next === 0 || last === 0) return index
    if ((next === CLASS_LETTER || next === CLASS_DIGIT) && (last === CLASS_LETTER || last === CLASS_DIGIT))
      return index + 1
  }
  addMark(out, lexicon, classes[unit] as number, index, preceding)
  return index + 1
}

/** Adds a mark of a class. A run of the same mark counts once. */
export function addMark(
  out: TokenList,
  lexicon: Lexicon,
  charClass: number,
  index: number,
  preceding: PrecedingState,
): void {
  const { rows } = out
  const hash = lexicon.marks[charClass * 2] as number
  const previous = (out.length - 1) * ROW_COLUMNS
  if (
    out.length > 0 &&
    rows[previous + COLUMN_HASH] === hash &&
    rows[previous + COLUMN_TRAITS] === MARK_TRAITS
  )
    return
  preceding.state &= ~STATE_SPACED
  addRow(out, hash, lexicon.marks[charClass * 2 + 1] as number, MARK_TRAITS, index, index, preceding.state)
}

/** Adds the number at `index` if it consists of ASCII digits alone; returns its end. */
export function readNumber(
  units: Uint16Array,
  index: number,
  classes: Uint8Array,
  lexicon: Lexicon,
  preceding: PrecedingState,
  out: TokenList,
): number {
  let end = index
  while ((units[end] as number) >= DIGIT_0 && (units[end] as number) <= DIGIT_9) end++
  const after = classes[units[end] as number] as number
  if (end - index > ASCII_WORD_LETTERS_MAX || (after !== CLASS_SEPARATOR && after < CLASS_STOP)) return index
  preceding.state = STATE_LATIN
  addOpaque(out, lexicon, OPAQUE_NUMBER, index, end - 1, STATE_LATIN)
  return end
}

/**
 * Adds any other word; returns its end.
 * @param lookAlikes as in readAsciiWords
 */
export function readOther(
  units: Uint16Array,
  index: number,
  classes: Uint8Array,
  lookAlikes: Uint16Array,
  lexicon: Lexicon,
  preceding: PrecedingState,
  out: TokenList,
): number {
  let hash = WORD_SEED
  let count = 0
  let digits = 0
  let latin = 0
  let foreign = 0
  let lookAlikeCount = 0
  let joiners = 0
  let mixed = 0
  let charClass = 0
  let end = index
  for (; ; end++) {
    const unit = units[end] as number
    charClass = classes[unit] as number
    if (charClass === CLASS_LETTER) {
      if (unit < ASCII_END) latin++
      else {
        foreign++
        if (lookAlikes[unit] !== 0) lookAlikeCount++
      }
      mixed |= digits
    } else if (charClass === CLASS_DIGIT) {
      if (unit <= DIGIT_9) digits++
      else {
        foreign++
        mixed |= digits
      }
    } else if (
      charClass === CLASS_JOINER &&
      end > index &&
      classes[units[end + 1] as number] === CLASS_LETTER
    ) {
      joiners++
      continue
    } else break
    if (count > WORD_UNITS_MAX) continue
    hash = hashLetter(hash, unit)
    count++
  }
  if (charClass === 0 || (charClass === CLASS_JOINER && classes[units[end + 1] as number] === 0)) return index
  if (
    end === index + 1 &&
    digits === 0 &&
    charClass !== CLASS_JOINER &&
    classes[units[index] as number] === CLASS_LETTER
  ) {
    if (
      charClass === CLASS_IDEOGRAPH ||
      !isLoneLetter(units, classes, index, (preceding.state & STATE_SPACED) !== 0)
    )
      return index
  }
  // Look-alikes may have to be folded to Latin letters.
  if (
    lookAlikeCount > 0 &&
    (latin > 0 || ((preceding.state & STATE_LATIN) !== 0 && lookAlikeCount === count))
  )
    return index
  if (joiners > 0) {
    dropJoiners(units, index, end, count, classes)
    out.rewritten = true
  }
  if (mixed !== 0) out.mixedWords++
  preceding.state = foreign === 0 ? STATE_LATIN : 0
  let state = preceding.state
  if (digits > 0 && latin + foreign > 0) {
    state |= STATE_LEET
    out.leetWords++
  }
  const opaque = opaqueKind(count, digits)
  if (opaque !== OPAQUE_NONE) addOpaque(out, lexicon, opaque, index, end - 1, state)
  else {
    const entry = lexicon.otherEntry(units, index, index + count, hash)
    lexicon.addWord(out, entry, index, index + count, end - 1, state)
  }
  return end
}

/** Adds an opaque token of an OPAQUE_… kind. */
export function addOpaque(
  out: TokenList,
  lexicon: Lexicon,
  opaque: number,
  first: number,
  last: number,
  state: number,
): void {
  const { opaques } = lexicon
  addRow(out, opaques[opaque] as number, opaques[opaque + 1] as number, OPAQUE_TRAITS, first, last, state)
}

/** Adds a token without letters of its own. */
function addRow(
  out: TokenList,
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

/**
 * Whether the single letter at `index` is certainly not part of a spaced-out word. May return false
 * for one that is not.
 */
export function isLoneLetter(
  units: Uint16Array,
  classes: Uint8Array,
  index: number,
  afterSpaced: boolean,
): boolean {
  const separator = units[index + 1] as number
  for (let at = index + 2; at < index + 8; at += 2) {
    const next = classes[units[at] as number] as number
    if (next === CLASS_SEPARATOR || next >= CLASS_STOP) return true
    const second = classes[units[at + 1] as number] as number
    if (second === CLASS_LETTER || second === CLASS_DIGIT) return true
    if (afterSpaced) return false
    // Two letters match so far, then three, then four.
    if (at < index + 6 && units[at + 1] !== separator) return true
  }
  return false
}

/**
 * Returns the OPAQUE_… kind of a word with this many letters and digits, and this many digits among
 * them.
 */
export function opaqueKind(letters: number, digits: number): number {
  if (letters === digits) return OPAQUE_NUMBER
  if (letters > WORD_UNITS_MAX) return OPAQUE_LONG
  return letters > IDENTIFIER_UNITS && digits >= IDENTIFIER_DIGITS ? OPAQUE_IDENTIFIER : OPAQUE_NONE
}
