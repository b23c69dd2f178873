import fc from 'fast-check'
import t from 'tap'
import type { JsonSpan } from '../../src/chat/inner-json/json-span.ts'
import { decodeSteps, decodeView, JsonTextDecoder } from '../../src/chat/inner-json/json-text.ts'
import { atOnce } from '../../src/core/steps.ts'

const decode = (pieces: readonly string[], encoding: 'plain' | 'json' = 'json'): JsonSpan[] => {
  const decoder = new JsonTextDecoder(encoding)
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.finish()]
}

/** Joins spans of the kinds that may be cut anywhere. */
function merge(spans: readonly JsonSpan[]): JsonSpan[] {
  const merged: JsonSpan[] = []
  for (const span of spans) {
    const last = merged.at(-1)
    if (
      last?.kind === span.kind &&
      last.level === span.level &&
      (span.kind === 'text' || span.kind === 'structure')
    ) {
      merged[merged.length - 1] = { ...span, view: last.view + span.view, raw: last.raw + span.raw }
    } else {
      merged.push(span)
    }
  }
  return merged
}

const cutAt = (text: string, cuts: readonly number[]): string[] => {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
  return [...places, text.length].map((place, index) =>
    text.slice(index === 0 ? 0 : places[index - 1], place),
  )
}

/** JSON with escapes, and text that only begins like JSON. */
const jsonText = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc
    .string({ unit: 'grapheme' })
    .map((text) =>
      JSON.stringify({ [text]: text }).replace(/[a-f]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
    ),
  fc.string({
    unit: fc.constantFrom(
      '"',
      '\\',
      'u',
      '0',
      'd',
      '8',
      '3',
      'e',
      ',',
      '{',
      '1',
      '-',
      't',
      'rue',
      ' ',
      '\\ud83d\\ude00',
    ),
  }),
)

/** Text that looks like JSON here and there. */
const almostJson = fc
  .array(
    fc.constantFrom(
      ...'{}[]",:\\\n 1-au',
      '{"a":',
      '[\n',
      '\\"',
      '\\\\"',
      '{\\"',
      '\\u0040',
      '\\\\u0041',
      '\\ud83d',
      '\\ude00',
      'null',
      '4111 ',
    ),
    { maxLength: 25 },
  )
  .map((parts) => parts.join(''))

t.test('an escaped pair after a backslash in nested JSON stays one escape', async (t) => {
  const text = '\\"e\\\\\\ud83d\\ude00d1'
  t.equal(
    decode([text])
      .map(({ raw }) => raw)
      .join(''),
    text,
  )
})

t.test('spans of prose join to the text and do not depend on the cuts', async (t) => {
  const attempt = (pieces: readonly string[], encoding: 'plain' | 'json') => {
    try {
      return merge(decode(pieces, encoding))
    } catch (error) {
      return String(error)
    }
  }
  for (const encoding of ['plain', 'json'] as const) {
    fc.assert(
      fc.property(fc.oneof(almostJson, jsonText), fc.array(fc.nat()), (text, cuts) => {
        const whole = attempt([text], encoding)
        if (typeof whole !== 'string') {
          t.equal(whole.map((span) => span.raw).join(''), text)
          t.equal(atOnce(decodeView({ text, encoding }, 'request')), whole.map((span) => span.view).join(''))
          t.ok(whole.every(({ kind, view, raw }) => kind !== 'text' || view === raw))
        }
        t.same(attempt(cutAt(text, cuts), encoding), whole)
        t.same(attempt([...text.split('')], encoding), whole)
      }),
      { numRuns: 1500 },
    )
  }
})

t.test('spans join to the text and do not depend on the cuts', async (t) => {
  fc.assert(
    fc.property(jsonText, fc.array(fc.nat()), (text, cuts) => {
      const whole = decode([text])
      t.equal(whole.map((span) => span.raw).join(''), text)
      t.same(merge(decode(cutAt(text, cuts))), merge(whole))
      t.same(merge(decode([...text.split('')])), merge(whole))
    }),
    { numRuns: 500 },
  )
})

t.test('decoding a whole text gives the views of its spans', async (t) => {
  fc.assert(
    fc.property(jsonText, (text) => {
      t.equal(
        atOnce(decodeView({ text, encoding: 'json' }, 'response')),
        decode([text])
          .map(({ view }) => view)
          .join(''),
      )
    }),
    { numRuns: 2000 },
  )
  const long = JSON.stringify(Array<string>(9000).fill('quoted " and \u00e9'))
  t.same(merge(atOnce(decodeSteps({ text: long, encoding: 'json' }, 'request'))), merge(decode([long])))
})

t.test('the view is the value of the JSON', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const spans = decode([
        JSON.stringify(text).replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
      ])
      t.equal(
        spans
          .filter(({ kind }) => kind === 'text' || kind === 'atom')
          .map(({ view }) => view)
          .join(''),
        text,
      )
    }),
  )
})

t.test('each part of JSON has its kind of span', async (t) => {
  const kinds = merge(decode(['{"a\\n": -1.5e3, "b": [true, null, "\\ud83d\\ude00x"]} tail 42']))
  t.same(
    kinds.map(({ kind, raw }) => `${kind} ${raw}`),
    [
      'structure {"',
      'text a',
      'atom \\n',
      'structure ": ',
      'number -1.5e3',
      'structure , "',
      'text b',
      'structure ": [true, null, "',
      'atom \\ud83d\\ude00',
      'text x',
      'structure "]} ',
      'text tail 42',
    ],
  )
  t.equal(kinds.find(({ raw }) => raw.startsWith('\\ud83d'))?.view, '😀')
})

t.test('after the JSON ends, the rest is plain text with escapes', async (t) => {
  const cases: [string, string[]][] = [
    ['call 555', ['text call 555']],
    ['[note] call 555', ['structure [', 'text note] call 555']],
    ['{"a": +1 (415) 555}', ['structure {"', 'text a', 'structure ": ', 'text +1 (415) 555}']],
    ['{"a": 123-45-6789}', ['structure {"', 'text a', 'structure ": ', 'text 123-45-6789}']],
    ["{'a': 1}", ['structure {', "text 'a': 1}"]],
    ['{"a" "b"}', ['structure {"', 'text a', 'structure " ', 'text "b"}']],
    ['{"a":1,}', ['structure {"', 'text a', 'structure ":', 'number 1', 'structure ,', 'text }']],
    ['[1 2]', ['structure [', 'text 1 2]']],
    ['[1}', ['structure [', 'number 1', 'text }']],
    ['{]', ['structure {', 'text ]']],
    ['{:1}', ['structure {', 'text :1}']],
    [',', ['text ,']],
    ['trueish', ['text trueish']],
    ['null@x', ['text null@x']],
    ['4111@x', ['text 4111@x']],
    ['01', ['text 01']],
    ['a\\u0040b\\q', ['text a', 'atom \\u0040', 'text b\\q']],
    ['a "b', ['text a "b']],
    [
      '{}{"a":[]} 1 "x" true',
      [
        'structure {}{"',
        'text a',
        'structure ":[]} ',
        'number 1',
        'structure  "',
        'text x',
        'structure " true',
      ],
    ],
    ['[".', ['structure ["', 'text .']],
    ['-', ['text -']],
    ['tru', ['text tru']],
    ['"\\', ['structure "', 'text \\']],
    ['"\\u12', ['structure "', 'text \\u12']],
    ['"\\ud83d', ['structure "', 'atom \\ud83d']],
  ]
  for (const [text, expected] of cases) {
    for (const pieces of [[text], text.split('')]) {
      t.same(
        merge(decode(pieces)).map(({ kind, raw }) => `${kind} ${raw}`),
        expected,
        text,
      )
    }
  }
})

t.test('JSON nested too deep is plain text', async (t) => {
  const spans = merge(decode(['['.repeat(600)]))
  t.same(
    spans.map(({ kind, raw }) => `${kind} ${raw.length}`),
    ['structure 512', 'text 88'],
  )
})

t.test('a decoder starts again after its end', async (t) => {
  const decoder = new JsonTextDecoder()
  decoder.push('{"a": no')
  decoder.finish()
  t.same(merge(decoder.push('{"b"')), merge(decode(['{"b"'])))
})

const numbersOf = (value: unknown): number[] =>
  typeof value === 'number'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(numbersOf)
      : []

t.test('valid JSON stays valid with any replacement of texts and numbers', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1), (value, space) => {
      const json = JSON.stringify(value, null, space)
      const spans = decode([json])
      const replaced = spans
        .map(({ kind, raw, quote }) =>
          kind === 'structure' ? raw : kind === 'number' ? `${quote}[N]${quote}` : '[T]',
        )
        .join('')
      t.doesNotThrow(() => JSON.parse(replaced), json)
      const numbers = spans
        .filter(({ kind, level }) => kind === 'number' && level === 0)
        .map(({ view }) => Number(view))
      t.same(numbers, numbersOf(JSON.parse(json)), json)
    }),
  )
})

t.test('the text held back is bounded', async (t) => {
  const decoder = new JsonTextDecoder()
  let held = 0
  for (let i = 0; i < 5000; i++) {
    const given = decoder.push('7').reduce((sum, { raw }) => sum + raw.length, 0)
    held += 1 - given
    t.ok(held <= 65)
    if (held > 65) break
  }
  const digits = '7'.repeat(600)
  t.same(merge(decode([digits])), merge(decode([digits.slice(0, 520), digits.slice(520)])))
})
