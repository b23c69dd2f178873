// Tests that the prefilter never rules out a text that matches.

import fc from 'fast-check'
import t from 'tap'
import { LiteralAutomaton } from '../../src/keyword/literals.ts'
import { Prefilter } from '../../src/keyword/prefilter/prefilter.ts'
import { ExpressionAutomaton } from '../../src/keyword/regexp/automaton.ts'
import { compileExpression, type Program } from '../../src/keyword/regexp/instructions.ts'

function automaton(...expressions: string[]): ExpressionAutomaton {
  const programs = expressions.map((expression) => {
    const program = compileExpression(expression)
    if ('message' in program) throw new TypeError(program.message)
    return program as Program
  })
  return new ExpressionAutomaton(programs)
}

const prefilter = (...expressions: string[]) => new Prefilter(null, automaton(...expressions))

t.test('the prefilter agrees with the expressions', async (t) => {
  const cases = ['ab*c', '^a', 'c$', '\\bab\\b', 'a.c', '[ab]c|ca', '(?:ab){2}']
  for (const expression of cases) {
    const one = prefilter(expression)
    const reference = new RegExp(expression, 'im')
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'B', 'c', ' ') }), (text) => {
        return one.mayMatch(text) === reference.test(text)
      }),
      { numRuns: 300 },
    )
  }
  t.pass()
})

t.test('literals match next to expressions, and too many literals match everything', async (t) => {
  const characters = (text: string) => [...text].map((character) => character.codePointAt(0)!)
  const one = new Prefilter(
    new LiteralAutomaton([characters('bc a'), characters('cc')]),
    automaton('ab+c', 'c$'),
  )
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'B', 'c', ' ') }), (text) => {
      return one.mayMatch(text) === /bc a|cc|ab+c|c$/i.test(text)
    }),
    { numRuns: 1000 },
  )
  const ideographs = Array.from({ length: 1100 }, (_, place) => [0x4e00 + place])
  const many = new LiteralAutomaton(ideographs)
  t.equal(many.rows, null)
  t.ok(new Prefilter(many, automaton('a')).mayMatch('b'))
  t.notOk(new Prefilter(new LiteralAutomaton(ideographs.slice(0, 900)), null).mayMatch('b'))
})

t.test('characters that depend on their neighbours are normalised in a window', async (t) => {
  const one = prefilter('abc')
  t.notOk(one.mayMatch('ab c'))
  t.ok(one.mayMatch('ab\u0301c'))
  t.ok(one.mayMatch('ab\u200bc'), 'the dropped character does not hide the match')
  t.ok(one.mayMatch('ab\u0000c'))
  t.notOk(one.mayMatch('ab\u2014c \u{1f680} \u00e9'))
})

t.test('a table that has started over misses nothing', async (t) => {
  // Nearly every character makes a new set of threads, and there are hundreds of texts more than
  // the table has rows.
  const gaps = [11, 12, 13, 14]
  const one = prefilter(...gaps.map((gap) => `a.{${gap}}b`))
  let random = 1
  const next = () => {
    random = (random * 48_271) % 2_147_483_647
    return random
  }
  for (let turn = 0; turn < 100; turn++) {
    const quiet = Array.from({ length: 450 }, () => (next() % 2 === 0 ? 'a' : 'c')).join('')
    const text = `${quiet}${turn % 2 === 0 ? 'b' : ''}`
    const matches = gaps.some((gap) => text.endsWith('b') && text.at(-gap - 2) === 'a')
    if (matches) t.ok(one.mayMatch(text))
    else one.mayMatch(text)
    t.notOk(one.mayMatch('c'.repeat(40)))
    t.ok(one.mayMatch(`a${'c'.repeat(11)}b`))
  }
})
