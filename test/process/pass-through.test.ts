// Paths that are forwarded without a scan.

import t from 'tap'
import { openAi, openSocket, rawRequest, readSocket } from './client.ts'
import { openGateway, prompt, type TestGateway, UPSTREAM_KEY } from './gateway.ts'
import { eventually, fetchInTime } from './until.ts'
import { completion, json, startUpstream, stream } from './upstream.ts'

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

const passing = { passThrough: [{ path: '/v1/images/*', methods: ['GET', 'POST'] }] }
/** Sends a call and reads its answer to the end, before which its entry is sealed. */
async function image(of: TestGateway, key: string, method = 'POST'): Promise<Response> {
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetchInTime(`${of.url}/v1/images/generations`, { method, headers })
  return new Response(await answer.arrayBuffer(), answer)
}
const codeOf = async (response: Response) => ((await response.json()) as any).error?.code

t.test('a team over its budget is refused, and what a call reports counts', async (t) => {
  const rules = `
rules:
  - { name: team-budget, type: rate_limit, pattern: "1 USD/1mo", per: "label:team", action: block, enabled: true }
`
  const budgeted = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules, config: passing })
  const keyOf = async (name: string, team: string) =>
    (await budgeted.api('POST', '/keys', { name, labels: { team } })).body.key
  const [one, two, other] = [await keyOf('one', 'a'), await keyOf('two', 'a'), await keyOf('other', 'b')]
  const usage = { input_tokens: 7, output_tokens: 0, total_tokens: 7, cost: 0.6 }
  upstream.answer = json({ data: [{ b64_json: 'A'.repeat(100_000) }], usage })
  const first = await image(budgeted, one)
  t.match(await first.json(), { data: [{ b64_json: /^A{100000}$/ }], usage })
  t.match(await budgeted.newestEntry(), {
    unscanned: true,
    cost: 0.6,
    cost_source: 'upstream',
    total_tokens: 7,
  })
  t.equal((await image(budgeted, one, 'GET')).status, 200)
  t.match(await budgeted.newestEntry(), { cost: null, total_tokens: 0 }, 'a GET repeats what a call used')
  t.equal((await image(budgeted, two)).status, 200)
  t.match(await budgeted.newestEntry(), { cost: 0.6 })
  const count = upstream.received.length
  for (const key of [one, two]) {
    const refused = await image(budgeted, key)
    t.equal(refused.status, 429)
    t.equal(await codeOf(refused), 'budget_exceeded')
  }
  t.match(await budgeted.newestEntry(), { rules: [{ name: 'team-budget' }], cost: null })
  t.equal(upstream.received.length, count, 'nothing is forwarded')
  t.equal((await image(budgeted, other)).status, 200, 'another team')
})

t.test('a stream that passes reports its use at its end', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"text":"a \\"usage\\": {\\"cost\\": 9}"}\n\n')
    response.end(
      'data: {"usage": {"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.5}}\n\ndata: [DONE]\n\n',
    )
  }
  await (await send('POST', '/v1/images/edits')).text()
  t.match(await gateway.newestEntry(), { total_tokens: 7, cost: 0.5 })
})

t.test('an answer that is JSON reports its use under any type, or without one', async (t) => {
  for (const headers of [{}, { 'content-type': 'text/plain' }]) {
    upstream.answer = (response) => {
      response.writeHead(200, headers)
      response.end('{"usage":{"input_tokens":10,"output_tokens":20,"cost":0.01}}')
    }
    await (await send('POST', '/v1/images/edits')).text()
    t.match(await gateway.newestEntry(), { total_tokens: 30, cost: 0.01 })
  }
})

t.test('limits, lists of models and terms of a key refuse a call that is not scanned', async (t) => {
  const rules = `
rules:
  - { name: few, type: rate_limit, pattern: "2 requests/1h", action: block, enabled: true }
  - { name: tokens, type: rate_limit, pattern: "100/1h", action: block, enabled: true }
  - { name: listed, type: model_access, pattern: ["gpt-*"], action: monitor, enabled: true }
`
  const strict = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules, config: passing })
  const make = async (terms: object) => (await strict.api('POST', '/keys', { name: 'k', ...terms })).body.key
  upstream.answer = json({ data: [] })
  const plain = await make({})
  t.equal((await image(strict, plain)).status, 200)
  t.match(await strict.newestEntry(), { rules: [{ name: 'listed' }] }, 'a list that monitors fires')
  t.equal((await image(strict, plain)).status, 200)
  t.equal(await codeOf(await image(strict, plain)), 'rate_limit_exceeded', 'its requests')
  const listed = await image(strict, await make({ models: ['gpt-*'] }))
  t.equal(listed.status, 403)
  t.match(await listed.json(), {
    error: { code: 'model_not_allowed', message: /may be for any; allowed: gpt-\*/ },
  })
  t.equal((await image(strict, await make({ models: ['*'] }))).status, 200, 'a list of all models')
  const spent = await make({})
  upstream.answer = json({
    ...completion('ok'),
    usage: { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101 },
  })
  t.equal((await strict.chat(spent, prompt('hi', { max_tokens: 5 }))).status, 200)
  t.equal(await codeOf(await image(strict, spent)), 'rate_limit_exceeded', 'its tokens')
})

t.test('no spelling of a path reaches an endpoint that is scanned, or leaves the listed paths', async (t) => {
  const wide = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    config: {
      passThrough: [
        { path: '/v1/**', methods: ['GET', 'POST'] },
        { path: '/v1/images/*', methods: ['POST'] },
      ],
    },
  })
  const { key: itsKey } = await wide.createKey()
  const headers = { authorization: `Bearer ${itsKey}`, 'content-type': 'application/json' }
  const count = upstream.received.length
  const ambiguous = [
    '..',
    '%2e%2e',
    '..%2f',
    '..%5C',
    '..;',
    '%252e%252e',
    '.%2e',
    '',
    '%EF%BC%8E%EF%BC%8E',
    '%E2%80%A5',
  ]
  for (const segment of ambiguous) {
    const path = `/v1/images/${segment}/chat/completions`
    t.equal((await rawRequest('POST', `${wide.url}${path}`, headers)).status, 400, path)
  }
  for (const path of [
    '/v1/images/..\\chat/completions',
    '/v1/images/..//chat',
    '/v1/chat/completions;a=b',
    '/v1/chat/completions%E2%80%8B',
    '/v1/chat/completions%C2%AD',
  ])
    t.equal((await rawRequest('POST', `${wide.url}${path}`, headers)).status, 400, path)
  for (const path of [
    '/v1/chat/completions/',
    '/v1/Chat/completions',
    '/v1/ch%61t/completions',
    '/v1/chat/completions%20',
    '/v1/Responses',
    '/v1/messages/',
    ...[':', '!', '+', '.json', ':batch', '%C2%A0'].map((suffix) => `/v1/chat/completions${suffix}`),
  ])
    t.equal((await rawRequest('POST', `${wide.url}${path}`, headers)).status, 404, path)
  t.equal((await rawRequest('GET', `${wide.url}/v1/RESPONSES/resp_1`, headers)).status, 404)
  t.equal((await rawRequest('GET', `${wide.url}/v1/chat/completions`, headers)).status, 404, 'another method')
  t.equal(upstream.received.length, count, 'nothing is forwarded')
  upstream.answer = json({ data: [] })
  t.equal((await rawRequest('POST', `${wide.url}/v1/im%61ges/edits?a=%2e`, headers)).status, 200)
  t.equal(upstream.received.at(-1)?.url, '/v1/images/edits?a=%2e', 'exactly what was matched')
})

t.test('nothing at or below an endpoint with kept answers passes', async (t) => {
  const config = {
    passThrough: [
      { path: '/v1/**', methods: ['GET', 'POST', 'DELETE'] },
      { path: '/v1/responses/compact', methods: ['POST'] },
    ],
  }
  const wide = await openGateway(t, { upstreamUrl: upstream.baseUrl, config })
  const { key: itsKey } = await wide.createKey()
  const headers = { authorization: `Bearer ${itsKey}`, 'content-type': 'application/json' }
  const count = upstream.received.length
  for (const [method, path] of [
    ['POST', '/v1/responses/resp_1'],
    ['GET', '/v1/responses/resp_1/cancel'],
    ['DELETE', '/v1/Responses/resp_1/cancel'],
    ['POST', '/v1/responses/resp_1/input_items'],
    ['GET', '/v1/responses/resp_1/events'],
    ['GET', '/v1/chat/completions/chatcmpl-1'],
    ['GET', '/v1/chat/completions/chatcmpl-1/messages'],
    ['GET', '/v1/responses.json/resp_1'],
    ['PUT', '/v1/responses:x'],
  ] as const) {
    const { status, body } = await rawRequest(method, `${wide.url}${path}`, headers)
    t.ok(status === 404 || status === 405, `${method} ${path}: ${status}`)
    t.notMatch(body, 'passThrough', 'no advice that cannot work')
  }
  t.equal(upstream.received.length, count, 'nothing is forwarded')
})

/** A budget for all keys. */
const budgetOf = (pattern: string, more = '') => `
rules:
  - { name: budget, type: rate_limit, pattern: "${pattern}", per: all, action: block, enabled: true${more} }
`
/** How much of its only limit a gateway counts, without the least unit that each call asks for. */
const usedOf = async (of: TestGateway) => {
  const { limits } = (await of.api('GET', '/usage/limits')).body
  return Number((limits[0]?.used ?? 0).toFixed(6))
}

/** Sends a call, reads its answer until `until`, and leaves. Resolves when the call is sealed. */
async function leave(of: TestGateway, key: string, until: string | null): Promise<any> {
  const abort = new AbortController()
  const before = await of.newestEntry()
  const arrived = upstream.next()
  const call = fetchInTime(`${of.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    signal: abort.signal,
  })
  await arrived
  if (until !== null) {
    const reader = (await call).body!.getReader()
    for (let text = ''; !text.includes(until); ) text += Buffer.from((await reader.read()).value ?? [])
  }
  abort.abort()
  await call.catch(() => null)
  const isSealed = ({ id }: any = {}) => id !== before?.id
  const entry = await eventually('the call is sealed', () => of.newestEntry(), isSealed)
  t.equal(entry.outcome, 'client_aborted')
  return entry
}

t.test('a client that leaves is charged what it was told, else what the call reserved', async (t) => {
  const of = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    rules: budgetOf('3 USD/1h'),
    config: passing,
  })
  const { key: itsKey } = await of.createKey()
  const answer = (text: string) => {
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write(text)
    }
  }
  answer('{"usage": {"cost": 0.6}, "data": ["')
  t.match(await leave(of, itsKey, 'data'), { cost: 0.6, cost_source: 'upstream' })
  t.equal(await usedOf(of), 0.6)
  answer('{"data": ["')
  t.match(await leave(of, itsKey, 'data'), { cost: null, response_bytes: 11 })
  t.equal(await usedOf(of), 1.2, 'such answers cost 0.6 on average')
  upstream.answer = () => {}
  t.match(await leave(of, itsKey, null), { cost: null })
  t.equal(await usedOf(of), 1.8)
  upstream.answer = json({ error: 'no' }, 400)
  t.equal((await image(of, itsKey)).status, 400)
  upstream.answer = json({ data: [] })
  t.equal((await image(of, itsKey)).status, 200)
  t.equal(await usedOf(of), 1.8, 'an answer that was read and says nothing counts nothing')
})

t.test('calls beside each other leave each other less of a budget', async (t) => {
  const of = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    rules: budgetOf('0.12 USD/1h'),
    config: passing,
  })
  const { key: itsKey } = await of.createKey()
  const waiting: (() => void)[] = []
  upstream.answer = (response) => {
    waiting.push(() => response.end('{"usage":{"cost":0.04}}'))
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
  }
  const calls = []
  for (const _ of [1, 2, 3]) {
    const arrived = upstream.next()
    calls.push(image(of, itsKey))
    await arrived
  }
  t.equal(await codeOf(await image(of, itsKey)), 'budget_exceeded')
  for (const end of waiting) end()
  for (const call of calls) t.equal((await call).status, 200)
  t.equal(await usedOf(of), 0.12)
})

t.test('a rule for some models applies to a call whose model is not known', async (t) => {
  upstream.answer = json({ data: [], usage: { total_tokens: 60, cost: 0.6 } })
  for (const [rule, code] of [
    ['type: rate_limit, pattern: "1 requests/1h"', 'rate_limit_exceeded'],
    ['type: rate_limit, pattern: "50/1h"', 'rate_limit_exceeded'],
    ['type: rate_limit, pattern: "0.5 USD/1h"', 'budget_exceeded'],
  ] as const) {
    const rules = `
rules:
  - { name: one, ${rule}, action: block, enabled: true, match: { models: ["gpt-*"] } }
`
    const of = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules, config: passing })
    const { key: itsKey } = await of.createKey()
    t.equal((await image(of, itsKey)).status, 200)
    t.equal(await codeOf(await image(of, itsKey)), code, rule)
  }
  const rules = `
rules:
  - { name: one, type: model_access, pattern: ["gpt-4o"], action: block, enabled: true, match: { models: ["gpt-*"] } }
`
  const of = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules, config: passing })
  t.equal(await codeOf(await image(of, (await of.createKey()).key)), 'model_not_allowed')
})

t.test('tokens without a cost are priced by the model that the answer names', async (t) => {
  const folder = t.testdir({
    'prices.yaml': 'prices:\n  "image-1": {input: 1000, output: 0}\n  "*": {input: 10, output: 0}\n',
  })
  const of = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    rules: budgetOf('1 USD/1h'),
    config: { ...passing, prices: { path: `${folder}/prices.yaml` } },
  })
  const { key: itsKey } = await of.createKey()
  upstream.answer = json({ model: 'image-1', usage: { total_tokens: 100 } })
  await image(of, itsKey)
  t.match(await of.newestEntry(), { cost: 0.1, cost_source: 'book', prompt_tokens: 100, model: '' })
  upstream.answer = json({ usage: { total_tokens: 100 } })
  await image(of, itsKey)
  t.match(await of.newestEntry(), { cost: 0.001, cost_source: 'book' })
  t.equal(await usedOf(of), 0.101)
})

t.test('a call that is refused before it is read is marked as unscanned too', async (t) => {
  const small = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    config: { ...passing, limits: { bodyBytes: 1024 } },
  })
  const { key: itsKey } = await small.createKey()
  const headers = { authorization: `Bearer ${itsKey}` }
  const body = 'x'.repeat(2000)
  const sent = { method: 'POST', headers, body }
  t.equal((await fetchInTime(`${small.url}/v1/images/edits`, sent)).status, 413)
  t.match(await small.newestEntry(), { unscanned: true, method: 'POST', path: '/v1/images/edits' })
  t.equal((await fetchInTime(`${small.url}/v1/images/bob@example.com`, sent)).status, 400)
  t.match(await small.newestEntry(), { unscanned: true, method: 'POST', path: '/v1/images/*' })
})

t.test('one star is one segment', async (t) => {
  t.equal((await send('POST', '/v1/images/a/b')).status, 404)
})

t.test('an answer that passes runs nothing in a browser, and every answer names its type', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('<script>alert(1)</script>')
  }
  const page = await send('GET', '/v1/files')
  t.equal(page.headers.get('content-security-policy'), 'sandbox')
  upstream.answer = json(completion('ok'))
  const body = JSON.stringify(prompt('hi'))
  const chat = await send('POST', '/v1/chat/completions', {
    body,
    headers: { 'content-type': 'application/json' },
  })
  upstream.answer = stream(['hi'])
  const events = await send('POST', '/v1/chat/completions', {
    body: JSON.stringify(prompt('hi', { stream: true })),
    headers: { 'content-type': 'application/json' },
  })
  const metrics = await fetchInTime(`${gateway.opsUrl}/metrics`)
  for (const answer of [page, chat, events, metrics, await send('GET', '/nothing')]) {
    t.equal(answer.headers.get('x-content-type-options'), 'nosniff', answer.url)
    await answer.text()
  }
})

t.test('a WebSocket is refused with a sentence', async (t) => {
  const count = upstream.received.length
  const headers = { upgrade: 'websocket', connection: 'Upgrade', authorization: `Bearer ${key}` }
  for (const path of ['/v1/files', '/v1/realtime', '/v1/chat/completions']) {
    const { status, body } = await rawRequest('GET', `${gateway.url}${path}`, headers)
    t.equal(status, 501, path)
    t.match(JSON.parse(body), { error: { code: 'upgrade_unsupported', message: /WebSocket/ } })
  }
  for (const path of ['/v1/responses', '/v1/responses?beta=1']) {
    const socket = openSocket(gateway)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n${lines.join('')}\r\n`)
    const answer = await readSocket(socket)
    t.match(answer, /^HTTP\/1\.1 426 Upgrade Required\r\n/, 'Codex uses HTTP at once')
    t.match(answer, /\r\nupgrade: HTTP\/1\.1\r\n/i)
    t.match(answer, /\r\nconnection: close, upgrade\r\n/i)
    t.match(answer, /"code":"http_required"/)
  }
  for (const path of ['/v1/responses/resp_1', '/v1/responses/'])
    t.equal((await rawRequest('GET', `${gateway.url}${path}`, headers)).status, 501, path)
  t.equal(upstream.received.length, count)
})
