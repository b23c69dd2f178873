// Turns texts into the keys that the learner reads, exactly as scoring turns them into features.

import { Decoder } from '../../src/detect/injection/encodings.ts'
import { FeatureReader } from '../../src/detect/injection/features.ts'
import { createFoldedText, foldPiece, originOf, pieceEnd } from '../../src/detect/injection/folded-text.ts'
import { readLeet } from '../../src/detect/injection/leet-text.ts'
import { COLUMN_FIRST, createTokenList, ROW_COLUMNS, Tokeniser } from '../../src/detect/injection/tokens.ts'
import { KEYS, keyOf } from './logistic.ts'

/** A text as keys in the order of its tokens. */
export interface KeyedText {
  readonly keys: Int32Array
  /** `ends[i]` is the number of keys up to and including token i. */
  readonly ends: Int32Array
  /** Source offset of each token. */
  readonly starts: Int32Array
  readonly mixedWords: number
}

const LEET_WORDS_MIN = 2
const folded = createFoldedText()
const tokens = createTokenList(folded.units.length)
const tokeniser = new Tokeniser()
const reader = new FeatureReader()
const decoder = new Decoder()

function keyText(text: string): KeyedText {
  const keys: number[] = []
  const ends: number[] = []
  const starts: number[] = []
  let mixedWords = 0
  reader.reset()
  for (let start = 0; start < text.length; ) {
    const end = pieceEnd(text, start)
    foldPiece(text, start, end, folded)
    tokeniser.tokenise(folded, tokens)
    mixedWords += tokens.mixedWords
    for (let first = 0; first < tokens.length; ) {
      const size = reader.read(tokens, first)
      let at = 0
      for (let token = 0; token < size; token++) {
        for (let count = reader.counts[token]!; count > 0; count--)
          keys.push(keyOf(reader.hashes[at++] as number))
        ends.push(keys.length)
        const row = (first + token) * ROW_COLUMNS
        starts.push(originOf(folded, tokens.rows[row + COLUMN_FIRST] as number))
      }
      first += size
    }
    start = end
  }
  return {
    keys: Int32Array.from(keys),
    ends: Int32Array.from(ends),
    starts: Int32Array.from(starts),
    mixedWords,
  }
}

/** Returns the plain view of a text first, then the leet view and every decoded one. */
export function keyViews(text: string, depth = 2): KeyedText[] {
  const plain = keyText(text)
  const views = [plain]
  if (plain.mixedWords >= LEET_WORDS_MIN) views.push(keyText(readLeet(text)))
  if (depth === 0) return views
  for (const decoded of decoder.decodings(text))
    if (decoded !== null) views.push(...keyViews(decoded.text, decoded.shrinks ? depth - 1 : 0))
  return views
}

/** Returns the keys of tokens [from, to). */
export function slice({ keys, ends }: KeyedText, from: number, to: number): Int32Array {
  return keys.subarray(from === 0 ? 0 : ends[from - 1], to === 0 ? 0 : ends[to - 1])
}

const seen = new Int32Array(KEYS)
let texts = 0

/** Returns each key once. */
export function distinct(keys: Int32Array): Int32Array {
  texts++
  return keys.filter((key) => {
    if (seen[key] === texts) return false
    seen[key] = texts
    return true
  })
}
