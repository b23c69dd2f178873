// A real gateway with a hub: which keys it accepts, and what it says of them.

import t from 'tap'
import { createApiKey, hashApiKey } from '../../src/core/apikey.ts'
import { FLEET_KEY, SIDECAR_TOKEN, startHub, type TestHub } from '../fleet/fixture.ts'
import { type GatewayOptions, openGateway, prompt, startGateway, type TestGateway } from './gateway.ts'
import { eventually, until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

const withHub = (hub: TestHub, fleet: object = {}, more: Partial<GatewayOptions> = {}): GatewayOptions => ({
  upstreamUrl: upstream.baseUrl,
  env: { SIDECAR_TOKEN },
  ...more,
  config: {
    ...more.config,
    fleet: { hubs: [hub.url], token: { env: 'SIDECAR_TOKEN' }, maxStaleSeconds: 60, ...fleet },
  },
})

const statusOf = async (gateway: TestGateway, key: string): Promise<number> => {
  const response = await gateway.chat(key, prompt('hi'))
  await response.arrayBuffer()
  return response.status
}

t.test('keys of a hub work, change and end here', async (t) => {
  const hub = await startHub(t)
  const { id, key } = hub.create({ labels: { team: 'search' } })
  const gateway = await openGateway(t, withHub(hub))
  await until('ready', async () => (await gateway.readiness()).status === 200)
  t.equal(await statusOf(gateway, key), 200)
  hub.change(id, { models: ['other'] })
  await hub.acked()
  t.equal(await statusOf(gateway, key), 403)
  const { keys } = (await gateway.api('GET', '/keys')).body
  t.match(keys, [{ id, source: 'hub', state: 'active', models: ['other'] }])
  await hub.acked(hub.rev, (ack) => Object.hasOwn(ack.last_used, id))
  hub.revoke(id)
  await hub.acked()
  t.equal(await statusOf(gateway, key), 401)
  t.match((await gateway.api('GET', '/status')).body.fleet, {
    hub: hub.url,
    connected: true,
    epoch: hub.epoch,
    rev: hub.rev,
    keys: 0,
    problem: null,
  })
  t.match(await gateway.metrics(), /^sidegate_fleet_connected 1$/m)
  t.equal(hub.feedRequests[0]?.authorization, `Bearer ${SIDECAR_TOKEN}`)
  t.equal(hub.feedRequests[0]?.['sidegate-max-stale'], '60')
})
