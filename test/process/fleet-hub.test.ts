// A hub and two gateways that take their keys from it, with the OpenAI SDK.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { type Api, startHub, type TestHub } from '../hub/fixture.ts'
import { ISSUER, keySetOf, newKey, podClaims, signed } from '../hub/tokens.ts'
import { fleetDatabase } from '../ledger/postgres.ts'
import { openGateway, type TestGateway, writeDeployment } from './gateway.ts'
import { until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

t.setTimeout(120_000)

const clusterKey = newKey()
const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

const JOIN = {
  clusters: [
    {
      name: 'prod',
      issuer: ISSUER,
      jwks: { file: 'jwks.json' },
      allow: [{ namespace: 'shop', serviceAccount: 'web' }],
    },
  ],
}

/** Starts a gateway as the Pod of that name. */
async function sidecar(t: Test, hub: TestHub, pod: string, more: object = {}): Promise<TestGateway> {
  const options = { upstreamUrl: upstream.baseUrl }
  const { folder } = writeDeployment(options)
  writeFileSync(
    join(folder, 'token'),
    await signed(podClaims(Date.now(), { pod, uid: `uid-${pod}` }), clusterKey),
  )
  const fleet = { hubs: [hub.url], token: { file: 'token' }, maxStaleSeconds: 600, ...more }
  const gateway = await openGateway(t, { ...options, folder, rules: 'rules: []\n', config: { fleet } })
  await until(`${pod} is ready`, async () => (await gateway.readiness()).status === 200)
  return gateway
}

/** The status of a call with the SDK. */
async function ask(gateway: TestGateway, apiKey: string): Promise<number> {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })
  try {
    await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    return 200
  } catch (error) {
    return (error as { status?: number }).status ?? 0
  }
}

const makeKey = async (api: Api, fields: object = {}) =>
  (await api('POST', '/keys', { name: 'app', ...fields })).body

t.test('a key of the hub works at every gateway, and is refused everywhere once it is revoked', async (t) => {
  const hub = await startHub(t, await fleetDatabase(), { join: JOIN }, { 'jwks.json': keySetOf(clusterKey) })
  const api = await hub.signIn()
  const gateways = [await sidecar(t, hub, 'web-0'), await sidecar(t, hub, 'web-1')]
  const made = await makeKey(api)
  t.match(made.fleet, { registered: 2, acked: 2, unconfirmed: 0 })
  for (const gateway of gateways) t.equal(await ask(gateway, made.key), 200)
  const rotated = (await api('POST', `/keys/${made.id}/rotate`, { grace_seconds: 60 })).body
  for (const gateway of gateways)
    t.same(
      [await ask(gateway, made.key), await ask(gateway, rotated.key)],
      [200, 200],
      'both within the grace',
    )
  const ended = (await api('POST', `/keys/${rotated.id}/rotate`, { grace_seconds: 0 })).body
  t.equal(ended.fleet.unconfirmed, 0)
  for (const gateway of gateways)
    t.same([await ask(gateway, rotated.key), await ask(gateway, ended.key)], [401, 200], 'no grace')
  t.match((await api('DELETE', `/keys/${ended.id}`)).body, { fleet: { acked: 2, unconfirmed: 0 } })
  for (const gateway of gateways) t.equal(await ask(gateway, ended.key), 401)

  const [first] = gateways as [TestGateway, TestGateway]
  const refused = await first.api('POST', '/keys', { name: 'mine' })
  t.match(refused, { status: 409, body: { error: { code: 'managed_by_hub', message: new RegExp(hub.url) } } })
  t.match((await first.api('GET', '/keys')).body.keys, [{ id: made.id, source: 'hub' }])
  t.match((await api('GET', '/fleet')).body, {
    total: 2,
    sidecars: [
      { name: 'shop/web-0', namespace: 'shop', cluster: 'prod', state: 'connected', nack: [] },
      { name: 'shop/web-1', state: 'connected' },
    ],
  })
  await first.stop()
  await until(
    'the goodbye is heard',
    async () => (await api('GET', '/fleet')).body.sidecars[0].state === 'left',
  )
  t.match((await makeKey(api)).fleet, { registered: 1, acked: 1 })
})

t.test('gateways go on with their keys while the hub is away, also after a restart', async (t) => {
  const database = await fleetDatabase()
  const hub = await startHub(t, database, { join: JOIN }, { 'jwks.json': keySetOf(clusterKey) })
  const gateway = await sidecar(t, hub, 'web-0')
  const { key } = await makeKey(await hub.signIn())
  t.equal(await ask(gateway, key), 200)
  await hub.stop()
  await until(
    'the feed is over',
    async () => (await gateway.api('GET', '/status')).body.fleet.connected === false,
  )
  t.equal(await ask(gateway, key), 200)
  await gateway.stop()
  const fleet = { hubs: [hub.url], token: { file: 'token' }, maxStaleSeconds: 600 }
  const again = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    folder: gateway.folder,
    config: { fleet },
  })
  t.equal((await again.readiness()).status, 200)
  t.equal(await ask(again, key), 200)
})
