import fc from 'fast-check'
import t from 'tap'
import { keywordMatcher } from '../../src/keyword/matcher.ts'
import { KeywordIndex } from '../../src/keyword/pattern-index.ts'
import { MAXIMUM_HOLD_BACK } from '../../src/keyword/stream-search.ts'
import { matcher, parsed, show } from './fixture.ts'

const cases: [what: string, patterns: string[], text: string, hits: string[]][] = [
  ['alternatives', ['project aurora|project borealis'], 'On PROJECT Borealis, then', ['0@3-19']],
  ['containment', ['art'], 'cartoon', ['0@1-4']],
  ['whole words by \\b', ['\\bart\\b'], 'cartoon art', ['0@8-11']],
  ['each pattern once, in pattern order', ['b', 'a'], 'aabb', ['0@2-3', '1@0-1']],
  ['one word in two patterns', ['same', 'same'], 'same', ['0@0-4', '1@0-4']],
  ['a word in a word', ['he', 'she', 'hers'], 'ushers', ['0@2-4', '1@1-4', '2@2-6']],
  ['operators', ['gr[ae]y\\s+area'], 'a Gray\n  Area', ['0@2-13']],
  ['escaped operators are a word', ['c\\+\\+\\|a\\.b'], 'C++|A.B', ['0@0-7']],
  ['quoted text', ['\\Qa|b\\E|c'], 'a|b', ['0@0-3']],
  ['flags hold for later alternatives', ['(?s)x.y|a.b'], 'a\nb', ['0@0-3']],
  ['without the flag a dot stops at a line feed', ['x.y|a.b'], 'a\nb', []],
  ['.* at the front and the end change nothing', ['.*aurora.*'], 'the aurora is', ['0@4-10']],
  ['start and end of the text', ['^stop$'], 'stop', ['0@0-4']],
  ['only of the text', ['^stop$'], 'do\nstop\n', []],
  ['of lines when asked', ['(?m)^stop$'], 'do\nstop\n', ['0@3-7']],
  ['zero-width characters', ['aurora'], 'au\u200bro\u2060ra!', ['0@0-8']],
  ['full-width, in an expression', ['(au){1}rora'], 'ＡＵＲＯＲＡ', ['0@0-6']],
  ['full-width pattern', ['ａｕｒ(ｏ)ra'], 'aurora', ['0@0-6']],
  ['look-alikes in a word', ['aurora'], 'Аurоrа', ['0@0-6']],
  ['look-alikes in an expression', ['au[r]ora'], 'Аurоrа', ['0@0-6']],
  ['look-alikes that are no letters are parts of words', ['\\bart\\b'], '🅰🆁🆃, 🅰🆁🆃🆂', ['0@0-6']],
  ['small capitals in an expression', ['a[r]t'], 'ᴀʀᴛ', ['0@0-3']],
  ['a Cyrillic pattern', ['проект'], 'ПРОЕКТ', ['0@0-6']],
  ['a Cyrillic class', ['[а-я]{6}'], 'ПРОЕКТ', ['0@0-6']],
  ['a class of a script does not take Latin letters', ['\\p{Cyrillic}'], 'a cop', []],
  ['a class of a script takes its own', ['\\p{Cyrillic}'], 'a сop', ['0@2-3']],
  ['words end where an unspaced script begins', ['\\bart\\b'], '这个art很', ['0@2-5']],
  ['words do not end at an accented letter', ['\\bart\\b'], 'artéria', []],
  ['composed by the pattern', ['cafe\u0301'], 'CAFÉ', ['0@0-4']],
  ['capital sharp s', ['straße'], 'STRAẞE', ['0@0-6']],
  ['capital sharp s in a pattern', ['GROẞ'], 'gross', ['0@0-5']],
  ['sharp s in an expression', ['stra[x]?ße'], 'STRASSE', ['0@0-7']],
  ['a quantified ligature', ['oﬃ+ce'], 'offiffice', ['0@0-9']],
  ['hexadecimal escapes', ['\\x{41}b[c]'], 'abc', ['0@0-3']],
  ['capitals asked for are found folded', ['(?-i)[A-C]{2}'], 'AB', ['0@0-2']],
  ['lazy and greedy end as early as they can', ['a+', 'a+?', 'a{2,}'], 'aaaa', ['0@0-1', '1@0-1', '2@0-2']],
  ['nothing', ['aurora'], '', []],
]
for (const [what, patterns, text, hits] of cases) {
  t.test(`match handles ${what}`, async (t) => {
    t.same(show(matcher(patterns).match(text)), hits)
  })
}

t.test('a matcher finds its active patterns alone, by their index', async (t) => {
  const index = new KeywordIndex(['a', 'b', 'a'].map(parsed))
  const none = [false, false, false]
  t.same(show(keywordMatcher(index, { active: [false, true, true], holding: none })?.match('ab') ?? []), [
    '1@1-2',
    '2@0-1',
  ])
  t.equal(keywordMatcher(index, { active: none, holding: none }), null)
})

t.test('only holding patterns hold text back', async (t) => {
  const index = new KeywordIndex(['abc', 'xyz'].map(parsed))
  const stream = keywordMatcher(index, { active: [true, true], holding: [false, true] })!.stream()
  stream.push('ab')
  t.equal(stream.safe, 2)
  stream.push('xy')
  t.equal(stream.safe, 2)
})

const alternative = fc.constantFrom(
  'ab',
  'abc',
  'b',
  'ba',
  'aab',
  'é',
  'éa',
  'ﬁ',
  'ßa',
  'кa',
  '\u3099',
  'a\\s*b',
  'a.{2}b',
  '\\bab\\b',
  'a[^b]*c',
  'b$',
  '^a',
  '(?m)^b',
  'a+c',
  '\\Bb',
  '[а-я]b',
  'ca{2,4}',
  '.b',
  'x?ba',
  '(?s)a.*c',
  '[\\x{80}-\\x{10ffff}]a',
)
const patterns = fc
  .array(fc.tuple(fc.array(alternative, { minLength: 1, maxLength: 3 }), fc.boolean()), {
    minLength: 1,
    maxLength: 4,
  })
  .map((list) => list.map(([alternatives, blocks]) => ({ pattern: alternatives.join('|'), blocks })))
const text = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      'c',
      'A',
      'B',
      ' ',
      '\n',
      'x',
      'é',
      '\u0301',
      '\u0338',
      'ﬁ',
      'ß',
      'ẞ',
      'а',
      'к',
      'В',
      'T',
      '\u200b',
      '🙂',
      '\uff9e',
      '\ud83d',
    ),
    {
      maxLength: 40,
    },
  )
  .map((parts) => parts.join(''))
const cuts = fc.array(fc.nat(60), { maxLength: 12 })

const split = (whole: string, places: readonly number[]): string[] => {
  const bounds = [0, ...places.map((at) => Math.min(at, whole.length)).sort((a, b) => a - b), whole.length]
  return bounds.slice(1).map((end, index) => whole.slice(bounds[index], end))
}

t.test(
  'a stream finds what the whole text has, and holds back all that may belong to a holding match',
  async () => {
    fc.assert(
      fc.property(patterns, text, cuts, (list, whole, places) => {
        const found = matcher(
          list.map(({ pattern }) => pattern),
          list.map(({ blocks }) => blocks),
        )
        const stream = found.stream()
        const hits: string[] = []
        let safe = 0
        let received = 0
        for (const chunk of split(whole, places)) {
          received += chunk.length
          const now = stream.push(chunk)
          for (const hit of now) if (list[hit.pattern]!.blocks && hit.start < safe) return false
          hits.push(...show(now))
          if (now.some((hit) => list[hit.pattern]!.blocks)) safe = Number.NEGATIVE_INFINITY
          if (stream.safe < safe || stream.safe > received) return false
          if (safe >= 0) safe = stream.safe
        }
        const last = stream.finish()
        for (const hit of last) if (list[hit.pattern]!.blocks && hit.start < safe) return false
        hits.push(...show(last))
        return JSON.stringify(hits.sort()) === JSON.stringify(show(found.match(whole)).sort())
      }),
      { numRuns: 1500 },
    )
  },
)

t.test('the cuts do not change the order of hits', async () => {
  fc.assert(
    fc.property(patterns, text, cuts, (list, whole, places) => {
      const found = matcher(list.map(({ pattern }) => pattern))
      const inOrder = (chunks: readonly string[]) => {
        const stream = found.stream()
        return show([...chunks.flatMap((chunk) => stream.push(chunk)), ...stream.finish()])
      }
      return JSON.stringify(inOrder(split(whole, places))) === JSON.stringify(inOrder([whole]))
    }),
    { numRuns: 500 },
  )
})

/** The safe offset after each chunk. */
function safeAfter(list: readonly string[], chunks: readonly string[], holding?: boolean[]): number[] {
  const stream = matcher(list, holding).stream()
  return chunks.map((chunk) => {
    stream.push(chunk)
    return stream.safe
  })
}

t.test('a stream holds text only while it can become a match', async (t) => {
  t.same(safeAfter(['project aurora'], ['see the ', 'pro', 'ject ', 'plan']), [8, 8, 8, 20])
  t.same(
    safeAfter(['project aurora'], ['x', 'p', 'q', 'r']),
    [1, 1, 1, 4],
    'a combining mark could still follow q',
  )
  t.same(safeAfter(['a\\s+b'], ['xa', '  ', 'c', 'c']), [1, 1, 1, 6])
  t.same(safeAfter(['\\bstop\\b'], ['non', 'stop', ' ']), [3, 7, 8])
  t.same(safeAfter(['é'], ['e', 'a', '\u0301']), [0, 2, 2], 'a combining mark may still come')
  t.same(safeAfter(['project aurora'], ['see the pro']), [8])
  t.same(safeAfter(['project aurora'], ['see the pro'], [false]), [11], 'a pattern that does not hold')
})

t.test('a match that is never decided holds back at most MAXIMUM_HOLD_BACK', async (t) => {
  const filler = 'y'.repeat(400)
  const stream = matcher(['(?s)begin.*end']).stream()
  stream.push('xx begin')
  t.equal(stream.safe, 3)
  stream.push(filler)
  t.equal(stream.safe, 3)
  stream.push(filler)
  stream.push(filler)
  t.equal(stream.safe, 1208 - MAXIMUM_HOLD_BACK)
  t.same(
    show(stream.push('the end.')),
    [`0@${1215 - MAXIMUM_HOLD_BACK}-1215`],
    'found, from the first character still held',
  )
})

t.test('a long match is the same in one chunk and in many', async (t) => {
  const whole = `begin ${'\u200b'.repeat(3000)}middle ${'z'.repeat(2000)} end`
  const found = matcher(['(?s)begin.*end', 'begin middle'])
  const stream = found.stream()
  const hits = [...whole].flatMap((character) => stream.push(character))
  t.same(show([...hits, ...stream.finish()]).sort(), show(found.match(whole)).sort())
})

t.test('the search ends as soon as every pattern has matched', async (t) => {
  t.same(show(matcher(['aurora']).match(`aurora${'x'.repeat(500_000)}`)), ['0@0-6'])
})
