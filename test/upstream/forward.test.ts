import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t from 'tap'
import type { Config } from '../../src/core/config.ts'
import type { GatewayError } from '../../src/core/errors.ts'
import { fixedSecret } from '../../src/core/secret.ts'
import {
  decide,
  type Permit,
  type PermittedRequest,
  type PermittedRequests,
} from '../../src/policy/decide.ts'
import { type Cancellation, Upstream } from '../../src/upstream/forward.ts'
import { upstreamCause, wasSent } from '../../src/upstream/response.ts'
import { select } from '../policy/rules.ts'
import { type Answer, json, startUpstream } from '../process/upstream.ts'
import { startProxy } from './proxy.ts'

type T = Parameters<NonNullable<Parameters<typeof t.test>[0]>>[0]

class Caller implements Cancellation {
  cancelled = false
  readonly #listeners: (() => void)[] = []

  onCancel(listener: () => void): void {
    if (this.cancelled) listener()
    else this.#listeners.push(listener)
  }

  cancel(): void {
    this.cancelled = true
    for (const listener of this.#listeners.splice(0)) listener()
  }
}

const requestTo = (body: string, target = '/chat/completions'): PermittedRequest => ({
  target,
  body: Buffer.from(body),
})

function permit(...requests: PermittedRequests): Permit {
  const evidence = {
    selection: select([]),
    findings: [],
    keywordHits: [],
    injectionScore: null,
    modelThreshold: 1,
    limits: [],
  }
  const decision = decide(evidence, () => requests)
  if (decision.outcome !== 'permit') throw new Error('nothing forbids it')
  return decision.permit
}

const settings = (baseUrl: string, more: Partial<Config['upstream']> = {}): Config['upstream'] => ({
  baseUrl,
  apiKey: fixedSecret('credential'),
  proxy: null,
  timeouts: { connectMs: 500, headersMs: 500, idleMs: 500 },
  retries: { attempts: 2 },
  ...more,
})

async function deploy(t: T, answer: Answer, more: Partial<Config['upstream']> = {}) {
  const server = await startUpstream(answer)
  const upstream = new Upstream(settings(server.baseUrl, more), 4)
  t.teardown(async () => {
    await upstream.close()
    await server.close()
  })
  const forward = (caller: Cancellation = new Caller()) =>
    upstream.forward(permit(requestTo('{"model":"m"}')), { 'x-title': 'app', cookie: 'c' }, caller)
  return { server, upstream, forward }
}

async function readAll(response: { read(): Promise<Buffer | null> }): Promise<string> {
  let text = ''
  for (let piece = await response.read(); piece !== null; piece = await response.read()) text += piece
  return text
}

const refusalOf = (call: Promise<unknown>): Promise<GatewayError> =>
  call.then(
    () => Promise.reject(new Error('it was answered')),
    (error: GatewayError) => error,
  )

/** The n-th answer to the n-th request, the last one from then on. */
const inTurn = (...answers: Answer[]): Answer => {
  let turn = 0
  return (...args) => answers[Math.min(turn++, answers.length - 1)]?.(...args)
}

t.test('what is sent, and what comes back', async (t) => {
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
  const models = await upstream.models({}, new Caller())
  t.equal(await readAll(models), '{"ok":1}')
  t.match(server.received[1], { method: 'GET', url: '/v1/models', body: '' })
  t.equal(response.credential, 'credential')
  t.equal(models.credential, 'credential')
})

t.test('an idle connection without TLS is closed before a server does that does not say when', async (t) => {
  // It would never.
  const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => void response.end('{}'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const upstream = new Upstream(settings(`http://127.0.0.1:${port}/v1`), 1)
  t.teardown(async () => {
    await upstream.close()
    server.close()
  })
  const connected = once(server, 'connection')
  const response = await upstream.forward(permit(requestTo('{}')), {}, new Caller())
  await readAll(response)
  const [socket] = await connected
  const startMs = performance.now()
  await once(socket, 'end')
  t.ok(performance.now() - startMs < 20_000)
})

t.test('an upstream without a credential, at the root of its host', async (t) => {
  const server = await startUpstream()
  const upstream = new Upstream(settings(server.baseUrl.replace(/\/v1$/, ''), { apiKey: null }), 1)
  t.teardown(() => Promise.all([upstream.close(), server.close()]))
  const response = await upstream.forward(permit(requestTo('{}')), {}, new Caller())
  await readAll(response)
  t.equal(server.received[0]?.url, '/chat/completions')
  t.equal(server.received[0]?.headers.authorization, undefined)
  t.equal(response.credential, null)
})

t.test('a credential that changes while the upstream is at work, and one that is none', async (t) => {
  let value = 'the-first-credential'
  const server = await startUpstream((response) => {
    value = 'the-second-credential'
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const apiKey = { current: () => value, onTurn: () => {} }
  const upstream = new Upstream(settings(server.baseUrl, { apiKey }), 1)
  t.teardown(() => Promise.all([upstream.close(), server.close()]))
  const ask = () => upstream.models({}, new Caller())
  t.equal((await ask()).credential, 'the-first-credential', 'what it was asked with')
  t.equal((await ask()).credential, 'the-second-credential')
  value = 'ollama'
  t.equal((await ask()).credential, null, 'a word of many answers')
  t.equal(server.received[2]?.headers.authorization, 'Bearer ollama')
})

t.test('headers that come twice', async (t) => {
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

t.test('refusals of the upstream are answers', async (t) => {
  for (const status of [400, 401, 404, 422]) {
    const { server, forward } = await deploy(t, json({ error: {} }, status))
    t.equal((await forward()).status, status)
    t.equal(server.received.length, 1)
  }
})

t.test('what may pass is tried again, and no more often than allowed', async (t) => {
  for (const status of [429, 502, 503, 504]) {
    const { server, forward } = await deploy(t, inTurn(json({}, status), json({ ok: 1 })))
    t.equal((await forward()).status, 200, `${status}, then 200`)
    t.equal(server.received.length, 2)
  }
  const limited = await deploy(t, json({}, 429))
  t.equal((await limited.forward()).status, 429, 'in the end passed on')
  t.equal(limited.server.received.length, 3)
  const broken = await deploy(t, json({}, 503))
  await t.rejects(broken.forward(), { code: 'upstream_unavailable', message: /503/ })
  t.equal(broken.server.received.length, 3)
  const once = await deploy(t, json({}, 503), { retries: { attempts: 0 } })
  await t.rejects(once.forward(), { code: 'upstream_unavailable' })
  t.equal(once.server.received.length, 1)
})

t.test('retry-after is waited for when it is short, else it is the client’s', async (t) => {
  const long = await deploy(t, json({}, 429, { 'retry-after': '30' }))
  t.match(await long.forward(), { status: 429, headers: { 'retry-after': '30' } })
  t.equal(long.server.received.length, 1)
})

t.test('what may have been acted on is not sent twice', async (t) => {
  const unfinished: Answer = (response) => void response.destroy()
  const { server, forward } = await deploy(t, unfinished)
  await t.rejects(forward(), { code: 'upstream_unavailable' })
  t.equal(server.received.length, 1)
  const failing = await deploy(t, json({}, 500))
  await t.rejects(failing.forward(), { code: 'upstream_unavailable', message: /500/ })
  t.equal(failing.server.received.length, 1)
})

t.test('a struggling upstream is not hit harder: retries have a budget', async (t) => {
  const { server, forward } = await deploy(t, json({}, 503))
  const calls = 20
  for (let i = 0; i < calls; i++) await t.rejects(forward(), { code: 'upstream_unavailable' })
  // Ten are saved up, and each call earns a fifth of one.
  t.equal(server.received.length - calls, 10 + calls / 5 - 1)
})

t.test('answers that cannot be passed on', async (t) => {
  const moved = await deploy(t, json({}, 307, { location: 'http://127.0.0.1:1/' }))
  await t.rejects(moved.forward(), { code: 'upstream_unavailable', message: /307/ })
  t.equal(moved.server.received.length, 1, 'redirects are not followed')
  const packed = await deploy(t, json({}, 200, { 'content-encoding': 'gzip' }))
  await t.rejects(packed.forward(), { code: 'upstream_unavailable', message: /encoding/ })
  const plain = await deploy(t, json({}, 200, { 'content-encoding': 'identity' }))
  t.equal((await plain.forward()).status, 200)
})

t.test('slow upstreams', async (t) => {
  const silent = await deploy(t, () => {})
  await t.rejects(silent.forward(), { code: 'upstream_timeout', status: 504 })
  t.equal(silent.server.received.length, 1)
  const stuck = await deploy(t, (response) => {
    response.writeHead(200)
    response.write('some')
  })
  const response = await stuck.forward()
  t.equal(String(await response.read()), 'some')
  await t.rejects(response.read(), { code: 'upstream_timeout' })
})

t.test('an upstream that is not there', async (t) => {
  const gone = await startUpstream()
  await gone.close()
  const upstream = new Upstream(settings(gone.baseUrl), 1)
  t.teardown(() => upstream.close())
  const port = new URL(gone.baseUrl).port
  const error = await upstream.forward(permit(requestTo('{}')), {}, new Caller()).catch((e) => e)
  t.match(error, { code: 'upstream_unavailable', status: 502 })
  t.notMatch(error.message, port, 'where it should be is nobody’s business')
})

t.test('a caller that leaves', async (t) => {
  const silent = await deploy(t, () => {})
  const caller = new Caller()
  const call = silent.forward(caller)
  const received = await silent.server.next()
  caller.cancel()
  const left = await refusalOf(call)
  t.equal(left.code, 'upstream_unavailable')
  t.ok(wasSent(left), 'the upstream has read it')
  await received.closed

  const busy = await deploy(t, json({}, 503, { 'retry-after': '2' }))
  const leaving = new Caller()
  const waiting = busy.forward(leaving)
  await busy.server.next()
  leaving.cancel()
  await t.rejects(waiting, { code: 'upstream_unavailable' })
  t.equal(busy.server.received.length, 1, 'nothing is sent again for nobody')

  const server = createServer(() => {})
  let connections = 0
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const upstream = new Upstream(settings(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), 1)
  t.teardown(async () => {
    await upstream.close()
    server.close()
  })
  const before = new Caller()
  before.cancel()
  const never = await refusalOf(upstream.models({}, before))
  t.match(never, { code: 'upstream_unavailable' })
  t.notOk(wasSent(never))
  const asking = new Caller()
  const asked = refusalOf(upstream.models({}, asking))
  await once(server, 'request')
  asking.cancel()
  await asked
  t.equal(connections, 1, 'and none is opened for nobody')
})

t.test('a caller that leaves while no connection is free does not wait for one', async (t) => {
  const server = await startUpstream(() => {})
  const upstream = new Upstream(
    settings(server.baseUrl, { timeouts: { connectMs: 500, headersMs: 60_000, idleMs: 500 } }),
    1,
  )
  t.teardown(() => Promise.all([upstream.close(), server.close()]))
  const first = upstream.forward(permit(requestTo('{}')), {}, new Caller())
  first.catch(() => {})
  await server.next()
  const caller = new Caller()
  const second = refusalOf(upstream.forward(permit(requestTo('{}')), {}, caller))
  caller.cancel()
  t.match(await second, { code: 'upstream_unavailable' })
  t.notOk(wasSent(await second))
})

t.test('only what the permit holds is sent, and only once', async (t) => {
  const { server, upstream } = await deploy(t, json({ ok: true }))
  const once = permit(requestTo('{"model":"m"}', '/elsewhere'))
  const response = await upstream.forward(once, {}, new Caller())
  await readAll(response)
  await t.rejects(upstream.forward(once, {}, new Caller()), /was used before/)
  t.match(
    server.received.map(({ url, body }) => [url, body]),
    [['/v1/elsewhere', '{"model":"m"}']],
  )
})

t.test('a request that the upstream refuses gives way to the next one of the permit', async (t) => {
  for (const status of [400, 422]) {
    const { server, upstream } = await deploy(t, inTurn(json({ no: 1 }, status), json({ ok: 1 })))
    const response = await upstream.forward(permit(requestTo('1'), requestTo('2')), {}, new Caller())
    t.same([response.status, await readAll(response)], [200, '{"ok":1}'])
    t.same(
      server.received.map(({ body }) => body),
      ['1', '2'],
    )
  }
  const { server, upstream } = await deploy(t, json({ no: 1 }, 401))
  const other = await upstream.forward(permit(requestTo('1'), requestTo('2')), {}, new Caller())
  t.same([other.status, server.received.length], [401, 1], 'any other status is the answer')
  const { upstream: stubborn } = await deploy(t, json({ no: 1 }, 400))
  const last = await stubborn.forward(permit(requestTo('1'), requestTo('2')), {}, new Caller())
  t.equal(last.status, 400, 'the answer to the last request counts')
})

t.test('connections are used again, also after an answer that was let go', async (t) => {
  const sockets = new Set<object>()
  const server = createServer((request, response) => {
    sockets.add(request.socket)
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: [DONE]\n\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const upstream = new Upstream(settings(`http://127.0.0.1:${port}`), 1)
  t.teardown(async () => {
    await upstream.close()
    server.close()
  })
  for (let i = 0; i < 5; i++) {
    const response = await upstream.forward(permit(requestTo('{}')), {}, new Caller())
    await response.read()
    response.discard()
  }
  t.equal(sockets.size, 1)
})

/** A server for `localhost` that has HTTP/2 too, with a certificate of its own; null where there is no openssl. */
async function startSecure(t: T) {
  const folder = t.testdir()
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const args = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'
  const names = ['-addext', 'subjectAltName=DNS:localhost', '-keyout', keyFile, '-out', certFile]
  const made = spawnSync('openssl', [...args.split(' '), ...names])
  if (made.error !== undefined) {
    t.pass('TLS', { skip: 'NOT TESTED: this machine has no openssl' })
    return null
  }
  const [key, cert] = [readFileSync(keyFile, 'utf8'), readFileSync(certFile, 'utf8')]
  const versions: string[] = []
  const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion)
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const { port } = server.address() as AddressInfo
  const trust = () => {
    const before = getCACertificates('default')
    setDefaultCACertificates([cert])
    t.teardown(() => setDefaultCACertificates(before))
  }
  return { port, versions, trust }
}

/** The answer to one call, or why there was none. */
async function ask(baseUrl: string, more: Partial<Config['upstream']> = {}): Promise<string> {
  const upstream = new Upstream(settings(baseUrl, more), 4)
  try {
    return await readAll(await upstream.forward(permit(requestTo('{"model":"m"}')), {}, new Caller()))
  } catch (error) {
    return upstreamCause(error as GatewayError)
  } finally {
    await upstream.close()
  }
}

t.test('TLS: HTTP/1.1 also where a server has HTTP/2, and no server that nobody vouches for', async (t) => {
  const secure = await startSecure(t)
  if (secure === null) return
  const baseUrl = `https://localhost:${secure.port}/v1`
  t.equal(await ask(baseUrl), 'DEPTH_ZERO_SELF_SIGNED_CERT')
  t.same(secure.versions, [])
  secure.trust()
  t.equal(await ask(baseUrl), '{}')
  t.same(secure.versions, ['1.1'])
})

t.test('through a proxy, which sees where a call goes and nothing of it', async (t) => {
  const secure = await startSecure(t)
  if (secure === null) return
  const proxy = await startProxy()
  t.teardown(() => proxy.close())
  const baseUrl = `https://localhost:${secure.port}/v1`
  const through = { proxy: fixedSecret(proxy.url.replace('//', '//me:pass%20word@')) }
  t.equal(await ask(baseUrl, through), 'DEPTH_ZERO_SELF_SIGNED_CERT')
  secure.trust()
  t.equal(await ask(baseUrl, through), '{}')
  t.same(secure.versions, ['1.1'])
  t.equal(proxy.tunnels.length, 2)
  for (const { target, headers, sent } of proxy.tunnels) {
    t.equal(target, `localhost:${secure.port}`)
    t.equal(headers['proxy-authorization'], `Basic ${Buffer.from('me:pass word').toString('base64')}`)
    t.notMatch(`${JSON.stringify(headers)}${sent}`, /credential|model|completions/)
  }
})

t.test('through a proxy to an upstream without TLS', async (t) => {
  const proxy = await startProxy()
  t.teardown(() => proxy.close())
  const { server, upstream, forward } = await deploy(t, json({ ok: 1 }), { proxy: fixedSecret(proxy.url) })
  for (let i = 0; i < 5; i++) t.equal(await readAll(await forward()), '{"ok":1}')
  t.equal(await readAll(await upstream.models({}, new Caller())), '{"ok":1}')
  const [chat, models] = [server.received[4], server.received[5]]
  t.match(chat, {
    url: '/v1/chat/completions',
    headers: { authorization: 'Bearer credential', 'x-title': 'app' },
  })
  t.match(models, { method: 'GET', url: '/v1/models' })
  t.equal(chat?.headers.host, new URL(server.baseUrl).host)
  for (const { headers } of server.received) t.notMatch(Object.keys(headers), /proxy/)
  t.ok(proxy.tunnels.length < server.received.length, 'connections are used again')
  t.same(proxy.others, [])
})

t.test('a proxy that lets nothing through', async (t) => {
  const server = await startUpstream()
  t.teardown(() => server.close())
  const via = async (...statuses: number[]) => {
    const proxy = await startProxy((number) => statuses[number - 1] ?? 200)
    t.teardown(() => proxy.close())
    const said = await ask(server.baseUrl, { proxy: fixedSecret(proxy.url), retries: { attempts: 1 } })
    return { said: said.startsWith('{') ? 'an answer' : said, asked: proxy.tunnels.length }
  }
  t.match(await via(407, 407), { said: /\(407\)/, asked: 2 })
  t.same(await via(503), { said: 'an answer', asked: 2 }, 'nothing was sent, so it is asked again')
  t.same(await via(-1), { said: 'an answer', asked: 2 })
  t.same(await via(-1, -1), { said: 'UND_ERR_PRX_CONN', asked: 2 })
  t.equal((await via(0)).said, 'UND_ERR_HEADERS_TIMEOUT', 'not longer than a connection may take')
  const gone = await startProxy()
  gone.close()
  t.equal(await ask(server.baseUrl, { proxy: fixedSecret(gone.url) }), 'ECONNREFUSED', 'and no way around it')
  t.equal(server.received.length, 2)
})
