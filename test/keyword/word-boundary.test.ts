// Tests word boundaries in scripts with and without spaces, in whole and in growing text.

import fc from 'fast-check'
import t from 'tap'
import { matcher, show } from './fixture.ts'

/** A pattern, the texts in which it occurs, and those in which it does not. */
const CASES: readonly (readonly [
  what: string,
  pattern: string,
  found: readonly string[],
  absent: readonly string[],
])[] = [
  [
    'Hangul letters are letters',
    '\\b비밀\\b',
    ['이것은 비밀 입니다', '비밀', '(비밀)', '“비밀”', '비밀.', '\n비밀\t', '비밀이다 비밀'],
    ['비밀번호', '나의비밀', '비밀은 비밀이다', '비밀2', '비밀_1'],
  ],
  [
    'a particle does not extend a word of another script',
    '\\baurora\\b',
    ['Aurora는 비밀', '프로젝트Aurora', 'aurora를'],
    ['aurorae', 'aurora2는', 'xaurora'],
  ],
  ['a particle does not extend a number', '\\bv2\\b', ['v2는', 'v2 는'], ['v20는', 'v2b']],
  [
    'Han is written without spaces',
    '\\b机密\\b',
    ['这是机密文件', '机密', 'a机密b', '1机密2', '_机密_'],
    ['机', '密'],
  ],
  [
    'Hiragana and Katakana are written without spaces',
    '\\bひみつ\\b|\\bコード\\b',
    ['これはひみつです', '暗号コード表'],
    [],
  ],
  ['half-width Katakana are Katakana', '\\bコード\\b', ['暗号ｺｰﾄﾞ表'], []],
  ['Thai is written without spaces', '\\bลับ\\b', ['ข้อมูลลับมาก', 'ลับ'], []],
  ['Lao is written without spaces', '\\bລັບ\\b', ['ຂໍ້ມູນລັບຫຼາຍ'], []],
  ['Khmer is written without spaces', '\\bសម្ងាត់\\b', ['ព័ត៌មានសម្ងាត់ណាស់'], []],
  ['Burmese is written without spaces', '\\bလျှို့ဝှက်\\b', ['ဒီလျှို့ဝှက်ချက်'], []],
  ['a word between ideographs is whole', '\\bart\\b', ['这个art很', 'そのartは', 'ลับartลับ'], ['这个arts很']],
  ['digits of a script without spaces are digits', '\\b๑๒\\b', ['๑๒', 'ลับ๑๒ลับ'], ['๑๒๓', 'a๑๒']],
  ['Cyrillic letters are letters', '\\bсекрет\\b', ['это секрет.', 'СЕКРЕТ'], ['секретный', 'несекрет']],
  [
    'Greek and Arabic letters are letters',
    '\\bμυστικό\\b|\\bسر\\b',
    ['το μυστικό μου', 'هذا سر كبير'],
    ['μυστικότητα', 'سري'],
  ],
  ['a letter with an accent is a letter', '\\bart\\b', ['art é'], ['arté', 'éart', 'arte\u0301', 'ärt']],
  [
    'accents at the edges of a word',
    '\\bécole\\b|\\bolé\\b',
    ['à l’école', 'ole\u0301!'],
    ['écoles', 'olér'],
  ],
  ['marks belong to words', '\\bहिन्दी\\b|\\bहिन्द\\b', ['यह हिन्दी है'], ['हिन्दू']],
  ['letters of two scripts with spaces are one word', '\\bart\\b', [], ['artж', 'жart']],
  [
    'digits and underscores belong to words',
    '\\bart\\b',
    ['art-1', 'art 1'],
    ['art1', '1art', 'art_', '_art', 'art٣'],
  ],
  ['full-width letters are letters', '\\bart\\b', ['ＡＲＴ', '的ａｒｔ的'], ['ａｒｔｓ', 'ａｒｔ＿']],
  ['letters outside the basic plane are letters', '\\bart\\b', ['art 𐐀'], ['art𐐀', '𐐀art']],
  ['\\B asks for no boundary', '\\Bart', ['cart', 'жart'], ['art', ' art', '这art', '비art']],
  ['\\B never holds next to an ideograph', '机\\B密', [], ['机密', '机 密']],
  ['\\B holds between Hangul letters', '비\\B밀', ['비밀'], []],
]

for (const [what, pattern, found, absent] of CASES) {
  t.test(what, async (t) => {
    const one = matcher([pattern])
    const streamed = (text: string): string[] => {
      const stream = one.stream()
      const hits = [...text].flatMap((character) => stream.push(character))
      return show([...hits, ...stream.finish()])
    }
    for (const text of found) t.equal(one.match(text).length, 1, text)
    for (const text of absent) t.equal(one.match(text).length, 0, text)
    for (const text of [...found, ...absent])
      t.same(streamed(text), show(one.match(text)), `${text} in chunks`)
  })
}

t.test('a boundary at the end of what has arrived waits', async (t) => {
  for (const [pattern, text, next] of [
    ['\\b비밀\\b', '비밀', '번'],
    ['\\bart\\b', 'art', 'é'],
  ] as const) {
    const open = matcher([pattern]).stream()
    t.same(open.push(text), [])
    t.equal(open.safe, 0, 'the word is held back')
    t.same([...open.push(next), ...open.finish()], [])
    const ended = matcher([pattern]).stream()
    t.same([...ended.push(text), ...ended.finish()].length, 1)
  }
})

t.test('a stream finds what the whole text has, in any mix of scripts', async () => {
  const unit = fc.constantFrom(
    'a',
    'b',
    'é',
    'ж',
    '비',
    '밀',
    '机',
    'ひ',
    'ﾞ',
    'ลั',
    '1',
    '_',
    ' ',
    '\u0301',
    '\u3000',
    '𐐀',
  )
  const pattern = fc.constantFrom(
    '\\ba',
    'a\\b',
    '\\b비',
    '밀\\b',
    '\\b机\\b',
    'b\\Ba',
    '\\B밀',
    '\\b1\\b',
    'ж\\b',
  )
  const chunks = fc.array(fc.string({ unit, maxLength: 6 }), { maxLength: 6 })
  fc.assert(
    fc.property(fc.array(pattern, { minLength: 1, maxLength: 3 }), chunks, (patterns, parts) => {
      const one = matcher(patterns)
      const stream = one.stream()
      const hits = [...parts.flatMap((part) => stream.push(part)), ...stream.finish()]
      hits.sort((a, b) => a.pattern - b.pattern)
      return JSON.stringify(show(hits)) === JSON.stringify(show(one.match(parts.join(''))))
    }),
    { numRuns: 3000 },
  )
})
