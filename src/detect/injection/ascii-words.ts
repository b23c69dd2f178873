// The loop that nearly all text goes through: words of letters a to z, and what merely parts them; marks, numbers and all
// other words are read in other-words.ts. What takes more thought is left to tokens.ts: spaced-out words, those that mix
// scripts, leet.

import type { CLASS } from './character-classes.ts'
import { readSingles } from './ideographs.ts'
import { type ENTRY, type Lexicon, PLAIN } from './lexicon.ts'
import { readMark, readNumber, readOther, standsAlone } from './other-words.ts'
import type { Before, STATE, TOKEN, Tokens } from './token-list.ts'

const LETTER_A = 0x61
const LETTER_Z = 0x7a

// Constants of this module are part of the machine code, those of others are fetched: copies, kept the same by their types.
const SEPARATOR: typeof CLASS.separator = 1
const SINGLE: typeof CLASS.single = 4
const JOINER: typeof CLASS.joiner = 5
const STOP: typeof CLASS.stop = 6
const LETTERS_MAX: typeof PLAIN.lettersMax = 12
const SLOT_SHIFT: typeof PLAIN.shift = 19
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
  const { entries } = lexicon
  const { mixer, spreader } = PLAIN
  let index = start
  while (index < length) {
    let unit = units[index] as number
    let end = index
    if (unit < LETTER_A || unit > LETTER_Z) {
      const kind = known[unit] as number
      if (kind === SEPARATOR || kind === JOINER) end++
      else if (kind >= STOP) end = readMark(units, index, known, lexicon, before, out)
      else if (kind === SINGLE) end = readSingles(units, index, length, known, lexicon, before, out)
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
    if (end - index > LETTERS_MAX || (after !== SEPARATOR && after < STOP)) {
      end = readOther(units, index, known, twins, lexicon, before, out)
      if (end === index) break
      index = end
      continue
    }
    if (end === index + 1 && !standsAlone(units, known, index, (before.state & SPACED) !== 0)) break
    let entry = (Math.imul(low ^ Math.imul(high, mixer), spreader) >>> SLOT_SHIFT) * ENTRY_COLUMNS
    if (entries[entry + ENTRY_LOW] !== low || entries[entry + ENTRY_HIGH] !== high) {
      entry = lexicon.plain(units, index, end, high, low)
    }
    before.state = LATIN
    const row = out.length++ * COLUMNS
    rows[row + HASH] = entries[entry + ENTRY_HASH] as number
    rows[row + SUM] = entries[entry + ENTRY_SUM] as number
    rows[row + TRAITS] = entries[entry + ENTRY_TRAITS] as number
    rows[row + FIRST] = index
    rows[row + LAST] = end - 1
    rows[row + LETTERS_END] = end
    rows[row + STATE_COLUMN] = LATIN
    index = end
  }
  return index
}
