import fc from 'fast-check'
import { RE2JS } from 're2js'
import t from 'tap'
import { matcher, show } from './rules.ts'

// The expressions are run by our own automaton; re2js, whose compiler it uses, is the reference.

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

/** An expression and letters, so that nothing is empty: `x` makes it one that is searched for. */
const reference = (source: string): RE2JS => RE2JS.compile(source, RE2JS.CASE_INSENSITIVE)

t.test('finds what re2js finds', async () => {
  fc.assert(
    fc.property(asserting, text, (source, subject) => {
      const pattern = `(?:${source})c`
      return matcher([pattern]).match(subject).length === (reference(pattern).matcher(subject).find() ? 1 : 0)
    }),
    { numRuns: 5000 },
  )
})

t.test('assertions look both ways', async () => {
  fc.assert(
    fc.property(asserting, asserting, text, (before, after, subject) => {
      const pattern = `(?:${before})c(?:${after})`
      return matcher([pattern]).match(subject).length === (reference(pattern).matcher(subject).find() ? 1 : 0)
    }),
    { numRuns: 5000 },
  )
})

t.test('reports the match that ends first, and of those the one that begins first', async () => {
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
    { numRuns: 3000 },
  )
})

t.test('expressions side by side do not disturb each other', async () => {
  fc.assert(
    fc.property(fc.array(asserting, { minLength: 2, maxLength: 5 }), text, (sources, subject) => {
      const patterns = sources.map((source) => `c(?:${source})`)
      const together = show(matcher(patterns).match(subject))
      const apart = patterns.flatMap((pattern, index) =>
        show(matcher([pattern]).match(subject)).map((hit) => hit.replace(/^0/, String(index))),
      )
      return JSON.stringify(together) === JSON.stringify(apart)
    }),
    { numRuns: 1500 },
  )
})

t.test('more sets of threads than are remembered', async (t) => {
  // Twelve independent distances give 2^12 sets and more.
  const patterns = Array.from({ length: 4 }, (_, index) => `a.{${11 + index}}b`)
  let random = 1
  const next = () => {
    random = (random * 48_271) % 2_147_483_647
    return random
  }
  const subject = Array.from({ length: 20_000 }, () => (next() % 2 === 0 ? 'a' : 'c')).join('')
  const found = matcher(patterns)
  t.same(show(found.match(subject)), [])
  const end = `a${'c'.repeat(12)}b`
  t.same(show(found.match(`${subject.replaceAll('a', 'c')}${end}`)), [`1@20000-20014`])
  t.same(show(found.match(subject + end)).length > 0, true)
})
