import t from 'tap'
import type { Environment } from '../../src/store/environment/journaled.ts'
import { bytesOf, entriesOf, openTestStore, START_MS } from './fixture.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const VERA = { name: 'vera', role: 'viewer', via: 'token' } as const

/** Fingerprints where vera has this one and nobody else has any. */
const of =
  (fingerprint: string) =>
  ({ name }: { name: string }) =>
    name === 'vera' ? fingerprint : null

t.test('a session is found with its own token, also after a restart', async (t) => {
  const { store, reopen } = openTestStore(t)
  const { secret, ...session } = await store.sessions.create(VERA, 'fingerprint', 8 * HOUR_MS)
  t.match(secret, /^[A-Za-z0-9_-]{43}$/)
  t.match(session, { ...VERA, createdAtMs: START_MS, expiresAtMs: START_MS + 8 * HOUR_MS })
  t.strictSame(await store.sessions.find(secret, of('fingerprint')), session)
  const { store: again } = await reopen()
  t.strictSame(await again.sessions.find(secret, of('fingerprint')), session)
})

t.test('another token, or none, of the administrator ends a session', async (t) => {
  const { store } = openTestStore(t)
  const { secret } = await store.sessions.create(VERA, 'fingerprint', HOUR_MS)
  t.equal(await store.sessions.find(secret, of('another')), null)
  t.equal(await store.sessions.find(secret, () => null), null)
})

t.test('neither secret nor fingerprint is stored', async (t) => {
  const { store, path } = openTestStore(t)
  const { secret } = await store.sessions.create(VERA, 'the fingerprint', HOUR_MS)
  const file = bytesOf(path)
  t.notOk(file.includes(secret))
  t.notOk(file.includes('the fingerprint'))
})

t.test('a session survives a restart until it expires', async (t) => {
  const { store, clock, reopen } = openTestStore(t)
  const { secret } = await store.sessions.create(VERA, 'f', 8 * HOUR_MS)
  clock.advance(4 * HOUR_MS)
  const { store: again } = await reopen()
  clock.advance(4 * HOUR_MS - 1)
  t.ok(await again.sessions.find(secret, of('f')))
  clock.advance(1)
  t.equal(await again.sessions.find(secret, of('f')), null)
})

t.test('use does not prolong a session', async (t) => {
  const { store, clock } = openTestStore(t)
  const { secret } = await store.sessions.create(VERA, 'f', HOUR_MS)
  for (let minutes = 0; minutes < 59; minutes++) {
    clock.advance(MINUTE_MS)
    t.ok(await store.sessions.find(secret, of('f')))
  }
  clock.advance(MINUTE_MS)
  t.equal(await store.sessions.find(secret, of('f')), null)
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
  const { secret } = await store.sessions.create(VERA, 'f', HOUR_MS)
  time.wallMs -= 24 * HOUR_MS
  clock.advance(HOUR_MS - 1)
  t.ok(await store.sessions.find(secret, of('f')))
  clock.advance(1)
  t.equal(await store.sessions.find(secret, of('f')), null)
  const { store: again } = await reopen()
  t.ok(await again.sessions.find(secret, of('f')), 'its age is unknown here')
  clock.advance(HOUR_MS)
  t.equal(await again.sessions.find(secret, of('f')), null, 'but not beyond its full length')
  await again.sessions.sweep()
  time.wallMs = START_MS
  t.equal(await (await reopen()).store.sessions.find(secret, of('f')), null, 'and it is removed')
})

t.test('signing out ends a session at once; repeated or malformed secrets are fine', async (t) => {
  const { store } = openTestStore(t)
  const { secret } = await store.sessions.create(VERA, 'f', HOUR_MS)
  await store.sessions.delete(secret)
  t.equal(await store.sessions.find(secret, of('f')), null)
  await store.sessions.delete(secret)
  await store.sessions.delete('')
})

t.test('a malformed secret finds no session', async (t) => {
  const { store } = openTestStore(t)
  for (const secret of ['', 'x', 'A'.repeat(43), 'x'.repeat(1_000_000), '\0'.repeat(43)]) {
    t.equal(await store.sessions.find(secret, of('f')), null)
  }
})

t.test('a new session replaces the oldest of a hundred of its administrator', async (t) => {
  const { store, clock } = openTestStore(t)
  const root = await store.sessions.create({ name: 'root', role: 'admin', via: 'token' }, 'f', HOUR_MS)
  const person = await store.sessions.create({ ...VERA, via: 'oidc' }, 'f', HOUR_MS)
  const secrets: string[] = []
  for (let n = 0; n < 102; n++) {
    secrets.push((await store.sessions.create(VERA, 'f', HOUR_MS)).secret)
    clock.advance(1)
  }
  const found = await Promise.all(secrets.map((secret) => store.sessions.find(secret, of('f'))))
  const alive = found.map((session) => session !== null)
  t.strictSame(alive.slice(0, 3), [false, false, true])
  t.equal(alive.filter(Boolean).length, 100)
  for (const { secret } of [root, person])
    t.ok(await store.sessions.find(secret, () => 'f'), 'another administrator')
})

t.test('a new session replaces one of a thousand, of the administrator with the most', async (t) => {
  const { store, clock } = openTestStore(t)
  const create = async (name: string, count: number) => {
    const made = Array.from({ length: count }, () => store.sessions.create({ ...VERA, name }, 'f', HOUR_MS))
    clock.advance(1)
    return (await Promise.all(made)).map(({ secret }) => secret)
  }
  const root = await create('root', 1)
  const busy = await create('busy', 100)
  for (let n = 0; n < 9; n++) await create(`person ${n}`, 99)
  await create('late', 8)
  const countAlive = async (secrets: string[]) => {
    const found = await Promise.all(secrets.map((secret) => store.sessions.find(secret, () => 'f')))
    return found.filter((session) => session !== null).length
  }
  t.same(
    [await countAlive(root), await countAlive(busy), (await store.sessions.list()).length],
    [1, 100, 1000],
  )
  await create('later', 1)
  t.same(
    [await countAlive(root), await countAlive(busy), (await store.sessions.list()).length],
    [1, 99, 1000],
  )
})

t.test('a new session ends the one that it replaces', async (t) => {
  const { store } = openTestStore(t)
  const { secret } = await store.sessions.create(VERA, 'f', HOUR_MS)
  const next = await store.sessions.create(VERA, 'f', HOUR_MS, secret)
  t.equal(await store.sessions.find(secret, of('f')), null)
  t.ok(await store.sessions.find(next.secret, of('f')))
  await t.resolves(store.sessions.create(VERA, 'f', HOUR_MS, 'unknown'))
})

t.test('expired sessions are removed', async (t) => {
  const { store, clock, reopen } = openTestStore(t)
  const { secret } = await store.sessions.create(VERA, 'f', HOUR_MS)
  clock.advance(HOUR_MS)
  await store.sessions.sweep()
  clock.advance(-HOUR_MS)
  const { store: again } = await reopen()
  t.equal(await again.sessions.find(secret, of('f')), null)
})

t.test('sessions are listed, newest first, and each can be ended by its id, which is sealed', async (t) => {
  const { store, clock } = openTestStore(t)
  const first = await store.sessions.create(VERA, 'f', HOUR_MS)
  clock.advance(MINUTE_MS)
  const second = await store.sessions.create({ name: 'root', role: 'admin', via: 'token' }, 'f', HOUR_MS)
  t.match(await store.sessions.list(), [
    { id: second.id, name: 'root', role: 'admin' },
    { id: first.id, name: 'vera', role: 'viewer', createdAtMs: START_MS, expiresAtMs: START_MS + HOUR_MS },
  ])
  t.notMatch(JSON.stringify(await store.sessions.list()), first.secret)
  t.equal(await store.sessions.find(first.id, of('f')), null, 'an id opens nothing')
  t.match(await store.sessions.end(first.id, 'root'), { id: first.id, name: 'vera' })
  t.equal(await store.sessions.find(first.secret, of('f')), null)
  for (const id of [first.id, '', 'x', first.secret])
    await t.rejects(store.sessions.end(id, 'root'), { code: 'not_found' }, id)
  t.match(entriesOf(store.log, 'session_ended'), [
    { session_id: first.id, administrator: 'vera', actor: 'root' },
  ])
  clock.advance(HOUR_MS)
  t.strictSame(await store.sessions.list(), [], 'an expired session is not listed')
})

t.test('a session of a release without names opens nothing and is not listed', async (t) => {
  const opened: Environment[] = []
  const wrap = (real: Environment) => {
    opened.push(real)
    return real
  }
  const { store } = openTestStore(t, { wrap })
  const environment = opened[0]!
  const { secret } = await store.sessions.create(VERA, 'f', HOUR_MS)
  await environment.transaction(() => {
    const { sessions } = environment.tables
    for (const { key, value } of sessions.rows()) {
      const { name: _name, role: _role, ...old } = JSON.parse(value.toString())
      sessions.put(key, Buffer.from(JSON.stringify(old)))
    }
  })
  t.equal(await store.sessions.find(secret, of('f')), null)
  t.strictSame(await store.sessions.list(), [])
  t.ok(await store.sessions.create(VERA, 'f', HOUR_MS))
})
