// The loop that most text goes through: words of the letters a to z that the lexicon knows, and what merely parts them.
// Everything else is left to tokens.ts. Nothing is called here, so that the compiler keeps all of it in registers.

import { CLASS } from './classes.ts'
import { ENTRY, type Lexicon, PLAIN } from './lexicon.ts'
import { TOKEN, type Tokens } from './token-list.ts'

const LETTER_A = 0x61
const LETTER_Z = 0x7a

/**
 * Adds the words from `start` on that are plain and known; returns where another kind of thing begins, or `length`.
 * @param known classes of code units, zero for those not met before
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
  const { entries } = lexicon
  const { separator, stop } = CLASS
  const { columns, hash, sum, traits, first, last, lettersEnd } = TOKEN
  const {
    columns: entryColumns,
    high: entryHigh,
    hash: entryHash,
    sum: entrySum,
    traits: entryTraits,
  } = ENTRY
  const { lettersMax, mixer, spreader, shift } = PLAIN
  let row = out.length * columns
  let index = start
  while (index < length) {
    let unit = units[index] as number
    if (unit < LETTER_A || unit > LETTER_Z) {
      if (known[unit] !== separator) break
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
    // Single letters may be part of a spaced-out word.
    if (letters === 1 || letters > lettersMax || (after !== separator && after < stop)) break
    const entry = (Math.imul(low ^ Math.imul(high, mixer), spreader) >>> shift) * entryColumns
    if (entries[entry] !== low || entries[entry + entryHigh] !== high) break
    rows[row + hash] = entries[entry + entryHash] as number
    rows[row + sum] = entries[entry + entrySum] as number
    rows[row + traits] = entries[entry + entryTraits] as number
    rows[row + first] = index
    rows[row + last] = end - 1
    rows[row + lettersEnd] = end
    row += columns
    index = end
  }
  out.length = row / columns
  return index
}
