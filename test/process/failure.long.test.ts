// Upstreams that fail, clients that leave or do not read, and too many calls.

import { setTimeout as delay } from 'node:timers/promises'
import OpenAI from 'openai'
import t from 'tap'
import { callOnSocket, headOf, openSocket } from './client.ts'
import { deploy, openGateway, prompt, UPSTREAM_KEY } from './gateway.ts'
import { eventually, fetchInTime, inTime } from './until.ts'
import {
  type Answer,
  completion,
  delta,
  drained,
  event,
  events,
  finish,
  heldAnswer,
  json,
  silent,
  startUpstream,
  streamOf,
  unfinished,
} from './upstream.ts'

// The runner's own limit is too short for a busy machine.
t.setTimeout(300_000)

const body = prompt('hi')
const streamed = { ...body, stream: true }
const timeouts = { connectMs: 300, headersMs: 600, idleMs: 600 }
const { upstream, gateway, key } = await deploy(t, undefined, { config: { upstream: { timeouts } } })

/**
 * Calls once; returns the response, the error's code, the number of tries and the sealed outcome.
 */
async function ask(answer: Answer, call: object = body) {
  upstream.answer = answer
  const before = upstream.received.length
  const response = await gateway.chat(key, call)
  const text = await response.text()
  const code = /"code":"?(\w+)/.exec(text)?.[1]
  return {
    status: response.status,
    code,
    tries: upstream.received.length - before,
    outcome: (await gateway.newestEntry()).outcome,
    headers: response.headers,
    text,
  }
}

t.test('an upstream that fails, stalls or sends nonsense is an error of the upstream', async (t) => {
  t.match(await ask(json({}, 500)), {
    status: 502,
    code: 'upstream_unavailable',
    tries: 1,
    outcome: 'upstream_error',
  })
  t.match(
    await gateway.metrics(),
    /^sidegate_upstream_duration_seconds_count\{status="5xx"\} 1$/m,
    'counted by its status',
  )
  t.match(await ask(json({}, 503)), { status: 503, code: 'upstream_unavailable', tries: 3 })
  t.match(await ask(json({}, 302, { location: 'http://127.0.0.1:1/' })), { status: 502, tries: 1 })
  t.match(await ask(json('not json')), { status: 502, code: 'upstream_unavailable' })
  t.match(await ask(json(completion('x'), 200, { 'content-encoding': 'gzip' })), { status: 502 })
  t.match(await ask(silent), { status: 504, code: 'upstream_timeout', outcome: 'upstream_error' })
  t.match(
    await ask(
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{"a":'),
    ),
    { status: 504, code: 'upstream_timeout' },
  )
  t.match(await ask((response) => void response.destroy()), { status: 502, code: 'upstream_unavailable' })
  let tries = 0
  t.match(
    await ask((...args) => json(tries++ === 0 ? {} : completion('ok'), tries === 1 ? 503 : 200)(...args)),
    { status: 200, tries: 2, outcome: 'ok' },
  )
})

t.test('an error of the upstream keeps its status, and its personal data are redacted', async (t) => {
  const limited = await ask(
    json({ error: { message: 'slow down', code: 'rate_limited' } }, 429, { 'retry-after': '30' }),
  )
  t.match(limited, { status: 429, code: 'rate_limited', tries: 1, outcome: 'upstream_error' })
  t.equal(limited.headers.get('retry-after'), '30')
  const headers = { 'content-type': 'text/event-stream', 'retry-after': '7' }
  const stream = await ask(json({ error: { message: 'slow down', code: 'rate_limited' } }, 429, headers))
  t.match(stream, { status: 429, code: 'rate_limited', text: /slow down/ }, 'an error as a stream')
  t.equal(stream.headers.get('content-type'), 'application/json')
  t.equal(stream.headers.get('retry-after'), '7')
  const page = await ask(json('<html>alice@example.com</html>', 413, { 'content-type': 'text/html' }))
  t.match(page, { status: 413, text: /^\{"error":/ })
  t.equal(page.headers.get('content-type'), 'application/json')
  const listed = await ask(json([{ error: { code: 400, message: 'no model for alice@example.com' } }], 400))
  t.match(
    listed,
    { status: 400, text: /^\[\{"error":\{"code":400,"message":"no model for \[EMAIL_1\]"\}\}\]$/ },
    'an error in an array, as Google sends it',
  )
  const errorOf = async (body: unknown, type = 'application/json') =>
    JSON.parse((await ask(json(body as object, 422, { 'content-type': type }))).text).error
  t.match(await errorOf('context length exceeded for alice@example.com', 'text/plain'), {
    message: 'context length exceeded for [EMAIL_1]',
    type: 'upstream_error',
  })
  t.match(await errorOf('"no model for alice\\u0040example.com"'), { message: 'no model for [EMAIL_1]' })
  const fields = [
    { loc: ['body'], msg: 'required' },
    { loc: ['bob@example.com'], msg: 'unknown' },
  ]
  t.match(await errorOf(fields), { message: JSON.stringify(fields).replace('bob@example.com', '[EMAIL_1]') })
  for (const page of ['<p>no</p>', ' \n<html>', '', 'long '.repeat(1000)])
    t.match(await errorOf(page, 'text/plain'), { message: 'The upstream answered with status 422.' })
  const marked = await ask(json(`\ufeff${JSON.stringify(completion('ask alice@example.com'))}`))
  t.match(marked, { status: 200, text: /ask \[EMAIL_1\]/ }, 'a byte order mark is skipped')
})

t.test("a 429 is the client's to retry, and answers state the attempts", async (t) => {
  const attemptsOf = ({ headers }: { headers: Headers }) => headers.get('x-sidegate-attempts')
  const limited = await ask(json({ error: { message: 'slow down' } }, 429))
  t.match([limited.tries, attemptsOf(limited)], [1, '1'])
  t.equal(attemptsOf(await ask(json(completion('ok')))), '1')
  const broken = await ask(json({}, 504))
  t.match([broken.tries, attemptsOf(broken)], [3, '3'])
  upstream.answer = json({ error: { message: 'slow down' } }, 429)
  const before = upstream.received.length
  const sdk = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, fetch: fetchInTime })
  const messages = [{ role: 'user', content: 'hi' }] as const
  const failed = sdk.chat.completions.create({ model: 'm', messages: [...messages] })
  t.match(await failed.catch((error: unknown) => error), { status: 429 })
  t.equal(upstream.received.length - before, 3, 'the SDK retries twice, the gateway not at all')
  upstream.answer = events(delta('ok'), finish(), '[DONE]')
  const stream = await gateway.chat(key, streamed)
  t.equal(attemptsOf(stream), '1')
  await stream.text()
  upstream.answer = json({ object: 'list', data: [] }, 503)
  const list = await fetchInTime(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  t.match(attemptsOf(list), /^[123]$/)
  t.equal(
    attemptsOf(await gateway.chat(key, { ...body, model: '' })),
    null,
    'a refused call is not forwarded',
  )
})

t.test('a failure of the upstream keeps its reason, scanned and bounded', async (t) => {
  const failed = async (body: unknown, status = 500, headers = {}) => {
    const { text, ...rest } = await ask(json(body as object, status, headers))
    return { ...rest, ...JSON.parse(text) }
  }
  const shape = { type: 'upstream_error', param: null, code: 'upstream_unavailable' }
  for (const [status, expected] of [
    [500, 502],
    [501, 502],
    [503, 503],
    [504, 504],
    [529, 529],
  ] as const) {
    const error = { message: 'no room for alice@example.com', type: 'theirs', code: 'theirs', hint: 'later' }
    const headers = { 'retry-after': '9', 'x-request-id': 'req_42', 'x-should-retry': 'false' }
    const call = await failed({ error }, status, headers)
    const message = 'no room for [EMAIL_1]'
    t.match(call, { status: expected, tries: 1, outcome: 'upstream_error', error: { ...shape, message } })
    t.equal(call.error.hint, 'later', 'its other members stay')
    t.equal(call.headers.get('retry-after'), '9')
    t.equal(call.headers.get('x-upstream-request-id'), 'req_42')
    t.equal((await gateway.newestEntry()).upstream_request_id, 'req_42')
  }
  const reasonOf = async (body: unknown, headers = {}) => (await failed(body, 500, headers)).error.message
  t.equal(await reasonOf('no GPU for bob@example.com'), 'no GPU for [EMAIL_1]')
  t.equal(await reasonOf({ detail: 'no GPU' }), 'no GPU')
  t.equal(await reasonOf({ error: 'no GPU' }), 'no GPU')
  t.equal(await reasonOf([{ error: { message: 'no GPU' } }]), 'no GPU')
  t.match(await reasonOf({ error: { reason: 'no GPU' } }), /no GPU/)
  const deep = `${'{"error":'.repeat(6000)}1${'}'.repeat(6000)}`
  for (const none of [{}, '', '<html>no</html>', deep, { error: { message: 'long '.repeat(20_000) } }])
    t.equal(await reasonOf(none), 'The upstream answered with status 500.')
  t.equal(await reasonOf('packed', { 'content-encoding': 'gzip' }), 'The upstream answered with status 500.')
  const cut = await ask((response) => {
    response.writeHead(500, { 'content-length': '100' }).write('{"error"')
    setImmediate(() => response.destroy())
  })
  t.match(cut, { status: 502, text: /status 500/ }, 'an incomplete reason')
  const { id } = await gateway.newestEntry()
  const { body: detail } = await gateway.api('GET', `/usage/logs/${id}`)
  t.match(detail.response, { error: shape }, 'the exchange holds it')
})

t.test('the id of the upstream is in the header and the entry, unless it repeats a secret', async (t) => {
  const idOf = async (id: string, status = 200) => {
    const { headers } = await ask(json(completion('ok'), status, { 'x-request-id': id }))
    const { upstream_request_id: sealed = null } = await gateway.newestEntry()
    t.equal(headers.get('x-upstream-request-id'), sealed)
    return sealed
  }
  for (const status of [200, 307, 404, 500]) t.equal(await idOf('req_7', status), 'req_7', String(status))
  for (const id of [UPSTREAM_KEY, 'two words', '4111111111111111', 'x'.repeat(200)])
    t.equal(await idOf(id), null, id)
  upstream.answer = json({ error: { message: 'no GPU' } }, 529, { 'x-request-id': 'req_8' })
  const list = await fetchInTime(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  t.match([list.status, list.headers.get('x-upstream-request-id')], [529, 'req_8'])
  t.match(await list.json(), { error: { message: 'no GPU', code: 'upstream_unavailable' } })
})

t.test('the headers that clients act on come back, with limits of the gateway next to them', async (t) => {
  const sent = {
    'request-id': 'req_011CX',
    'openai-version': '2020-10-01',
    'openai-processing-ms': '31',
    'x-ratelimit-remaining-requests': '17',
    'anthropic-ratelimit-tokens-reset': '2026-11-27T16:03:11Z',
    'set-cookie': 'secret=1',
    'openai-organization': 'org-of-the-company',
  }
  const named = (headers: Headers) =>
    Object.fromEntries(
      Object.keys(sent).flatMap((name) => (headers.has(name) ? [[name, headers.get(name)]] : [])),
    )
  const { 'set-cookie': _, 'openai-organization': __, ...expected } = sent
  for (const status of [200, 400, 429, 500]) {
    const { headers } = await ask(json(completion('ok'), status, sent))
    t.same(named(headers), expected, String(status))
    t.equal((await gateway.newestEntry()).upstream_request_id, 'req_011CX')
  }
  const { headers } = await ask((response) => {
    for (const name in sent) response.setHeader(name, sent[name as keyof typeof sent])
    for (const text of streamOf(['Hi'], false)) response.write(text)
    response.end()
  }, streamed)
  t.same(named(headers), expected, 'a stream')
})

t.test('without an upstream calls fail and the gateway stays ready', async (t) => {
  const gone = await startUpstream()
  await gone.close()
  const other = await openGateway(t, { upstreamUrl: gone.baseUrl })
  const { key: otherKey } = await other.createKey()
  const response = await other.chat(otherKey, body)
  t.match([response.status, await response.json()], [502, { error: { code: 'upstream_unavailable' } }])
  t.equal((await other.readiness()).status, 200)
  t.equal(other.logs.find(({ msg }) => msg === 'call failed')?.['cause'], 'ECONNREFUSED')
})

t.test('retry headers and errors in a stream pass from the upstream to the client', async (t) => {
  const useless = await ask(json({}, 503, { 'x-should-retry': 'false', 'retry-after': '9' }))
  t.match(useless, { status: 503, code: 'upstream_unavailable', tries: 1 })
  t.same(
    ['x-should-retry', 'retry-after'].map((name) => useless.headers.get(name)),
    ['false', '9'],
  )
  const quota = await ask(json({ error: { code: 'quota' } }, 429, { 'x-should-retry': 'false' }))
  t.match(quota, { status: 429, code: 'quota', tries: 1 })
  const failure = { error: { message: 'Out of memory', code: 502 }, choices: [] }
  const { text, outcome } = await ask(events(delta('It is '), failure), streamed)
  t.equal(outcome, 'upstream_error')
  t.match(text, /: sidegate-audit [^\n]+\ndata: [^\n]*Out of memory[^\n]*\n\n$/)
  t.equal(text.split('"error"').length, 2, 'once')
  t.notMatch(text, /DONE/)
})

t.test('the log has the cause of a failure, the client only its code', async (t) => {
  const causeOf = async (answer: Answer) => {
    const { text, headers } = await ask(answer)
    const id = headers.get('x-request-id')
    const line = gateway.logs.find((one) => one['id'] === id)
    return [line?.['cause'], text.includes(String(line?.['cause']))]
  }
  t.same(await causeOf((response) => void response.destroy()), ['UND_ERR_SOCKET', false])
  t.same(await causeOf(silent), ['UND_ERR_HEADERS_TIMEOUT', false])
  t.same(await causeOf((response) => void response.socket?.end('no HTTP\r\n\r\n')), [
    'HTTPParserError',
    false,
  ])
  t.same(await causeOf(json({}, 500)), ['The upstream answered with status 500.', true])
  t.same(await causeOf(json({ error: {} }, 400)), [undefined, false], 'the client has the answer itself')
  t.same(await causeOf(json(completion('ok'))), [undefined, false])
})

t.test('a client that leaves before the answer ends the upstream call', async (t) => {
  upstream.answer = silent
  const arrived = upstream.next()
  const abort = new AbortController()
  const call = gateway.chat(key, body, { signal: abort.signal }).catch(() => null)
  const received = await arrived
  abort.abort()
  await call
  await inTime('the upstream call ends', received.closed)
  t.match(await gateway.entryWith('client_aborted'), { status: 499 })
})

t.test('an answer or an event without end is an error of the upstream', async (t) => {
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
  await inTime('the upstream call ends', (await arrived).closed)
  upstream.answer = pour('data: {"a":"', 'text/event-stream')
  const response = await gateway.chat(key, streamed)
  const text = await response.text()
  t.match([response.status, text], [502, /^\{"error":\{.*"code":"upstream_unavailable"/])
  t.ok(text.length < 1024, 'nothing of the event was sent')
})

t.test('a stream that stalls before its first event is a timeout', async (t) => {
  for (const start of ['\n', 'da', 'data: {"choices"', '{"choices":']) {
    for (const call of [streamed, body]) {
      const stalled = await ask((response) => void response.writeHead(200, {}).write(start), call)
      t.match(stalled, { status: 504, code: 'upstream_timeout', outcome: 'upstream_error' }, start)
    }
  }
})

t.test('a stream that stalls ends with an error', async (t) => {
  upstream.answer = unfinished(delta('one two three '))
  const text = await (await gateway.chat(key, streamed)).text()
  t.match(text, /"content":"one two .*\n\n[\s\S]*"code":"upstream_timeout"/)
  t.notMatch(text, /\[DONE\]/)
  t.match(await gateway.newestEntry(), { outcome: 'upstream_error', stream: true })
})

/** A stream far larger than what kernels and processes buffer, and how much of it was written. */
function flood(count: number) {
  /** The gateway has stopped reading once it reads nothing for this long, milliseconds. */
  const STALL_MS = 500
  const text = event(delta('word '.repeat(2000)))
  const { promise, resolve } = Promise.withResolvers<void>()
  const state = { written: 0, stalled: inTime('the gateway stops reading', promise) }
  const answer: Answer = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let i = 0; i < count && !response.destroyed; i++) {
      state.written += text.length
      if (response.write(text)) continue
      const timer = setTimeout(resolve, STALL_MS)
      await drained(response)
      clearTimeout(timer)
    }
    response.end(event(finish()) + event('[DONE]'))
  }
  return { state, answer, total: count * text.length }
}

t.test('a client that does not read stops the gateway from reading the upstream', async (t) => {
  const { state, answer, total } = flood(20_000)
  upstream.answer = answer
  const socket = callOnSocket(gateway, key, streamed)
  await state.stalled
  t.ok(state.written < total / 3, `${state.written} of ${total} bytes were taken from the upstream`)
  socket.destroy()
  t.match(await gateway.entryWith('client_aborted'), { stream: true })
})

t.test('a client that pauses longer than the idle timeout gets the whole stream', async (t) => {
  const { state, answer, total } = flood(3000)
  upstream.answer = answer
  const socket = callOnSocket(gateway, key, streamed)
  await state.stalled
  // Proves an absence: the idle timeout does not end a stream that the client does not read.
  await delay(timeouts.idleMs)
  let bytes = 0
  let tail = ''
  socket.on('data', (data: Buffer) => {
    bytes += data.length
    tail = (tail + data.toString('latin1')).slice(-200)
    if (tail.includes('[DONE]')) socket.end()
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.resume()
  await inTime('the stream ends', closed)
  t.match(tail, /data: \[DONE\]\n\n/)
  t.ok(bytes > total, `${bytes} bytes`)
  t.match(await gateway.newestEntry(), { outcome: 'ok' })
})

t.test('a call beyond the limit of concurrent calls is refused, as is a list of models', async (t) => {
  const small = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    config: { limits: { concurrentRequests: 1 } },
  })
  const { key: other } = await small.createKey()
  const held = heldAnswer()
  upstream.answer = held.answer
  const arrived = upstream.next()
  const first = small.chat(other, body)
  await arrived
  t.equal((await small.chat('', body)).status, 401, 'an invalid key does not learn of the limit')
  const second = await small.chat(other, body)
  t.match(
    [second.status, await second.json(), second.headers.get('retry-after')],
    [503, { error: { code: 'overloaded' } }, '1'],
  )
  const list = () => fetchInTime(`${small.url}/v1/models`, { headers: { authorization: `Bearer ${other}` } })
  t.equal((await list()).status, 503, 'a list of models counts as a call')
  held.release()
  t.equal((await first).status, 200)
  const listing = upstream.next()
  const third = list()
  await listing
  t.equal((await small.chat(other, body)).status, 503)
  held.release()
  t.equal((await third).status, 200)
  t.equal((await small.chat('', body)).status, 401)
})

t.test('a client that leaves in the middle of its request is sealed as aborted', async (t) => {
  const before = (await gateway.newestEntry()).seq
  const socket = openSocket(gateway)
  socket.write(`${headOf(key)}content-length: 100\r\n\r\n{"model":`, () =>
    setImmediate(() => socket.destroy()),
  )
  const entry = await eventually('its entry', gateway.newestEntry, ({ seq }) => seq > before)
  t.match(entry, { outcome: 'client_aborted', status: 499, model: '' })
})
