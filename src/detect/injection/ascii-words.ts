// Reads words of the letters a to z and the separators between them, which is nearly all text.
// Delegates marks, numbers and other words to other-words.ts, and leaves the hard cases to
// tokens.ts: spaced-out words, mixed scripts and leet.

import { LOWER_A, LOWER_Z } from '../../core/ascii.ts'
import { CLASS_IDEOGRAPH, CLASS_JOINER, CLASS_SEPARATOR, CLASS_STOP } from './character-classes.ts'
import { readIdeographs } from './ideographs.ts'
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
import { isLoneLetter, readMark, readNumber, readOther } from './other-words.ts'
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
  STATE_SPACED,
  type TokenList,
} from './token-list.ts'

/**
 * Adds the tokens from `start` on up to the first hard case; returns its index, or `length`.
 * @param classes classes by code unit, zero for units not classified yet
 * @param lookAlikes the Latin letter by look-alike of another script, zero for other units
 */
export function readAsciiWords(
  units: Uint16Array,
  start: number,
  length: number,
  classes: Uint8Array,
  lookAlikes: Uint16Array,
  lexicon: Lexicon,
  preceding: PrecedingState,
  out: TokenList,
): number {
  const { rows } = out
  const { entries } = lexicon
  let index = start
  while (index < length) {
    let unit = units[index] as number
    let end = index
    if (unit < LOWER_A || unit > LOWER_Z) {
      const charClass = classes[unit] as number
      if (charClass === CLASS_SEPARATOR || charClass === CLASS_JOINER) end++
      else if (charClass >= CLASS_STOP) end = readMark(units, index, classes, lexicon, preceding, out)
      else if (charClass === CLASS_IDEOGRAPH)
        end = readIdeographs(units, index, length, classes, lexicon, preceding, out)
      else if (charClass !== 0) {
        end = readNumber(units, index, classes, lexicon, preceding, out)
        if (end === index) end = readOther(units, index, classes, lookAlikes, lexicon, preceding, out)
      }
      if (end === index) break
      index = end
      continue
    }
    // Six letters of five bits each per number.
    let high = 0
    let low = 0
    do {
      high = (high << 5) | (low >>> 25)
      low = ((low << 5) & 0x3fffffff) | (unit - LOWER_A + 1)
      unit = units[++end] as number
    } while (unit >= LOWER_A && unit <= LOWER_Z)
    const after = classes[unit] as number
    if (end - index > ASCII_WORD_LETTERS_MAX || (after !== CLASS_SEPARATOR && after < CLASS_STOP)) {
      end = readOther(units, index, classes, lookAlikes, lexicon, preceding, out)
      if (end === index) break
      index = end
      continue
    }
    if (end === index + 1 && !isLoneLetter(units, classes, index, (preceding.state & STATE_SPACED) !== 0))
      break
    let entry =
      (Math.imul(low ^ Math.imul(high, ASCII_WORD_MIXER), ASCII_WORD_SPREADER) >>> ASCII_WORD_SHIFT) *
      ENTRY_COLUMNS
    if (entries[entry + ENTRY_LOW] !== low || entries[entry + ENTRY_HIGH] !== high) {
      entry = lexicon.asciiEntry(units, index, end, high, low)
    }
    preceding.state = STATE_LATIN
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
