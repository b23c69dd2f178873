// A hub and two gateways that take their keys from it, with the OpenAI SDK.

import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { beginEpoch } from '../../src/ledger/migrate.ts'
import { type Api, startHub, type TestHub } from '../hub/fixture.ts'
import { clusterKey } from '../hub/pods.ts'
import { ISSUER, keySetOf } from '../hub/tokens.ts'
import { fleetDatabase, run, type TestDatabase } from '../ledger/postgres.ts'
import { selfSigned } from '../server/certificate.ts'
import { openGateway, type TestGateway } from './gateway.ts'
import { openPod } from './pod-sidecar.ts'
import { until } from './until.ts'
import { completion, heldAnswer, json, startUpstream } from './upstream.ts'

t.setTimeout(120_000)

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
const sidecar = (
  t: Test,
  hub: Pick<TestHub, 'url'>,
  pod: string,
  fleet: object = {},
  env: Readonly<Record<string, string>> = {},
): Promise<TestGateway> => openPod(t, { upstreamUrl: upstream.baseUrl, hub: hub.url, pod, fleet, env })

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

  const { body: erasure } = await api('POST', '/audit/erase', { key_id: made.id })
  t.match(erasure.fleet, { registered: 2, acked: 2, unconfirmed: 0, unable_names: [] })
  const sealed = { selection: { key_id: made.id }, erased: 2, order: erasure.order, actor: 'gateway' }
  for (const gateway of gateways)
    t.match((await gateway.api('GET', '/audit/changes?type=erase')).body.changes, [sealed])

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

t.test('the calls at a time of a key hold over all gateways, and their places come back', async (t) => {
  const hub = await startHub(t, await fleetDatabase(), { join: JOIN }, { 'jwks.json': keySetOf(clusterKey) })
  const gateways = [await sidecar(t, hub, 'web-0'), await sidecar(t, hub, 'web-1')]
  const [one, other] = gateways as [TestGateway, TestGateway]
  const made = await makeKey(await hub.signIn(), { max_parallel: 1 })
  const held = heldAnswer()
  upstream.answer = held.answer
  const calls = upstream.received.length
  // A busy machine may take longer for the first answer of the hub than a call waits.
  const untilTaken = async (): Promise<number> => {
    const status = await ask(one, made.key)
    return status === 429 ? untilTaken() : status
  }
  const running = untilTaken()
  await until('the upstream has the call', async () => upstream.received.length > calls)
  t.equal(await ask(other, made.key), 429)
  upstream.answer = json(completion('ok'))
  held.release()
  t.equal(await running, 200)
  await until('the place is at the other gateway', async () => (await ask(other, made.key)) === 200)
  t.match(await one.metrics(), /^sidegate_fleet_lease_requests_total\{result="answered"\} [1-9]/m)
  await other.stop()
  await until('a gateway that stops gives its place back', async () => (await ask(one, made.key)) === 200)
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
    config: { limits: { drainSeconds: 1 }, fleet },
  })
  t.equal((await again.readiness()).status, 200)
  t.equal(await ask(again, key), 200)
})

/** Copies a database that nobody uses, as a backup does. */
async function backupOf({ owner, hub }: TestDatabase): Promise<TestDatabase> {
  const name = new URL(owner).pathname.slice(1)
  const copy = `${name}_copy`
  const at = (url: string, database: string) => url.replace(`/${name}?`, `/${database}?`)
  await run(at(owner, 'postgres'), `create database ${copy} template ${name}`)
  for (const role of ['sidegate_hub', 'current_user'])
    await run(at(owner, copy), `alter role ${role} in database ${copy} set search_path = sidegate`)
  return { owner: at(owner, copy), hub: at(hub, copy) }
}

t.test('a key that is revoked stays revoked after an older backup is restored', async (t) => {
  const database = await fleetDatabase()
  const files = { 'jwks.json': keySetOf(clusterKey) }
  const first = await startHub(t, database, { join: JOIN }, files)
  const gateway = await sidecar(t, first, 'web-0')
  const old = await makeKey(await first.signIn())
  await first.stop()
  const backup = await backupOf(database)
  const same = { join: JOIN, listen: { hub: first.address, ops: '127.0.0.1:0' } }
  const second = await startHub(t, database, same, files)
  const before = await second.signIn()
  await until(
    'it is connected',
    async () => (await before('GET', '/fleet')).body.sidecars[0].state === 'connected',
  )
  t.match((await before('DELETE', `/keys/${old.id}`)).body.fleet, { acked: 1, unconfirmed: 0 })
  const newer = await makeKey(before)
  t.same([await ask(gateway, old.key), await ask(gateway, newer.key)], [401, 200])
  await second.stop()

  const restored = await startHub(t, backup, same, files)
  await until('the gateway does not go back', async () =>
    /at revision 1 and this gateway at 3 .*sidegate hub migrate --new-epoch/.test(
      (await gateway.readiness()).body.fleet,
    ),
  )
  t.same([await ask(gateway, old.key), await ask(gateway, newer.key)], [401, 200], 'it keeps what it has')
  const epoch = await beginEpoch(backup.owner)
  await until('it takes the new history', async () => {
    const { fleet } = (await gateway.api('GET', '/status')).body
    return fleet.connected && fleet.epoch === epoch
  })
  t.same([await ask(gateway, old.key), await ask(gateway, newer.key)], [401, 401])
  const api = await restored.signIn()
  await until('the hub knows of it', async () => (await api('GET', '/fleet')).body.conflicts.length > 0)
  t.match((await api('GET', '/fleet')).body.conflicts, [
    { key_id: old.id, key_name: 'app', sidecars: ['shop/web-0'] },
  ])
  t.match((await api('DELETE', `/keys/${old.id}`)).body.fleet, { unconfirmed: 0 })
  t.same((await api('GET', '/fleet')).body.conflicts, [])
})

t.test('a gateway connects over TLS to a hub whose authority it was given, and to no other', async (t) => {
  const { certificate, key } = selfSigned()
  const files = { 'jwks.json': keySetOf(clusterKey), 'tls.crt': certificate, 'tls.key': key }
  const tls = { certificate: { file: 'tls.crt' }, key: { file: 'tls.key' } }
  const listen = { hub: '127.0.0.1:0', ops: '127.0.0.1:0', tls }
  const hub = await startHub(t, await fleetDatabase(), { join: JOIN, listen }, files)
  const url = `https://${hub.address}`
  const serves = { startWithoutHub: 'serve-file-keys' }
  const trusting = await sidecar(
    t,
    { ...hub, url },
    'web-0',
    { ...serves, ca: { env: 'CA' } },
    { CA: certificate },
  )
  await until('it is connected', async () => (await trusting.api('GET', '/status')).body.fleet.connected)
  const other = await sidecar(t, { ...hub, url }, 'web-1', serves)
  await until('it does not connect', async () =>
    /the hub cannot be reached: .*SELF_SIGNED/.test((await other.readiness()).body.fleet),
  )
})
