import fc from 'fast-check'
import t from 'tap'
import { parseExactSteps } from '../../src/chat/exact-json.ts'
import {
  hasDuplicateKeys,
  MAXIMUM_DEPTH,
  parseJson,
  parseReceived,
  parseSteps,
  parseUnambiguous,
} from '../../src/chat/strict-json.ts'
import { isInexact } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'

/** What JSON.parse itself can do, several times slower. */
function reviveExactly(text: string): string {
  const { parse, rawJSON } = JSON as unknown as {
    parse(
      text: string,
      revive: (key: string, value: unknown, context: { source: string }) => unknown,
    ): unknown
    rawJSON(text: string): object
  }
  const value = parse(text, (_key, one, { source }) =>
    typeof one === 'number' && isInexact(one) ? rawJSON(source) : one,
  )
  return JSON.stringify(value)
}

const parse = (text: string) => parseJson(Buffer.from(text))

const isWellFormed = (text: string) => text.isWellFormed() && !/\\ud[89a-f]/i.test(text)
const isExact = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
    : typeof value !== 'object' || value === null || Object.values(value).every(isExact)

t.test('agrees with JSON.parse on JSON that both accept', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      const text = JSON.stringify(value)
      const acceptable = !text.includes('__proto__') && isExact(value) && isWellFormed(text)
      if (acceptable) t.equal(JSON.stringify(parse(text)), text)
    }),
  )
  t.same(parse(' {"a" : [1, -0.5, true, null, "\\u00e9\\n"] }\n'), { a: [1, -0.5, true, null, 'é\n'] })
})

t.test('a name with escapes is read correctly after any earlier body', async (t) => {
  // V8 would read each of them as the name with a backslash.
  JSON.parse(String.raw`{"h":[],"\\":0}`)
  JSON.parse(String.raw`{"h":[],"\\u00":0}`)
  const read = JSON.parse(String.raw`{"h":1,"\n":2}`)
  t.same(Object.keys(read), ['h', '\\'], 'V8 has its fault; without it exact-json.ts need not mark names')
  for (const name of [
    '\\n',
    '\\"',
    '\\u00e9',
    '\\\\',
    '\\/',
    '\\ud800\\udc00',
    '\\u00e9\\u00e9\\u00e9\\u00e9',
    'é\\u001f',
    '𐀀\\t',
  ])
    for (const filling of ['x', 'x'.repeat(100_000)]) {
      const text = `{"h":1,"${name}" : 2,"f":"${filling}","i":[{"h":1,"${name}":1e400}]}`
      const wanted = ['h', JSON.parse(`"${name}"`), 'f', 'i']
      for (const value of [parse(text), parseReceived(text)] as any[]) {
        t.same(Object.keys(value), wanted)
        t.same(Object.keys(value.i[0]), wanted.slice(0, 2))
        t.equal(value.i[0][wanted[1]].rawJSON, '1e400')
      }
    }
  const half = parseReceived(String.raw`{"\ud800\n":1,"a\ud800":2,"\ud800\ud900\udc00":3}`) as object
  t.same(Object.keys(half), ['\ud800\n', 'a\ud800', '\ud800\ud900\udc00'])
  for (const text of [String.raw`{"\n":1,"\u000a":2}`, String.raw`{"é":1,"\u00e9":2}`])
    t.throws(() => parse(text), { message: 'The body has an object with the same key twice.' })
  t.throws(() => parse('{"a\\n\n":1}'), { code: 'invalid_body' })
})

t.test('numbers that a double cannot hold stay as written', async (t) => {
  const text =
    '{"a":9223372036854775807,"b":[-1e400,1.7976931348623157e308,{"c":18446744073709551615}],"d":0.1,"e":7}'
  t.equal(JSON.stringify(parse(text)), text)
  t.equal(JSON.stringify(parse(' { "a" : 9007199254740993 } ')), '{"a":9007199254740993}')
  const long = `{"a":[1,{"n":1e999}],"b":"${'x'.repeat(1 << 20)}"}`
  t.equal(JSON.stringify(parse(long)), long)
})

t.test('a number that may hold more than its value is scanned as written', async (t) => {
  for (const number of ['0.10000000000000004111111111111111', '1e-4111111111111111', '7E0004111'])
    t.equal((parse(`{"a": ${number}}`) as any).a.rawJSON, number)
  for (const number of ['1.0', '1e-5', '0.0001234567890123456', '-0.5E+10'])
    t.equal((parse(`{"a": ${number}}`) as any).a, Number(number))
})

t.test('a parser of exact numbers changes no JSON', async (t) => {
  const number = fc
    .tuple(fc.bigInt(-(10n ** 40n), 10n ** 40n), fc.constantFrom('', '.5', 'e30', 'E+400', '.25e-7'))
    .map(([whole, rest]) => `${whole}${rest}`)
  const leaf = fc.oneof(
    number,
    fc.string({ unit: 'grapheme' }).map((one) => JSON.stringify(one)),
    fc.constant('null'),
  )
  const text = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items}]`),
      fc
        .uniqueArray(fc.tuple(fc.string(), tie('value')), { maxLength: 4, selector: ([name]) => name })
        .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(`k${name}`)}:${value}`)}}`),
    ),
  })).value
  fc.assert(
    fc.property(text, (json) => {
      t.equal(JSON.stringify(atOnce(parseExactSteps(json))), reviveExactly(json))
    }),
  )
})

t.test('refuses JSON that parsers could read differently', async (t) => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const cases: [string, string, RegExp][] = [
    ['empty', '', /empty/],
    ['not JSON', '{"a":', /not valid JSON/],
    ['trailing text', '{} {}', /not valid JSON/],
    ['a comment', '{} // x', /not valid JSON/],
    ['single quotes', "{'a':1}", /not valid JSON/],
    ['a byte order mark', '\ufeff{}', /not valid JSON/],
    ['a control character in a string', '"a\nb"', /not valid JSON/],
    ['the same key twice', '{"a":1,"a":2}', /same key twice/],
    ['the same key, escaped', '{"a":1,"\\u0061":2}', /same key twice/],
    ['the same key twice, deep', '[{"b":{"a":1,"c":":","a":2}}]', /same key twice/],
    ['too deep', nested(MAXIMUM_DEPTH + 1), /64 levels/],
    ['far too deep', nested(1_000_000), /64 levels/],
    ['millions of empty lists', `[${'[],'.repeat(3_000_000)}[]]`, /more than 200000 lists and objects/],
    ['a million keys', `{${'"a":1,'.repeat(1_000_000)}"b":1}`, /more than 500000 keys/],
    ['half a surrogate pair', '{"a":"\\ud800"}', /surrogate/],
    ['half a pair in a key', '{"\\udc00":1}', /surrogate/],
    ['a __proto__ key', '{"a":{"__proto__":{}}}', /__proto__/],
    ['an escaped __proto__ key', '{"\\u005f_proto__":{}}', /__proto__/],
    [
      'a tool of 60,000 names',
      JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`n${at}`, 1]))),
      /more than 50000 different keys/,
    ],
  ]
  for (const [name, text, expected] of cases)
    t.throws(() => parse(text), { code: 'invalid_body', message: expected }, name)
  t.throws(() => parseJson(Buffer.from([0x22, 0xff, 0x22])), { message: /UTF-8/ })
  t.doesNotThrow(() => parse(nested(MAXIMUM_DEPTH)))
  t.doesNotThrow(
    () => parse('{"a:b":"c:{[\\"\\\\","d":9007199254740991}'),
    'brackets and colons in strings count for nothing',
  )
})

t.test('names the field and never quotes the body', async (t) => {
  t.throws(() => parse('{"messages":[{"content":"x"},{"n":"\\ud800"}]}'), {
    param: 'messages[1].n',
  } as unknown as Error)
  for (const [text, param] of [
    ['{"stream":true,"model":"m","stream":false}', 'stream'],
    ['{"messages":[{"role":"user"},{"content":"{,","a":[1,[2],"x"],"\\u0061":2}]}', 'messages[1].a'],
    ['[[],{},[{"a":{}},"b",{"c":"\\"","c":{}}]]', '[2][2].c'],
    [
      '{"a":{"ghp_16C7e42F292c691aE77b0c83a834Ae17aB4a":1,"ghp_16C7e42F292c691aE77b0c83a834Ae17aB4a":2}}',
      "a['…']",
    ],
    ['{"a":{"b":1},"b":2,"bob@example.com":1,"bob@example.com":2}', "['…']"],
  ] as const)
    t.throws(() => parse(text), { message: /same key twice/, param } as unknown as Error, text)
  t.throws(() => parse('{"bob@example.com":{"n":"\\ud800"}}'), { code: 'invalid_body', param: "['…'].n" })
  try {
    parse('{"secret-4111111111111111": oops}')
    t.fail('accepted')
  } catch (error) {
    t.notMatch((error as Error).message, /4111|oops/)
  }
})

t.test('numbers of an upstream stay as written', async (t) => {
  for (const number of ['9007199254740993', '-12345678901234567890', '1e400', '2.5E+30', '12345678901e10']) {
    for (const text of [`[${number}]`, `{"a":${number}}`, `[0, ${number}]`, `{"a":\n${number},"b":"1"}`]) {
      t.equal(JSON.stringify(parseReceived(text)), text.replace(/\s/g, ''), text)
      t.equal(hasDuplicateKeys(text, parseReceived(text)), false)
    }
  }
  const long = `[9007199254740993,"${'x'.repeat(1024 * 1024)}"]`
  t.equal(JSON.stringify(parseReceived(long)), long)
  t.same(parseReceived('{"a":[1,-2.5e-7,1e3,null],"b":{"a":1}}'), { a: [1, -2.5e-7, 1e3, null], b: { a: 1 } })
  t.throws(() => parseReceived('{'), SyntaxError)
})

t.test('nothing may follow the text', async (t) => {
  for (const text of [
    '{"a":1},"x"',
    '{"us\\u0065r":1},"x"',
    '{"n":12345678901234567890},{"n":1}',
    '{"\\u0061":1}]',
  ]) {
    t.throws(() => parseJson(Buffer.from(text)), { code: 'invalid_body' }, text)
    t.throws(() => parseReceived(text), SyntaxError, text)
    t.equal(parseUnambiguous(text), undefined, text)
  }
})

t.test('arguments have a value only where every reader finds the same', async (t) => {
  for (const [text, value] of [
    ['{"a":{"b":"\\"c\\":1"}}', { a: { b: '"c":1' } }],
    ['[1,"x"]', [1, 'x']],
    ['"a:b"', 'a:b'],
    ['{"\\u0061":1}', { a: 1 }],
  ] as const)
    t.strictSame(parseUnambiguous(text), { value }, text)
  for (const text of ['{"a":1,"a":2}', '[{"a":1,"\\u0061":2}]', '{"a":{"b":1,"c":2,"b":3}}'])
    t.equal(parseUnambiguous(text), null, text)
  for (const text of ['', '{', '{"a":1}x', `${'['.repeat(5000)}${']'.repeat(5000)}`])
    t.equal(parseUnambiguous(text), undefined)
})

t.test('a long body is parsed in many short steps, and too many keys before anything is built', async (t) => {
  const pausesOf = (steps: Generator<undefined, unknown>) => {
    let pauses = 0
    while (steps.next().done !== true) pauses++
    return pauses
  }
  const input = Array.from({ length: 500_000 }, (_, at) => at)
  t.ok(pausesOf(parseSteps(Buffer.from(JSON.stringify({ input })))) > 20)
  t.equal(pausesOf(parseSteps(Buffer.from('{"model":"m"}'))), 0)
  const keys = Array.from({ length: 300_000 }, (_, at) => `"k${at}":1`)
  t.throws(
    () => pausesOf(parseSteps(Buffer.from(`{${keys}`))),
    { message: /50000 different keys/ },
    'not JSON, and not read as such',
  )
})
