// What a reload of a changed sidegate.yaml puts in force, section by section.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createApiKey, hashApiKey } from '../../src/core/apikey.ts'
import type { ReloadableConfig } from '../../src/core/config-changes.ts'
import { ISSUER, keySetOf, newKey, podClaims, signed } from '../hub/tokens.ts'
import {
  ADMIN_TOKEN,
  deploy,
  editConfig,
  prompt,
  type TestGateway,
  UPSTREAM_KEY,
} from '../process/gateway.ts'
import { fetchInTime, until } from '../process/until.ts'
import { completion, json, startUpstream } from '../process/upstream.ts'

const OTHER_TOKEN = 'another-token-for-tests'
const SHOP_TOKEN = 'the-token-of-the-shop-team'
const env = { OTHER_TOKEN, SHOP_TOKEN }

async function signInWith(gateway: TestGateway, token: string) {
  const response = await fetchInTime(`${gateway.url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  const cookie = (response.headers.getSetCookie()[0] ?? '').split(';', 1)[0] ?? ''
  await response.arrayBuffer()
  return { status: response.status, cookie }
}

const sessionOf = async (gateway: TestGateway, cookie: string) => {
  const response = await fetchInTime(`${gateway.url}/api/v1/session`, { headers: { cookie } })
  return { status: response.status, body: (await response.json()) as any }
}

/** A test of each section that a reload replaces. */
const EFFECTS: Readonly<Record<keyof ReloadableConfig, (t: Test) => Promise<void>>> = {
  async upstreams(t) {
    const { upstream, gateway, key } = await deploy(t)
    const next = await startUpstream(json(completion('from the next')))
    t.teardown(() => next.close())
    editConfig(gateway.folder, {
      upstream: undefined,
      upstreams: [
        {
          name: 'next',
          baseUrl: next.baseUrl,
          apiKey: { env: 'UPSTREAM_KEY' },
          rename: { m: 'n' },
          headers: { 'x-team': 'a' },
        },
      ],
    })
    t.equal((await gateway.chat(key, prompt('one'))).headers.get('x-sidegate-upstream'), 'default')
    await gateway.reload()
    const response = await gateway.chat(key, prompt('two'))
    t.equal(response.headers.get('x-sidegate-upstream'), 'next')
    t.match(await response.text(), /from the next/)
    t.match(next.received, [{ headers: { authorization: `Bearer ${UPSTREAM_KEY}`, 'x-team': 'a' } }])
    t.match(JSON.parse(next.received[0]!.body), { model: 'n' })
    t.equal(upstream.received.length, 1)
    t.match((await gateway.api('GET', '/status')).body.upstreams, [{ name: 'next' }])
  },

  async passThrough(t) {
    const { gateway, key } = await deploy(t)
    const ask = async () =>
      (await fetchInTime(`${gateway.url}/v1/files`, { headers: { authorization: `Bearer ${key}` } })).status
    t.equal(await ask(), 404)
    editConfig(gateway.folder, { passThrough: [{ path: '/v1/files', methods: ['GET'] }] })
    await gateway.reload()
    t.equal(await ask(), 200)
    editConfig(gateway.folder, { passThrough: [] })
    await gateway.reload()
    t.equal(await ask(), 404)
  },

  async keys(t) {
    const { gateway } = await deploy(t)
    const key = createApiKey(Buffer.alloc(32, 7))
    const declared = { name: 'batch', sha256: hashApiKey(key), labels: { team: 'data' } }
    const ask = async () => (await gateway.chat(key, prompt('hi'))).status
    const active = async () => Number(/^sidegate_keys_active (\d)$/m.exec(await gateway.metrics())?.[1])
    t.same([await ask(), await active()], [401, 1])
    editConfig(gateway.folder, { keys: [declared] })
    await gateway.reload()
    t.same([await ask(), await active()], [200, 2])
    t.match(await gateway.newestEntry(), { key_name: 'batch', labels: { team: 'data' } })
    editConfig(gateway.folder, { keys: [{ ...declared, labels: { team: 'web' }, models: ['m'] }] })
    await gateway.reload()
    t.equal(await ask(), 200)
    t.match(await gateway.newestEntry(), { labels: { team: 'web' } })
    editConfig(gateway.folder, { keys: [] })
    await gateway.reload()
    t.same([await ask(), await active()], [401, 1], 'a removed key is refused at once')

    const signer = newKey()
    writeFileSync(join(gateway.folder, 'jwks.json'), keySetOf(signer))
    const account = { namespace: 'jobs', account: 'batch' }
    const token = await signed({ ...podClaims(Date.now(), account), aud: ['sidegate'] }, signer)
    const askWith = async () => (await gateway.chat(token, prompt('hi'))).status
    t.equal(await askWith(), 401)
    const issued = { issuer: ISSUER, jwks: { file: 'jwks.json' }, audience: 'sidegate' }
    editConfig(gateway.folder, {
      keys: [{ name: 'jobs', serviceAccount: { ...issued, namespace: 'jobs', name: 'batch' } }],
    })
    await gateway.reload()
    t.equal(await askWith(), 200, 'tokens of an issuer stand for keys')
    editConfig(gateway.folder, { keys: [] })
    await gateway.reload()
    t.equal(await askWith(), 401)
  },

  async tools(t) {
    const { gateway, key } = await deploy(t)
    const tools = [{ type: 'mcp', server_label: 'a', server_url: 'https://tools.example' }]
    const ask = async () => (await gateway.chat(key, prompt('hi', { tools }))).status
    t.equal(await ask(), 200)
    editConfig(gateway.folder, { tools: { servers: 'refuse' } })
    await gateway.reload()
    t.equal(await ask(), 403)
  },

  async policy(t) {
    const { gateway, key } = await deploy(t, undefined, { config: { tools: { servers: 'refuse' } } })
    const tools = [{ type: 'mcp', server_label: 'a', server_url: 'https://tools.example' }]
    editConfig(gateway.folder, { policy: { refusalStatus: 400 } })
    await gateway.reload()
    t.equal((await gateway.chat(key, prompt('hi', { tools }))).status, 400)
  },

  async admin(t) {
    const team = (role: string) => ({ name: 'shop', role, token: { env: 'SHOP_TOKEN' } })
    const { gateway } = await deploy(t, undefined, { env, config: { admin: { tokens: [team('viewer')] } } })
    const admin = await signInWith(gateway, ADMIN_TOKEN)
    const shop = await signInWith(gateway, SHOP_TOKEN)
    const live = await fetchInTime(`${gateway.url}/api/v1/usage/logs/live`, {
      headers: { cookie: admin.cookie },
    })
    t.equal(live.status, 200)
    const isOver = live.text().then(() => true)

    editConfig(gateway.folder, { admin: { token: { env: 'OTHER_TOKEN' }, tokens: [team('viewer')] } })
    await gateway.reload()
    t.equal((await sessionOf(gateway, admin.cookie)).status, 401, 'the session of a replaced token is over')
    t.ok(await isOver, 'and so is its live view of the log')
    t.equal((await signInWith(gateway, ADMIN_TOKEN)).status, 401)
    t.equal((await signInWith(gateway, OTHER_TOKEN)).status, 201)
    t.match(await sessionOf(gateway, shop.cookie), { status: 200, body: { role: 'viewer' } }, 'others stay')

    editConfig(gateway.folder, { admin: { tokens: [team('auditor')], sessionTtlSeconds: 60 } })
    await gateway.reload()
    t.equal((await sessionOf(gateway, shop.cookie)).status, 401, 'a changed role asks for a new sign-in')
    const again = await signInWith(gateway, SHOP_TOKEN)
    const { body } = await sessionOf(gateway, again.cookie)
    t.equal(body.role, 'auditor')
    t.ok(Date.parse(body.expires_at) - Date.now() <= 60_000)

    const methods = async () => (await gateway.api('GET', '/session/methods')).body
    t.match(await methods(), { token: true, oidc: false })
    const oidc = { issuer: 'http://127.0.0.1:9', clientId: 'a', roles: { team: 'viewer' } }
    editConfig(gateway.folder, {
      admin: { tokens: [team('auditor')], oidc: { ...oidc, clientSecret: { env: 'SHOP_TOKEN' } } },
    })
    await gateway.reload()
    t.match(await methods(), { token: true, oidc: true })
    t.equal((await sessionOf(gateway, again.cookie)).status, 200)

    editConfig(gateway.folder, { admin: {} })
    await gateway.reload()
    t.equal((await sessionOf(gateway, again.cookie)).status, 401)
    t.equal((await signInWith(gateway, SHOP_TOKEN)).status, 401, 'a removed token signs nobody in')
  },

  async log(t) {
    const { gateway, key } = await deploy(t)
    const calls = () => gateway.logs.filter(({ level }) => level === 'debug').length
    editConfig(gateway.folder, { log: { level: 'warn' } })
    await gateway.reload()
    const before = calls()
    t.equal((await gateway.chat(key, prompt('hi'))).status, 200)
    t.equal(calls(), before)
    editConfig(gateway.folder, { log: { level: 'debug' } })
    await gateway.reload()
    t.equal((await gateway.chat(key, prompt('hi'))).status, 200)
    await until('the line of the call', () => calls() > before)
  },
}

for (const [section, effect] of Object.entries(EFFECTS))
  t.test(`a reload puts ${section} of a changed file in force`, effect)
