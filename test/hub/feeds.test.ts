// Feeds of a hub over real sockets and PostgreSQL: what sidecars get, and what an answer says of them.

import t from 'tap'
import { beginEpoch } from '../../src/ledger/migrate.ts'
import { fleetDatabase, run } from '../ledger/postgres.ts'
import { until } from '../process/until.ts'
import { hubOn, makeKey, sidecarOf } from './pods.ts'

t.setTimeout(120_000)

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
  await until('its feed ends', async () => (await api('GET', '/status')).body.feeds === 0)
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
