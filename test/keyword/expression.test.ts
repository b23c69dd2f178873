// Tests that our automaton finds what re2js finds, whose compiler it uses.

import fc from 'fast-check'
import { RE2JS } from 're2js'
import t from 'tap'
import { matcher, show } from './fixture.ts'

const atom = fc.constantFrom(
  'a',
  'b',
  'c',
  '.',
  '[ab]',
  '[^a]',
  '\\w',
  '\\d',
  '\\s',
  '(?:ab)',
  '(b|c)',
  '(?:a|)',
)
const assertion = fc.constantFrom('^', '$', '\\b', '\\B', '(?m)^', '(?m)$', '\\A', '\\z')
const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '*?', '+?', '{2}', '{1,3}', '{2,}')
const piece = fc.tuple(atom, quantifier).map(([what, many]) => what + many)
const plain = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(''))
const asserting = fc
  .array(fc.oneof({ weight: 3, arbitrary: piece }, { weight: 1, arbitrary: assertion }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((pieces) => pieces.join(''))
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A', 'B', '1', ' ', '\n'), maxLength: 24 })

const reference = (source: string): RE2JS => RE2JS.compile(source, RE2JS.CASE_INSENSITIVE)

t.test('finds what re2js finds', async () => {
  fc.assert(
    fc.property(asserting, text, (source, subject) => {
      const pattern = `(?:${source})c`
      return matcher([pattern]).match(subject).length === (reference(pattern).matcher(subject).find() ? 1 : 0)
    }),
    { numRuns: 2000 },
  )
})

t.test('assertions depend on both neighbours', async () => {
  fc.assert(
    fc.property(asserting, asserting, text, (before, after, subject) => {
      const pattern = `(?:${before})c(?:${after})`
      return matcher([pattern]).match(subject).length === (reference(pattern).matcher(subject).find() ? 1 : 0)
    }),
    { numRuns: 2000 },
  )
})

t.test('reports the earliest start among the matches that end first', async () => {
  fc.assert(
    fc.property(plain, text, (source, subject) => {
      const pattern = `(?:${source})c`
      const compiled = reference(pattern)
      let expected: string[] = []
      for (let end = 1; end <= subject.length && expected.length === 0; end++) {
        for (let start = 0; start < end && expected.length === 0; start++) {
          if (compiled.testExact(subject.slice(start, end))) expected = [`0@${start}-${end}`]
        }
      }
      return JSON.stringify(show(matcher([pattern]).match(subject))) === JSON.stringify(expected)
    }),
    { numRuns: 1000 },
  )
})

t.test('expressions searched together match as each alone', async () => {
  fc.assert(
    fc.property(fc.array(asserting, { minLength: 2, maxLength: 5 }), text, (sources, subject) => {
      const patterns = sources.map((source) => `c(?:${source})`)
      const together = show(matcher(patterns).match(subject))
      const apart = patterns.flatMap((pattern, index) =>
        show(matcher([pattern]).match(subject)).map((hit) => hit.replace(/^0/, String(index))),
      )
      return JSON.stringify(together) === JSON.stringify(apart)
    }),
    { numRuns: 600 },
  )
})

t.test('more sets of threads than the cache is worth give the same matches', async (t) => {
  // Four distances over a text of a and c: nearly every character makes a new set of threads.
  const patterns = Array.from({ length: 4 }, (_, index) => `a.{${11 + index}}b`)
  let random = 1
  const next = () => {
    random = (random * 48_271) % 2_147_483_647
    return random
  }
  const subject = Array.from({ length: 20_000 }, () => (next() % 2 === 0 ? 'a' : 'c')).join('')
  const found = matcher(patterns)
  t.same(show(found.match(subject)), [])
  for (const length of [19_900, 19_951, 19_999]) {
    const text = `${subject.slice(0, length)}b ccc`
    const expected = patterns
      .map((_, index) => ({ index, start: length - 12 - index }))
      .filter(({ start }) => text[start] === 'a')
      .map(({ index, start }) => `${index}@${start}-${length + 1}`)
    t.same(show(found.match(text)), expected)
    const stream = found.stream()
    const hits = [...text].flatMap((character) => stream.push(character))
    t.same(show([...hits, ...stream.finish()]).sort(), expected.sort())
  }
})
