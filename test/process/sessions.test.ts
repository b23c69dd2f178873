// Sessions of the management API on the running process, and the requests that it refuses.

import t from 'tap'
import { rawRequest } from './client.ts'
import { ADMIN_TOKEN, deploy, prompt, startGateway } from './gateway.ts'
import { fetchInTime, until } from './until.ts'
import { completion, json } from './upstream.ts'

const { upstream, gateway, key } = await deploy(t, json(completion('ok')))
const { api, url } = gateway
const post = (path: string, headers: Record<string, string>, body: unknown = {}) =>
  fetchInTime(`${url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

t.test('a session starts with the admin token and ends with a sign-out', async (t) => {
  const made = await post('/session', {}, { token: ADMIN_TOKEN })
  t.equal(made.status, 201)
  t.ok(Date.parse(((await made.json()) as any).expires_at) > Date.now())
  const cookie = made.headers.get('set-cookie') ?? ''
  for (const flag of ['HttpOnly', 'SameSite=Strict', 'Path=/', 'sidegate_session=']) t.match(cookie, flag)
  t.notMatch(cookie, 'Secure')
  t.match(
    (await post('/session', { 'x-forwarded-proto': 'https' }, { token: ADMIN_TOKEN })).headers.get(
      'set-cookie',
    ),
    'Secure',
  )
  const headers = { cookie: cookie.split(';')[0] ?? '' }
  t.equal((await fetchInTime(`${url}/api/v1/session`, { headers })).status, 200)
  t.equal((await fetchInTime(`${url}/api/v1/session`, { method: 'DELETE', headers })).status, 200)
  t.equal((await fetchInTime(`${url}/api/v1/keys`, { headers })).status, 401, 'signed out')
  t.match(await (await post('/session', {}, { token: 'wrong' })).json(), { error: { code: 'invalid_token' } })
})

t.test('a request without a session, from another site or for another host is refused', async (t) => {
  const cookie = await gateway.signIn()
  t.equal((await fetchInTime(`${url}/api/v1/keys`)).status, 401)
  t.equal(
    (await fetchInTime(`${url}/api/v1/keys`, { headers: { authorization: `Bearer ${key}` } })).status,
    401,
    'an API key is no session',
  )
  t.equal((await fetchInTime(`${url}/api/v1/nothing`, { headers: { cookie } })).status, 404)
  const wrong = await fetchInTime(`${url}/api/v1/keys`, { method: 'PUT', headers: { cookie } })
  t.match([wrong.status, wrong.headers.get('allow')], [405, 'POST, GET'])
  t.equal(
    (
      await fetchInTime(`${url}/api/v1/keys`, {
        method: 'POST',
        headers: { cookie, 'content-type': 'text/plain' },
        body: '{}',
      })
    ).status,
    415,
  )
  for (const host of ['evil.example', 'localhost.evil.example', '10.0.0.1']) {
    t.equal((await rawRequest('GET', `${url}/api/v1/keys`, { host, cookie })).status, 421, `Host: ${host}`)
  }
  for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1', '127.1.2.3:80', '[::1]:8484']) {
    t.equal((await rawRequest('GET', `${url}/api/v1/keys`, { host, cookie })).status, 200, `Host: ${host}`)
  }
  const own = new URL(url).host
  const cases: [Record<string, string>, number][] = [
    [{}, 201],
    [{ origin: `http://${own}` }, 201],
    [{ 'sec-fetch-site': 'same-origin' }, 201],
    [{ 'sec-fetch-site': 'none' }, 201],
    [{ origin: 'http://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost:1' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site', origin: `http://${own}` }, 403],
  ]
  for (const [headers, status] of cases) {
    t.equal(
      (await post('/keys', { cookie, ...headers }, { name: 'n' })).status,
      status,
      JSON.stringify(headers),
    )
  }
  t.match((await api('POST', '/keys', '{"name":"a","name":"b"}')).body, { error: { code: 'invalid_body' } })
  // A dry run may be as long as a prompt; other bodies have a few fields, with or without a
  // session.
  const long = 'x'.repeat(65 * 1024)
  const refused = await post('/session', {}, { token: long })
  t.equal(refused.status, 413)
  t.equal((await api('POST', '/keys', { name: long })).status, 413)
  t.equal((await api('POST', '/rules/evaluate', prompt(long))).status, 200)
})

t.test('wrong tokens throttle sign-ins, and a session survives a restart with the same token', async (t) => {
  let cookie = ''
  const guesses = await Promise.all(
    Array.from({ length: 60 }, (_, i) => post('/session', {}, { token: `guess ${i}` })),
  )
  const throttled = guesses.filter(({ status }) => status === 429)
  t.ok(throttled.length > 0)
  t.equal(guesses.filter(({ status }) => status === 401).length, guesses.length - throttled.length)
  for (const { headers } of throttled) t.equal(headers.get('retry-after'), '1')
  await until('the right token gets in', async () => {
    cookie = await gateway.signIn()
    return cookie !== ''
  })
  const lines = gateway.logs.filter(({ msg }) => String(msg).startsWith('sign-in'))
  t.match(lines.at(-1), { level: 'info', msg: 'sign-in', address: '127.0.0.1', result: 'ok' })
  t.ok(lines.some(({ level, result }) => level === 'warn' && result === 'wrong_token'))
  t.match(await gateway.metrics(), /sidegate_sign_ins_total\{result="throttled"\} [1-9]/)
  t.equal(
    (await fetchInTime(`${url}/api/v1/keys`, { headers: { cookie } })).status,
    200,
    'an open session continues',
  )
  await gateway.stop()
  const again = await startGateway({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.equal(
    (await fetchInTime(`${again.url}/api/v1/keys`, { headers: { cookie } })).status,
    200,
    'a session survives a restart',
  )
  await again.stop()
  const changed = await startGateway({
    upstreamUrl: upstream.baseUrl,
    folder: gateway.folder,
    env: { ADMIN_TOKEN: 'another-admin-token-for-tests' },
  })
  t.equal((await fetchInTime(`${changed.url}/api/v1/keys`, { headers: { cookie } })).status, 401)
  await changed.stop()
})
