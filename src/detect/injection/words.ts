// The loop that nearly all text goes through: words, numbers, marks, ideographs, and what merely parts them. What takes
// more thought is left to tokens.ts: spaced-out words, those that mix scripts, leet. Hardly anything is called here, so that the
// compiler keeps all of it in registers.

import type { CLASS } from './classes.ts'
import { type ENTRY, type Lexicon, type OTHER, PLAIN, type WHOLE } from './lexicon.ts'
import { readSingles } from './singles.ts'
import { moveTogether } from './spelling.ts'
import type { STATE, TOKEN, Tokens } from './token-list.ts'
import { hashLetter, WORD_SEED } from './word-hash.ts'

/** What stands before the place that is read. */
export interface Before {
  /** Parts of STATE. */
  state: number
  /** Running hash of the ideograph or syllable that ended at `singleEnd`. */
  single: number
  singleEnd: number
}

/** Longer words are no words: they count as one kind of thing, whatever their letters. */
export const MAX_WORD_UNITS = 40
/** Longer words with so many digits are identifiers, hashes or encoded data. */
const IDENTIFIER_UNITS = 12
const IDENTIFIER_DIGITS = 3

const DOT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const LETTER_A = 0x61
const LETTER_Z = 0x7a

/** One feature, the mark itself, and no word. */
const MARK_TRAITS = 1 << 8
/** One feature, and counts as a word. */
const NUMBER_TRAITS = MARK_TRAITS | 1

// Constants of this module are part of the machine code, those of others are fetched: copies, kept the same by their types.
const SEPARATOR: typeof CLASS.separator = 1
const LETTER: typeof CLASS.letter = 2
const DIGIT: typeof CLASS.digit = 3
const SINGLE: typeof CLASS.single = 4
const JOINER: typeof CLASS.joiner = 5
const STOP: typeof CLASS.stop = 6
const LETTERS_MAX: typeof PLAIN.lettersMax = 12
const SLOT_SHIFT: typeof PLAIN.shift = 19
const OTHER_FIRST: typeof OTHER.first = 8192
const OTHER_MASK: typeof OTHER.mask = 4095
const OTHER_LETTERS_MAX: typeof OTHER.lettersMax = 32
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
const ENTRY_LOW: typeof ENTRY.low = 0
const ENTRY_HIGH: typeof ENTRY.high = 1
const ENTRY_HASH: typeof ENTRY.hash = 2
const ENTRY_SUM: typeof ENTRY.sum = 3
const ENTRY_TRAITS: typeof ENTRY.traits = 4
const ENTRY_COLUMNS: typeof ENTRY.columns = 8

/**
 * Adds what stands from `start` on, up to something that takes more thought; returns where that begins, or `length`.
 * @param known classes of code units, zero for those to be left alone
 * @param twins for letters of other scripts the Latin ones they look like, zero for all others
 */
export function readWords(
  units: Uint16Array,
  start: number,
  length: number,
  known: Uint8Array,
  twins: Uint16Array,
  lexicon: Lexicon,
  before: Before,
  out: Tokens,
): number {
  const { rows } = out
  const { entries, letters, marks, wholes } = lexicon
  const { mixer, spreader } = PLAIN
  let row = out.length * COLUMNS
  let state = before.state
  let index = start
  while (index < length) {
    let unit = units[index] as number
    let entry = 0
    let end = index
    let lettersEnd = 0
    let leet = 0
    if (unit >= LETTER_A && unit <= LETTER_Z) {
      // Six letters of five bits each in either number.
      let high = 0
      let low = 0
      do {
        high = (high << 5) | (low >>> 25)
        low = ((low << 5) & 0x3fffffff) | (unit - LETTER_A + 1)
        unit = units[++end] as number
      } while (unit >= LETTER_A && unit <= LETTER_Z)
      const after = known[unit] as number
      const count = end - index
      if (count <= LETTERS_MAX && (after === SEPARATOR || after >= STOP)) {
        if (count === 1 && !standsAlone(units, known, index, (state & SPACED) !== 0)) break
        entry = (Math.imul(low ^ Math.imul(high, mixer), spreader) >>> SLOT_SHIFT) * ENTRY_COLUMNS
        if (entries[entry + ENTRY_LOW] !== low || entries[entry + ENTRY_HIGH] !== high) {
          entry = lexicon.plain(units, index, end, high, low)
        }
        state = LATIN
        lettersEnd = end
      }
    } else {
      const kind = known[unit] as number
      if (kind === SEPARATOR || kind === JOINER) {
        index++
        continue
      }
      if (kind >= STOP) {
        if (unit === DOT && known[units[index + 1] as number] !== SEPARATOR) {
          // A dot may stand inside a name or number.
          const next = known[units[index + 1] as number] as number
          if (next === 0) break
          const last = index === 0 ? SEPARATOR : (known[units[index - 1] as number] as number)
          if (last === 0) break
          if ((next === LETTER || next === DIGIT) && (last === LETTER || last === DIGIT)) {
            index++
            continue
          }
        }
        const hash = marks[kind * 2] as number
        // Of a run of the same mark the first counts.
        if (
          row === 0 ||
          rows[row - COLUMNS + HASH] !== hash ||
          rows[row - COLUMNS + TRAITS] !== MARK_TRAITS
        ) {
          rows[row + HASH] = hash
          rows[row + SUM] = marks[kind * 2 + 1] as number
          rows[row + TRAITS] = MARK_TRAITS
          rows[row + FIRST] = index
          rows[row + LAST] = index
          rows[row + LETTERS_END] = index
          state &= ~SPACED
          rows[row + STATE_COLUMN] = state
          row += COLUMNS
        }
        index++
        continue
      }
      if (kind === SINGLE) {
        out.length = row / COLUMNS
        before.state = state
        index = readSingles(units, index, length, known, lexicon, before, out)
        row = out.length * COLUMNS
        continue
      }
      if (kind === 0) break
      if (unit <= DIGIT_9) {
        do unit = units[++end] as number
        while (unit >= DIGIT_0 && unit <= DIGIT_9)
        const after = known[unit] as number
        if (end - index <= LETTERS_MAX && (after === SEPARATOR || after >= STOP)) {
          rows[row + HASH] = wholes[NUMBER] as number
          rows[row + SUM] = wholes[NUMBER + 1] as number
          rows[row + TRAITS] = NUMBER_TRAITS
          rows[row + FIRST] = index
          rows[row + LAST] = end - 1
          rows[row + LETTERS_END] = index
          state = LATIN
          rows[row + STATE_COLUMN] = state
          row += COLUMNS
          index = end
          continue
        }
      }
    }
    if (lettersEnd === 0) {
      // Any other word.
      let hash = WORD_SEED
      let count = 0
      let digits = 0
      let latin = 0
      let foreign = 0
      let alike = 0
      let joiners = 0
      let mixed = 0
      let kind = 0
      for (end = index; ; end++) {
        unit = units[end] as number
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
      if (kind === 0 || (kind === JOINER && known[units[end + 1] as number] === 0)) break
      if (end === index + 1 && digits === 0 && (known[units[index] as number] as number) === LETTER) {
        if (kind !== JOINER && (kind === SINGLE || !standsAlone(units, known, index, (state & SPACED) !== 0)))
          break
      }
      // Look-alikes may stand for Latin letters.
      if (alike > 0 && (latin > 0 || ((state & LATIN) !== 0 && alike === count))) break
      if (joiners > 0) {
        moveTogether(units, index, end, count, known)
        out.rewritten = true
      }
      if (mixed !== 0) out.mixedWords++
      state = foreign === 0 ? LATIN : 0
      if (digits > 0 && latin + foreign > 0) {
        leet = LEET
        out.leetWords++
      }
      const whole = wholeOf(count, digits)
      if (whole !== NO_WHOLE) {
        rows[row + HASH] = wholes[whole] as number
        rows[row + SUM] = wholes[whole + 1] as number
        rows[row + TRAITS] = NUMBER_TRAITS
        rows[row + FIRST] = index
        rows[row + LAST] = end - 1
        rows[row + LETTERS_END] = index
        rows[row + STATE_COLUMN] = state | leet
        row += COLUMNS
        index = end
        continue
      }
      lettersEnd = index + count
      const slot = (hash ^ (hash >>> 15)) & OTHER_MASK
      entry = (OTHER_FIRST + slot) * ENTRY_COLUMNS
      if (entries[entry + ENTRY_LOW] === count && entries[entry + ENTRY_HIGH] === hash) {
        const offset = slot * OTHER_LETTERS_MAX - index
        let at = index
        while (at < lettersEnd && letters[offset + at] === units[at]) at++
        if (at < lettersEnd) entry = lexicon.other(units, index, lettersEnd, hash)
      } else entry = lexicon.other(units, index, lettersEnd, hash)
    }
    rows[row + HASH] = entries[entry + ENTRY_HASH] as number
    rows[row + SUM] = entries[entry + ENTRY_SUM] as number
    rows[row + TRAITS] = entries[entry + ENTRY_TRAITS] as number
    rows[row + FIRST] = index
    rows[row + LAST] = end - 1
    rows[row + LETTERS_END] = lettersEnd
    rows[row + STATE_COLUMN] = state | leet
    row += COLUMNS
    index = end
  }
  out.length = row / COLUMNS
  before.state = state
  return index
}

/** Whether the single letter at `index` is surely no part of a spaced-out word; often no. */
function standsAlone(units: Uint16Array, known: Uint8Array, index: number, spacedBefore: boolean): boolean {
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
