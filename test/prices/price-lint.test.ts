// Warnings on price files that have no errors.

import t from 'tap'
import { lintPrices } from '../../src/prices/price-lint.ts'

const prices = (...globs: string[]) =>
  `prices:\n${globs.map((glob) => `  "${glob}": { input: 1, output: 1 }\n`).join('')}`
const found = (...globs: string[]) => lintPrices(prices(...globs), 'p.yaml').map(({ message }) => message)

t.test('a line behind a glob that matches the same models has a warning', async (t) => {
  for (const [before, after] of [
    ['gpt-*', 'gpt-4o'],
    ['gpt-*', 'gpt-4*'],
    ['gpt-*', 'gpt-?'],
    ['*', 'o1'],
    ['*-mini*', 'gpt-4o-mini-2024'],
    ['o?', 'o3'],
    ['a*c', 'a*b*c'],
    ['4*', '41'],
  ] as const)
    t.match(
      found(before, after),
      [/^is never used, because `.*` in line 2 comes first/],
      `${before} ${after}`,
    )
  t.match(lintPrices(prices('x', 'gpt-*', 'gpt-4o'), 'p.yaml'), [
    { file: 'p.yaml', line: 4, path: 'prices.gpt-4o', message: /`gpt-\*` in line 3 comes first/ },
  ])
})

t.test('a line that some model reaches has none', async (t) => {
  t.same(found('gpt-4o', 'gpt-4o-*', 'gpt-?', 'gpt-*', '*'), [])
  for (const [before, after] of [
    ['o?', 'o*'],
    ['??*', '*'],
    ['a*c', 'a*'],
    ['gpt-4o', 'GPT-4o*'],
    ['?'.repeat(100), '*'],
  ] as const)
    t.same(found(before, after), [], `${before} ${after}`)
})

t.test('a glob that matches nothing that is meant has a warning', async (t) => {
  t.match(found('gpt-.*', 'b\\u200b', ' c'), [
    /looks like a regular expression/,
    /nobody sees, as in `b‹200B›`/,
    /white space at its ends.* write `c`/,
  ])
  t.same(lintPrices('prices: { " a": 1 }', 'p.yaml'), [], 'a file with errors has no warnings')
})
