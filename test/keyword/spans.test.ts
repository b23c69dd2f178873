// Matches of patterns with their places, in whole and in growing texts.

import fc from 'fast-check'
import t from 'tap'
import { atOnce } from '../../src/core/steps.ts'
import { parseExpressions } from '../../src/keyword/pattern-index.ts'
import { longestMatch } from '../../src/keyword/regexp/instructions.ts'
import { MAXIMUM_MATCH_CHARACTERS, type SpanPattern } from '../../src/keyword/spans/span-finder.ts'
import { type PatternSpan, SpanIndex, type SpanSearcher } from '../../src/keyword/spans/span-search.ts'

const programsOf = (pattern: string) => {
  const parsed = parseExpressions(pattern)
  if ('messages' in parsed) throw new Error(parsed.messages.join('; '))
  return parsed.programs
}
const patternOf = (pattern: string, condition?: SpanPattern['condition']): SpanPattern => ({
  programs: programsOf(pattern),
  ...(condition && { condition }),
})
const searcher = (...patterns: readonly SpanPattern[]): SpanSearcher =>
  new SpanIndex(patterns).select(patterns.map(() => true))!
const show = (spans: readonly PatternSpan[]) =>
  spans
    .map(({ pattern, start, end }) => `${pattern}@${start}-${end}`)
    .sort()
    .join(' ')
const find = (text: string, ...patterns: readonly string[]) =>
  show(atOnce(searcher(...patterns.map((one) => patternOf(one))).find(text)))

const CASES: readonly [what: string, patterns: readonly string[], text: string, found: string][] = [
  ['every match', ['CASE-[0-9]{3}'], 'case-123, Case-456', '0@0-8 0@10-18'],
  ['the longest from its start', ['a|ab|abc'], 'xabcab', '0@1-4 0@4-6'],
  ['the first of those that overlap', ['aba'], 'ababa', '0@0-3'],
  ['the rest of a match that was longer in vain', ['ab(c{3}d)?', 'cc'], 'abccx', '0@0-2 1@2-4'],
  ['a match that a longer attempt hides', ['a(bcbcbcd)?|cb'], 'abcbc', '0@0-1 0@2-4'],
  ['each pattern alone', ['[0-9]{3}', '[0-9]{2}'], '1234', '0@0-3 1@0-2 1@2-4'],
  ['words by \\b', ['\\b[0-9]{4}\\b'], '1234 12345 1234', '0@0-4 0@11-15'],
  ['the end of the text', ['[0-9]+$'], '12 34', '0@3-5'],
  ['full-width and zero-width characters', ['no-[0-9]{2}'], 'ｎｏ-1\u200b2.', '0@0-6'],
  ['parts of a ligature once', ['f'], 'oﬃce', '0@1-2'],
  ['nothing', ['x[0-9]'], 'x y', ''],
]
t.test('matches are found from left to right, the longest first, without overlap', async (t) => {
  for (const [what, patterns, text, found] of CASES) t.equal(find(text, ...patterns), found, what)
})

t.test('an expression with a longest match gives what an exhaustive search gives', async () => {
  const patterns = ['a(?:b|bc)?', '[ab]{2,4}c', 'c(?:a|b)*?c|ba', 'ab(?:ab)?c?', '\\bab\\b|c{2}']
  fc.assert(
    fc.property(
      fc.constantFrom(...patterns),
      fc.string({ unit: fc.constantFrom(...'abc '), maxLength: 24 }),
      (pattern, text) => {
        const wanted: string[] = []
        for (let at = 0; at < text.length; ) {
          let end = text.length
          while (end > at && !matchesAt(pattern, text, at, end)) end--
          if (end > at) wanted.push(`0@${at}-${end}`)
          at = Math.max(at + 1, end)
        }
        return find(text, pattern) === wanted.sort().join(' ')
      },
    ),
    { numRuns: 400 },
  )
})

/** Whether an expression matches exactly `text[start, end)` in its surroundings. */
const matchesAt = (pattern: string, text: string, start: number, end: number): boolean =>
  new RegExp(`^[^]{${start}}(?<=^[^]{${start}})(?:${pattern})(?<=^[^]{${end}})`).test(text)

t.test('a match that may go on without end is cut', async (t) => {
  const most = MAXIMUM_MATCH_CHARACTERS
  t.equal(find(`k${'1'.repeat(300)}`, 'k[0-9]+'), `0@0-${most}`, 'at its end')
  t.equal(find(`a${'x'.repeat(300)}b`, 'a.*b'), `0@${302 - most}-302`, 'at its beginning')
  t.equal(find(`a${'\u200b'.repeat(3000)}b`, 'ab'), '0@1978-3002', 'invisible characters count, too')
  for (const [pattern, length] of [
    ['ab', 2],
    ['a{3,5}|b', 5],
    ['(?:ab?c)*', Number.POSITIVE_INFINITY],
    ['a(?:b|cd){2}e?\\b', 6],
  ] as const)
    t.equal(Math.max(...programsOf(pattern.replace(/^\(.*\*$/, `$&x`)).map(longestMatch)), length, pattern)
})

const near: SpanPattern['condition'] = {
  before: 65,
  after: 33,
  accepts: (value, before, after) => /\bcase\b/.test(before) || /\bcase\b/.test(after) || value.endsWith('7'),
}

t.test('a match counts under its condition, and hides no other', async (t) => {
  const some = searcher(patternOf('[0-9]{3}', near), patternOf('[0-9]+'))
  const found = (text: string) => show(atOnce(some.find(text)).filter(({ pattern }) => pattern === 0))
  t.equal(found('a case: 123'), '0@8-11')
  t.equal(found(`case${' '.repeat(62)}123`), '', 'too far')
  t.equal(found('123 is my case'), '0@0-3')
  t.equal(found('123 is my casework'), '')
  t.equal(found('1234567'), '0@4-7', 'a later start')
})

const PATTERNS = [
  patternOf('[0-9]{3}', near),
  patternOf('a.*b'),
  patternOf('(?s)x.{3,}y|xy'),
  patternOf('\\bcase\\b'),
  patternOf('k[0-9a-f]+'),
  patternOf('e\u0301{2}|ﬃ'),
]
const TEXT = fc
  .array(
    fc.constantFrom(
      ...['a', 'b', 'x', 'y', 'case', 'k', '0', '12', '7', ' ', '\n', 'e', '\u0301', 'ﬃ', '\u200b', '1'],
      ...['\u200b'.repeat(300), 'f'.repeat(200), ' '.repeat(40), '𝟏', '\ud835', 'Ａ'],
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(''))

t.test('a growing text has the matches of the whole, and none begins in what was safe', async () => {
  const all = searcher(...PATTERNS)
  fc.assert(
    fc.property(TEXT, fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 }), (text, cuts) => {
      const stream = all.stream()
      const found: PatternSpan[] = []
      let safe = 0
      const note = (spans: readonly PatternSpan[]) => {
        for (const span of spans) if (span.start < safe) throw new Error(`${span.start} is before ${safe}`)
        found.push(...spans)
      }
      for (let at = 0, index = 0; at < text.length; index++) {
        const next = at + cuts[index % cuts.length]!
        note(stream.push(text.slice(at, next)))
        safe = stream.safe
        at = next
      }
      note(stream.finish())
      return show(found) === show(atOnce(all.find(text)))
    }),
    { numRuns: 400 },
  )
})

t.test('time is linear in any text', async (t) => {
  const all = searcher(...PATTERNS)
  for (const unit of ['a', '1', 'xx ', 'k0', 'case 12', '\u200b1']) {
    const text = unit.repeat(Math.ceil(64_000 / unit.length))
    const began = process.cpuUsage()
    atOnce(all.find(text))
    const { user } = process.cpuUsage(began)
    t.ok(user < 2_000_000, `${JSON.stringify(unit)}: ${user} µs`)
  }
})
