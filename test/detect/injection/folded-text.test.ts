// Tests what tricks with characters fold to, and that offsets lead back to the source.

import fc from 'fast-check'
import t from 'tap'
import { foldCodePoint } from '../../../src/detect/injection/character-folding.ts'
import {
  characterEnd,
  createFoldedText,
  foldPiece,
  originOf,
  PIECE_UNITS,
  pieceEnd,
} from '../../../src/detect/injection/folded-text.ts'

const folded = createFoldedText()

function foldText(text: string): string {
  foldPiece(text, 0, text.length, folded)
  return String.fromCharCode(...folded.units.subarray(0, folded.length))
}

const tags = (text: string) =>
  Array.from(text, (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('')

const CASES: readonly (readonly [name: string, text: string, want: string])[] = [
  ['lower case', 'Ignore ALL', 'ignore all'],
  ['fullwidth letters', 'Ｉｇｎｏｒｅ', 'ignore'],
  ['mathematical letters', '𝐈𝗴𝓷𝔬𝕣𝖾', 'ignore'],
  ['ligatures', 'ﬁle', 'file'],
  ['accents on Latin letters', 'ïgnörè', 'ignore'],
  ['stacked combining marks', 'i\u0301\u0316\u0347g\u0336nore', 'ignore'],
  ['zero-width characters', 'ig\u200bno\u200d\u2060re\ufeff', 'ignore'],
  ['bidirectional controls', '\u202eignore\u202c', 'ignore'],
  ['soft hyphens', 'ig\u00adnore', 'ignore'],
  ['small capitals', 'ɪɢɴᴏʀᴇ', 'ignore'],
  ['regional indicators', '🇮🇬', 'ig'],
  ['negative squared letters', '🅸🅶', 'ig'],
  ['tag characters, apart from visible text', `Hi${tags('Go')}you`, 'hi go you'],
  ['accents on Cyrillic and Arabic letters', 'всё أنت', 'все انت'],
  ['vowel signs of Devanagari to themselves', 'निर्देश', 'निर्देश'],
  ['ideographs and Hangul to themselves', '忽略 무시', '忽略 무시'],
  ['emoji to spaces', 'a😀b', 'a b'],
  ['lone surrogates to spaces', 'a\ud800b', 'a b'],
]

for (const [name, text, want] of CASES) {
  t.test(`folds ${name}`, async (t) => t.equal(foldText(text), want))
}

t.test('the offset of every folded unit is inside the text and never decreases', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      foldPiece(text, 0, text.length, folded)
      let last = 0
      for (let index = 0; index < folded.length; index++) {
        const origin = originOf(folded, index)
        if (origin < last || origin >= text.length) return false
        last = origin
      }
      return true
    }),
  )
  t.pass()
})

t.test('a code point always folds to the same units, at most four', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0x80, max: 0x10ffff }), (codePoint) => {
      const first = foldCodePoint(codePoint)
      return first === foldCodePoint(codePoint) && first.length <= 4
    }),
  )
  t.pass()
})

t.test('pieces are adjacent and bounded, end after spaces and split no pair', async (t) => {
  const texts = ['word '.repeat(5000), 'x'.repeat(20_000), '😀'.repeat(9000), `a${'😀'.repeat(9000)}`]
  for (const text of texts) {
    let start = 0
    while (start < text.length) {
      const end = pieceEnd(text, start)
      t.ok(end > start && end - start <= PIECE_UNITS)
      if (end < text.length && text.includes(' ')) t.equal(text[end - 1], ' ')
      t.notMatch(text.slice(start, end), /[\ud800-\udbff]$/)
      start = end
    }
    t.equal(start, text.length)
  }
})

t.test('the end of a character is after both surrogates of a pair', async (t) => {
  t.equal(characterEnd('a😀b', 1), 3)
  t.equal(characterEnd('ab', 1), 2)
  t.equal(characterEnd('\ud800', 0), 1)
})
