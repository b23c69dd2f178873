// A glance at texts that touch says what matching each of them, and all of them joined, would find.

import fc from 'fast-check'
import t from 'tap'
import { keywordMatcher } from '../../src/policy/keyword.ts'
import { KeywordIndex } from '../../src/policy/keyword-index.ts'
import type { RuleReference } from '../../src/policy/rule.ts'

function matcher(...patterns: string[]) {
  const rules = patterns.map((pattern, place) => ({
    reference: {
      id: `${place}`,
      name: `rule ${place}`,
      type: 'keyword_block',
      action: 'block',
    } as RuleReference,
    pattern,
  }))
  const index = new KeywordIndex(rules)
  return keywordMatcher(index, new Set(index.rules))!
}

interface Text {
  readonly view: string
  readonly joined: number
}

/** The runs of texts that touch, and each text by itself, as they are matched where a glance is not enough. */
function isFound(one: ReturnType<typeof matcher>, texts: readonly Text[]): boolean {
  const runs: string[][] = []
  texts.forEach(({ view, joined }, place) => {
    if (place > 0 && texts[place - 1]!.joined + 1 === joined) runs.at(-1)!.push(view)
    else runs.push([view])
  })
  const wholes = [...texts.map(({ view }) => view), ...runs.flatMap((run) => [run.join(''), run.join(' ')])]
  return wholes.some((whole) => one.match(whole).length > 0)
}

const rowOf = (...views: string[]): Text[] => views.map((view, joined) => ({ view, joined }))

const words = fc.string({ unit: fc.constantFrom('a', 'B', 'c', ' ', '\n'), maxLength: 12 })
const texts = fc.array(fc.tuple(words, fc.boolean()), { maxLength: 6 }).map((parts) => {
  let joined = 0
  return parts.map(([view, touches]): Text => {
    joined += touches ? 1 : 2
    return { view, joined }
  })
})

t.test('words and expressions, cut anywhere', async (t) => {
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
      fc.property(texts, (given) => one.mayMatchJoined(given) === isFound(one, given)),
      { numRuns: 1500 },
    )
  }
  t.pass()
})

t.test('a word over three texts, with nothing or spaces between', async (t) => {
  const one = matcher('project aurora', 'internal[- ]only')
  t.ok(one.mayMatchJoined(rowOf('the pro', 'ject au', 'rora is')))
  t.ok(one.mayMatchJoined(rowOf('the project', 'aurora is')))
  t.ok(one.mayMatchJoined(rowOf('it is internal', 'only')))
  t.notOk(one.mayMatchJoined(rowOf('the project', 'is aurora', 'and', '')))
  t.notOk(
    one.mayMatchJoined([
      { view: 'project ', joined: 0 },
      { view: 'aurora', joined: 2 },
    ]),
    'not touching',
  )
  t.notOk(one.mayMatchJoined([]))
})

t.test('characters of any script: nothing that is found is missed', async (t) => {
  const strange = [
    'a',
    'B',
    '\uff43',
    '\u0441',
    '\u0412',
    '\u0421',
    '\u0301',
    '\u200b',
    '\u{1d41a}',
    '\u{1f680}',
    '\u2026',
    ' ',
    '\u00e9',
  ]
  const row = fc
    .array(fc.string({ unit: fc.constantFrom(...strange), maxLength: 8 }), { maxLength: 4 })
    .map((views) => views.map((view, joined) => ({ view, joined })))
  for (const list of [
    ['abc', 'b c'],
    ['a.c', '\\bab'],
    ['\u00e9b', '[^a]{3}b$'],
    ['b\\wc', '...'],
  ]) {
    const one = matcher(...list)
    fc.assert(
      fc.property(row, (given) => !isFound(one, given) || one.mayMatchJoined(given)),
      { numRuns: 2000 },
    )
  }
  const one = matcher('caf\u00e9 project')
  const quiet = rowOf(
    'We met \u2014 at \u201cthe\u201d caf\u00e9\u{1f680}',
    '\u{1f680} \u4e2d\u6587 \u0438 project\ufe0f',
  )
  t.notOk(one.mayMatchJoined(quiet), 'told without normalising')
  t.ok(one.mayMatchJoined(rowOf('the CAF\u00c9', 'pro\u200bject')))
})

t.test('what depends on its neighbours may match', async (t) => {
  const one = matcher('abc', 'a.c')
  t.ok(
    one.mayMatchJoined([
      { view: 'ab', joined: 0 },
      { view: '\u200bc', joined: 1 },
    ]),
  )
})

t.test('a table that starts over in the middle misses nothing', async (t) => {
  // Nearly every character makes a set of threads of its own.
  const gaps = [11, 12, 13, 14]
  const one = matcher(...gaps.map((gap) => `a.{${gap}}b`))
  const unit = fc.constantFrom('a', 'c')
  const long = fc.array(fc.string({ unit, minLength: 100, maxLength: 400 }), { minLength: 2, maxLength: 5 })
  fc.assert(
    fc.property(long, fc.boolean(), (views, ends) => {
      const row = [...views, ends ? 'b' : 'c'].map((view, joined) => ({ view, joined }))
      return !isFound(one, row) || one.mayMatchJoined(row)
    }),
    { numRuns: 300 },
  )
  t.pass()
})
