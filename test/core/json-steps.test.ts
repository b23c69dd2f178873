// JSON in steps: the same bytes as JSON.stringify, and no step writes much.

import fc from 'fast-check'
import t from 'tap'
import { type JsonValue, rawNumber } from '../../src/core/json.ts'
import { encodeSteps, jsonSteps } from '../../src/core/json-steps.ts'
import { atOnce } from '../../src/core/steps.ts'

const UNITS_OF_STEP = 64 * 1024

const LONG: Readonly<Record<string, JsonValue>> = {
  'a text': { messages: [{ role: 'user', content: 'a "b"\n'.repeat(50_000) }] },
  'pairs and halves of surrogates': [
    '\u{1f600}\ud800\udc00\ud800x\udc00'.repeat(40_000),
    `y${'\u{1f600}'.repeat(90_000)}`,
  ],
  messages: { messages: Array.from({ length: 9000 }, (_, n) => ({ role: 'user', content: `note ${n}` })) },
  numbers: { input: Array.from({ length: 60_000 }, (_, n) => n) },
  keys: Object.fromEntries(
    Array.from({ length: 20_000 }, (_, n) => [`k${n}`, n % 2 === 0 ? null : rawNumber('1e400')]),
  ),
  'long and short items': ['a'.repeat(70_000), 1, 'b'.repeat(70_000), [], 'c'.repeat(70_000)],
  'nested lists': [[[['d'.repeat(70_000), {}], { e: {}, f: [] }]]],
}

t.test('a long value is written as JSON.stringify does, in steps', async (t) => {
  for (const [name, value] of Object.entries(LONG)) {
    const json = Buffer.from(JSON.stringify(value))
    t.ok(atOnce(jsonSteps(value)).equals(json), name)
    const steps = [...jsonSteps(value)].length
    // An escape has up to six characters, and a character up to three bytes.
    t.ok(steps >= json.length / UNITS_OF_STEP / 6, `${name}: ${steps} steps for ${json.length} bytes`)
  }
})

t.test('a long text is encoded in steps, and no pair of surrogates is cut', async (t) => {
  for (const text of ['', 'x', 'x'.repeat(200_000), `x${'\u{1f600}'.repeat(100_000)}`]) {
    t.ok(atOnce(encodeSteps(text)).equals(Buffer.from(text)))
    t.ok([...encodeSteps(text)].length >= Math.floor(text.length / UNITS_OF_STEP))
  }
})

t.test('members without a value are left out, and items become null', async (t) => {
  const long = 'x'.repeat(UNITS_OF_STEP)
  for (const value of [
    { a: undefined, long, b: undefined },
    [undefined, long, undefined],
    { a: undefined, b: { long } },
  ])
    t.equal(String(atOnce(jsonSteps(value as unknown as JsonValue))), JSON.stringify(value))
})

t.test('any value is written as JSON.stringify does', async () => {
  const long = fc.constantFrom('x', '\u{1f600}', '"', '\ud800').map((unit) => unit.repeat(UNITS_OF_STEP + 1))
  const anyValue = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue() as fc.Arbitrary<JsonValue>,
      long,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
    ),
  })).value
  fc.assert(
    fc.property(anyValue, (value) => String(atOnce(jsonSteps(value))) === JSON.stringify(value)),
    { numRuns: 40 },
  )
})
