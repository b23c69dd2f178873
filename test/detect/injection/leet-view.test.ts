// Tests that shortcuts change nothing: the fast loop gives the same tokens as one token at a time,
// and the leet view made from the plain one gives the same tokens as a full reading.

import fc from 'fast-check'
import t from 'tap'
import { CharacterClasses } from '../../../src/detect/injection/character-classes.ts'
import { BUCKETS } from '../../../src/detect/injection/features.ts'
import { createFoldedText, foldPiece, PIECE_UNITS } from '../../../src/detect/injection/folded-text.ts'
import { LeetView } from '../../../src/detect/injection/leet-view.ts'
import { Lexicon } from '../../../src/detect/injection/lexicon.ts'
import {
  COLUMN_LAST,
  createTokenList,
  ROW_COLUMNS,
  type TokenList,
} from '../../../src/detect/injection/token-list.ts'
import { Tokeniser } from '../../../src/detect/injection/tokens.ts'

/** Counts the units that are searched for signs. */
class CountingTokeniser extends Tokeniser {
  searched = 0

  override leetSign(units: Uint16Array, start: number, length: number): number {
    const found = super.leetSign(units, start, length)
    this.searched += found - start + 1
    return found
  }
}

const folded = createFoldedText()
const plain = createTokenList(folded.units.length)
const whole = createTokenList(folded.units.length)
const tokeniser = new CountingTokeniser(new CharacterClasses())
const leetView = new LeetView(tokeniser)
const lexicon = new Lexicon(Int8Array.from({ length: BUCKETS }, (_, bucket) => (bucket % 251) - 125))

function rowsOf({ rows }: TokenList, from: number, to: number): number[][] {
  return Array.from({ length: to - from }, (_, index) => {
    const row = (from + index) * ROW_COLUMNS
    return [...rows.subarray(row, row + COLUMN_LAST + 1)]
  })
}

function refold(text: string): void {
  foldPiece(text, 0, Math.min(text.length, PIECE_UNITS), folded)
}

function readIncrementally(text: string): number[][] {
  refold(text)
  tokeniser.tokenise(folded, false, lexicon, plain)
  if (plain.rewritten) refold(text)
  const read: number[][] = []
  leetView.read(folded, plain, lexicon, (tokens, from) => read.push(...rowsOf(tokens, from, tokens.length)))
  return read
}

function readFully(text: string): number[][] {
  refold(text)
  tokeniser.tokenise(folded, true, lexicon, whole)
  return rowsOf(whole, 0, whole.length)
}

/** The plain view, one token at a time. */
function readTokenByToken(text: string): number[][] {
  refold(text)
  tokeniser.begin(folded, false, lexicon, whole)
  for (let index = 0; index < folded.length; ) index = tokeniser.next(index)
  return rowsOf(whole, 0, whole.length)
}

const PARTS = [
  'a',
  'I',
  'ignore',
  'rules',
  'x1',
  '1gn0re',
  '4ll',
  '12',
  '2026',
  '0',
  "don't",
  "1'a",
  "dogs'",
  'getElementByIdentifier',
  'abcdefghijkl',
  'abcdefghijklm',
  'x'.repeat(41),
  '7'.repeat(41),
  'a1b2c3d4e5f6a7',
  'сору',
  'слово',
  'сл0во',
  'pаss',
  'straße',
  '漢',
  '漢字',
  '無視',
  'é',
  '٣',
  '…',
  '\u200b',
]
const BETWEEN = [
  '',
  '',
  ' ',
  ' ',
  '  ',
  '.',
  '. ',
  '!',
  '! ',
  '|',
  '+',
  '@',
  '$',
  '€',
  '-',
  '_',
  '\n',
  '"',
  "'",
  ',',
]
const texts = fc
  .array(fc.tuple(fc.constantFrom(...PARTS), fc.constantFrom(...BETWEEN)), { maxLength: 40 })
  .map((pairs) => pairs.map((pair) => pair.join('')).join(''))

t.test('the leet view made from the plain one equals a full reading', async (t) => {
  fc.assert(
    fc.property(texts, (text) => t.same(readIncrementally(text), readFully(text), text)),
    { numRuns: 1000 },
  )
})

t.test('a leet view of many batches equals a full reading', async (t) => {
  for (const piece of ['a! ', 'x1 y ', 'a|b c ', '漢1字a ', '"!x', 'i g n 0 r e  ', 'word 4ll.'])
    t.same(readIncrementally(piece.repeat(2000)), readFully(piece.repeat(2000)), piece)
})

t.test('the fast loop reads the same tokens as one token at a time', async (t) => {
  fc.assert(
    fc.property(texts, (text) => {
      refold(text)
      tokeniser.tokenise(folded, false, lexicon, plain)
      t.same(rowsOf(plain, 0, plain.length), readTokenByToken(text), text)
    }),
    { numRuns: 1000 },
  )
})

t.test('a piece is searched for signs once, however many words are read again', async (t) => {
  for (const piece of ['x1 ', 'x1 a!b ', 'a!b', '$a']) {
    tokeniser.searched = 0
    readIncrementally(piece.repeat(1000))
    t.ok(tokeniser.searched < 2.5 * piece.length * 1000, piece)
  }
})
