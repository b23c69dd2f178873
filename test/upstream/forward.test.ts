// Calls to the upstream: what is sent, what is returned, what is retried, and which failures are errors.

import { brotliCompressSync, createGzip, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { type Answer, json, startUpstream } from '../process/upstream.ts'
import { Client, chat, deploy, inTurn, newCall, open, readAll, requestTo, settings, soon } from './fixture.ts'

t.test('a chat call is sent with the credential and allowed headers, and its answer returned', async (t) => {
  const { server, upstream, forward } = await deploy(t, json({ ok: 1 }, 200, { 'x-a': 'b' }))
  const response = await forward()
  t.match(response, { status: 200, headers: { 'x-a': 'b' } })
  t.equal(await readAll(response), '{"ok":1}')
  t.match(server.received[0], {
    method: 'POST',
    url: '/v1/chat/completions',
    body: '{"model":"m"}',
    headers: {
      authorization: 'Bearer credential',
      'accept-encoding': 'identity',
      'content-length': '13',
      'x-title': 'app',
    },
  })
  t.equal(server.received[0]?.headers.cookie, undefined)
  const models = await upstream.models({}, new Client(), newCall())
  t.equal(await readAll(models), '{"ok":1}')
  t.match(server.received[1], { method: 'GET', url: '/v1/models', body: '' })
  t.equal(response.credential, 'credential')
  t.equal(models.credential, 'credential')
})

t.test('an upstream may need no credential and have its API at the root', async (t) => {
  const server = await startUpstream()
  t.teardown(() => server.close())
  const upstream = open(t, settings(server.baseUrl.replace(/\/v1$/, ''), { apiKey: null }))
  const response = await chat(upstream)
  await readAll(response)
  t.equal(server.received[0]?.url, '/chat/completions')
  t.equal(server.received[0]?.headers.authorization, undefined)
  t.equal(response.credential, null)
})

t.test('a response carries the credential of its own request, null for a placeholder', async (t) => {
  let value = 'the-first-credential'
  const { server, upstream } = await deploy(
    t,
    (response) => {
      value = 'the-second-credential'
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    },
    { apiKey: { current: () => value, onTurn: () => {} } },
  )
  const ask = () => upstream.models({}, new Client(), newCall())
  t.equal((await ask()).credential, 'the-first-credential', 'it changed during the call')
  t.equal((await ask()).credential, 'the-second-credential')
  value = 'ollama'
  t.equal((await ask()).credential, null, 'a common word')
  t.equal(server.received[2]?.headers.authorization, 'Bearer ollama')
})

t.test('repeated response headers are joined by commas', async (t) => {
  const twice = (response: Parameters<Answer>[0], encoding: string[]) => {
    response.setHeader('content-type', ['text/event-stream', 'application/json'])
    response.setHeader('content-encoding', encoding)
    response.end('{}')
  }
  const { forward } = await deploy(t, (response) => twice(response, ['identity']))
  const { headers } = await forward()
  t.equal(headers['content-type'], 'text/event-stream, application/json')
  const odd = await deploy(t, (response) => twice(response, ['identity', 'gzip']))
  await t.rejects(odd.forward(), { code: 'upstream_unavailable' })
})

t.test('a 4xx response is returned and not retried', async (t) => {
  for (const status of [400, 401, 404, 422, 429]) {
    const { server, forward } = await deploy(t, json({ error: {} }, status))
    t.equal((await forward()).status, status)
    t.equal(server.received.length, 1)
  }
})

t.test('temporary failures are retried up to the limit', async (t) => {
  for (const status of [502, 503, 504]) {
    const { server, forward } = await deploy(t, inTurn(json({}, status), json({ ok: 1 })))
    t.equal((await forward()).status, 200, `${status}, then 200`)
    t.equal(server.received.length, 2)
  }
  const broken = await deploy(t, json({}, 503))
  t.equal((await broken.forward()).status, 503, 'the last answer is returned')
  t.equal(broken.server.received.length, 3)
  const once = await deploy(t, json({}, 503), { retries: { attempts: 0 } })
  t.equal((await once.forward()).status, 503)
  t.equal(once.server.received.length, 1)
})

t.test('a 429 is returned at once, with any retry-after', async (t) => {
  for (const headers of [{}, { 'retry-after': '0' }, { 'retry-after': '30' }, { 'retry-after-ms': '1' }]) {
    const { server, forward } = await deploy(t, json({}, 429, headers))
    t.match(await forward(), { status: 429, headers })
    t.equal(server.received.length, 1)
  }
})

t.test('the requests of a call are counted, and share its retries', async (t) => {
  const { server, upstream } = await deploy(
    t,
    inTurn(json({}, 503), json({}, 400), json({}, 503), json({}, 503)),
  )
  const call = newCall()
  const both = [requestTo('1'), requestTo('2')]
  t.equal((await upstream.forward(both, {}, new Client(), call)).status, 503)
  t.same(
    server.received.map(({ body }) => body),
    ['1', '1', '2', '2'],
  )
  t.equal(call.attempts, 4)
  const gone = newCall()
  const unreachable = open(t, settings('http://127.0.0.1:1/v1'))
  await t.rejects(unreachable.models({}, new Client(), gone), { code: 'upstream_unavailable' })
  t.equal(gone.attempts, 3, 'requests that found no connection too')
  const left = new Client()
  left.disconnect()
  const never = newCall()
  await t.rejects(upstream.models({}, left, never), { code: 'upstream_unavailable' })
  t.equal(never.attempts, 0)
})

t.test('a request that the upstream may have acted on is not repeated', async (t) => {
  const unfinished: Answer = (response) => void response.destroy()
  const { server, forward } = await deploy(t, unfinished)
  await t.rejects(forward(), { code: 'upstream_unavailable' })
  t.equal(server.received.length, 1)
  const failing = await deploy(t, json({}, 500))
  t.equal((await failing.forward()).status, 500)
  t.equal(failing.server.received.length, 1)
})

t.test('retries to a failing upstream are limited by a budget', async (t) => {
  const { server, forward } = await deploy(t, json({}, 503))
  const calls = 20
  for (let i = 0; i < calls; i++) await readAll(await forward())
  // The budget starts with ten, and each call earns a fifth.
  t.equal(server.received.length - calls, 10 + calls / 5 - 1)
})

t.test('an answer that is compressed unasked is decoded as it arrives', async (t) => {
  const text = JSON.stringify({ text: 'é'.repeat(1000) })
  for (const [coding, encode] of [
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['deflate', deflateRawSync],
  ] as const) {
    const bytes = encode(text)
    const { forward } = await deploy(t, (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding })
      response.end(bytes)
    })
    const answer = await forward()
    t.equal(answer.headers['content-encoding'], undefined)
    t.equal(String(await readAll(answer)), text, coding)
    const cut = await deploy(t, (response) => {
      response.writeHead(200, { 'content-encoding': coding })
      response.end(bytes.subarray(0, -9))
    })
    await t.rejects(readAll(await cut.forward()), { code: 'upstream_unavailable' }, `${coding}: cut`)
  }
  // Each event is readable before the next is made.
  const packed = createGzip()
  const { forward } = await deploy(t, (response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' })
    packed.pipe(response)
  })
  const answering = forward()
  for (const event of ['one', 'two', 'three']) {
    packed.write(event)
    await new Promise<void>((resolve) => packed.flush(() => resolve()))
    t.equal(String(await soon((await answering).read(), event)), event)
  }
  packed.end()
  t.equal(await soon((await answering).read(), 'the end'), null)
})

t.test('a redirect and a response in an unknown coding are errors', async (t) => {
  const moved = await deploy(t, json({}, 307, { location: 'http://127.0.0.1:1/' }))
  await t.rejects(moved.forward(), { code: 'upstream_unavailable', message: /307/ })
  t.equal(moved.server.received.length, 1, 'the redirect is not followed')
  const packed = await deploy(t, json({}, 200, { 'content-encoding': 'x' }))
  await t.rejects(packed.forward(), { code: 'upstream_unavailable', message: /encoding/ })
  const plain = await deploy(t, json({}, 200, { 'content-encoding': 'identity' }))
  t.equal((await plain.forward()).status, 200)
})

t.test('a response without headers or without an end times out', async (t) => {
  const silent = await deploy(t, () => {})
  await t.rejects(soon(silent.forward(), 'headers timeout'), { code: 'upstream_timeout', status: 504 })
  t.equal(silent.server.received.length, 1)
  const stuck = await deploy(t, (response) => {
    response.writeHead(200)
    response.write('some')
  })
  const response = await stuck.forward()
  t.equal(String(await response.read()), 'some')
  await t.rejects(soon(response.read(), 'idle timeout'), { code: 'upstream_timeout' })
})

t.test('an unreachable upstream is a 502 that does not name its address', async (t) => {
  const gone = await startUpstream()
  await gone.close()
  const upstream = open(t, settings(gone.baseUrl))
  const error = await chat(upstream).catch((e) => e)
  t.match(error, { code: 'upstream_unavailable', status: 502 })
  t.notMatch(error.message, new URL(gone.baseUrl).port)
})
