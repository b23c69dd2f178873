// Matches of patterns with their places, in whole and in growing texts.

import fc from 'fast-check'
import t from 'tap'
import { atOnce } from '../../src/core/steps.ts'
import { parseExpressions } from '../../src/keyword/pattern-index.ts'
import { longestMatch } from '../../src/keyword/regexp/instructions.ts'
import type { GrowingCheck } from '../../src/keyword/spans/match-ends.ts'
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

const codePoints = (text: string) => Array.from(text, (one) => one.codePointAt(0)!)
const wordsOf = (...words: readonly string[]) => ({ words: words.map(codePoints), before: 64, after: 32 })

/** Passes values whose digits add up to a multiple of `divisor`. */
const sums = (divisor: number) => (): GrowingCheck => {
  let sum = 0
  return {
    add(codePoint) {
      if (codePoint >= 0x30 && codePoint <= 0x39) sum += codePoint - 0x30
    },
    get passes() {
      return sum % divisor === 0
    },
  }
}

const near: SpanPattern['condition'] = { words: wordsOf('case', 'a case', 'se') }

const NEAR: readonly [text: string, found: string][] = [
  ['a case: 123', '0@8-11'],
  [`case${' '.repeat(60)}123`, '0@64-67'],
  [`case${' '.repeat(61)}123`, ''],
  ['123 is my case', '0@0-3'],
  ['123 is my casework', ''],
  [`123${' '.repeat(28)}case`, '0@0-3'],
  [`123${' '.repeat(29)}case`, ''],
  [`123${' '.repeat(28)}casex`, ''],
  ['xcase 123', ''],
  ['case123', '0@4-7'],
  ['123case', '0@0-3'],
  [`123 456 ${'.'.repeat(27)}case`, '0@4-7'],
  [`123${' '.repeat(20)}${'\u200b'.repeat(300)}case`, ''],
]
t.test('a match counts with a whole word near it', async (t) => {
  const some = searcher(patternOf('[0-9]{3}', near))
  for (const [text, found] of NEAR) t.equal(show(atOnce(some.find(text))), found, JSON.stringify(text))
})

t.test('a match counts to the longest end that passes its check', async (t) => {
  const found = (text: string, pattern: string, condition: SpanPattern['condition']) =>
    show(atOnce(searcher(patternOf(pattern, condition)).find(text)))
  const checked = { newCheck: sums(10) }
  t.equal(found('5551', '[0-9]{2,4}', checked), '0@0-2')
  t.equal(found('1555', '[0-9]{2,3}', checked), '0@1-3', 'a later start')
  t.equal(found('1234', '[0-9]{4}', checked), '0@0-4')
  t.equal(found('55 case 55', '[0-9]{2}', { ...checked, ...near }), '0@0-2 0@8-10')
  t.equal(
    found(`5555${'.'.repeat(29)}case`, '[0-9]{2,4}|5555[.]{2}', { ...checked, ...near }),
    '0@0-6',
    'an end that brings a word near',
  )
})

t.test('checked matches are those of an exhaustive search', async () => {
  const patterns = [
    '[0-9]{2,5}',
    '[0-9](?:-?[0-9]){1,3}',
    '(?:1|12|2[0-9]{3})x?',
    '\\b[0-9]{3,4}\\b',
    '[0-9]+-?',
  ]
  fc.assert(
    fc.property(
      fc.constantFrom(...patterns),
      fc.string({ unit: fc.constantFrom(...'0123x- '), maxLength: 20 }),
      fc.constantFrom(3, 5, 7),
      (pattern, text, divisor) => {
        const passes = (value: string) =>
          [...value].reduce((sum, one) => sum + (Number.parseInt(one, 10) || 0), 0) % divisor === 0
        const wanted: string[] = []
        for (let at = 0; at < text.length; ) {
          let end = text.length
          while (end > at && !(matchesAt(pattern, text, at, end) && passes(text.slice(at, end)))) end--
          if (end > at) wanted.push(`0@${at}-${end}`)
          at = Math.max(at + 1, end)
        }
        const some = searcher(patternOf(pattern, { newCheck: sums(divisor) }))
        return show(atOnce(some.find(text))) === wanted.sort().join(' ')
      },
    ),
    { numRuns: 200 },
  )
})

const PATTERNS = [
  patternOf('[0-9]{3}', near),
  patternOf('[0-9](?:[0-9 ]{2,40}y)?', { ...near, newCheck: sums(7) }),
  patternOf('[0-9]{2,300}', { newCheck: sums(1000) }),
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
      ...['\u200b'.repeat(300), 'f'.repeat(200), '1'.repeat(400), ' '.repeat(40), '𝟏', '\ud835', 'Ａ'],
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

const DIGITS = '7390418256'.repeat(30)
/** Patterns that a text of one kind makes read again and again, with the work of a character. */
const COSTLY: readonly [what: string, patterns: readonly SpanPattern[], text: string, work: number][] = [
  ['a check of a long run', [patternOf('[0-9]{4,256}', { newCheck: sums(9999) })], DIGITS, 700],
  ['a check of equal digits', [patternOf('[0-9]{4,256}', { newCheck: sums(9999) })], '1', 700],
  ['no word near', [patternOf('[0-9]{4,256}', near)], DIGITS, 700],
  ['words all over', [patternOf('[0-9]{4,256}', near)], 'xcase 12345 casex ', 200],
  ['an optional end that never comes', [patternOf('[0-9]{4}([0-9]{12,200}x)?')], DIGITS, 900],
  ['optional parts in each other', [patternOf('[0-9](-?[0-9](-?[0-9]{2,200}x)?)?', near)], '1-1', 1000],
  ['ends everywhere', [patternOf('.{1,200}x', near)], 'x', 1000],
  ['many states', [patternOf('[0-9]*7[0-9]{20}', near)], DIGITS, 500],
  [
    'many patterns',
    Array.from({ length: 10 }, (_, index) => patternOf(`[0-9]{4,${30 + index}}`, { newCheck: sums(9999) })),
    DIGITS,
    2000,
  ],
]
t.test('work is linear in any text', async (t) => {
  const workOf = (some: SpanSearcher, text: string) => {
    const stream = some.stream()
    stream.push(text)
    stream.finish()
    return stream.work
  }
  for (const [what, patterns, unit, most] of COSTLY) {
    const some = searcher(...patterns)
    const text = unit.repeat(Math.ceil(1500 / unit.length))
    const work = workOf(some, text)
    t.ok(work < most * text.length, `${what}: ${Math.round(work / text.length)} a character`)
    t.ok(workOf(some, text + text) < 2.1 * work, what)
  }
})

t.test('beyond the work that it has, a match counts unchecked, and is found in any cut', async (t) => {
  const some = searcher(patternOf('[0-9]{4,256}', { newCheck: sums(9999) }))
  const text = '1'.repeat(6000)
  const found = atOnce(some.find(text))
  const covered = found.reduce((sum, { start, end }) => sum + end - start, 0)
  t.ok(covered > 5000, `${covered} characters`)
  t.same(atOnce(some.find('1'.repeat(40))), [], 'a short run is checked at every place')
  const stream = some.stream()
  t.same([...Array.from(text).flatMap((one) => stream.push(one)), ...stream.finish()], found)
})

t.test('a search rests after a bounded piece of work', async (t) => {
  const steps = searcher(patternOf('[0-9]{4,256}', { newCheck: sums(9999) })).find('1'.repeat(10_000))
  let count = 1
  while (steps.next().done !== true) count++
  t.ok(count > 10, `${count} steps`)
})
