// Canonical JSON: the examples of RFC 8785, refusals, and a second implementation.

import fc from 'fast-check'
import t from 'tap'
import { canonicalize, isCanonical, wellFormed } from '../../src/audit/canonical.ts'

t.test('members are sorted as in the example of RFC 8785 §3.2.3', async (t) => {
  const input = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  t.equal(
    canonicalize(input),
    '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
      '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  )
})

const CASES: [unknown, string][] = [
  [null, 'null'],
  [true, 'true'],
  [false, 'false'],
  [0, '0'],
  [-0, '0'],
  [-7, '-7'],
  [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ['', '""'],
  ['\u20ac$\u000f\nA\'B"\\/', '"€$\\u000f\\nA\'B\\"\\\\/"'],
  [[], '[]'],
  [{}, '{}'],
  [[3, [], { b: 1, a: [null] }], '[3,[],{"a":[null],"b":1}]'],
  [JSON.parse('{"__proto__":1,"a":2}'), '{"__proto__":1,"a":2}'],
]
for (const [value, expected] of CASES) {
  t.test(`${expected}`, async (t) => t.equal(canonicalize(value), expected))
}

const REFUSED: [string, unknown][] = [
  ['undefined', undefined],
  ['undefined in an array', [undefined]],
  ['undefined in an object', { a: undefined }],
  ['a hole', new Array(1)],
  ['a fraction', 1.5],
  ['NaN', Number.NaN],
  ['infinity', Number.POSITIVE_INFINITY],
  ['an unsafe integer', 2 ** 53],
  ['a bigint', 1n],
  ['a function', () => 1],
  ['a symbol', Symbol('s')],
  ['a lone surrogate', 'a\ud800'],
  ['a lone surrogate in a name', { '\udc00': 1 }],
  ['a date', new Date(0)],
  ['a map', new Map()],
]
for (const [name, value] of REFUSED) {
  t.test(`refuses ${name}`, async (t) => t.throws(() => canonicalize(value), TypeError))
}

t.test('a deeply nested value is refused', async (t) => {
  let deep: unknown = 1
  for (let level = 0; level < 100_000; level++) deep = [deep]
  t.throws(() => canonicalize(deep), TypeError)
})

const { value: anyValue } = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'grapheme' }),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.string({ unit: 'grapheme' }), tie('value'), { maxKeys: 5 }),
}))

/** RFC 8785 in another way: members ordered by the bytes of their names in UTF-16BE. */
function expected(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(expected).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value === 0 ? 0 : value)
  const byUtf16 = (a: [string, unknown], b: [string, unknown]) =>
    Buffer.compare(Buffer.from(a[0], 'utf16le').swap16(), Buffer.from(b[0], 'utf16le').swap16())
  const members = Object.entries(value).sort(byUtf16)
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${expected(member)}`).join(',')}}`
}

t.test('the canonical form matches a second implementation and parses to the same value', async (t) => {
  fc.assert(
    fc.property(anyValue, (value) => {
      const text = canonicalize(value)
      t.equal(text, expected(value))
      return canonicalize(JSON.parse(text)) === text
    }),
  )
})

t.test('wellFormed repairs strings at any depth and changes nothing else', async (t) => {
  t.strictSame(wellFormed({ a: ['x\ud800', 1, null], b: { c: '\udfff', d: true } }), {
    a: ['x\ufffd', 1, null],
    b: { c: '\ufffd', d: true },
  })
  fc.assert(fc.property(anyValue, (value) => canonicalize(wellFormed(value)) === canonicalize(value)))
})

t.test('isCanonical agrees with comparing the serialized text', async () => {
  const bySlowWay = (text: string) => {
    try {
      return canonicalize(JSON.parse(text)) === text
    } catch {
      return false
    }
  }
  const byFastWay = (text: string) => {
    try {
      return isCanonical(JSON.parse(text), text)
    } catch {
      return false
    }
  }
  const samples = [
    '{"a":1,"b":2}',
    '{"b":1,"a":2}',
    '{"a":1,"a":1}',
    '{"10":1,"9":2}',
    '{"9":1,"10":2}',
    '{"a":[{"b":1,"a":1}]}',
    '{"__proto__":{"a":1}}',
    '{"a":1.5}',
    '-0',
    '1e3',
    '9007199254740993',
    '"\\ud800"',
    '"\\\\ud800"',
    '"\\u0041"',
    '"\\u001F"',
    '"\\u001f"',
    '"\u2028"',
    '{"a": 1}',
    '['.repeat(17) + ']'.repeat(17),
    '['.repeat(18) + ']'.repeat(18),
  ]
  fc.assert(
    fc.property(
      fc.oneof(
        fc.constantFrom(...samples),
        fc.json({ maxDepth: 4 }),
        fc.jsonValue().map((value) => JSON.stringify(value)),
      ),
      (text) => byFastWay(text) === bySlowWay(text),
    ),
    { numRuns: 1000, examples: samples.map((text) => [text] as [string]) },
  )
})
