// Canonical JSON read from bytes: never accepts more than the full check, and reads the same
// members.

import fc from 'fast-check'
import t from 'tap'
import { canonicalize } from '../../src/audit/canonical.ts'
import { seal } from '../../src/audit/chain.ts'
import { PlainObject } from '../../src/audit/plain.ts'
import { anyRequestDraft, requestDraft } from './drafts.ts'
import { anyEdits, edited } from './edits.ts'

const HEAD = { log: '01980000-0000-7000-8000-0000000000ff', seq: 7, hash: `sha256:${'0'.repeat(64)}` }
const read = (text: string) => new PlainObject().read(Buffer.from(text))

/** Reports whether the full check accepts the bytes, with the same members. */
function isRight(bytes: Buffer): boolean {
  const plain = new PlainObject()
  if (!plain.read(bytes)) return true
  const value = JSON.parse(bytes.toString('utf8'))
  return (
    canonicalize(value) === bytes.toString('utf8') &&
    Object.keys(value).every((name) => canonicalize(plain.get(name) ?? null) === canonicalize(value[name]))
  )
}

t.test('plain objects are read', async (t) => {
  for (const text of [
    '{}',
    '{"":""}',
    '{"a":0}',
    '{"a":-1,"b":[],"c":{}}',
    '{"a":[1,"2",null,true,false,{"b":[[]]}]}',
    '{"10":1,"9":2}',
    '{"a":1,"a_":2,"aa":3}',
    '{"A":999999999999999,"a":-999999999999999}',
    '{"__proto__":1}',
    '{"a!":1,"a~":2}',
  ]) {
    t.ok(read(text), text)
    t.equal(canonicalize(JSON.parse(text)), text)
  }
})

t.test('other canonical and malformed bytes are not plain', async (t) => {
  for (const text of [
    '',
    '{',
    '{"',
    '{"a',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{"a":1}}',
    '{"a":1} ',
    ' {"a":1}',
    '{"a": 1}',
    '{"a" :1}',
    '{"b":1,"a":1}',
    '{"aa":1,"a":1}',
    '{"a":1,"a":1}',
    '{"a!":1,"a":1}',
    '{"a":{"c":1,"b":1}}',
    '{"a":[{"c":1,"b":1}]}',
    '{"a":01}',
    '{"a":-0}',
    '{"a":-}',
    '{"a":1.0}',
    '{"a":1e3}',
    '{"a":+1}',
    '{"a":nul}',
    '{"a":trux}',
    '{"a":[1,]}',
    '{"a":[,]}',
    '{"a":[1 ]}',
    '{"a":"\\n"}',
    '{"a":"\n"}',
    '{"a":"\u007f"}',
    '{"a":"é"}',
    '{"é":1}',
    '{1:1}',
    '[]',
    '"a"',
    '1',
  ]) {
    t.notOk(read(text), text)
  }
  t.notOk(read(`{"a":${'['.repeat(100_000)}`), 'deep')
  t.notOk(read(`{"a":${'{"a":'.repeat(100_000)}`), 'deep')
  const members = Array.from({ length: 300 }, (_, n) => `"${String(n).padStart(3, '0')}":1`)
  t.notOk(read(`{${members.join(',')}}`), 'more members than any entry')
  t.ok(read(`{${members.slice(0, 256).join(',')}}`))
  t.equal(new PlainObject().read(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), false)
})

t.test('members equal those of JSON.parse', async (t) => {
  const plain = new PlainObject()
  const text = '{"a":"x","aa":12,"b":null,"c":true,"d":[1],"e":-5,"f":{"g":"h"},"h":0}'
  t.ok(plain.read(Buffer.from(text)))
  for (const [name, value] of Object.entries(JSON.parse(text))) t.strictSame(plain.get(name), value)
  t.equal(plain.get('g'), undefined, 'no inherited members')
  t.equal(plain.get('toString'), undefined)
  t.equal(plain.get(''), undefined)
  t.ok(plain.read(Buffer.from('{"z":1}')))
  t.equal(plain.get('a'), undefined, 'only of the last object')
  t.notOk(plain.read(Buffer.from('{"a":1} ')))
})

t.test('a sealed call is plain, and every plain object is canonical', async (t) => {
  const { bytes } = seal(HEAD, requestDraft(), 0, null)
  t.ok(new PlainObject().read(bytes))
  t.ok(isRight(bytes))
  fc.assert(fc.property(anyRequestDraft, (draft) => isRight(seal(HEAD, draft, 0, null).bytes)))
  const pieces = [
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    ' ',
    '0',
    '-',
    '1e9',
    '"a":1,',
    'null',
    '\u0000',
    'é',
  ]
  fc.assert(
    fc.property(anyEdits(bytes.length, pieces), (edits) => isRight(edited(bytes, edits))),
    { numRuns: 2000 },
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json({ maxDepth: 3 }),
        fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue()).map((value) => JSON.stringify(value)),
        fc.string({ unit: fc.constantFrom('{', '}', '"', ',', ':', 'a', 'b', '1', '[', ']'), maxLength: 12 }),
      ),
      (text) => isRight(Buffer.from(text)),
    ),
    { numRuns: 3000 },
  )
})
