// Paths that are forwarded without a scan.

import t from 'tap'
import { openAi } from './client.ts'
import { openGateway, UPSTREAM_KEY } from './gateway.ts'
import { fetchInTime } from './until.ts'
import { json, startUpstream } from './upstream.ts'

const INJECTION_RULE = `
rules:
  - { name: no-injection, type: prompt_injection, pattern: "score>=0.5", action: block, enabled: true }
`

const upstream = await startUpstream()
t.teardown(() => upstream.close())
const gateway = await openGateway(t, {
  upstreamUrl: upstream.baseUrl,
  // There is no prompt for it to judge.
  rules: INJECTION_RULE,
  config: {
    passThrough: [
      { path: '/v1/images/*', methods: ['POST'] },
      { path: '/v1/files', methods: ['GET', 'POST'] },
    ],
  },
})
const { key } = await gateway.createKey()
const client = openAi(gateway, key)

const send = (method: string, path: string, init: RequestInit = {}) =>
  fetchInTime(`${gateway.url}${path}`, {
    method,
    ...init,
    headers: { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) },
  })

t.test('a listed path is forwarded byte for byte, sealed and counted', async (t) => {
  upstream.answer = json({ data: [{ url: 'https://host/bob@example.com' }] })
  const answer = await client.images.generate({ prompt: 'a cat of bob@example.com', model: 'dall-e' })
  t.same(answer.data, [{ url: 'https://host/bob@example.com' }])
  const received = upstream.received.at(-1)!
  t.match(received, { method: 'POST', url: '/v1/images/generations' })
  t.equal(received.headers.authorization, `Bearer ${UPSTREAM_KEY}`)
  t.match(JSON.parse(received.body), { prompt: 'a cat of bob@example.com' })
  const entry = await gateway.newestEntry()
  t.match(entry, {
    api: 'pass_through',
    unscanned: true,
    method: 'POST',
    path: '/v1/images/generations',
    request_bytes: received.body.length,
    model: '',
    total_tokens: 0,
    status: 200,
    outcome: 'ok',
    upstream: 'default',
  })
  t.ok(entry.response_bytes > 0)
  const { body } = await gateway.api('GET', `/usage/logs/${entry.id}`)
  t.same([body.request, body.response], [null, null], 'nothing of it is captured')
  t.match(
    await gateway.metrics(),
    /sidegate_requests_total\{api="pass_through",outcome="ok",stream="false"\} 1/,
  )
})

t.test('bodies and answers of any type pass, and so do errors', async (t) => {
  const bytes = Buffer.from([0, 255, 13, 10, 200])
  upstream.answer = (response, { headers }) => {
    response.writeHead(418, { 'content-type': 'audio/mpeg', etag: '"1"', 'x-secret': 'no' })
    response.end(Buffer.concat([Buffer.from(String(headers['content-type'])), bytes]))
  }
  const answer = await send('POST', '/v1/files?purpose=x', {
    body: bytes,
    headers: { 'content-type': 'application/octet-stream' },
  })
  t.equal(answer.status, 418)
  t.match(Object.fromEntries(answer.headers), { 'content-type': 'audio/mpeg', etag: '"1"' })
  t.notOk(answer.headers.has('x-secret'))
  t.same(
    Buffer.from(await answer.arrayBuffer()),
    Buffer.concat([Buffer.from('application/octet-stream'), bytes]),
  )
  t.equal(upstream.received.at(-1)?.url, '/v1/files?purpose=x')
  t.match(await gateway.newestEntry(), { status: 418, path: '/v1/files', request_bytes: 5 })
})

t.test('an answer that breaks off ends the connection, and its entry says so', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    response.write('half', () => response.destroy())
  }
  await t.rejects(send('GET', '/v1/files').then((answer) => answer.text()))
  t.match(await gateway.entryWith('upstream_error'), { path: '/v1/files', response_bytes: 4 })
})

t.test('a path that is not listed is 404 and says what to add', async (t) => {
  const count = upstream.received.length
  const answer = await send('DELETE', '/v1/files')
  t.equal(answer.status, 404)
  t.match(await answer.json(), {
    error: { code: 'not_found', message: /passThrough: \[\{path: "\/v1\/files", methods: \[DELETE\]\}\]/ },
  })
  const personal = await send('GET', '/v1/users/bob@example.com')
  t.notMatch(await personal.text(), /bob@/)
  t.equal(upstream.received.length, count)
})

t.test('a wrong key and a path with personal data are refused', async (t) => {
  const count = upstream.received.length
  const stranger = await fetchInTime(`${gateway.url}/v1/files`, { headers: { authorization: 'Bearer no' } })
  t.equal(stranger.status, 401)
  const answer = await send('POST', '/v1/images/bob@example.com')
  t.equal(answer.status, 400)
  t.notMatch(JSON.stringify(await gateway.newestEntry()), /bob@/)
  t.equal(upstream.received.length, count)
})
