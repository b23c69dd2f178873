// Feeds of a hub over real sockets and PostgreSQL: what sidecars get, and what an answer says of them.

import t, { type Test } from 'tap'
import { beginEpoch } from '../../src/ledger/migrate.ts'
import { fleetDatabase, run, type TestDatabase } from '../ledger/postgres.ts'
import { fetchInTime, until } from '../process/until.ts'
import { type Api, startHub, type TestHub } from './fixture.ts'
import { TestSidecar } from './sidecar.ts'
import { ISSUER, keySetOf, newKey, podClaims, signed } from './tokens.ts'

t.setTimeout(120_000)

const key = newKey()
const JOIN = {
  join: {
    clusters: [
      {
        name: 'prod',
        issuer: ISSUER,
        jwks: { file: 'jwks.json' },
        allow: [{ namespace: '*', serviceAccount: 'web' }],
      },
    ],
  },
}

const hubOn = (t: Test, database: TestDatabase): Promise<TestHub> =>
  startHub(t, database, JOIN, { 'jwks.json': keySetOf(key) })

async function sidecarOf(t: Test, hub: TestHub, pod: string, more: object = {}): Promise<TestSidecar> {
  const { namespace = 'shop', ...options } = more as { namespace?: string }
  const claims = podClaims(Date.now(), { namespace, pod, uid: `uid-${namespace}-${pod}` })
  return new TestSidecar(t, { url: hub.url, token: await signed(claims, key), ...options }).connect()
}

const makeKey = async (api: Api, fields: object = {}) => {
  const { status, body } = await api('POST', '/keys', { name: 'web', ...fields })
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`)
  return body
}

t.test('a change is answered when every sidecar has it', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const api = await hub.signIn()
  const first = await makeKey(api)
  t.same(first.fleet.registered, 0)
  const one = await sidecarOf(t, hub, 'one')
  const other = await sidecarOf(t, hub, 'other', { namespace: 'web' })
  t.match(one.hello, { name: 'shop/one', fleet_key: /^.{40,}$/ })
  await until('the snapshot', async () => one.keys.size === 1 && other.keys.size === 1)
  t.match([...one.keys.values()], [{ id: first.id, name: 'web', terms: {} }])
  t.notMatch(JSON.stringify(one.events), first.key, 'no key travels')

  const second = await makeKey(api, { namespaces: ['shop'], max_parallel: 2 })
  t.match(second.fleet, { registered: 2, acked: 2, unconfirmed: 0, unconfirmed_names: [] })
  t.match([one.keys.get(second.id)?.terms, other.keys.has(second.id)], [{ max_parallel: 2 }, false])
  const changed = await api('PATCH', `/keys/${second.id}`, { max_parallel: null, labels: { team: 'a' } })
  t.match(changed.body, { max_parallel: null, fleet: { acked: 2 } })
  t.same(one.keys.get(second.id)?.terms, { labels: { team: 'a' } })
  const revoked = await api('DELETE', `/keys/${second.id}`)
  t.match(revoked.body, { state: 'revoked', fleet: { registered: 2, acked: 2, unconfirmed: 0 } })
  t.notOk(one.keys.has(second.id))
  t.match((await api('GET', '/status')).body, {
    feeds: 2,
    rev: one.rev,
    epoch: one.hello?.epoch,
    listening: true,
  })
  const beat = one.events.filter(({ event }) => event === 'beat').at(-1)
  t.match(beat, { rev: one.rev, state_hash: one.hash })

  await one.acknowledge({ last_used: { [first.id]: '2026-01-02T03:04:05.000Z' } })
  await hub.stop()
  t.ok(await until('the feed ends', async () => one.isEnded).then(() => true))
  t.match(one.events.at(-1), { event: 'bye' })
})

t.test('a sidecar that does not answer is named once the time is over, and then at once', async (t) => {
  const database = await fleetDatabase()
  const hub = await hubOn(t, database)
  const api = await hub.signIn()
  const frozen = await sidecarOf(t, hub, 'frozen', { maxStaleSeconds: 600 })
  const awake = await sidecarOf(t, hub, 'awake')
  frozen.freeze()
  const { fleet } = await makeKey(api)
  t.match(fleet, { registered: 2, acked: 1, unconfirmed: 1, unconfirmed_names: ['shop/frozen'] })
  const endsMs = Date.parse(fleet.in_force_everywhere_by) - Date.now()
  t.ok(endsMs > 590_000 && endsMs <= 600_000, 'when it refuses the keys of the hub by itself')
  await until('it counts as silent', async () =>
    (await api('GET', '/fleet')).body.sidecars.some(({ state }: { state: string }) => state === 'silent'),
  )
  const startedMs = Date.now()
  t.match((await makeKey(api)).fleet, { unconfirmed: 1 })
  t.ok(Date.now() - startedMs < 900, 'it is not waited for')
  awake.kill()
  await until('it was cut off', async () => (await makeKey(api)).fleet.unconfirmed === 2)
  await awake.connect()
  t.match((await makeKey(api)).fleet, { unconfirmed_names: ['shop/frozen'] })
  t.equal(await awake.leave(), 204)
  t.match((await makeKey(api)).fleet, { registered: 1, acked: 0 }, 'who says goodbye counts no more')
  const { sidecars } = (await api('GET', '/fleet')).body
  t.match(
    sidecars.map((one: any) => [one.name, one.state]),
    [
      ['shop/awake', 'left'],
      ['shop/frozen', 'silent'],
    ],
  )
  const { id } = sidecars[1]
  t.match(await (await hub.signIn('reader'))('DELETE', `/fleet/${id}`), { status: 403 })
  t.match(await api('DELETE', `/fleet/${id}`), { status: 200, body: { id, state: 'gone' } })
  t.match(await api('DELETE', '/fleet/none'), { status: 404 })
  t.match((await makeKey(api)).fleet, { registered: 0, unconfirmed: 0 })
  t.match((await api('GET', '/audit/changes?type=sidecar_gone')).body.changes, [{ sidecar_id: id }])
  await run(database.owner, `update sidecar set state = 'silent', last_seen_at = now() - interval '601 s'`)
  t.match((await makeKey(api)).fleet, { registered: 0 }, 'nor who refuses the keys by itself')
})

t.test('an acknowledgement that the disk did not keep confirms nothing', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const api = await hub.signIn()
  const sidecar = await sidecarOf(t, hub, 'full')
  sidecar.durable = false
  t.match((await makeKey(api)).fleet, { acked: 0, unconfirmed_names: ['shop/full'] })
  await until('the reason is listed', async () => {
    const { sidecars } = (await api('GET', '/fleet')).body
    return /disk/.test(sidecars[0].nack[0]?.reason ?? '')
  })
  sidecar.durable = true
  await sidecar.acknowledge()
  t.match((await makeKey(api)).fleet, { acked: 1, unconfirmed: 0 })
})

t.test('two hubs confirm for each other, and a hub that dies takes its sidecars with it', async (t) => {
  const database = await fleetDatabase()
  const [here, there] = [await hubOn(t, database), await hubOn(t, database)]
  const api = await here.signIn()
  const sidecar = await sidecarOf(t, there, 'far')
  t.match((await makeKey(api)).fleet, { registered: 1, acked: 1 })
  const { body } = await api('GET', '/fleet')
  t.match([body.hubs.length, body.total, body.sidecars[0].state], [2, 1, 'connected'])
  // The hub writes no more, as after kill -9.
  await run(database.owner, `update hub_state set seen_at = now() - interval '1 h' where connected = 1`)
  await there.stop()
  await run(database.owner, `update sidecar set state = 'connected'`)
  t.match((await makeKey(api)).fleet, { registered: 1, acked: 0, unconfirmed: 1 })
  await sidecar.connect(here.url)
  await until('it has all', async () => (await makeKey(api)).fleet.acked === 1)
  t.equal(sidecar.events.filter(({ event }) => event === 'hello').length, 2)
})

t.test('a sidecar resumes after what it has, and gets a snapshot in another epoch', async (t) => {
  const database = await fleetDatabase()
  const hub = await hubOn(t, database)
  const api = await hub.signIn()
  const sidecar = await sidecarOf(t, hub, 'one')
  await makeKey(api)
  sidecar.kill()
  await until('it is cut off', async () => sidecar.isEnded)
  const missed = await makeKey(api)
  const seen = sidecar.events.length
  await sidecar.connect()
  await until('what it missed', async () => sidecar.keys.has(missed.id))
  t.notOk(sidecar.events.slice(seen).some(({ event }) => event === 'snapshot'))
  await beginEpoch(database.owner)
  await makeKey(api)
  await until('the hub ends the feed', async () => sidecar.isEnded)
  const later = sidecar.events.length
  await sidecar.connect()
  await until('the snapshot', async () =>
    sidecar.events.slice(later).some(({ event }) => event === 'snapshot'),
  )
  t.equal(sidecar.keys.size, 3)
})

t.test('a sidecar that is ahead of the database gets nothing', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const sidecar = await sidecarOf(t, hub, 'one')
  await until('it is at the start', async () => sidecar.hello !== null)
  sidecar.kill()
  sidecar.rev = 99
  const seen = sidecar.events.length
  await until('it is cut off', async () => sidecar.isEnded)
  await sidecar.connect()
  await until('the hub ends the feed', async () => sidecar.isEnded)
  t.match(
    sidecar.events.slice(seen).map(({ event }) => event),
    ['hello', 'bye'],
  )
})

t.test('a term that a connected sidecar cannot enforce is refused with its name', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const api = await hub.signIn()
  const old = await sidecarOf(t, hub, 'old', { features: ['models'] })
  const refused = await api('POST', '/keys', { name: 'x', max_parallel: 1, models: ['a'] })
  t.match(refused, { status: 409, body: { error: { code: 'conflict', message: /max_parallel: shop\/old/ } } })
  t.match((await api('GET', '/keys')).body, { total: 0 })
  t.match(await makeKey(api, { max_parallel: 1, namespaces: ['web'] }), { fleet: { acked: 1 } }, 'not for it')
  const partial = await api('POST', '/keys?allow_partial=1', { name: 'x', max_parallel: 1 })
  t.match(partial, { status: 201, body: { fleet: { acked: 1 } } })
  t.equal(old.keys.size, 0)
  t.match(await makeKey(api, { models: ['a'] }), { fleet: { acked: 1 } })
  t.equal(old.keys.size, 1)
})

t.test('keys that are revoked at a sidecar and active here are listed', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const api = await hub.signIn()
  const made = await makeKey(api)
  const sidecar = await sidecarOf(t, hub, 'one')
  await sidecar.acknowledge({ conflicts: [made.id, 'unknown'] })
  await until('the conflict is listed', async () => (await api('GET', '/fleet')).body.conflicts.length > 0)
  t.same((await api('GET', '/fleet')).body.conflicts, [
    { key_id: made.id, key_name: 'web', sidecars: ['shop/one'] },
  ])
  await api('DELETE', `/keys/${made.id}`)
  t.same((await api('GET', '/fleet')).body.conflicts, [])
})

t.test('a credential opens its feed and nothing else, and headers are checked', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const claims = podClaims(Date.now())
  const token = await signed(claims, key)
  const ask = (path: string, method = 'GET', headers: Record<string, string> = {}) =>
    fetchInTime(hub.url + path, { method, headers: { authorization: `Bearer ${token}`, ...headers } })
  for (const [method, path] of [
    ['GET', '/api/v1/keys'],
    ['GET', '/api/v1/fleet'],
    ['POST', '/api/v1/keys'],
    ['GET', '/api/v1/session'],
  ] as const)
    t.equal((await ask(path, method)).status, 401, `${method} ${path}`)
  const feed = await ask('/fleet/v1/feed')
  t.match([feed.status, await feed.json()], [400, { error: { param: 'sidegate-protocol' } }])
  const anonymous = await fetchInTime(`${hub.url}/fleet/v1/feed`)
  t.match([anonymous.status, await anonymous.json()], [401, { error: { code: 'invalid_token' } }])
  t.equal((await ask('/fleet/v1/ack')).status, 404)
  t.equal((await ask('/fleet/v1/other', 'POST')).status, 404)
  const bad = await ask('/fleet/v1/ack', 'POST', { 'content-type': 'application/json' })
  t.equal(bad.status, 400)
})

t.test('without notifications a change still arrives within the second', async (t) => {
  const database = await fleetDatabase()
  const [here, there] = [await hubOn(t, database), await hubOn(t, database)]
  const sidecar = await sidecarOf(t, there, 'one')
  const name = new URL(database.owner).pathname.slice(1)
  await run(
    database.owner,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = '${name}' and application_name = 'sidegate-hub listen'`,
  )
  const made = await makeKey(await here.signIn())
  t.match(made.fleet, { registered: 1 })
  await until('the poll finds it', async () => sidecar.keys.has(made.id), 900)
  await until('it listens again', async () =>
    /sidegate_hub_listening 1/.test(await (await fetchInTime(`http://${there.opsAddress}/metrics`)).text()),
  )
})

t.test('more sidecars than may get a snapshot at once all get one', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const api = await hub.signIn()
  const { id } = await makeKey(api)
  const sidecars = await Promise.all(Array.from({ length: 40 }, (_, n) => sidecarOf(t, hub, `web-${n}`)))
  await until('all have the key', async () => sidecars.every(({ keys }) => keys.has(id)))
  t.match((await api('DELETE', `/keys/${id}`)).body.fleet, { registered: 40, acked: 40 })
})
