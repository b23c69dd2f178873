// Reading members of JSON that arrives in pieces.

import fc from 'fast-check'
import t from 'tap'
import { JsonMembers, type MemberPlace } from '../../src/chat/json-members.ts'
import type { JsonObject, JsonValue } from '../../src/core/json.ts'

const PLACES: readonly MemberPlace[] = [['usage'], ['model'], ['response', 'usage']]

/** @param cut bytes of each piece */
function documentsIn(text: string, cut: number): JsonObject[] {
  const documents = new Set<JsonObject>()
  const members = new JsonMembers(PLACES, (found) => documents.add(found))
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += cut) members.add(bytes.subarray(at, at + cut))
  return [...documents]
}

/** What JSON.parse finds at the places: objects and strings. */
function expected(value: JsonValue): JsonObject {
  const found: JsonObject = {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return found
  const isRead = (one: JsonValue | undefined) =>
    typeof one === 'string' || (typeof one === 'object' && one !== null && !Array.isArray(one))
  for (const name of ['usage', 'model'] as const) if (isRead(value[name])) found[name] = value[name]!
  const inner = value['response']
  if (typeof inner === 'object' && inner !== null && !Array.isArray(inner) && isRead(inner['usage']))
    found['response'] = { usage: inner['usage']! }
  return found
}

/** In the order of `expected`. */
const sorted = (found: JsonObject): JsonObject =>
  Object.fromEntries(
    ['usage', 'model', 'response'].flatMap((one) => (one in found ? [[one, found[one]!]] : [])),
  )

const name = fc.oneof(fc.constantFrom('usage', 'model', 'response', '"', '\\', 'a'), fc.string())
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.string(), fc.constantFrom('{', '}', '\\', '"usage":{', 'é'), fc.integer(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }) as fc.Arbitrary<JsonObject>,
  ),
}))

t.test('finds the members of a document, however the bytes are cut', async () => {
  fc.assert(
    fc.property(
      fc.dictionary(name, value, { maxKeys: 5 }) as fc.Arbitrary<JsonObject>,
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(undefined, 2),
      (document, cut, indent) => {
        const written = JSON.stringify(document, null, indent)
        const documents = documentsIn(`data: ${written}\n\ndata: [DONE]\n\n${written}`, cut)
        const wanted = JSON.stringify(expected(document))
        const count = wanted === '{}' ? 0 : 2
        return documents.length === count && documents.every((one) => JSON.stringify(sorted(one)) === wanted)
      },
    ),
    { numRuns: 1000 },
  )
})

t.test('a member that is too long is left out, and the next is read', async (t) => {
  const long = 'x'.repeat(20_000)
  const text = `{"${long}":1,"usage":{"a":"${long}"},"data":"${long}","model":"m"}`
  for (const cut of [1000, 1_000_000]) t.same(documentsIn(text, cut), [{ model: 'm' }])
})

t.test('a document need not end, but its member must', async (t) => {
  t.same(documentsIn('{"usage":{"a":1},"b":[', 5), [{ usage: { a: 1 } }])
  t.same(documentsIn('{"usage":{"a":1', 5), [])
  t.same(documentsIn(']}}{"usage":{"a":1}}', 5), [{ usage: { a: 1 } }])
})
