// A real gateway with a hub: which keys it accepts, and what it says of them.

import { join } from 'node:path'
import t from 'tap'
import { hashUser } from '../../src/audit/user-hash.ts'
import { FLEET_KEY, startHub } from '../fleet/fixture.ts'
import { prompt, startGateway } from './gateway.ts'
import { runCli } from './run-command.ts'
import { isReady, openSidecar, statusWith } from './sidecar.ts'
import { eventually, until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

t.test('keys of a hub work, change and end here', async (t) => {
  const hub = await startHub(t)
  const { id, key } = hub.create({ labels: { team: 'search' } })
  const gateway = await openSidecar(t, upstream, hub)
  t.equal(await statusWith(gateway, key), 200)
  hub.change(id, { models: ['other'] })
  await hub.acked()
  t.equal(await statusWith(gateway, key), 403)
  const { keys } = (await gateway.api('GET', '/keys')).body
  t.match(keys, [{ id, source: 'hub', state: 'active', models: ['other'] }])
  hub.change(id, { expires_at: '2026-01-01T00:00:00Z' })
  await hub.acked()
  t.equal(await statusWith(gateway, key), 401)
  hub.change(id, {})
  await hub.acked(hub.rev, (ack) => Object.hasOwn(ack.last_used, id) || ack.rev === hub.rev)
  t.equal(await statusWith(gateway, key), 200)
  hub.revoke(id)
  await hub.acked()
  t.equal(await statusWith(gateway, key), 401)
  t.match((await gateway.api('GET', '/status')).body.fleet, {
    hub: hub.url,
    connected: true,
    epoch: hub.epoch,
    rev: hub.rev,
    keys: 0,
    problem: null,
  })
  const page = await gateway.metrics()
  t.match(page, /^sidegate_fleet_connected 1$/m)
  t.match(page, /^sidegate_fleet_keys 0$/m)
  t.match(page, /^sidegate_fleet_stale_seconds 0/m)
})

t.test('changes of keys are made at the hub', async (t) => {
  const hub = await startHub(t)
  const { id } = hub.create()
  const gateway = await openSidecar(t, upstream, hub)
  for (const [method, path, body] of [
    ['POST', '/keys', { name: 'x' }],
    ['PATCH', `/keys/${id}`, { owner: 'x' }],
    ['POST', `/keys/${id}/rotate`, { grace_seconds: 1 }],
    ['DELETE', `/keys/${id}`, undefined],
  ] as const) {
    const answer = await gateway.api(method, path, body)
    t.equal(answer.status, 409)
    t.match(answer.body.error, { code: 'managed_by_hub', message: new RegExp(hub.url) })
  }
  await gateway.stop()
  const config = ['--config', join(gateway.folder, 'sidegate.yaml')]
  const env = { SIDECAR_TOKEN: 'x' }
  const created = await runCli(['keys', 'create', '--name', 'x', ...config], env)
  t.equal(created.code, 1)
  t.match(created.stderr, new RegExp(`managed by its hub.*${hub.url}`))
  const listed = await runCli(['keys', 'list', '--json', ...config], env)
  t.match(JSON.parse(listed.stdout), { id, source: 'hub' })
})

t.test('a gateway waits for its first keys, or serves those of the configuration', async (t) => {
  const hub = await startHub(t)
  hub.refusal = { status: 503, body: '{"error":{"message":"no database"}}' }
  const { key } = hub.create()
  const waiting = await openSidecar(t, upstream, hub, {}, false)
  const serving = await openSidecar(t, upstream, hub, { startWithoutHub: 'serve-file-keys' }, false)
  await until('the hub was asked', () => hub.feedRequests.length >= 2)
  const said = await eventually(
    'the reason',
    () => waiting.readiness(),
    ({ body }) => /database/.test(body.fleet),
  )
  t.match(said, { status: 503, body: { ready: false, fleet: /no keys of a hub.*\(503\): no database/ } })
  t.equal((await serving.readiness()).status, 200)
  t.equal(await statusWith(serving, key), 401, 'a key of a hub that was never heard is unknown')
  t.match((await waiting.api('GET', '/status')).body, {
    ready: false,
    fleet: { epoch: null, rev: null, last_heartbeat_at: null, stale_in_seconds: 0 },
  })
  hub.refusal = null
  await isReady(waiting)
  t.equal(await statusWith(waiting, key), 200)
})

t.test('end users are hashed under the key of the hub', async (t) => {
  const hub = await startHub(t)
  const { key } = hub.create()
  const gateway = await openSidecar(t, upstream, hub)
  const answer = await gateway.chat(key, prompt('hi', { user: 'ann' }))
  await answer.arrayBuffer()
  t.equal((await gateway.newestEntry()).user, hashUser(FLEET_KEY, 'ann').toString('hex'))
  t.equal((await gateway.api('GET', '/usage/logs?user=ann')).body.total, 1)
})

t.test('without `fleet` there are no figures of a fleet', async (t) => {
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  t.teardown(() => gateway.stop())
  t.equal((await gateway.api('GET', '/status')).body.fleet, null)
  t.notOk('fleet' in (await gateway.readiness()).body)
  t.notMatch(await gateway.metrics(), /sidegate_fleet_(connected|keys|stale)/)
})
