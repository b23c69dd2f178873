// Contract test for the part of re2js that is not in its documentation: the compiled program that
// src/keyword/regexp/instructions.ts reads. An upgrade that changes it fails here first.

import { RE2JS } from 're2js'
import t from 'tap'

const CHANGED = 're2js compiles differently: adapt src/keyword/regexp/instructions.ts, then this test'

interface Instruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  readonly runes: Int32Array
}

/** Instruction codes, numbered like Go's regexp/syntax.InstOp. */
const [ALT, CAPTURE, EMPTY_WIDTH, FAIL, MATCH, NOP] = [1, 3, 4, 5, 6, 7]
const [RUNE, RUNE_1, RUNE_ANY, RUNE_ANY_BUT_LINE_FEED] = [8, 9, 10, 11]

function compile(source: string) {
  const { inst, start } = RE2JS.compile(source, RE2JS.CASE_INSENSITIVE).re2().prog
  return { instructions: inst as readonly Instruction[], start: start as number }
}

/** The instructions after the leading FAIL and before the final MATCH. */
function body(source: string): (readonly [op: number, out: number, arg: number, ...runes: number[]])[] {
  const { instructions } = compile(source)
  return instructions.slice(1, -1).map(({ op, out, arg, runes }) => [op, out, arg, ...runes])
}

t.test('a program begins with FAIL, ends with MATCH and names its start', async (t) => {
  const { instructions, start } = compile('a')
  t.same(
    instructions.map(({ op }) => op),
    [FAIL, RUNE, MATCH],
    CHANGED,
  )
  t.equal(start, 1, CHANGED)
  t.ok(instructions[1]!.runes instanceof Int32Array, CHANGED)
})

const CASES: readonly (readonly [what: string, source: string, expected: ReturnType<typeof body>])[] = [
  ['a letter is one capital, to be matched in any case', 'k', [[RUNE, 2, 1, 0x4b]]],
  ['a letter under (?-i) is itself', '(?-i)k', [[RUNE_1, 2, 0, 0x6b]]],
  ['a class is ranges of both cases', '[a-c]', [[RUNE, 2, 0, 0x41, 0x43, 0x61, 0x63]]],
  ['a dot is every range but a line feed', '.', [[RUNE_ANY_BUT_LINE_FEED, 2, 0, 0, 9, 11, 0x10ffff]]],
  ['a dot under (?s) is every character', '(?s).', [[RUNE_ANY, 2, 0, 0, 0x10ffff]]],
  ['an empty group does nothing', '(?:)', [[NOP, 2, 0]]],
  [
    'an alternative prefers `out` to `arg`',
    'a*b',
    [
      [RUNE, 2, 1, 0x41],
      [ALT, 1, 3],
      [RUNE, 4, 1, 0x42],
    ],
  ],
  [
    'a group captures around its content',
    '(a)',
    [
      [CAPTURE, 2, 2],
      [RUNE, 3, 1, 0x41],
      [CAPTURE, 4, 3],
    ],
  ],
  ['(?m)^ asks for the start of a line', '(?m)^', [[EMPTY_WIDTH, 2, 1]]],
  ['(?m)$ asks for the end of a line', '(?m)$', [[EMPTY_WIDTH, 2, 2]]],
  ['^ asks for the start of the text', '^', [[EMPTY_WIDTH, 2, 4]]],
  ['$ asks for the end of the text', '$', [[EMPTY_WIDTH, 2, 8]]],
  ['\\b asks for a word boundary', '\\b', [[EMPTY_WIDTH, 2, 16]]],
  ['\\B asks for no word boundary', '\\B', [[EMPTY_WIDTH, 2, 32]]],
]
for (const [what, source, expected] of CASES) {
  t.test(what, async (t) => t.same(body(source), expected, CHANGED))
}

t.test('repetitions are expanded and bounded by 1,000', async (t) => {
  t.equal(compile('a{1000}').instructions.length, 1002, CHANGED)
  t.throws(() => compile('a{1001}'), /invalid repeat count/, CHANGED)
})

t.test('a syntax error names its reason after a fixed prefix', async (t) => {
  t.throws(() => compile('a('), { message: 'error parsing regexp: missing closing ): `(?i)a(`' }, CHANGED)
})
