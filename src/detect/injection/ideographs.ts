// Ideographs, and syllables of scripts that put no spaces: each is a token.

import { CLASS_IDEOGRAPH } from './character-classes.ts'
import { wordBucket } from './features.ts'
import type { Lexicon } from './lexicon.ts'
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
  type Tokens,
  TRAIT_IDEA_SHIFT,
} from './token-list.ts'
import { finishHash, hashLetter, WORD_SEED } from './word-hash.ts'

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
  let row = out.length * ROW_COLUMNS
  let last = before.single
  let joined = before.singleEnd === start
  let index = start
  let unit = units[index] as number
  do {
    const idea = joined ? ideas.ofHash(hashLetter(last, unit)) : 0
    last = hashLetter(WORD_SEED, unit)
    const hash = finishHash(last)
    rows[row + COLUMN_HASH] = hash
    rows[row + COLUMN_SUM] = weights[wordBucket(hash)] as number
    rows[row + COLUMN_TRAITS] = SINGLE_TRAITS | (idea << TRAIT_IDEA_SHIFT)
    rows[row + COLUMN_FIRST] = index
    rows[row + COLUMN_LAST] = index
    rows[row + COLUMN_LETTERS_END] = index
    rows[row + COLUMN_STATE] = before.state
    row += ROW_COLUMNS
    joined = true
    unit = units[++index] as number
  } while (index < length && known[unit] === CLASS_IDEOGRAPH)
  before.single = last
  before.singleEnd = index
  out.length = row / ROW_COLUMNS
  return index
}
