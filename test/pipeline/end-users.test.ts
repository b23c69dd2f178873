import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { EndUsers } from '../../src/pipeline/record/end-users.ts'

const KEY = Buffer.alloc(32, 7)
const FIELDS = ['user', 'safety_identifier', 'metadata.user_id']
const hashing = new EndUsers('hash', FIELDS, () => KEY)
const clear = new EndUsers('clear', FIELDS, () => KEY)
const off = new EndUsers('off', FIELDS, () => null)
const hashOf = (value: string) => createHmac('sha256', KEY).update(value).digest().subarray(0, 16)

const BODIES: [what: string, body: JsonObject, user: string | null][] = [
  ['no member', { model: 'm' }, null],
  ['the first member', { user: 'a', safety_identifier: 'b', metadata: { user_id: 'c' } }, 'a'],
  ['the second member', { safety_identifier: 'b', metadata: { user_id: 'c' } }, 'b'],
  ['a nested member', { metadata: { user_id: 'c' } }, 'c'],
  ['the first that is a text', { user: 7, safety_identifier: '', metadata: { user_id: 'c' } }, 'c'],
  ['a text in the place of an object', { metadata: 'user_id' }, null],
  ['a list in the place of an object', { metadata: ['user_id'] }, null],
  ['null', { user: null, metadata: null }, null],
  ['a name of another member', { users: 'a', metadata: { 'user.id': 'c' } }, null],
]
for (const [what, body, user] of BODIES) {
  t.test(`the user is read from ${what}`, async (t) => {
    const hash = user === null ? null : hashOf(user)
    t.same(hashing.read(body), hash && { hash, clear: null })
    t.same(clear.read(body), hash && { hash, clear: user })
    t.equal(off.read(body), null)
  })
}

t.test('a long user is hashed whole and never kept in clear', async (t) => {
  const fits = '가'.repeat(256)
  t.match(clear.read({ user: fits }), { clear: fits })
  for (const long of [`${fits}x`, 'x'.repeat(100_000)])
    t.same(clear.read({ user: long }), { hash: hashOf(long), clear: null })
})

t.test('a captured body differs in the names of users alone, and the body stays', async (t) => {
  const name = fc.constantFrom('user', 'safety_identifier', 'metadata', 'model')
  const value = fc.oneof(
    fc.string(),
    fc.constant(null),
    fc.dictionary(fc.constantFrom('user_id', 'x'), fc.string()),
  )
  fc.assert(
    fc.property(fc.dictionary(name, value), (generated) => {
      const body = generated as JsonObject
      const before = JSON.stringify(body)
      const hidden = hashing.withoutNames(body)
      t.equal(JSON.stringify(body), before)
      t.same(Object.keys(hidden), Object.keys(body))
      for (const [member, was] of Object.entries(body)) {
        const is = hidden[member]
        if (member === 'model') t.equal(is, was)
        else if (member === 'metadata' && typeof was === 'object' && was !== null)
          t.same(is, { ...was, ...('user_id' in was && { user_id: '[USER]' }) })
        else t.equal(is, typeof was === 'string' && member !== 'metadata' ? '[USER]' : was)
      }
      t.equal(clear.withoutNames(body), body)
      t.same(off.withoutNames(body), hidden)
    }),
  )
  const bare: JsonObject = { model: 'm', metadata: { trace: 'x' } }
  t.equal(hashing.withoutNames(bare), bare, 'nothing is copied')
})
