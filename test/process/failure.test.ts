// Upstreams that fail, clients that leave or do not read, too many calls.

import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { discard, startGateway } from './gateway.ts'
import { type Answer, completion, delta, event, finish, json, startUpstream } from './upstream.ts'

// The runner's own limit would do on a machine with nothing else to do.
t.setTimeout(300_000)

const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
const upstream = await startUpstream()
const timeouts = { connectMs: 300, headersMs: 600, idleMs: 600 }
const gateway = await startGateway({
  upstreamUrl: upstream.baseUrl,
  config: { upstream: { baseUrl: upstream.baseUrl, apiKey: { env: 'UPSTREAM_KEY' }, timeouts } },
})
t.teardown(async () => {
  await discard(gateway)
  await upstream.close()
})
const { key } = await gateway.createKey()
const newest = async () => (await gateway.api('GET', '/usage/logs?limit=1')).body.logs[0]

/** Asks once and tells the status, the error's code, how often the upstream was tried, and the sealed outcome. */
async function ask(answer: Answer) {
  upstream.answer = answer
  const before = upstream.received.length
  const response = await gateway.chat(key, body)
  const text = await response.text()
  const code = /"code":"?(\w+)/.exec(text)?.[1]
  return {
    status: response.status,
    code,
    tries: upstream.received.length - before,
    outcome: (await newest()).outcome,
    headers: response.headers,
    text,
  }
}

t.test('what an upstream may do wrong', async (t) => {
  t.match(await ask(json({}, 500)), {
    status: 502,
    code: 'upstream_unavailable',
    tries: 1,
    outcome: 'upstream_error',
  })
  const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  t.match(
    metrics,
    /^sidegate_upstream_duration_seconds_count\{status="5xx"\} 1$/m,
    'an answer, and no good one',
  )
  t.match(await ask(json({}, 503)), { status: 502, code: 'upstream_unavailable', tries: 3 })
  t.match(await ask(json({}, 302, { location: 'http://127.0.0.1:1/' })), { status: 502, tries: 1 })
  t.match(await ask(json('not json')), { status: 502, code: 'upstream_unavailable' })
  t.match(await ask(json(completion('x'), 200, { 'content-encoding': 'gzip' })), { status: 502 })
  t.match(await ask(() => {}), { status: 504, code: 'upstream_timeout', outcome: 'upstream_error' })
  t.match(
    await ask(
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{"a":'),
    ),
    { status: 504, code: 'upstream_timeout' },
  )
  t.match(await ask((response) => void response.destroy()), { status: 502, code: 'upstream_unavailable' })
  const limited = await ask(
    json({ error: { message: 'slow down', code: 'rate_limited' } }, 429, { 'retry-after': '30' }),
  )
  t.match(limited, { status: 429, code: 'rate_limited', tries: 1, outcome: 'upstream_error' })
  t.equal(limited.headers.get('retry-after'), '30')
  const events = { 'content-type': 'text/event-stream', 'retry-after': '7' }
  const streamed = await ask(json({ error: { message: 'slow down', code: 'rate_limited' } }, 429, events))
  t.match(streamed, { status: 429, code: 'rate_limited', text: /slow down/ }, 'an error keeps its status')
  t.equal(streamed.headers.get('content-type'), 'application/json')
  t.equal(streamed.headers.get('retry-after'), '7')
  const page = await ask(json('<html>alice@example.com</html>', 413, { 'content-type': 'text/html' }))
  t.match(page, { status: 413, text: /^\{"error":/ })
  t.equal(page.headers.get('content-type'), 'application/json')
  const listed = await ask(json([{ error: { code: 400, message: 'no model for alice@example.com' } }], 400))
  t.match(
    listed,
    { status: 400, text: /^\[\{"error":\{"code":400,"message":"no model for \[EMAIL_1\]"\}\}\]$/ },
    'as Google sends it',
  )
  const why = async (body: unknown, type = 'application/json') =>
    JSON.parse((await ask(json(body as object, 422, { 'content-type': type }))).text).error
  t.match(await why('context length exceeded for alice@example.com', 'text/plain'), {
    message: 'context length exceeded for [EMAIL_1]',
    type: 'upstream_error',
  })
  t.match(await why('"no model for alice\\u0040example.com"'), { message: 'no model for [EMAIL_1]' })
  const fields = [
    { loc: ['body'], msg: 'required' },
    { loc: ['bob@example.com'], msg: 'unknown' },
  ]
  t.match(await why(fields), { message: JSON.stringify(fields).replace('bob@example.com', '[EMAIL_1]') })
  for (const page of ['<p>no</p>', ' \n<html>', '', 'long '.repeat(1000)])
    t.match(await why(page, 'text/plain'), { message: 'The upstream answered with status 422.' })
  const marked = await ask(json(`\ufeff${JSON.stringify(completion('ask alice@example.com'))}`))
  t.match(marked, { status: 200, text: /ask \[EMAIL_1\]/ }, 'a byte order mark is passed over')
  let tries = 0
  t.match(
    await ask((...args) => json(tries++ === 0 ? {} : completion('ok'), tries === 1 ? 503 : 200)(...args)),
    { status: 200, tries: 2, outcome: 'ok' },
  )
})

t.test('an upstream that is not there', async (t) => {
  const gone = await startUpstream()
  await gone.close()
  const lonely = await startGateway({ upstreamUrl: gone.baseUrl })
  t.teardown(() => discard(lonely))
  const { key: other } = await lonely.createKey()
  const response = await lonely.chat(other, body)
  t.match([response.status, await response.json()], [502, { error: { code: 'upstream_unavailable' } }])
  t.equal((await fetch(`${lonely.opsUrl}/readyz`)).status, 200, 'readiness is not the upstream’s')
  t.equal(lonely.logs.find(({ msg }) => msg === 'call failed')?.['cause'], 'ECONNREFUSED')
})

t.test('an upstream’s own word on when to come again, and on what went wrong', async (t) => {
  const useless = await ask(json({}, 503, { 'x-should-retry': 'false', 'retry-after': '9' }))
  t.match(useless, { status: 502, code: 'upstream_unavailable', tries: 1 })
  t.same(
    ['x-should-retry', 'retry-after'].map((name) => useless.headers.get(name)),
    ['false', '9'],
  )
  const quota = await ask(json({ error: { code: 'quota' } }, 429, { 'x-should-retry': 'false' }))
  t.match(quota, { status: 429, code: 'quota', tries: 1 })
  const { text, outcome } = await ask((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(delta('It is ')))
    response.end(event({ error: { message: 'Out of memory', code: 502 }, choices: [] }))
  })
  t.equal(outcome, 'upstream_error')
  t.match(text, /Out of memory[\s\S]*: sidegate-audit /)
  t.equal(text.split('"error"').length, 2, 'once')
  t.notMatch(text, /DONE/)
})

t.test('the operator is told what failed upstream, the client only that it did', async (t) => {
  const causeOf = async (answer: Answer) => {
    const { text, headers } = await ask(answer)
    const id = headers.get('x-request-id')
    const line = gateway.logs.find((one) => one['id'] === id)
    return [line?.['cause'], text.includes(String(line?.['cause']))]
  }
  t.same(await causeOf((response) => void response.destroy()), ['UND_ERR_SOCKET', false])
  t.same(await causeOf(() => {}), ['UND_ERR_HEADERS_TIMEOUT', false])
  t.same(await causeOf((response) => void response.socket?.end('no HTTP\r\n\r\n')), [
    'HTTPParserError',
    false,
  ])
  t.same(await causeOf(json({}, 500)), ['The upstream answered with status 500.', true])
  t.same(await causeOf(json({ error: {} }, 400)), [undefined, false], 'its own answer went to the client')
  t.same(await causeOf(json(completion('ok'))), [undefined, false])
})

t.test('a client that leaves while a whole answer is awaited ends the upstream call', async (t) => {
  upstream.answer = () => {}
  const arrived = upstream.next()
  const abort = new AbortController()
  const call = gateway.chat(key, body, { signal: abort.signal }).catch(() => null)
  const received = await arrived
  abort.abort()
  await call
  await received.closed
  let entry = await newest()
  while (entry.outcome !== 'client_aborted') entry = await newest()
  t.match(entry, { status: 499 })
})

t.test('answers larger than anything sensible are cut off', async (t) => {
  const piece = 'x'.repeat(1024 * 1024)
  const pour = (start: string, type: string): Answer => {
    return async (response) => {
      response.writeHead(200, { 'content-type': type })
      response.write(start)
      while (!response.destroyed) if (!response.write(piece)) await drained(response)
    }
  }
  const arrived = upstream.next()
  t.match(await ask(pour('{"a":"', 'application/json')), {
    status: 502,
    code: 'upstream_unavailable',
    outcome: 'upstream_error',
  })
  await (await arrived).closed
  upstream.answer = pour('data: {"a":"', 'text/event-stream')
  const event = await (await gateway.chat(key, { ...body, stream: true })).text()
  t.match(event, /^data: \{"error":\{.*"code":"upstream_unavailable"/m)
  t.ok(event.length < 1024, 'and nothing of it has left')
})

t.test('a stream that stops coming ends with an error', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(delta('one two three ')))
  }
  const text = await (await gateway.chat(key, { ...body, stream: true })).text()
  t.match(text, /"content":"one two .*\n\n[\s\S]*"code":"upstream_timeout"/)
  t.notMatch(text, /\[DONE\]/)
  t.match(await newest(), { outcome: 'upstream_error', stream: true })
})

/** Resolves when the response takes more, or when nobody is there to take it. */
const drained = (response: ServerResponse) =>
  new Promise<boolean>((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle)
      resolve(true)
    }
    response.on('drain', settle).on('close', settle)
  })

/** A stream far larger than what kernels and processes hold back, and what became of sending it. */
function flood(events: number) {
  /** The upstream has not been read for this long: it is paused, milliseconds. */
  const STALL_MS = 500
  const state = { text: event(delta('word '.repeat(2000))), written: 0, stalled: Promise.resolve() }
  const { promise, resolve } = Promise.withResolvers<void>()
  state.stalled = promise
  const answer: Answer = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let i = 0; i < events && !response.destroyed; i++) {
      state.written += state.text.length
      if (response.write(state.text)) continue
      const timer = setTimeout(resolve, STALL_MS)
      await drained(response)
      clearTimeout(timer)
    }
    response.end(event(finish()) + event('[DONE]'))
  }
  return { state, answer, total: events * state.text.length }
}

function callOnSocket(): Socket {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  const payload = JSON.stringify({ ...body, stream: true })
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${payload.length}\r\n\r\n${payload}`,
  )
  return socket.pause()
}

t.test('a client that does not read stops the upstream, memory stays bounded', async (t) => {
  const { state, answer, total } = flood(20_000)
  upstream.answer = answer
  const socket = callOnSocket()
  await state.stalled
  t.ok(state.written < total / 3, `${state.written} of ${total} bytes were taken from the upstream`)
  socket.destroy()
  let entry = await newest()
  while (entry.outcome !== 'client_aborted') entry = await newest()
  t.match(entry, { stream: true })
})

t.test('a client that pauses for longer than the upstream may gets all of it in the end', async (t) => {
  const { state, answer, total } = flood(3000)
  upstream.answer = answer
  const socket = callOnSocket()
  await state.stalled
  // The time the upstream may take between two pieces runs out while it is us who do not read.
  await new Promise((resolve) => setTimeout(resolve, timeouts.idleMs))
  let bytes = 0
  let tail = ''
  socket.on('data', (data) => {
    bytes += data.length
    tail = (tail + data.toString('latin1')).slice(-200)
    if (tail.includes('[DONE]')) socket.end()
  })
  socket.resume()
  await new Promise((resolve) => socket.once('close', resolve))
  t.match(tail, /data: \[DONE\]\n\n/)
  t.ok(bytes > total, `${bytes} bytes`)
  t.match(await newest(), { outcome: 'ok' })
})

t.test('too many calls at once', async (t) => {
  const small = await startGateway({
    upstreamUrl: upstream.baseUrl,
    config: { limits: { concurrentRequests: 1 } },
  })
  t.teardown(() => discard(small))
  const { key: other } = await small.createKey()
  let answer = () => {}
  upstream.answer = (response, received) => {
    answer = () => void json(completion('ok'))(response, received)
  }
  const arrived = upstream.next()
  const first = small.chat(other, body)
  await arrived
  t.equal((await small.chat('', body)).status, 401, 'a stranger is told no more than ever')
  const second = await small.chat(other, body)
  t.match(
    [second.status, await second.json(), second.headers.get('retry-after')],
    [503, { error: { code: 'overloaded' } }, '1'],
  )
  const list = () => fetch(`${small.url}/v1/models`, { headers: { authorization: `Bearer ${other}` } })
  t.equal((await list()).status, 503, 'a list of models takes a connection as well')
  answer()
  t.equal((await first).status, 200)
  const listing = upstream.next()
  const third = list()
  await listing
  t.equal((await small.chat(other, body)).status, 503)
  answer()
  t.equal((await third).status, 200)
  t.equal((await small.chat('', body)).status, 401)
})

t.test('a client that leaves in the middle of its request is sealed as one that left', async (t) => {
  const before = (await gateway.api('GET', '/usage/logs?limit=1')).body.total
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"model":`,
    () => setImmediate(() => socket.destroy()),
  )
  let page = (await gateway.api('GET', '/usage/logs?limit=1')).body
  while (page.total === before) page = (await gateway.api('GET', '/usage/logs?limit=1')).body
  t.match(page.logs[0], { outcome: 'client_aborted', status: 499, model: '' })
})
