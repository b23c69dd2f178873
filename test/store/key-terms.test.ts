// Terms of keys: their form, expiry, change and rotation.

import t from 'tap'
import { createApiKey, hashApiKey, hashClientName } from '../../src/core/apikey.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { stateOf } from '../../src/keys/key-record.ts'
import { callKey, declaredKey } from '../policy/keys.ts'
import { openTestStore, START_MS } from './fixture.ts'

const DAY_MS = 86_400_000
const TERMS = {
  models: ['gpt-*', '!gpt-secret'],
  expires_at: new Date(START_MS + DAY_MS).toISOString(),
  owner: 'Ann, ann@example.com',
  labels: { team: 'search', env: 'test' },
  capture: 'metadata',
  max_parallel: 5,
}

const entries = (log: { records(from: number, limit: number): { bytes: Uint8Array }[] }) =>
  log.records(0, 1000).map((record) => JSON.parse(Buffer.from(record.bytes).toString()))

t.test('terms are read, kept, sealed without the owner and given to calls', async (t) => {
  const { store, reopen } = openTestStore(t)
  const { key, record } = await store.keys.create('app', 'vera', TERMS)
  const terms = {
    models: ['gpt-*', '!gpt-secret'],
    expiresAtMs: START_MS + DAY_MS,
    owner: 'Ann, ann@example.com',
    labels: { env: 'test', team: 'search' },
    capture: 'metadata' as const,
    maxParallel: 5,
  }
  t.strictSame(store.ring.authenticate(key), callKey('app', terms, record.id))
  const sealed = entries(store.log).at(-1)
  t.match(sealed, {
    type: 'key_created',
    actor: 'vera',
    terms: { models: TERMS.models, expires_at: TERMS.expires_at, labels: TERMS.labels, max_parallel: 5 },
  })
  t.notMatch(JSON.stringify(entries(store.log)), /ann@example/)
  const { store: again } = await reopen()
  t.strictSame(again.ring.authenticate(key), callKey('app', terms, record.id))
  t.match(await again.keys.list(), [{ terms }])
})

t.test('a wrong term is refused with its field and the allowed form', async (t) => {
  const { store } = openTestStore(t)
  const cases: [fields: JsonObject, param: string, message: RegExp][] = [
    [{ models: 'gpt-*' }, 'models', /must be/],
    [{ models: [''] }, 'models[0]', /./],
    [{ models: ['!'] }, 'models[0]', /./],
    [{ models: ['!!a'] }, 'models[0]', /./],
    [{ models: ['a\u0000'] }, 'models[0]', /./],
    [{ expires_at: 'tomorrow' }, 'expires_at', /2027-01-31T12:00:00Z/],
    [{ expires_at: '2026-02-30' }, 'expires_at', /must be a date/],
    [{ expires_at: new Date(START_MS).toISOString() }, 'expires_at', /in the future/],
    [{ expires_at: 5 }, 'expires_at', /must be/],
    [{ owner: '' }, 'owner', /./],
    [{ owner: 'x'.repeat(129) }, 'owner', /128/],
    [{ labels: { team: 'x'.repeat(65) } }, 'labels.team', /64/],
    [{ labels: { team: 'bob@example.com' } }, 'labels', /personal data.*email/],
    [{ labels: { 'bob@example.com': 'x' } }, 'labels', /personal data.*email/],
    [{ labels: Object.fromEntries(Array.from('abcdefghi', (name) => [name, 'x'])) }, 'labels', /8/],
    [{ labels: { a: 5 } as never }, 'labels.a', /./],
    [{ capture: 'some' }, 'capture', /full/],
    [{ max_parallel: 0 }, 'max_parallel', /1/],
    [{ max_parallel: 1.5 }, 'max_parallel', /./],
  ]
  for (const [fields, param, message] of cases) {
    await t.rejects(store.keys.create('app', 'vera', fields), { code: 'invalid_body', param, message }, param)
  }
  t.equal((await store.keys.list()).length, 0)
})

t.test('a key is refused from the time at which it expires', async (t) => {
  const { store, clock } = openTestStore(t)
  const { key } = await store.keys.create('app', 'vera', { expires_at: TERMS.expires_at })
  clock.advance(DAY_MS - 1)
  t.match(store.ring.authenticate(key), { name: 'app' })
  t.equal(store.ring.countActive(), 1)
  clock.advance(1)
  t.equal(store.ring.authenticate(key), 'expired')
  t.equal(store.ring.countActive(), 0)
  t.equal(stateOf((await store.keys.list())[0]!, clock.now()), 'expired')
})

t.test('a change keeps what it does not name, and null removes a term', async (t) => {
  const { store } = openTestStore(t)
  const { key, record } = await store.keys.create('app', 'vera', TERMS)
  const changed = await store.keys.change(record.id, { models: null, max_parallel: 2 }, 'vera')
  t.match(changed.terms, { models: null, maxParallel: 2, labels: TERMS.labels, capture: 'metadata' })
  t.match(store.ring.authenticate(key), { terms: { models: null, maxParallel: 2 } })
  t.match(entries(store.log).at(-1), {
    type: 'key_changed',
    actor: 'vera',
    key_id: record.id,
    terms: { models: null, max_parallel: 2, labels: TERMS.labels },
  })
  const { seq } = store.log.head
  await store.keys.change(record.id, { max_parallel: 2 }, 'vera')
  t.equal(store.log.head.seq, seq, 'a change to the same terms is not sealed')
  await t.rejects(store.keys.change('nobody', {}, 'vera'), { code: 'not_found' })
  await t.rejects(store.keys.change(record.id, { capture: 'x' }, 'vera'), { code: 'invalid_body' })
  await store.keys.revoke(record.id, 'vera')
  await t.rejects(store.keys.change(record.id, {}, 'vera'), { code: 'conflict' })
})

t.test('a rotated key works until the grace ends, and its successor has its terms and line', async (t) => {
  const { store, clock } = openTestStore(t)
  const first = await store.keys.create('app', 'vera', { ...TERMS, expires_at: null })
  const second = await store.keys.rotate(first.record.id, 60, 'vera')
  t.not(second.key, first.key)
  t.match(second.record, { name: 'app', replaces: first.record.id, terms: { models: TERMS.models } })
  const accepted = store.ring.authenticate(second.key)
  t.match(accepted, { id: second.record.id, line: first.record.id, terms: { expiresAtMs: null } })
  t.match(store.ring.authenticate(first.key), { id: first.record.id, line: first.record.id })
  t.match(entries(store.log).at(-1), {
    type: 'key_rotated',
    actor: 'vera',
    key_id: first.record.id,
    successor_id: second.record.id,
    expires_at: new Date(START_MS + 60_000).toISOString(),
  })
  clock.advance(60_000)
  t.equal(store.ring.authenticate(first.key), 'expired')
  t.match(store.ring.authenticate(second.key), { id: second.record.id })
  await t.rejects(store.keys.rotate(first.record.id, 60, 'vera'), { code: 'conflict', message: /expired/ })
  const third = await store.keys.rotate(second.record.id, 0, 'vera')
  t.equal(store.ring.authenticate(second.key), 'expired', 'without a grace it ends at once')
  t.match(store.ring.authenticate(third.key), { line: first.record.id })
})

t.test('a grace never makes a key live longer', async (t) => {
  const { store, clock } = openTestStore(t)
  const { key, record } = await store.keys.create('app', 'vera', { expires_at: TERMS.expires_at })
  await store.keys.rotate(record.id, 30 * 86_400, 'vera')
  clock.advance(DAY_MS)
  t.equal(store.ring.authenticate(key), 'expired')
})

t.test('keys of the configuration have terms and are changed there', async (t) => {
  const key = createApiKey(Buffer.alloc(32, 7))
  const fileKeys = [declaredKey('fleet', hashApiKey(key), { models: ['o3'], expiresAtMs: START_MS + 1000 })]
  const { store, clock } = openTestStore(t, { fileKeys })
  const accepted = store.ring.authenticate(key)
  t.match(accepted, { name: 'fleet', terms: { models: ['o3'] } })
  const { id } = accepted as { id: string }
  await t.rejects(store.keys.change(id, {}, 'vera'), { code: 'conflict', message: /configuration/ })
  await t.rejects(store.keys.rotate(id, 0, 'vera'), { code: 'conflict', message: /configuration/ })
  clock.advance(1000)
  t.equal(store.ring.authenticate(key), 'expired')
  t.equal(store.ring.countActive(), 0)
})

t.test('a declared certificate finds its key by each of its names, until it ends', async (t) => {
  const named = (name: string, san: string, terms = {}) => ({
    ...declaredKey(name, hashClientName(san), terms),
    clientName: san,
  })
  const fileKeys = [named('shop', 'URI:a'), named('web', 'DNS:b', { expiresAtMs: START_MS + 1000 })]
  const { store, clock } = openTestStore(t, { fileKeys })
  const found = (names: string[], spanMs = 10_000) =>
    store.ring.authenticateCertificate({ names, expiresAtMs: START_MS + spanMs })
  t.match(found(['URI:a']), [{ name: 'shop' }])
  t.match(found(['URI:c', 'URI:a', 'DNS:b', 'URI:a']), [{ name: 'shop' }, { name: 'web' }])
  for (const names of [[], ['DNS:a'], ['URI:b'], ['URI:A'], ['URI:a/']])
    t.same(found(names), [], names.join())
  t.equal(store.ring.countActive(), 2)
  clock.advance(1000)
  t.match(found(['DNS:b']), ['expired'], 'a term of the key')
  t.match(found(['URI:a'], 1000), ['expired'], 'the certificate itself')
})
