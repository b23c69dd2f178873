// The keys of a hub in the store: they last, they authenticate, and they are managed elsewhere.

import t from 'tap'
import { hashApiKey } from '../../src/core/apikey.ts'
import { SidecarMemory } from '../../src/fleet/sidecar-memory.ts'
import type { FleetKey } from '../../src/keys/fleet-key.ts'
import { type FleetChanges, type HubKeys, NO_FLEET_STATE } from '../../src/keys/fleet-state.ts'
import { fleetRulesOf, NO_FLEET_PRICES } from '../../src/policy/fleet-policy.ts'
import type { Store } from '../../src/store/store.ts'
import { fleetKey } from '../fleet/fixture.ts'
import { callKey, declaredKey } from '../policy/keys.ts'
import { openTestStore, START_MS, testClock } from './fixture.ts'

const HUB = 'https://hub:8494'
const NOTHING: Omit<FleetChanges, 'state'> = { put: [], removed: [], buried: [], forgotten: [] }
const state = { ...NO_FLEET_STATE, epoch: 'e', rev: 3, freshAtMs: START_MS, toldMaxStaleSeconds: 60 }

/** Writes keys and puts them into force. */
async function withKeys(store: Store, put: readonly FleetKey[], clock = testClock()): Promise<SidecarMemory> {
  await store.fleet.write({ ...NOTHING, state, put })
  const memory = new SidecarMemory(store.fleet, clock, 60)
  store.ring.hubKeys = memory
  return memory
}

t.test('what a hub sent is there after a restart', async (t) => {
  const { store, reopen } = openTestStore(t)
  t.same(store.fleet.read(), { state: NO_FLEET_STATE, keys: [], tombstones: [], policy: {} })
  const [a, b] = [fleetKey('a', 1).row, fleetKey('b', 2).row]
  await store.fleet.write({
    ...NOTHING,
    state,
    put: [a, b],
    buried: [
      ['x', 9],
      ['y', 5],
    ],
  })
  const rules = fleetRulesOf([])
  const policy = { rules, goodRules: null, overrides: [] }
  await store.fleet.write({ ...NOTHING, state, policy: { ...policy, goodRules: rules } })
  await store.fleet.write({ ...NOTHING, state, policy: { goodRules: null, prices: NO_FLEET_PRICES } })
  await store.fleet.write({ ...NOTHING, state: { ...state, rev: 4 }, removed: ['a'], forgotten: ['x'] })
  await store.fleet.write({ ...NOTHING, state: { ...state, rev: 5 }, buried: [['z', 1]] })
  const { store: again } = await reopen()
  t.same(again.fleet.read(), {
    state: { ...state, rev: 5 },
    keys: [b],
    tombstones: [
      ['z', 1],
      ['y', 5],
    ],
    policy: { ...policy, prices: NO_FLEET_PRICES },
  })
})

t.test('a key of the hub works with its terms, after keys of this gateway', async (t) => {
  const clock = testClock()
  const { row, key } = fleetKey('a', 1, {
    models: ['gpt-*'],
    expires_at: new Date(START_MS + 1000).toISOString(),
    labels: { team: 'search' },
    max_parallel: 3,
  })
  const { row: own, key: ownKey } = fleetKey('b', 2)
  const fileKeys = [declaredKey('declared', own.sha256)]
  const { store } = openTestStore(t, { testClock: clock, fileKeys })
  t.equal(store.ring.authenticate(key), null)
  const memory = await withKeys(store, [row, own], clock)
  const terms = {
    models: ['gpt-*'],
    expiresAtMs: START_MS + 1000,
    labels: { team: 'search' },
    maxParallel: 3,
  }
  t.match(store.ring.authenticate(key), callKey('key a', terms, 'a'))
  t.match(store.ring.authenticate(ownKey), { name: 'declared' }, 'a declared hash stays the file’s')
  t.equal(store.ring.countActive(), 3)
  t.equal(store.ring.lastUsed('a'), START_MS)
  t.same([...memory.uses(10)], [['a', START_MS]])
  clock.advance(1000)
  t.equal(store.ring.authenticate(key), 'expired')
  t.equal(store.ring.countActive(), 2)
  clock.advance(60_000)
  t.equal(store.ring.authenticate(key), 'stale')
  t.match(store.ring.authenticate(ownKey), { name: 'declared' })
  t.equal(store.ring.countActive(), 1)
})

t.test('with a hub no key is made or changed here, and its keys are listed', async (t) => {
  const { store, reopen } = openTestStore(t)
  const { record, key } = await store.keys.create('before', 'vera')
  const { store: managed } = await reopen({ hub: HUB })
  const refused = { code: 'managed_by_hub', message: new RegExp(HUB) }
  await t.rejects(managed.keys.create('new', 'vera'), refused)
  await t.rejects(managed.keys.change(record.id, {}, 'vera'), refused)
  await t.rejects(managed.keys.rotate(record.id, 60, 'vera'), refused)
  await t.rejects(managed.keys.revoke(record.id, 'vera'), refused)
  t.match(managed.ring.authenticate(key), { id: record.id }, 'a key made before works')
  t.equal(managed.keys.countOwn(), 1)
  const [first, second, revoked] = [fleetKey('z', 1).row, fleetKey('y', 2).row, fleetKey('r', 3).row]
  const keys = [{ ...second, created_at: '2026-11-02T00:00:00Z' }, first, revoked]
  await managed.fleet.write({ ...NOTHING, state, put: keys, buried: [['r', 1]] })
  const expected = [{ id: record.id, source: 'api' }, { id: 'z', source: 'hub', name: 'key z' }, { id: 'y' }]
  const listed = await managed.keys.list()
  t.match(listed, expected)
  t.equal(listed.length, 3)
  managed.ring.hubKeys = new SidecarMemory(managed.fleet, testClock(), 60) satisfies HubKeys
  t.match(await managed.keys.list(), expected, 'from memory as from disk')
})

t.test('without a hub in the configuration its rows count for nothing', async (t) => {
  const { store, reopen } = openTestStore(t, { hub: HUB })
  const { row, key } = fleetKey('a', 1)
  await withKeys(store, [row])
  t.match(store.ring.authenticate(key), { id: 'a' })
  const { store: alone } = await reopen({ hub: null })
  t.equal(alone.ring.authenticate(key), null)
  t.same(await alone.keys.list(), [])
  t.equal((await alone.keys.create('own', 'vera')).record.source, 'api')
  t.equal(alone.ring.hubKeys, null)
  t.equal(hashApiKey(key), row.sha256)
})

t.test('users are found under the key of the hub and under that of the data folder', async (t) => {
  const own = Buffer.alloc(32, 1)
  const { store } = openTestStore(t, { userKey: own })
  t.equal(store.fleet.userKey, null)
  const fleet = Buffer.alloc(32, 2)
  await store.fleet.write({ ...NOTHING, state: { ...state, fleetKey: fleet.toString('base64') } })
  t.same(store.fleet.userKey, fleet)
})
