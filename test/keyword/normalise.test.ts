// Tests how text is normalised for keyword search.

import fc from 'fast-check'
import t from 'tap'
import { foldCluster, roleOf, STARTS } from '../../src/keyword/characters.ts'
import { foldText, Normaliser } from '../../src/keyword/normalise.ts'

interface Character {
  plain: number
  folded: number
  start: number
  end: number
}

function normalise(chunks: readonly string[]): Character[] {
  const characters: Character[] = []
  const normaliser = new Normaliser({
    take: (plain, folded, start, end) => characters.push({ plain, folded, start, end }),
  })
  for (const chunk of chunks) normaliser.push(chunk)
  normaliser.finish()
  return characters
}

const text = (codePoints: readonly number[]): string => String.fromCodePoint(...codePoints)
const fold = (from: string): string => text(foldText(from))

const cases: [what: string, from: string, to: string][] = [
  ['case', 'Project AURORA', 'project aurora'],
  ['full-width letters', 'ｐｒｏｊｅｃｔ', 'project'],
  ['ligatures', 'ﬁle', 'file'],
  ['mathematical letters', '𝐏𝐫𝐨𝐣𝐞𝐜𝐭', 'project'],
  ['sharp s, by full case folding', 'Straße', 'strasse'],
  ['capital sharp s', 'STRAẞE', 'strasse'],
  ['final sigma', 'ΣΟΦΟΣ', 'σoφoσ'],
  ['dotted capital i', 'İstanbul', 'istanbul'],
  ['zero-width characters', 'pro\u200bj\u200ce\u200dc\ufefft', 'project'],
  ['soft hyphens and joiners', 'pro\u00adj\u2060ect', 'project'],
  ['bidirectional controls', '\u202eproject\u202c\u2066x\u2069', 'projectx'],
  ['variation selectors and tags', 'p\ufe0fr\u{e0101}o\u{e0041}', 'pro'],
  ['control characters', 'pro\0j\bect\x7f', 'project'],
  ['white space to itself', 'a\tb\nc d\u00a0e', 'a\tb\nc d e'],
  ['decomposed letters compose', 'cafe\u0301', 'café'],
  ['strokes over letters', 'p\u0337r\u0336o\u0308\u0338', 'prö'],
  [
    'more marks than any language puts on a letter',
    'p\u0301\u0316\u0334\u030do\u0300\u0301\u0302\u0303',
    'po',
  ],
  ['as many marks as some languages use', 'e\u0302\u0301, o\u0323\u0302\u0301', 'ế, ộ'],
  ['more marks than a cluster takes', `a${'\u0336'.repeat(100)}b\u0301${'\u0316\u0301'.repeat(40)}c`, 'abc'],
  ['strokes over spaces and signs', 'a\u0336 \u0336b\u0332-\u0332\n\u0301#\ufe0f\u20e3', 'a b-\n#'],
  ['strokes over letters of other scripts', 'д\u0336ж\u0332и\u0301ф\u0338\u05d0\u0336', 'джиф\u05d0'],
  ['strokes within a syllable', '\u1100\u0327\u1161', '가'],
  [
    'vowel signs and long lines of Arabic',
    '\u0645\u064e\u0640\u0640\u0634\u0652\u0631\u064f\u0648\u0639',
    '\u0645\u0634\u0631\u0648\u0639',
  ],
  [
    'marks that are letters of their script to themselves',
    '\u0e01\u0e31\u0336\u0e48\u0915\u093f',
    '\u0e01\u0e31\u0e48\u0915\u093f',
  ],
  ['Cyrillic look-alikes', 'рrоjесt', 'project'],
  ['Greek look-alikes', 'prοjεct', 'projεct'],
  ['small capitals', 'ᴘʀᴏᴊᴇᴄᴛ ʙɪɢ ꜰᴀʟʟ', 'project big fall'],
  ['letters on discs and squares', '🅟🅡🅞🅙🅔🅒🅣 🅰🆉', 'project az'],
  ['look-alike capitals only next to ASCII', 'PROJEСТ ВОТ', 'project вoт'],
  ['Hangul from compatibility letters', '\u3131\u314f', '가'],
  ['half-width kana with voicing', 'ｶﾞ', 'ガ'],
]
for (const [what, from, to] of cases) {
  t.test(`normalises ${what}`, async (t) => {
    t.equal(fold(from), to)
  })
}

t.test('offsets are those of the clusters in the source text', async (t) => {
  t.same(normalise(['a\u200bﬁe\u0301!']), [
    { plain: 0x61, folded: 0x61, start: 0, end: 1 },
    { plain: 0x66, folded: 0x66, start: 2, end: 3 },
    { plain: 0x69, folded: 0x69, start: 2, end: 3 },
    { plain: 0xe9, folded: 0xe9, start: 3, end: 5 },
    { plain: 0x21, folded: 0x21, start: 5, end: 6 },
  ])
})

t.test('a look-alike is reported with the letter it resembles', async (t) => {
  t.match(normalise(['а']), [{ plain: 0x430, folded: 0x61 }])
})

/** Text made of characters that are hard to normalise. */
const hard = fc
  .array(
    fc.constantFrom(
      ...'aZ0 éßẞſKΣςІВТaВеﬁ①ｶﾞ각ᄀ',
      '\u0301',
      '\u0327',
      '\u0338',
      '\u200b',
      '\u1161',
      '\u11a8',
      '\u3131',
      '\u314f',
      '\uff9e',
      '\u{1d400}',
      '🙂',
      '\ud83d',
      '\ude00',
      '\ufdfa',
      '\u0344',
      '\n',
    ),
    { maxLength: 80 },
  )
  .map((parts) => parts.join(''))

t.test('the output does not depend on the chunks', async () => {
  fc.assert(
    fc.property(hard, fc.array(fc.nat(80)), (whole, cuts) => {
      const places = [
        0,
        ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b),
        whole.length,
      ]
      const chunks = places.slice(1).map((end, index) => whole.slice(places[index], end))
      return JSON.stringify(normalise(chunks)) === JSON.stringify(normalise([whole]))
    }),
    { numRuns: 1000 },
  )
})

t.test('offsets never decrease and stay inside the text', async () => {
  fc.assert(
    fc.property(hard, (whole) => {
      let last = { start: 0, end: 0 }
      return normalise([whole]).every((character) => {
        const fine =
          (character.start >= last.end || character.start === last.start) &&
          character.end > character.start &&
          character.end <= whole.length
        last = character
        return fine
      })
    }),
    { numRuns: 500 },
  )
})

t.test('folding folded text changes nothing', async () => {
  fc.assert(
    fc.property(hard, (whole) => {
      const once = fold(whole.toWellFormed())
      return fold(once) === once
    }),
    { numRuns: 1000 },
  )
})

t.test('a cluster takes a bounded number of marks', async (t) => {
  const characters = normalise([`д${'\u0301'.repeat(1000)}`])
  t.ok(characters.every(({ start, end }) => end - start <= 32))
})

// UAX #15: a text may be cut before a character exactly if nothing before it can join it.
t.test('characters that begin a cluster never join the character before them', async (t) => {
  const before = ['a', 'q', '=', 'ᄀ', '가', 'ㄱ', 'ﾡ', 'か', 'ｶ', 'क', 'ெ', '𑄱', 'д', ' ']
  const joined: string[] = []
  for (let codePoint = 0x80; codePoint < 0x30000; codePoint++) {
    if ((codePoint >= 0xd800 && codePoint < 0xe000) || roleOf(codePoint) !== STARTS) continue
    const character = String.fromCodePoint(codePoint)
    if (character.normalize('NFKC') === character && codePoint >= 0x4e00 && codePoint < 0xac00) continue
    const alone = character.normalize('NFKC')
    for (const base of before) {
      if ((base + character).normalize('NFKC') !== base.normalize('NFKC') + alone)
        joined.push(base + character)
    }
  }
  t.same(joined, [])
})

t.test('the fast path for ASCII gives the same result', async () => {
  for (let code = 0; code < 0x80; code++) {
    const character = String.fromCharCode(code)
    // A second cluster makes the first take the general path.
    const expected = roleOf(code) === STARTS ? text(foldCluster(character)) : ''
    if (fold(character) !== expected) throw new Error(`U+${code.toString(16)}`)
  }
})
