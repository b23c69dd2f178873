// Reads ideographs and the syllables of scripts without spaces. Each is a token.

import { CLASS_IDEOGRAPH } from './character-classes.ts'
import { wordBucket } from './features.ts'
import type { Lexicon } from './lexicon.ts'
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
  type TokenList,
  TRAIT_IDEA_SHIFT,
} from './token-list.ts'
import { finishHash, hashLetter, WORD_SEED } from './word-hash.ts'

/** One feature, and a word. */
const IDEOGRAPH_TRAITS = (1 << 8) | 1

/**
 * Adds the ideographs from `start` on up to another character; returns their end. Two neighbours
 * may form an idea.
 */
export function readIdeographs(
  units: Uint16Array,
  start: number,
  length: number,
  classes: Uint8Array,
  lexicon: Lexicon,
  preceding: PrecedingState,
  out: TokenList,
): number {
  const { rows } = out
  const { weights, ideas } = lexicon
  let row = out.length * ROW_COLUMNS
  let lastHash = preceding.ideographHash
  let joined = preceding.ideographEnd === start
  let index = start
  let unit = units[index] as number
  do {
    const idea = joined ? ideas.ofHash(hashLetter(lastHash, unit)) : 0
    lastHash = hashLetter(WORD_SEED, unit)
    const hash = finishHash(lastHash)
    rows[row + COLUMN_HASH] = hash
    rows[row + COLUMN_SUM] = weights[wordBucket(hash)] as number
    rows[row + COLUMN_TRAITS] = IDEOGRAPH_TRAITS | (idea << TRAIT_IDEA_SHIFT)
    rows[row + COLUMN_FIRST] = index
    rows[row + COLUMN_LAST] = index
    rows[row + COLUMN_LETTERS_END] = index
    rows[row + COLUMN_STATE] = preceding.state
    row += ROW_COLUMNS
    joined = true
    unit = units[++index] as number
  } while (index < length && classes[unit] === CLASS_IDEOGRAPH)
  preceding.ideographHash = lastHash
  preceding.ideographEnd = index
  out.length = row / ROW_COLUMNS
  return index
}
