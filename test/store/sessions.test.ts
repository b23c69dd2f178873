// Sessions: lifetime, binding to the admin token, limits.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openTestStore, START_MS } from './fixture.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

t.test('a session is found with its own token, also after a restart', async (t) => {
  const { store, reopen } = openTestStore(t)
  const { id, expiresAtMs } = await store.sessions.create('fingerprint', 8 * HOUR_MS)
  t.match(id, /^[A-Za-z0-9_-]{43}$/)
  t.equal(expiresAtMs, START_MS + 8 * HOUR_MS)
  t.strictSame(store.sessions.find(id, 'fingerprint'), { expiresAtMs })
  const { store: again } = await reopen()
  t.strictSame(again.sessions.find(id, 'fingerprint'), { expiresAtMs })
})

t.test('a new admin token ends a session', async (t) => {
  const { store } = openTestStore(t)
  const { id } = await store.sessions.create('fingerprint', HOUR_MS)
  t.equal(store.sessions.find(id, 'another'), null)
})

t.test('neither id nor fingerprint is stored', async (t) => {
  const { store, path } = openTestStore(t)
  const { id } = await store.sessions.create('the fingerprint', HOUR_MS)
  const file = readFileSync(join(path, 'data.mdb'))
  t.notOk(file.includes(id))
  t.notOk(file.includes('the fingerprint'))
})

t.test('a session survives a restart until it expires', async (t) => {
  const { store, clock, reopen } = openTestStore(t)
  const { id } = await store.sessions.create('f', 8 * HOUR_MS)
  clock.advance(4 * HOUR_MS)
  const { store: again } = await reopen()
  clock.advance(4 * HOUR_MS - 1)
  t.ok(again.sessions.find(id, 'f'))
  clock.advance(1)
  t.equal(again.sessions.find(id, 'f'), null)
})

t.test('use does not prolong a session', async (t) => {
  const { store, clock } = openTestStore(t)
  const { id } = await store.sessions.create('f', HOUR_MS)
  for (let minutes = 0; minutes < 59; minutes++) {
    clock.advance(MINUTE_MS)
    t.ok(store.sessions.find(id, 'f'))
  }
  clock.advance(MINUTE_MS)
  t.equal(store.sessions.find(id, 'f'), null)
})

t.test('setting the clock back does not prolong a session, here or after a restart', async (t) => {
  const time = { wallMs: START_MS, spentMs: 0 }
  const clock = {
    now: () => time.wallMs,
    monotonic: () => time.spentMs,
    advance(ms: number) {
      time.wallMs += ms
      time.spentMs += ms
    },
  }
  const { store, reopen } = openTestStore(t, { testClock: clock })
  const { id } = await store.sessions.create('f', HOUR_MS)
  time.wallMs -= 24 * HOUR_MS
  clock.advance(HOUR_MS - 1)
  t.ok(store.sessions.find(id, 'f'))
  clock.advance(1)
  t.equal(store.sessions.find(id, 'f'), null)
  const { store: again } = await reopen()
  t.ok(again.sessions.find(id, 'f'), 'its age is unknown here')
  clock.advance(HOUR_MS)
  t.equal(again.sessions.find(id, 'f'), null, 'but not beyond its full length')
  await again.sessions.sweep()
  time.wallMs = START_MS
  t.equal((await reopen()).store.sessions.find(id, 'f'), null, 'and it is removed')
})

t.test('signing out ends a session at once; repeated or malformed ids are fine', async (t) => {
  const { store } = openTestStore(t)
  const { id } = await store.sessions.create('f', HOUR_MS)
  await store.sessions.delete(id)
  t.equal(store.sessions.find(id, 'f'), null)
  await store.sessions.delete(id)
  await store.sessions.delete('')
})

t.test('a malformed id finds no session', async (t) => {
  const { store } = openTestStore(t)
  for (const id of ['', 'x', 'A'.repeat(43), 'x'.repeat(1_000_000), '\0'.repeat(43)]) {
    t.equal(store.sessions.find(id, 'f'), null)
  }
})

t.test('a new session replaces the oldest of a hundred', async (t) => {
  const { store, clock } = openTestStore(t)
  const ids: string[] = []
  for (let n = 0; n < 102; n++) {
    ids.push((await store.sessions.create('f', HOUR_MS)).id)
    clock.advance(1)
  }
  const alive = ids.map((id) => store.sessions.find(id, 'f') !== null)
  t.strictSame(alive.slice(0, 3), [false, false, true])
  t.equal(alive.filter(Boolean).length, 100)
})

t.test('expired sessions are removed', async (t) => {
  const { store, clock, reopen } = openTestStore(t)
  const { id } = await store.sessions.create('f', HOUR_MS)
  clock.advance(HOUR_MS)
  await store.sessions.sweep()
  clock.advance(-HOUR_MS)
  const { store: again } = await reopen()
  t.equal(again.sessions.find(id, 'f'), null)
})
