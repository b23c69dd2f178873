// TLS of both listeners of a gateway: calls by the certificate of a client, sessions, and probes.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { resolve } from 'node:path'
import t from 'tap'
import { makeCertificate, selfSigned, type TestCertificate } from '../server/certificate.ts'
import { ADMIN_TOKEN, discard, prompt, startGateway } from './gateway.ts'
import { inTime } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const WEB = 'spiffe://cluster.local/ns/shop/sa/web'
const AUTHORITY = makeCertificate({ subject: 'authority', isAuthority: true })
const SERVER = selfSigned()
const clientOf = (...uris: string[]) =>
  makeCertificate({ subject: 'c', names: uris.map((uri) => ['uri', uri] as const), issuer: AUTHORITY })
const CLIENT = clientOf(WEB)

const files = t.testdir({
  ...{ 'tls.crt': SERVER.certificate, 'tls.key': SERVER.key, 'ca.crt': AUTHORITY.certificate },
})
const file = (name: string) => ({ file: resolve(files, name) })
const PAIR = { certificate: file('tls.crt'), key: file('tls.key') }
const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())
const gateway = await startGateway({
  upstreamUrl: upstream.baseUrl,
  config: {
    listen: { tls: { ...PAIR, clientCa: file('ca.crt') }, opsTls: { ...PAIR, minVersion: '1.3' } },
    keys: [
      { name: 'shop', clientCertificate: { san: WEB }, models: ['m'], labels: { team: 'web' } },
      { name: 'other', clientCertificate: { san: 'spiffe://cluster.local/ns/shop/sa/other' } },
      { name: 'old', clientCertificate: { san: 'spiffe://old' }, expiresAt: '2020-01-01' },
    ],
  },
})
t.teardown(() => discard(gateway))

interface Asking {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly client?: Pick<TestCertificate, 'certificate' | 'key'>
  readonly body?: object
}

/** Asks over a connection of its own. */
async function ask(url: string, { method = 'GET', headers = {}, client, body }: Asking = {}) {
  const sent = request(url.replace('http:', 'https:'), {
    ...{ method, agent: false, ca: SERVER.certificate },
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(client && { cert: client.certificate, key: client.key }),
  })
  sent.end(body && JSON.stringify(body))
  const [answer] = (await inTime('the answer', once(sent, 'response'))) as [IncomingMessage]
  const text = (await answer.toArray()).join('')
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text,
    body: text.startsWith('{') && JSON.parse(text),
  }
}
const call = (asking: Asking, model = 'm') =>
  ask(`${gateway.url}/v1/chat/completions`, {
    ...{ method: 'POST', body: { ...prompt('hello'), model }, ...asking },
  })
const cookieOf = async () => {
  const { headers } = await ask(`${gateway.url}/api/v1/session`, {
    ...{ method: 'POST', body: { token: ADMIN_TOKEN } },
  })
  return headers['set-cookie']?.[0] ?? ''
}
const cookie = (await cookieOf()).split(';')[0] ?? ''
const manage = (method: string, path: string) =>
  ask(`${gateway.url}/api/v1${path}`, { method, headers: { cookie } })

t.test('a client certificate stands for its key, with every term of it', async (t) => {
  const done = await call({ client: CLIENT })
  t.match([done.status, done.body.choices[0].message.content], [200, 'ok'])
  const { body: log } = await manage('GET', '/usage/logs?limit=1')
  t.match(log.logs[0], { key_name: 'shop', outcome: 'ok' })
  t.match((await call({ client: CLIENT }, 'gpt-5')).status, 403, 'another model')
  const receipt = await ask(`${gateway.url}/v1/audit/receipts/${done.headers['x-request-id']}`, {
    client: CLIENT,
  })
  t.equal(receipt.status, 200, 'its receipts')
  const models = await ask(`${gateway.url}/v1/models`, { client: CLIENT })
  t.not(models.status, 401)
  const refusals: [string, Asking][] = [
    ['no certificate', {}],
    ['another name', { client: clientOf(`${WEB}x`) }],
    ['of itself', { client: makeCertificate({ names: [['uri', WEB]], isAuthority: true }) }],
    ['a bearer counts instead', { client: CLIENT, headers: { authorization: 'Bearer sgate_live_x' } }],
    ['its key has expired', { client: clientOf('spiffe://old') }],
  ]
  for (const [name, asking] of refusals)
    t.match(await call(asking), { status: 401, body: { error: { code: 'invalid_api_key' } } }, name)
  const two = await call({ client: clientOf(WEB, 'spiffe://cluster.local/ns/shop/sa/other') })
  t.match(two, { status: 400, body: { error: { message: /names of two keys/ } } })
})

t.test('such a key is listed, has its last use, and is revoked as others are', async (t) => {
  const listed = async () => (await manage('GET', '/keys')).body.keys.find(({ name }: any) => name === 'shop')
  const key = await listed()
  t.match(key, { state: 'active', source: 'file', labels: { team: 'web' }, last_used_at: /^20/ })
  t.match((await manage('DELETE', `/keys/${key.id}`)).status, 200)
  t.match(await listed(), { state: 'revoked' })
  t.match((await call({ client: CLIENT })).status, 401, 'at once')
})

t.test('the cookie of a session is for TLS, and a page of the listener may sign in', async (t) => {
  t.match(await cookieOf(), /; Secure$/)
  const signIn = (origin: string) =>
    ask(`${gateway.url}/api/v1/session`, {
      ...{ method: 'POST', body: { token: ADMIN_TOKEN }, headers: { origin } },
    })
  t.equal((await signIn(gateway.url.replace('http:', 'https:'))).status, 201)
  t.equal((await signIn('https://evil.example')).status, 403)
})

t.test('probes and metrics are served over TLS and show the certificates', async (t) => {
  const { body } = await ask(`${gateway.opsUrl}/readyz`)
  t.match(body, {
    ready: true,
    certificates: 'ok',
    certificate_errors: [],
    certificate_expires_at: { gateway: /^20/, ops: /^20/ },
  })
  const { text } = await ask(`${gateway.opsUrl}/metrics`)
  for (const name of ['gateway', 'ops']) {
    const labels = `{listener="${name}"}`
    t.match(text, `sidegate_certificate_in_force${labels} 1`)
    const [, expires] = new RegExp(`certificate_expires_seconds\\${labels} (\\S+)`).exec(text) ?? []
    t.equal(Math.round((Number(expires) * 1000 - Date.now()) / 3_600_000), 24)
  }
  await t.rejects(fetch(`${gateway.url}/console/`), 'no plain HTTP')
})
