import fc from 'fast-check'
import t from 'tap'
import { compileGlob, compilePathGlob, coversBelow } from '../../src/policy/glob.ts'

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
  ['ab*ba', 'aba', false],
  ['ab**ba', 'abba', true],
  ['*🙂', 'a🙂', true],
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

t.test('in a path one star stays within a segment, and two stars are segments', async (t) => {
  const cases: [string, string, boolean][] = [
    ['/v1/images/*', '/v1/images/edits', true],
    ['/v1/images/*', '/v1/images/a/b', false],
    ['/v1/images/*', '/v1/images', false],
    ['/v1/*/content', '/v1/x/content', true],
    ['/v1/**', '/v1/a', true],
    ['/v1/**', '/v1/a/b/c', true],
    ['/v1/**', '/v1', false],
    ['/v1/**/content', '/v1/files/f/content', true],
    ['/v1/**/content', '/v1/content', false],
    ['/v1/**/a/**/b', '/v1/x/a/y/a/z/b', true],
    ['/v1/**/a/**/b', '/v1/x/a/b', false],
    ['/v1/f?les', '/v1/files', true],
  ]
  for (const [glob, path, matches] of cases) t.equal(compilePathGlob(glob)(path), matches, `${glob} ${path}`)
})

t.test('a glob covers a folder if some path below it matches', async () => {
  const segment = fc.constantFrom('a', 'b', 'ab', '*', 'a*', '**')
  const plain = fc.constantFrom('a', 'b', 'ab')
  const path = (of: typeof segment, minLength: number) =>
    fc.array(of, { minLength, maxLength: 3 }).map((names) => `/${names.join('/')}`)
  const below = ['a', 'b', 'ab', 'aa'].flatMap((one) => ['', '/a', '/b', '/ab'].map((end) => `/${one}${end}`))
  const deeper = below.flatMap((one) => ['', '/a', '/b/b', '/ab/a'].map((end) => one + end))
  fc.assert(
    fc.property(path(segment, 1), path(plain, 1), (glob, folder) => {
      const matches = compilePathGlob(glob)
      return coversBelow(glob, folder) === deeper.some((end) => matches(folder + end))
    }),
    { numRuns: 2000 },
  )
})

t.test('a path glob with many stars takes linear time', async (t) => {
  const matches = compilePathGlob(`${'/**/a'.repeat(20)}/b`)
  t.notOk(matches(`/x${'/a'.repeat(100_000)}`))
})
