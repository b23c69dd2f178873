// Weight of JSON values: what counts, in any spelling.

import fc from 'fast-check'
import t from 'tap'
import { weighSteps } from '../../src/chat/json-weight.ts'
import type { JsonValue } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'

const TEXT = 20
const VALUE = 2
const FREE = new Set(['role', 'content', 'type', 'text'])

const weigh = (json: string) => atOnce(weighSteps(Buffer.from(json))).values

/** The weight of a parsed value, by walking over it. Each item or member also weighs as a value. */
function weightOf(value: JsonValue): number {
  if (typeof value === 'string') return TEXT
  if (typeof value === 'number') return /^-?\d{7}|e/.test(String(value)) ? TEXT : 0
  if (typeof value !== 'object' || value === null) return 0
  // One for the opening bracket, and one for each comma.
  const items = Object.entries(value)
  const names = Array.isArray(value) ? 0 : TEXT * items.filter(([key]) => !FREE.has(key)).length
  return items.reduce((sum, [, item]) => sum + weightOf(item), names + VALUE * Math.max(1, items.length))
}

t.test('each text, key, list, object and number has its weight', async (t) => {
  const cases: [string, number][] = [
    ['', 0],
    ['"a, [b] {c}: \\" d"', TEXT],
    ['"\\\\"', TEXT],
    ['["a","b"]', 2 * TEXT + 2 * VALUE],
    ['{"a":"b"}', 2 * TEXT + VALUE],
    ['{"role":"text","content" : ["type"]}', 2 * TEXT + 3 * VALUE],
    ['[[],[],{}]', 2 * VALUE + 4 * VALUE],
    ['[1,2,3]', 3 * VALUE],
    ['[1234567,-1234567,123456]', 3 * VALUE + 2 * TEXT],
    ['[0.123456789,1e9,1E+20]', 3 * VALUE + 2 * TEXT],
    ['[true,false,null]', 3 * VALUE],
  ]
  for (const [json, weight] of cases) t.equal(weigh(json), weight, json)
})

t.test('the weight is that of the parsed value, with or without white space', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
      const json = JSON.stringify(value, null, indent)
      return weigh(json) === weightOf(JSON.parse(json) as JsonValue)
    }),
  )
})

t.test('a string longer than a step is read in steps, wherever its escapes are', async (t) => {
  const STEP = 256 * 1024
  for (const before of [0, 1, 2, 3])
    for (const written of ['\\"', '\\\\', 'x\\n']) {
      const json = `["${'y'.repeat(before)}${written.repeat(STEP)}","b"]`
      t.equal(weigh(json), 2 * TEXT + 2 * VALUE)
      const steps = [...weighSteps(Buffer.from(json))].length
      t.ok(steps >= Math.floor(json.length / STEP) - 1, `${steps} steps for ${json.length} bytes`)
    }
})

t.test('any bytes are weighed', async () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => atOnce(weighSteps(Buffer.from(bytes))).values >= 0))
})

t.test('bytes of long strings are counted apart, also of one that crosses a step', async (t) => {
  const longBytes = (json: string) => atOnce(weighSteps(Buffer.from(json))).longBytes
  const long = (length: number) => `"${'x'.repeat(length)}"`
  t.equal(longBytes(JSON.stringify(Array.from({ length: 1000 }, () => 'y'.repeat(1000)))), 0)
  for (const length of [65_536, 300_000, 1_000_000]) {
    t.equal(longBytes(`["a",${long(length)},{"b":${long(length)}}]`), 2 * (length + 1))
  }
  t.equal(longBytes(`[${long(60_000)}]`), 0)
})
