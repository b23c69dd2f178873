// Shortcuts change nothing: the loop for most text reads as the careful way does, and the leet view put together from
// the plain one is the one that is read from beginning to end.

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

/** Counts the units that are looked through for signs. */
class CountingTokeniser extends Tokeniser {
  looked = 0

  override leetSign(units: Uint16Array, start: number, length: number): number {
    const found = super.leetSign(units, start, length)
    this.looked += found - start + 1
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

function takenOver(text: string): number[][] {
  refold(text)
  tokeniser.tokenise(folded, false, lexicon, plain)
  if (plain.rewritten) refold(text)
  const read: number[][] = []
  leetView.read(folded, plain, lexicon, (tokens, from) => read.push(...rowsOf(tokens, from, tokens.length)))
  return read
}

function readThrough(text: string): number[][] {
  refold(text)
  tokeniser.tokenise(folded, true, lexicon, whole)
  return rowsOf(whole, 0, whole.length)
}

/** The plain view, each token the careful way. */
function readCarefully(text: string): number[][] {
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

t.test('the leet view taken over from the plain one is that of the whole text', async (t) => {
  fc.assert(
    fc.property(texts, (text) => t.same(takenOver(text), readThrough(text), text)),
    { numRuns: 1000 },
  )
})

t.test('so it is where it takes many batches', async (t) => {
  for (const piece of ['a! ', 'x1 y ', 'a|b c ', '漢1字a ', '"!x', 'i g n 0 r e  ', 'word 4ll.'])
    t.same(takenOver(piece.repeat(2000)), readThrough(piece.repeat(2000)), piece)
})

t.test('the loop for most text reads as the careful way does', async (t) => {
  fc.assert(
    fc.property(texts, (text) => {
      refold(text)
      tokeniser.tokenise(folded, false, lexicon, plain)
      t.same(rowsOf(plain, 0, plain.length), readCarefully(text), text)
    }),
    { numRuns: 1000 },
  )
})

t.test('a piece is looked through for signs once, however many words are read again', async (t) => {
  for (const piece of ['x1 ', 'x1 a!b ', 'a!b', '$a']) {
    tokeniser.looked = 0
    takenOver(piece.repeat(1000))
    t.ok(tokeniser.looked < 2.5 * piece.length * 1000, piece)
  }
})
