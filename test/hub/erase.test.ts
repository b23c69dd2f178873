// Erasure over the API of a hub: who has applied the order, and what the log says of it.

import { randomBytes } from 'node:crypto'
import t from 'tap'
import { hashUser } from '../../src/audit/user-hash.ts'
import { systemClock } from '../../src/core/clock.ts'
import { Erasures } from '../../src/ledger/erasures.ts'
import { requestDraft } from '../audit/drafts.ts'
import { SidecarLog } from '../audit/sidecar-log.ts'
import { openDatabase, partsOn, SidecarRows } from '../ledger/fixture.ts'
import { fleetDatabase, run } from '../ledger/postgres.ts'
import { fetchInTime, until } from '../process/until.ts'
import { id } from '../store/fixture.ts'
import { hubOn, makeKey, sidecarOf } from './pods.ts'
import { shipperOf } from './shipper.ts'

t.setTimeout(120_000)

t.test('an erasure reaches the database and every sidecar, and names those without it', async (t) => {
  const database = await fleetDatabase()
  const hub = await hubOn(t, database)
  const api = await hub.signIn()
  const one = await sidecarOf(t, hub, 'one')
  const frozen = await sidecarOf(t, hub, 'frozen', { namespace: 'web', maxStaleSeconds: 1 })
  await sidecarOf(t, hub, 'old', { features: ['models'] })
  const user = hashUser(Buffer.from(one.hello!.fleet_key, 'base64'), 'ann')
  const rows = new SidecarRows(openDatabase(t, database.hub), database.owner, 'rows')
  await rows.calls(3, (n) => ({ user: n === 1 ? user : null }))
  await run(database.owner, "update sidegate.sidecar set state = 'left' where id = 'rows'")
  frozen.freeze()

  const { status, body } = await api('POST', '/audit/erase', { user: 'ann' })
  t.equal(status, 200)
  t.match(body, { erased: 1, entries: 1 })
  t.match(body.fleet, {
    registered: 3,
    acked: 1,
    unconfirmed: 2,
    unconfirmed_names: ['shop/old', 'web/frozen'],
    unable_names: ['shop/old'],
  })
  const sent = one.events.filter(({ event }) => event === 'erase')
  t.match(sent, [{ rev: body.order, selection: { user: user.toString('hex') } }])
  const { changes } = (await api('GET', '/audit/changes?type=erase')).body
  t.match(changes, [{ selection: { user: true }, erased: 1, users: 1, order: body.order, actor: 'platform' }])
  t.notMatch(JSON.stringify(changes), user.toString('hex'), 'who it was is not sealed')

  const hex = await api('POST', '/audit/erase', { user: user.toString('hex') })
  t.match(hex.body, { erased: 0 })
  const orders = one.events.filter((event) => event.event === 'erase')
  t.equal(
    orders.filter(({ selection }) => 'user' in selection && selection.user === user.toString('hex')).length,
    1,
  )
  await until('both are shown', async () => {
    const page = await (await fetchInTime(`http://${hub.opsAddress}/metrics`)).text()
    return (
      /^sidegate_hub_erase_orders_open 2$/m.test(page) && /^sidegate_hub_erase_order_age_seconds /m.test(page)
    )
  })
  const late = await sidecarOf(t, hub, 'late')
  await until('a snapshot', async () => late.events.some(({ event }) => event === 'snapshot'))
  const [snapshot] = late.events.filter(({ event }) => event === 'snapshot')
  t.match(snapshot, { orders: [{ rev: body.order }, { rev: hex.body.order }] })
})

t.test('only administrators order; a sidecar that refuses is named, for this order alone', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const api = await hub.signIn()
  const reader = await hub.signIn('reader')
  t.match(await reader('POST', '/audit/erase', { key_id: 'k' }), { status: 403 })
  t.match(await api('POST', '/audit/erase', {}), { status: 400 })
  t.match(await api('POST', '/audit/erase', { key_id: 'k', user: 'ann' }), { status: 400 })
  const before = new Date(Date.now() + 2 * 86_400_000).toISOString()
  t.match(await api('POST', '/audit/erase', { before }), {
    status: 400,
    body: {
      error: { code: 'invalid_body', param: 'before', message: /check the year, or give .* if you mean/ },
    },
  })
  const one = await sidecarOf(t, hub, 'one')
  const { rev } = (await api('GET', '/status')).body
  await one.acknowledge({ nack: [{ rev: rev + 1, reason: 'event erase: unknown' }] })
  one.acknowledges = false
  const asked = api('POST', '/audit/erase', { before: '2026-01-01' })
  await until('the order came', async () => one.events.some(({ event }) => event === 'erase'))
  await one.acknowledge({ nack: [{ rev: rev + 1, reason: 'event erase: unknown' }] })
  t.match((await asked).body.fleet, { acked: 0, unable_names: ['shop/one'] })
  one.acknowledges = true
  t.match((await makeKey(api)).fleet, { registered: 1, acked: 1 })
})

t.test('what arrives after its erasure is not stored until its log has passed the order', async (t) => {
  const test = await fleetDatabase()
  const hub = await hubOn(t, test)
  const database = openDatabase(t, test.hub)
  const api = await hub.signIn()
  const sidecar = await sidecarOf(t, hub, 'one')
  const { ship } = await shipperOf(hub.url, 'one')
  const call = (key_id: string) => requestDraft({ key_id })
  const log = new SidecarLog(id(1)).add(call('a'), '{"request":1}', 'ann').add(call('b'), '{"request":2}')
  t.match(await ship(log.log, log.entries.slice(0, 2)), { status: 200 })
  const { body } = await api('POST', '/audit/erase', { key_id: 'a' })
  t.match(body, { erased: 1, fleet: { acked: 1 } })
  log.add(call('a'), '{"request":3}', 'ann')
  log.add({
    ...{ type: 'erase', selection: { key_id: 'a' }, erased: 1, order: body.order, actor: 'gateway' },
  })
  log.add(call('a'), '{"request":5}', 'ann')
  t.match(await ship(log.log, log.entries.slice(2)), { status: 200, body: { seq: 5 } })
  t.strictSame(
    await database.rows('select seq from exchange order by seq'),
    [{ seq: 2 }, { seq: 5 }],
    'of another key, and after the erasure of the log',
  )
  t.strictSame(await database.rows('select seq, clear from entry_user'), [{ seq: 5, clear: null }])
  const { log: hubLog } = partsOn(database)
  await new Erasures({ database, log: hubLog, clock: systemClock, random: randomBytes }).maintain()
  t.match(await database.rows('select done from erase_order'), [{ done: true }])
  sidecar.kill()
})
