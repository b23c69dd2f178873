// Tests that the prefilter misses nothing that a full search finds, in texts and across adjacent ones.

import fc from 'fast-check'
import t from 'tap'
import { atOnce, STEP_UNITS } from '../../src/core/steps.ts'
import type { KeywordMatcher } from '../../src/keyword/matcher.ts'
import type { TouchingText } from '../../src/keyword/prefilter/joined-texts.ts'
import { PrefilterState } from '../../src/keyword/prefilter/prefilter.ts'
import { matcher as matcherOf } from './fixture.ts'

const mayMatchJoined = (one: KeywordMatcher, texts: readonly TouchingText[]) =>
  atOnce(one.mayMatchJoined(texts))

const matcher = (...patterns: string[]): KeywordMatcher => matcherOf(patterns)

const text = (view: string, joined: number): TouchingText => ({
  view,
  joined,
  cached: { prefilterState: new PrefilterState() },
})

/** Whether the full search, which uses no prefilter, finds something. */
function isFoundIn(one: ReturnType<typeof matcher>, whole: string): boolean {
  const stream = one.stream()
  return [...stream.push(whole), ...stream.finish()].length > 0
}

/** Whether the full search finds something in any text or in adjacent texts joined. */
function isFound(one: ReturnType<typeof matcher>, texts: readonly TouchingText[]): boolean {
  const runs: string[][] = []
  texts.forEach(({ view, joined }, place) => {
    if (place > 0 && texts[place - 1]!.joined + 1 === joined) runs.at(-1)!.push(view)
    else runs.push([view])
  })
  const wholes = [...texts.map(({ view }) => view), ...runs.flatMap((run) => [run.join(''), run.join(' ')])]
  return wholes.some((whole) => isFoundIn(one, whole))
}

const rowOf = (...views: string[]): TouchingText[] => views.map(text)

const words = fc.string({ unit: fc.constantFrom('a', 'B', 'c', ' ', '\n'), maxLength: 12 })
const texts = fc.array(fc.tuple(words, fc.boolean()), { maxLength: 6 }).map((parts) => {
  let joined = 0
  return parts.map(([view, touches]) => {
    joined += touches ? 1 : 2
    return text(view, joined)
  })
})

t.test('literals and expressions are found wherever the text is cut', async (t) => {
  const patterns = [
    ['abc'],
    ['a b', 'cab'],
    ['a a a a', 'abcabcabc'],
    ['^a', 'c c$'],
    ['\\bab\\b'],
    ['a.*c.*b'],
    ['a[^b]{2,4}c', 'b b'],
    ['(?:ab){3}', 'c$', 'ccc'],
    ['b{5}'],
  ]
  for (const list of patterns) {
    const one = matcher(...list)
    fc.assert(
      fc.property(texts, (given) => mayMatchJoined(one, given) === isFound(one, given)),
      { numRuns: 1500 },
    )
  }
  t.pass()
})

t.test('a literal is found across three texts joined by nothing or spaces', async (t) => {
  const one = matcher('project aurora', 'internal[- ]only')
  t.ok(mayMatchJoined(one, rowOf('the pro', 'ject au', 'rora is')))
  t.ok(mayMatchJoined(one, rowOf('the project', 'aurora is')))
  t.ok(mayMatchJoined(one, rowOf('it is internal', 'only')))
  t.notOk(mayMatchJoined(one, rowOf('the project', 'is aurora', 'and', '')))
  t.notOk(mayMatchJoined(one, [text('project ', 0), text('aurora', 2)]), 'not touching')
  t.notOk(mayMatchJoined(one, []))
})

t.test('a mark at the beginning of a text joins the space before it, also after an empty text', async (t) => {
  const one = matcher('\\bss\\b')
  for (const row of [rowOf('', '\u0338ß'), rowOf('a', '', '\u0338ß')]) {
    t.ok(isFound(one, row))
    t.ok(mayMatchJoined(one, row))
  }
})

t.test('no match is missed in characters of any script', async (t) => {
  const strange = [
    'a',
    'B',
    'c',
    '1',
    '\uff43',
    '\u0430',
    '\u0441',
    '\u0412',
    '\u0422',
    '\u0421',
    '\u0301',
    '\u0338',
    '\u200b',
    '\u{1d41a}',
    '\u{1f680}',
    '\ud83d',
    '\ude80',
    '\u2026',
    '\u00df',
    '\u2122',
    '\uac00',
    '\u11a8',
    '\u0915',
    '\u093f',
    ' ',
    '.',
    '\u00e9',
  ]
  const view = fc.string({ unit: fc.constantFrom(...strange), maxLength: 10 })
  const row = fc.array(view, { maxLength: 4 }).map((views) => rowOf(...views))
  let found = 0
  for (const list of [
    ['abc', 'b c'],
    ['a.c', '\\bab'],
    ['\u00e9b', '[^a]{3}b$'],
    ['b\\wc', '...'],
    ['bt', 'tm', 'ss'],
    ['\\bss\\b', 's\\.\\.'],
    ['\u0915\u093f', 'a\u00e9|\u00e1'],
  ]) {
    const one = matcher(...list)
    fc.assert(
      fc.property(view, (only) => {
        if (!isFoundIn(one, only)) return true
        found++
        return mayMatchJoined(one, rowOf(only))
      }),
      { numRuns: 1500 },
    )
    fc.assert(
      fc.property(row, (given) => !isFound(one, given) || mayMatchJoined(one, given)),
      { numRuns: 1500 },
    )
  }
  t.ok(found > 1000, `matches found: ${found}`)
})

t.test('ordinary texts of many languages need no search', async (t) => {
  const one = matcher('project aurora', '\\binternal only\\b')
  for (const views of [
    ['We met \u2014 at \u201cthe\u201d caf\u00e9\u{1f680}', '\u{1f680} \u4e2d\u6587 \u0438 project\ufe0f'],
    ['Gro\u00dfe Ma\u00dfnahmen auf der Stra\u00dfe\u2026', '\u00dcber den Spa\u00df'],
    [
      '\u041c\u044b \u0432\u0441\u0442\u0440\u0435\u0442\u0438\u043b\u0438\u0441\u044c.',
      '\u0412\u043e\u0442 \u043f\u043b\u0430\u043d: \u041d\u0435\u0442',
    ],
    [
      '\u0939\u092e \u092e\u0902\u0917\u0932\u0935\u093e\u0930 \u0915\u094b \u092e\u093f\u0932\u0947\u0964',
      '\u0e01\u0e33\u0e25\u0e31\u0e07',
    ],
    ['Docker\u2122 24, \u00bd of it\u2026', '\u2026 and No\u0308rdlingen'],
    ['', '\u0438 \u041c', '', '. \u0422'],
  ])
    t.notOk(mayMatchJoined(one, rowOf(...views)), views[0]!)
  t.ok(mayMatchJoined(one, rowOf('the CAF\u00c9', 'pro\u200bject aurora')))
  t.ok(mayMatchJoined(one, rowOf('pro', '\u200bject auro', 'ra')))
  t.ok(mayMatchJoined(one, rowOf('project aur', '\u043er\u0430')))
})

t.test('texts that change each other may match', async (t) => {
  const one = matcher('ab', 'a b')
  t.ok(mayMatchJoined(one, rowOf('xa', '\u0412')), 'a capital that looks Latin after a Latin letter')
  t.notOk(mayMatchJoined(one, rowOf('xa.', '\u0412')))
  t.ok(mayMatchJoined(one, rowOf('x', '', '\u0301')), 'a mark, which would join the letter')
  t.ok(mayMatchJoined(one, rowOf('\ud83d', '\ude80')), 'halves of one character')
})

t.test('a cached text is not scanned again until the table starts over', async (t) => {
  const one = matcher('a.{11}b', 'a.{12}b')
  const seen = text('c'.repeat(2000), 0)
  t.notOk(mayMatchJoined(one, [seen]))
  // Nearly every character makes a new set of threads.
  let random = 1
  for (let turn = 0; turn < 60; turn++) {
    const quiet = Array.from({ length: 450 }, () => {
      random = (random * 48_271) % 2_147_483_647
      return random % 2 === 0 ? 'a' : 'c'
    }).join('')
    t.notOk(mayMatchJoined(one, [seen]))
    mayMatchJoined(one, [text(quiet, 0)])
    t.ok(mayMatchJoined(one, [seen, text(`a${'c'.repeat(11)}b`, 1)]))
    t.ok(mayMatchJoined(one, [seen, text(`${quiet}b`, 1)]) || !isFoundIn(one, `${quiet}b`))
  }
})

t.test('a table that starts over between texts misses nothing', async (t) => {
  // Nearly every character makes a new set of threads.
  const gaps = [11, 12, 13, 14]
  const one = matcher(...gaps.map((gap) => `a.{${gap}}b`))
  const unit = fc.constantFrom('a', 'c')
  const long = fc.array(fc.string({ unit, minLength: 100, maxLength: 400 }), { minLength: 2, maxLength: 5 })
  fc.assert(
    fc.property(long, fc.boolean(), (views, ends) => {
      const row = rowOf(...views, ends ? 'b' : 'c')
      return !isFound(one, row) || mayMatchJoined(one, row)
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('a table that starts over between the steps of a long text misses nothing', async (t) => {
  const one = matcher('a.{11}b', 'a.{12}b')
  const noise = fc.array(fc.string({ unit: fc.constantFrom('a', 'c'), minLength: 300, maxLength: 450 }), {
    minLength: 10,
    maxLength: 10,
  })
  const shift = fc.integer({ min: -14, max: 2 })
  fc.assert(
    fc.property(noise, shift, fc.nat(12), fc.boolean(), (others, by, gap, isSplit) => {
      const before = `${'c'.repeat(STEP_UNITS + by)}a${'c'.repeat(gap)}`
      const after = `${'c'.repeat(12 - gap)}b`
      const row = isSplit ? rowOf(before, after) : rowOf(before + after, 'c')
      const steps = one.mayMatchJoined(row)
      let step = steps.next()
      for (; step.done !== true; step = steps.next()) for (const other of others) one.match(other)
      return step.value
    }),
    { numRuns: 100 },
  )
  t.pass()
})
