// Ideographs, and syllables of scripts that put no spaces: each is a token.

import type { CLASS } from './character-classes.ts'
import { wordBucket } from './features.ts'
import type { Lexicon } from './lexicon.ts'
import type { Before, TOKEN, Tokens, TRAIT } from './token-list.ts'
import { finishHash, hashLetter, WORD_SEED } from './word-hash.ts'

// Copies, kept the same by their types: constants of this module are part of the machine code, those of others are fetched.
const SINGLE: typeof CLASS.single = 4
const HASH: typeof TOKEN.hash = 0
const SUM: typeof TOKEN.sum = 1
const TRAITS: typeof TOKEN.traits = 2
const FIRST: typeof TOKEN.first = 3
const LAST: typeof TOKEN.last = 4
const LETTERS_END: typeof TOKEN.lettersEnd = 5
const STATE: typeof TOKEN.state = 6
const COLUMNS: typeof TOKEN.columns = 8
const IDEA_SHIFT: typeof TRAIT.ideaShift = 1
/** One feature, and counts as a word. */
const SINGLE_TRAITS = (1 << 8) | 1

/** Adds those from `start` on that stand one behind the other; returns where they end. Two can be an idea. */
export function readSingles(
  units: Uint16Array,
  start: number,
  length: number,
  known: Uint8Array,
  lexicon: Lexicon,
  before: Before,
  out: Tokens,
): number {
  const { rows } = out
  const { weights, ideas } = lexicon
  let row = out.length * COLUMNS
  let last = before.single
  let joined = before.singleEnd === start
  let index = start
  let unit = units[index] as number
  do {
    const idea = joined ? ideas.ofHash(hashLetter(last, unit)) : 0
    last = hashLetter(WORD_SEED, unit)
    const hash = finishHash(last)
    rows[row + HASH] = hash
    rows[row + SUM] = weights[wordBucket(hash)] as number
    rows[row + TRAITS] = SINGLE_TRAITS | (idea << IDEA_SHIFT)
    rows[row + FIRST] = index
    rows[row + LAST] = index
    rows[row + LETTERS_END] = index
    rows[row + STATE] = before.state
    row += COLUMNS
    joined = true
    unit = units[++index] as number
  } while (index < length && known[unit] === SINGLE)
  before.single = last
  before.singleEnd = index
  out.length = row / COLUMNS
  return index
}
