// API keys: creation, authentication, revocation, declared keys, last use.

import { randomBytes } from 'node:crypto'
import t from 'tap'
import { verifyChain } from '../../src/audit/verify.ts'
import { createApiKey, hashApiKey } from '../../src/core/apikey.ts'
import type { CallKey } from '../../src/core/key-terms.ts'
import type { Environment } from '../../src/store/environment/journaled.ts'
import type { Table } from '../../src/store/tables/table.ts'
import { callKey, declaredKey } from '../policy/keys.ts'
import { altered, openTestStore, START_MS, until } from './fixture.ts'

/** The key that was accepted. */
function accepted(key: CallKey | 'expired' | 'stale' | null): CallKey {
  if (key === null || typeof key === 'string') throw new Error(`not accepted: ${key}`)
  return key
}

const entries = (log: { records(from: number, limit: number): { bytes: Uint8Array }[] }) =>
  log.records(0, 1000).map((record) => JSON.parse(Buffer.from(record.bytes).toString()))

t.test('a key works once created and is shown only then', async (t) => {
  const { store } = openTestStore(t)
  const { key, record } = await store.keys.create('batch-jobs', 'vera')
  t.strictSame(store.ring.authenticate(key), callKey('batch-jobs', {}, record.id))
  t.match(record, {
    name: 'batch-jobs',
    prefix: `sgate_live_…${key.slice(-10, -6)}`,
    createdAtMs: START_MS,
    lastUsedAtMs: null,
    revokedAtMs: null,
    source: 'api',
  })
  const stored = JSON.stringify([await store.keys.list(), entries(store.log)])
  t.notOk(stored.includes(key))
  t.notOk(stored.includes(hashApiKey(key)))
})

t.test('creation and revocation of a key are sealed in the chain', async (t) => {
  const { store } = openTestStore(t)
  const { record } = await store.keys.create('k', 'vera')
  await store.keys.revoke(record.id, 'vera')
  t.match(entries(store.log).slice(1), [
    { type: 'key_created', key_id: record.id, key_name: 'k', source: 'api', actor: 'vera' },
    { type: 'key_revoked', key_id: record.id, key_name: 'k', actor: 'vera' },
  ])
  t.match(verifyChain(store.log.records(0, 10)), { ok: true, checked: 3 })
})

t.test('a revoked key is refused and stays listed; revoking it again changes nothing', async (t) => {
  const { store, clock, reopen } = openTestStore(t)
  const { key, record } = await store.keys.create('k', 'vera')
  clock.advance(1000)
  const revoked = await store.keys.revoke(record.id, 'vera')
  t.equal(revoked.revokedAtMs, START_MS + 1000)
  t.equal(store.ring.authenticate(key), null)
  clock.advance(1000)
  const twice = await Promise.all([
    store.keys.revoke(record.id, 'vera'),
    store.keys.revoke(record.id, 'vera'),
  ])
  t.strictSame(twice, [revoked, revoked])
  t.equal(store.log.head.seq, 2, 'sealed once')
  const { store: again } = await reopen()
  t.equal(again.ring.authenticate(key), null)
  t.match(await again.keys.list(), [{ id: record.id, revokedAtMs: START_MS + 1000 }])
})

t.test('parallel revocations of a key are sealed once', async (t) => {
  const { store } = openTestStore(t)
  const { record } = await store.keys.create('k', 'vera')
  await Promise.all(Array.from({ length: 10 }, () => store.keys.revoke(record.id, 'vera')))
  t.equal(store.log.head.seq, 2)
})

t.test('malformed and unknown keys are refused', async (t) => {
  const { store } = openTestStore(t)
  const { key } = await store.keys.create('k', 'vera')
  for (const text of ['', 'x', key.slice(0, -1), `${key}x`, createApiKey(randomBytes(32)), '\0'.repeat(60)]) {
    t.equal(store.ring.authenticate(text), null)
  }
})

t.test('an unknown key id is not found', async (t) => {
  const { store } = openTestStore(t)
  for (const id of ['', 'x', '\0', 'x'.repeat(100_000), '01980000-0000-7000-8000-000000000001']) {
    await t.rejects(store.keys.revoke(id, 'vera'), { code: 'not_found' })
  }
  t.equal(store.log.head.seq, 0)
  t.equal(store.log.available, true)
})

t.test('a key name has 1 to 128 characters', async (t) => {
  const { store } = openTestStore(t)
  for (const name of [
    '',
    ' ',
    'x'.repeat(129),
    'a\ud800',
    'a\nb',
    '\u001b[31m',
    'we\u200bb',
    'a ',
    'a\u202eb',
  ]) {
    await t.rejects(store.keys.create(name, 'vera'), { code: 'invalid_parameter', param: 'name' })
  }
  await store.keys.create('x'.repeat(128), 'vera')
  t.equal((await store.keys.list()).length, 1)
})

t.test('a key name with personal data is refused and not sealed', async (t) => {
  const { store } = openTestStore(t)
  const names = [
    'alice@example.com',
    'ali\u200bce@exam\u00adple.com',
    'bot of alice%40example.com',
    '4111 1111 1111 1111',
    '+1 415 555 2671',
  ]
  for (const name of [...names, 'GB82WEST12345698765432', 'ghp_16C7e42F292c6912E7710c838347Ae178B4a']) {
    const error = await store.keys.create(name, 'vera').catch((error: unknown) => error)
    t.match(error, { code: 'invalid_parameter', param: 'name' })
    t.notOk(String(error).includes(name))
  }
  t.equal(store.log.head.seq, 0)
  for (const name of ['batch-2024-08-06', 'team Köln / nightly', 'svc_7', 'Maria'])
    await store.keys.create(name, 'vera')
  t.equal((await store.keys.list()).length, 4)
})

t.test('keys declared by hash in the configuration are accepted', async (t) => {
  const key = createApiKey(randomBytes(32))
  const fileKeys = [declaredKey('fleet', hashApiKey(key))]
  const { store, reopen } = openTestStore(t, { fileKeys })
  const identity = accepted(store.ring.authenticate(key))
  t.match(identity, { name: 'fleet' })
  t.match(await store.keys.list(), [
    { id: identity.id, name: 'fleet', prefix: null, createdAtMs: null, revokedAtMs: null, source: 'file' },
  ])
  const same = await reopen()
  t.strictSame(same.store.ring.authenticate(key), identity, 'the same in every process and after every start')
  const { store: without } = await same.reopen({ fileKeys: [] })
  t.equal(without.ring.authenticate(key), null)
})

t.test('a revoked key stays revoked even if the configuration declares it later', async (t) => {
  const { store, reopen } = openTestStore(t)
  const { key, record } = await store.keys.create('k', 'vera')
  await store.keys.revoke(record.id, 'vera')
  const { store: again } = await reopen({ fileKeys: [declaredKey('fleet', hashApiKey(key))] })
  t.equal(again.ring.authenticate(key), null)
  t.match((await again.keys.list())[0], { name: 'fleet', source: 'file', revokedAtMs: record.createdAtMs })
  t.equal(again.ring.countActive(), 0)
})

t.test('a key that is both declared and created counts once', async (t) => {
  const { store, reopen } = openTestStore(t)
  const { key } = await store.keys.create('k', 'vera')
  const { store: again } = await reopen({ fileKeys: [declaredKey('fleet', hashApiKey(key))] })
  t.match(await again.keys.list(), [
    { source: 'file', revokedAtMs: null },
    { source: 'api', revokedAtMs: null },
  ])
  t.equal(again.ring.countActive(), 1)
})

t.test('active keys are counted again only after a process changed one', async (t) => {
  let readings = 0
  const counting = (table: Table): Table =>
    new Proxy(table, {
      get: (target, name) => {
        if (name === 'rows') readings++
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  const wrap = (real: Environment) =>
    altered(real, { tables: { ...real.tables, keys: counting(real.tables.keys) } })
  const { store, path, clock } = openTestStore(t, { wrap })
  const other = openTestStore(t, { path, testClock: clock, seed: 'other' })
  t.equal(store.ring.countActive(), 0)
  const { record } = await other.store.keys.create('a', 'vera')
  await store.keys.create('b', 'vera')
  t.equal(store.ring.countActive(), 2)
  await other.store.keys.revoke(record.id, 'vera')
  t.equal(store.ring.countActive(), 1)
  readings = 0
  t.equal(store.ring.countActive(), 1)
  t.equal(readings, 0, 'counting thousands of keys would delay every stream')
})

t.test('the time of last use is visible at once, and durable every minute and at close', async (t) => {
  const { store, clock, reopen, path, tick } = openTestStore(t)
  const a = await store.keys.create('a', 'vera')
  clock.advance(1)
  const b = await store.keys.create('b', 'vera')
  clock.advance(4999)
  store.ring.authenticate(a.key)
  const lastUsed = async (keys: typeof store.keys) => (await keys.list()).map((record) => record.lastUsedAtMs)
  t.strictSame(await lastUsed(store.keys), [START_MS + 5000, null])
  const other = openTestStore(t, { path, testClock: clock, seed: 'other' })
  t.strictSame(await lastUsed(other.store.keys), [null, null], 'not written with every call')
  tick(60_000)
  await until(async () => (await lastUsed(other.store.keys))[0] !== null)
  t.strictSame(await lastUsed(other.store.keys), [START_MS + 5000, null])
  clock.advance(5000)
  store.ring.authenticate(b.key)
  const { store: again } = await reopen()
  t.strictSame(await lastUsed(again.keys), [START_MS + 5000, START_MS + 10_000])
})

t.test('flushing the last use does not restore a revoked key', async (t) => {
  const { store, path, clock, tick } = openTestStore(t)
  const { key, record } = await store.keys.create('k', 'vera')
  store.ring.authenticate(key)
  const other = openTestStore(t, { path, testClock: clock, seed: 'other' })
  await other.store.keys.revoke(record.id, 'vera')
  tick(60_000)
  await store.ring.flush()
  t.equal(store.ring.authenticate(key), null)
  t.equal(store.ring.countActive(), 0)
})

t.test('a declared key can be revoked and stays revoked', async (t) => {
  const key = createApiKey(randomBytes(32))
  const fileKeys = [declaredKey('fleet', hashApiKey(key))]
  const { store, reopen } = openTestStore(t, { fileKeys })
  const { id } = accepted(store.ring.authenticate(key))
  const revoked = await store.keys.revoke(id, 'vera')
  t.match(revoked, { id, name: 'fleet', prefix: null, createdAtMs: null, source: 'file' })
  t.type(revoked.revokedAtMs, 'number')
  t.equal(store.ring.authenticate(key), null)
  t.strictSame(await store.keys.list(), [revoked], 'listed once')
  t.equal(store.ring.countActive(), 0)
  t.strictSame(await store.keys.revoke(id, 'vera'), revoked, 'a repeated call changes nothing')
  const sealed = entries(store.log).filter(({ type }) => type === 'key_revoked')
  t.match(sealed, [{ key_id: id, key_name: 'fleet' }])
  const again = await reopen({ fileKeys })
  t.equal(again.store.ring.authenticate(key), null, 'after a restart')
  const { store: without } = await again.reopen({ fileKeys: [] })
  t.match(await without.keys.list(), [{ id, name: 'fleet', prefix: null, revokedAtMs: revoked.revokedAtMs }])
  const { store: anew } = await again.reopen({ fileKeys: [declaredKey('other', hashApiKey(key))] })
  t.equal(anew.ring.authenticate(key), null, 'declared again')
})

t.test('revoking a key that is both declared and created revokes both', async (t) => {
  const { store, reopen } = openTestStore(t)
  const { record, key } = await store.keys.create('k', 'vera')
  const { store: again } = await reopen({ fileKeys: [declaredKey('fleet', hashApiKey(key))] })
  const [declared] = await again.keys.list()
  t.match(await again.keys.revoke(declared?.id ?? '', 'vera'), { id: declared?.id, source: 'file' })
  t.equal(again.ring.authenticate(key), null)
  t.notOk((await again.keys.list()).some(({ revokedAtMs }) => revokedAtMs === null))
  t.equal((await again.keys.list()).find(({ id }) => id === record.id)?.name, 'k')
})
