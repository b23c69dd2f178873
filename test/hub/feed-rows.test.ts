// What a hub refuses of sidecars and keys, and that the rows of sidecars say what is open.

import t from 'tap'
import { fleetDatabase, run } from '../ledger/postgres.ts'
import { fetchInTime, until } from '../process/until.ts'
import { clusterKey, hubOn, makeKey, sidecarOf } from './pods.ts'
import { podClaims, signed } from './tokens.ts'

t.setTimeout(120_000)

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
  const token = await signed(claims, clusterKey)
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
  t.equal((await ask('/fleet/v1/ack')).status, 405)
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

t.test('a sidecar that connects again at once keeps the row of its new feed', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const api = await hub.signIn()
  const sidecar = await sidecarOf(t, hub, 'one')
  for (let round = 0; round < 10; round++) {
    await sidecar.acknowledge()
    sidecar.kill()
    await sidecar.connect()
  }
  t.match((await makeKey(api)).fleet, { registered: 1, acked: 1 })
  t.match((await api('GET', '/fleet')).body.sidecars, [{ state: 'connected' }])
})

t.test('a feed whose sidecar is registered elsewhere, or no more, ends at its hub', async (t) => {
  const database = await fleetDatabase()
  const [here, there] = [await hubOn(t, database), await hubOn(t, database)]
  const api = await here.signIn()
  const sidecar = await sidecarOf(t, there, 'one')
  const { id } = (await api('GET', '/fleet')).body.sidecars[0]
  t.match(await api('DELETE', `/fleet/${id}`), {
    status: 409,
    body: { error: { code: 'conflict', message: /is connected/ } },
  })
  const copy = await sidecarOf(t, here, 'one')
  await until('the older feed ends', async () => sidecar.isEnded)
  t.match((await makeKey(api)).fleet, { registered: 1, acked: 1 })
  // As after a hub counted as lost, which was only slow.
  await run(database.owner, `update sidecar set hub = null, feed = null, state = 'silent'`)
  await until('its feed ends', async () => copy.isEnded)
  await copy.connect()
  t.match((await makeKey(api)).fleet, { registered: 1, acked: 1 })
  // A row whose feed never opened.
  await run(database.owner, `update sidecar set feed = gen_random_uuid(), state = 'connected'`)
  await until('it is released', async () => (await makeKey(api)).fleet.acked === 0)
})

t.test('what a database cannot store is refused, and blocks nobody', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const sidecar = await sidecarOf(t, hub, 'one')
  const nack = (reason: string) => sidecar.acknowledge({ nack: [{ rev: 1, reason }] })
  t.same([await nack('a\u0000b'), await nack('a\ud800b'), await nack('é 🙂')], [400, 400, 204])
  t.equal(await sidecar.acknowledge({ conflicts: ['a\u0000'] }), 400)
  t.match((await makeKey(await hub.signIn())).fleet, { registered: 1, acked: 1 })
})

t.test('a change is checked by the terms and namespaces that the key has after it', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const api = await hub.signIn()
  const { id } = await makeKey(api, { max_parallel: 1, namespaces: ['web'] })
  await sidecarOf(t, hub, 'old', { features: ['models'] })
  t.match(await makeKey(api, { labels: {} }), { fleet: { acked: 1 } }, 'no labels are no term')
  t.match(await api('PATCH', `/keys/${id}`, { models: ['a'] }), { status: 200 }, 'not for it')
  const wider = await api('PATCH', `/keys/${id}`, { namespaces: null })
  t.match(wider, { status: 409, body: { error: { message: /max_parallel: shop\/old/ } } })
  t.match(await api('PATCH', `/keys/${id}`, { namespaces: null, max_parallel: null }), { status: 200 })
  t.match(await api('POST', `/keys/${id}/rotate`, { grace_seconds: 5 }), {
    status: 409,
    body: { error: { message: /expires_at/ } },
  })
})
