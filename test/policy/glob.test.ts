import fc from 'fast-check'
import t from 'tap'
import { compileGlob } from '../../src/policy/glob.ts'

const cases: [glob: string, name: string, matches: boolean][] = [
  ['gpt-4o', 'gpt-4o', true],
  ['gpt-4o', 'gpt-4o-mini', false],
  ['gpt-4*', 'gpt-4o-mini', true],
  ['*', '', true],
  ['*', 'anything', true],
  ['?', '', false],
  ['?', '🙂', true],
  ['*/llama-?-*', 'meta/llama-3-70b', true],
  ['*a*b*c*', 'xxaxxbxxc', true],
  ['*a*b*c*', 'xxaxxcxxb', false],
  ['a.c', 'abc', false],
  ['[a]', 'a', false],
  ['[a]', '[a]', true],
  ['**', 'x', true],
  ['a*', 'ba', false],
  ['', '', true],
]
for (const [glob, name, matches] of cases) {
  t.test(`${glob} ${matches ? 'matches' : 'does not match'} ${name}`, async (t) => {
    t.equal(compileGlob(glob)(name), matches)
  })
}

t.test('a glob agrees with the equivalent regular expression', async () => {
  const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 })
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '🙂'), maxLength: 12 })
  fc.assert(
    fc.property(glob, name, (pattern, subject) => {
      const expression = new RegExp(`^${pattern.replaceAll('?', '.').replaceAll('*', '.*')}$`, 'su')
      return compileGlob(pattern)(subject) === expression.test(subject)
    }),
    { numRuns: 2000 },
  )
})
