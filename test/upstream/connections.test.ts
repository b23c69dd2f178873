// Connections to the upstream: their reuse and end, clients that disconnect, TLS and proxies.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import t from 'tap'
import { fixedSecret } from '../../src/core/secret.ts'
import { wasSent } from '../../src/upstream/response.ts'
import { json, startUpstream } from '../process/upstream.ts'
import {
  Client,
  chat,
  deploy,
  errorOf,
  listen,
  newCall,
  open,
  outcomeOf,
  readAll,
  settings,
  soon,
  startSecure,
} from './fixture.ts'
import { startProxy } from './proxy.ts'

t.test('an idle connection without TLS is closed within five seconds', async (t) => {
  // This server neither announces a timeout nor closes.
  const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => void response.end('{}'))
  const upstream = open(t, settings(await listen(t, server)))
  const connected = once(server, 'connection')
  await readAll(await chat(upstream))
  const [socket] = await connected
  const startMs = performance.now()
  await soon(once(socket, 'end'), 'close of the idle connection')
  // The limit is generous because the machine may be busy.
  t.ok(performance.now() - startMs < 20_000)
})

t.test('an answer without an end to its head or to the framing of its chunks is refused', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
  const answers: Readonly<Record<string, string>> = {
    'reason phrase': 'HTTP/1.1 200 ',
    'field name': `${head}x`,
    'chunk extension': `${head}transfer-encoding: chunked\r\n\r\n1;a`,
  }
  for (const [what, start] of Object.entries(answers)) {
    let sent = 0
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.write(start)
        const piece = 'a'.repeat(65_536)
        const more = () => {
          while (!socket.destroyed && socket.write(piece)) sent += piece.length
        }
        socket.on('drain', more)
        more()
      })
    })
    const upstream = open(t, settings(await listen(t, server as never), { retries: { attempts: 1 } }))
    const outcome = chat(upstream).then(readAll)
    t.equal((await soon(errorOf(outcome), what)).code, 'upstream_unavailable', what)
    t.ok(sent < 64 * 1024 ** 2, `${what}: ${sent} bytes`)
  }
})

t.test('a disconnected client aborts its request', async (t) => {
  const { server, forward } = await deploy(t, () => {})
  const client = new Client()
  const call = forward(client)
  const received = await soon(server.next(), 'request')
  client.disconnect()
  const error = await soon(errorOf(call), 'error')
  t.equal(error.code, 'upstream_unavailable')
  t.ok(wasSent(error), 'the upstream has read the request')
  await soon(received.closed, 'close of the connection')
})

t.test('no retry is sent for a disconnected client', async (t) => {
  const { server, forward } = await deploy(t, json({}, 503, { 'retry-after': '2' }))
  const client = new Client()
  const call = forward(client)
  await soon(server.next(), 'request')
  client.disconnect()
  await t.rejects(soon(call, 'error'), { code: 'upstream_unavailable' })
  t.equal(server.received.length, 1)
})

t.test('no connection is opened for a disconnected client', async (t) => {
  const server = createServer(() => {})
  let connections = 0
  server.on('connection', () => connections++)
  const upstream = open(t, settings(await listen(t, server)))
  const early = new Client()
  early.disconnect()
  const never = await soon(errorOf(upstream.models({}, early, newCall())), 'error')
  t.match(never, { code: 'upstream_unavailable' })
  t.notOk(wasSent(never))
  const late = new Client()
  const call = errorOf(upstream.models({}, late, newCall()))
  await soon(once(server, 'request'), 'request')
  late.disconnect()
  await soon(call, 'error')
  t.equal(connections, 1)
})

t.test('a disconnected client does not wait for a free connection', async (t) => {
  const timeouts = { connectMs: 500, headersMs: 60_000, idleMs: 500 }
  const { server, forward } = await deploy(t, () => {}, { timeouts }, 1)
  forward().catch(() => {})
  await soon(server.next(), 'request')
  const client = new Client()
  const second = errorOf(forward(client))
  client.disconnect()
  const error = await soon(second, 'error')
  t.match(error, { code: 'upstream_unavailable' })
  t.notOk(wasSent(error))
})

t.test('a connection is reused, also after a discarded response', async (t) => {
  const sockets = new Set<object>()
  const server = createServer((request, response) => {
    sockets.add(request.socket)
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: [DONE]\n\n')
  })
  const upstream = open(t, settings(await listen(t, server)))
  for (let i = 0; i < 5; i++) {
    const response = await chat(upstream)
    await response.read()
    response.discard()
  }
  t.equal(sockets.size, 1)
})

t.test('TLS uses HTTP/1.1 and rejects an untrusted certificate', async (t) => {
  const secure = await startSecure(t)
  if (secure === null) return
  const baseUrl = `https://${secure.host}/v1`
  t.equal(await outcomeOf(baseUrl), 'DEPTH_ZERO_SELF_SIGNED_CERT')
  t.same(secure.versions, [])
  secure.trust()
  t.equal(await outcomeOf(baseUrl), '{}')
  t.same(secure.versions, ['1.1'])
})

t.test('a proxy sees the host of a TLS upstream and none of the call', async (t) => {
  const secure = await startSecure(t)
  if (secure === null) return
  const proxy = await startProxy()
  t.teardown(() => proxy.close())
  const baseUrl = `https://${secure.host}/v1`
  const through = { proxy: fixedSecret(proxy.url.replace('//', '//me:pass%20word@')) }
  t.equal(await outcomeOf(baseUrl, through), 'DEPTH_ZERO_SELF_SIGNED_CERT')
  secure.trust()
  t.equal(await outcomeOf(baseUrl, through), '{}')
  t.same(secure.versions, ['1.1'])
  t.equal(proxy.tunnels.length, 2)
  for (const { target, headers, sent } of proxy.tunnels) {
    t.equal(target, secure.host)
    t.equal(headers['proxy-authorization'], `Basic ${Buffer.from('me:pass word').toString('base64')}`)
    t.notMatch(`${JSON.stringify(headers)}${sent}`, /credential|model|completions/)
  }
})

t.test('a proxy tunnels to an upstream without TLS, and its connections are reused', async (t) => {
  const proxy = await startProxy()
  t.teardown(() => proxy.close())
  const { server, upstream, forward } = await deploy(t, json({ ok: 1 }), { proxy: fixedSecret(proxy.url) })
  for (let i = 0; i < 5; i++) t.equal(await readAll(await forward()), '{"ok":1}')
  t.equal(await readAll(await upstream.models({}, new Client(), newCall())), '{"ok":1}')
  const [chat, models] = [server.received[4], server.received[5]]
  t.match(chat, {
    url: '/v1/chat/completions',
    headers: { authorization: 'Bearer credential', 'x-title': 'app' },
  })
  t.match(models, { method: 'GET', url: '/v1/models' })
  t.equal(chat?.headers.host, new URL(server.baseUrl).host)
  for (const { headers } of server.received) t.notMatch(Object.keys(headers), /proxy/)
  t.ok(proxy.tunnels.length < server.received.length)
  t.same(proxy.others, [])
})

t.test('a proxy that refuses the tunnel fails the call, after a retry where that may help', async (t) => {
  const server = await startUpstream()
  t.teardown(() => server.close())
  const via = async (...statuses: number[]) => {
    const proxy = await startProxy((number) => statuses[number - 1] ?? 200)
    t.teardown(() => proxy.close())
    const call = outcomeOf(server.baseUrl, { proxy: fixedSecret(proxy.url), retries: { attempts: 1 } })
    const outcome = await soon(call, 'call through the proxy')
    return { outcome: outcome.startsWith('{') ? 'an answer' : outcome, requests: proxy.tunnels.length }
  }
  t.match(await via(407, 407), { outcome: /\(407\)/, requests: 2 })
  t.same(await via(503), { outcome: 'an answer', requests: 2 }, 'nothing was sent, so it is retried')
  t.same(await via(-1), { outcome: 'an answer', requests: 2 })
  t.same(await via(-1, -1), { outcome: 'UND_ERR_PRX_CONN', requests: 2 })
  t.equal((await via(0)).outcome, 'UND_ERR_HEADERS_TIMEOUT', 'after the time to connect')
  const gone = await startProxy()
  gone.close()
  t.equal(await outcomeOf(server.baseUrl, { proxy: fixedSecret(gone.url) }), 'ECONNREFUSED', 'no direct call')
  t.equal(server.received.length, 2)
})
