// A real gateway and a hub that takes its log: what arrives, what a stop sends, and how failures show.

import t from 'tap'
import { conflict, startHub, type TestHub } from '../fleet/fixture.ts'
import { openSidecar, statusWith } from './sidecar.ts'
import { eventually, until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

const typesAt = (hub: TestHub): string[] =>
  hub.logs.entries.map(({ bytes }) => (JSON.parse(bytes.toString()) as { type: string }).type)

t.test('an entry is at the hub within two seconds of its call, and a stop sends the rest', async (t) => {
  const hub = await startHub(t)
  const { key } = hub.create()
  const gateway = await openSidecar(t, upstream, hub)
  t.equal(await statusWith(gateway, key), 200)
  const endedMs = performance.now()
  await until('the entry is at the hub', () => typesAt(hub).includes('request'))
  t.ok(performance.now() - endedMs < 2000)
  const call = hub.logs.entries.find(({ bytes }) => bytes.includes('"type":"request"'))!
  t.match(call.content!.subarray(32).toString(), /"request".*hi/)
  const { fleet } = await eventually(
    'all is at the hub',
    async () => (await gateway.api('GET', '/status')).body,
    (body) => body.fleet.log.unshipped === 0,
  )
  t.match(fleet.log, { shipped_seq: Number, oldest_unshipped_at: null, ended: false, problem: null })
  const page = await gateway.metrics()
  t.match(page, /^sidegate_fleet_unshipped_entries 0$/m)
  t.match(page, /^sidegate_fleet_unshipped_age_seconds 0$/m)
  t.match(page, /^sidegate_fleet_forked 0$/m)
  t.match(page, /^sidegate_fleet_shipped_entries_total [1-9]/m)
  await until('the first checkpoint is cosigned', async () => {
    const { checkpoint } = (await gateway.api('GET', '/audit/checkpoint')).body
    return checkpoint.endsWith('sidegate-hub/log AAAAAAAA\n')
  })
  await gateway.stop()
  t.equal(typesAt(hub).at(-1), 'stop')
  t.match(hub.logs.notes.at(-1), `\n${hub.logs.entries.length}\n`)
  t.ok(gateway.logs.some(({ msg }) => msg === 'a hub has the whole usage log'))
})

t.test('a hub with another history is said everywhere, and calls go on', async (t) => {
  const hub = await startHub(t)
  const { key } = hub.create()
  hub.logs.before = () => conflict({ code: 'fork', seq: 0 })
  const gateway = await openSidecar(t, upstream, hub)
  const { body } = await eventually(
    'it is said',
    () => gateway.readiness(),
    (answer) => /another entry 0/.test(String(answer.body['fleet'])),
  )
  t.match(body, { fleet: /another entry 0/ })
  t.match(await gateway.metrics(), /^sidegate_fleet_forked 1$/m)
  t.match((await gateway.api('GET', '/status')).body.fleet.log, { ended: true, problem: /another entry 0/ })
  t.equal(await statusWith(gateway, key), 200)
  await gateway.stop()
  t.ok(gateway.logs.some(({ msg }) => /were not sent to a hub/.test(String(msg))))
})

t.test('calls do not wait for a hub that takes no entries', async (t) => {
  const hub = await startHub(t)
  const { key } = hub.create()
  hub.logs.before = () => 'silent'
  const gateway = await openSidecar(t, upstream, hub)
  const beganMs = performance.now()
  for (let n = 0; n < 10; n++) t.equal(await statusWith(gateway, key), 200)
  t.ok(performance.now() - beganMs < 5000)
  t.match(await gateway.metrics(), /^sidegate_fleet_unshipped_entries [1-9]/m)
  hub.logs.before = () => null
})
