// The loop that nearly all text goes through: words of letters a to z, and what merely parts them; marks, numbers and all
// other words are read in other-words.ts. What takes more thought is left to tokens.ts: spaced-out words, those that mix
// scripts, leet.

import { CLASS_IDEOGRAPH, CLASS_JOINER, CLASS_SEPARATOR, CLASS_STOP } from './character-classes.ts'
import { readSingles } from './ideographs.ts'
import {
  ASCII_WORD_LETTERS_MAX,
  ASCII_WORD_MIXER,
  ASCII_WORD_SHIFT,
  ASCII_WORD_SPREADER,
  ENTRY_COLUMNS,
  ENTRY_HASH,
  ENTRY_HIGH,
  ENTRY_LOW,
  ENTRY_SUM,
  ENTRY_TRAITS,
  type Lexicon,
} from './lexicon.ts'
import { readMark, readNumber, readOther, standsAlone } from './other-words.ts'
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
  STATE_SPACED,
  type Tokens,
} from './token-list.ts'

const LETTER_A = 0x61
const LETTER_Z = 0x7a

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
  const { entries } = lexicon
  let index = start
  while (index < length) {
    let unit = units[index] as number
    let end = index
    if (unit < LETTER_A || unit > LETTER_Z) {
      const kind = known[unit] as number
      if (kind === CLASS_SEPARATOR || kind === CLASS_JOINER) end++
      else if (kind >= CLASS_STOP) end = readMark(units, index, known, lexicon, before, out)
      else if (kind === CLASS_IDEOGRAPH) end = readSingles(units, index, length, known, lexicon, before, out)
      else if (kind !== 0) {
        end = readNumber(units, index, known, lexicon, before, out)
        if (end === index) end = readOther(units, index, known, twins, lexicon, before, out)
      }
      if (end === index) break
      index = end
      continue
    }
    // Six letters of five bits each in either number.
    let high = 0
    let low = 0
    do {
      high = (high << 5) | (low >>> 25)
      low = ((low << 5) & 0x3fffffff) | (unit - LETTER_A + 1)
      unit = units[++end] as number
    } while (unit >= LETTER_A && unit <= LETTER_Z)
    const after = known[unit] as number
    if (end - index > ASCII_WORD_LETTERS_MAX || (after !== CLASS_SEPARATOR && after < CLASS_STOP)) {
      end = readOther(units, index, known, twins, lexicon, before, out)
      if (end === index) break
      index = end
      continue
    }
    if (end === index + 1 && !standsAlone(units, known, index, (before.state & STATE_SPACED) !== 0)) break
    let entry =
      (Math.imul(low ^ Math.imul(high, ASCII_WORD_MIXER), ASCII_WORD_SPREADER) >>> ASCII_WORD_SHIFT) *
      ENTRY_COLUMNS
    if (entries[entry + ENTRY_LOW] !== low || entries[entry + ENTRY_HIGH] !== high) {
      entry = lexicon.plain(units, index, end, high, low)
    }
    before.state = STATE_LATIN
    const row = out.length++ * ROW_COLUMNS
    rows[row + COLUMN_HASH] = entries[entry + ENTRY_HASH] as number
    rows[row + COLUMN_SUM] = entries[entry + ENTRY_SUM] as number
    rows[row + COLUMN_TRAITS] = entries[entry + ENTRY_TRAITS] as number
    rows[row + COLUMN_FIRST] = index
    rows[row + COLUMN_LAST] = end - 1
    rows[row + COLUMN_LETTERS_END] = end
    rows[row + COLUMN_STATE] = STATE_LATIN
    index = end
  }
  return index
}
