// The loop that most text goes through: words of the letters a to z that the lexicon knows, numbers, marks, and
// what merely parts them. Everything else is left to tokens.ts. Nothing is called here, so that the compiler keeps all of it in registers.

import type { CLASS } from './classes.ts'
import { type ENTRY, type Lexicon, PLAIN } from './lexicon.ts'
import type { TOKEN, Tokens } from './token-list.ts'

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
const STOP: typeof CLASS.stop = 6
const LETTERS_MAX: typeof PLAIN.lettersMax = 12
const SLOT_SHIFT: typeof PLAIN.shift = 19
const HASH: typeof TOKEN.hash = 0
const SUM: typeof TOKEN.sum = 1
const TRAITS: typeof TOKEN.traits = 2
const FIRST: typeof TOKEN.first = 3
const LAST: typeof TOKEN.last = 4
const LETTERS_END: typeof TOKEN.lettersEnd = 5
const COLUMNS: typeof TOKEN.columns = 8
const ENTRY_LOW: typeof ENTRY.low = 0
const ENTRY_HIGH: typeof ENTRY.high = 1
const ENTRY_HASH: typeof ENTRY.hash = 2
const ENTRY_SUM: typeof ENTRY.sum = 3
const ENTRY_TRAITS: typeof ENTRY.traits = 4
const ENTRY_COLUMNS: typeof ENTRY.columns = 8

/**
 * Adds the words from `start` on that are plain and known, and the numbers and marks between them; returns where another kind of thing
 * begins, or `length`.
 * @param known classes of code units, zero for those to be left alone
 */
export function readPlainWords(
  units: Uint16Array,
  start: number,
  length: number,
  known: Uint8Array,
  lexicon: Lexicon,
  out: Tokens,
): number {
  const { rows } = out
  const { entries, marks, numberHash, numberSum } = lexicon
  const { mixer, spreader } = PLAIN
  let tokens = out.length
  let words = 0
  let index = start
  while (index < length) {
    let unit = units[index] as number
    if (unit < LETTER_A || unit > LETTER_Z) {
      const kind = known[unit] as number
      if (kind >= STOP) {
        // A dot may stand inside a name or number.
        if (unit === DOT && known[units[index + 1] as number] !== SEPARATOR) break
        const hash = marks[kind * 2] as number
        const previous = (tokens - 1) * COLUMNS
        // Of a run of the same mark the first counts.
        if (tokens === 0 || rows[previous + HASH] !== hash || rows[previous + TRAITS] !== MARK_TRAITS) {
          const row = tokens++ * COLUMNS
          rows[row + HASH] = hash
          rows[row + SUM] = marks[kind * 2 + 1] as number
          rows[row + TRAITS] = MARK_TRAITS
          rows[row + FIRST] = index
          rows[row + LAST] = index
          rows[row + LETTERS_END] = index
        }
      } else if (kind === DIGIT) {
        let end = index + 1
        while ((units[end] as number) >= DIGIT_0 && (units[end] as number) <= DIGIT_9) end++
        const after = known[units[end] as number] as number
        if (unit > DIGIT_9 || end - index > LETTERS_MAX || (after !== SEPARATOR && after < STOP)) break
        const row = tokens++ * COLUMNS
        rows[row + HASH] = numberHash
        rows[row + SUM] = numberSum
        rows[row + TRAITS] = NUMBER_TRAITS
        rows[row + FIRST] = index
        rows[row + LAST] = end - 1
        rows[row + LETTERS_END] = index
        words++
        index = end
        continue
      } else if (kind !== SEPARATOR) break
      index++
      continue
    }
    // Six letters of five bits each in either number.
    let high = 0
    let low = 0
    let end = index
    do {
      high = (high << 5) | (low >>> 25)
      low = ((low << 5) & 0x3fffffff) | (unit - LETTER_A + 1)
      unit = units[++end] as number
    } while (unit >= LETTER_A && unit <= LETTER_Z)
    const after = known[unit] as number
    const letters = end - index
    if (letters > LETTERS_MAX || (after !== SEPARATOR && after < STOP)) break
    if (letters === 1) {
      // A single letter may be part of a spaced-out word, where another follows.
      const next = known[units[end + 1] as number] as number
      const second = known[units[end + 2] as number] as number
      const alone = next === SEPARATOR || next >= STOP || second === LETTER || second === DIGIT
      if (!alone) break
    }
    const entry = (Math.imul(low ^ Math.imul(high, mixer), spreader) >>> SLOT_SHIFT) * ENTRY_COLUMNS
    if (entries[entry + ENTRY_LOW] !== low || entries[entry + ENTRY_HIGH] !== high) break
    const row = tokens++ * COLUMNS
    rows[row + HASH] = entries[entry + ENTRY_HASH] as number
    rows[row + SUM] = entries[entry + ENTRY_SUM] as number
    rows[row + TRAITS] = entries[entry + ENTRY_TRAITS] as number
    rows[row + FIRST] = index
    rows[row + LAST] = end - 1
    rows[row + LETTERS_END] = end
    words++
    index = end
  }
  out.plainWords += words
  out.length = tokens
  return index
}
