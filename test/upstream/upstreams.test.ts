// Several upstreams: which one a call goes to, and what happens when one fails.

import t, { type Test } from 'tap'
import type { UpstreamConfig } from '../../src/core/upstream-config.ts'
import { Upstreams } from '../../src/upstream/upstreams.ts'
import { until } from '../process/until.ts'
import { type Answer, heldAnswer, json, type ScriptedUpstream, startUpstream } from '../process/upstream.ts'
import { Client, inTurn, newCall, permit, readAll, requestTo, settings } from './fixture.ts'

/** Scripted servers by the names of their upstreams. */
async function deployAll(
  t: Test,
  answers: Record<string, Answer>,
  more: (name: string) => Partial<UpstreamConfig> = () => ({}),
) {
  const servers: Record<string, ScriptedUpstream> = {}
  const configs: UpstreamConfig[] = []
  for (const [name, answer] of Object.entries(answers)) {
    const server = await startUpstream(answer)
    t.teardown(() => server.close())
    servers[name] = server
    configs.push(settings(server.baseUrl, { name, retries: { attempts: 0 }, ...more(name) }))
  }
  let nowMs = 0
  const events: string[] = []
  const upstreams = new Upstreams(
    configs,
    4,
    { monotonic: () => nowMs },
    {
      asked: (name, result) => events.push(`${name} ${result}`),
      passedOver: (name) => events.push(`${name} passed over`),
    },
  )
  t.teardown(() => upstreams.close())
  const requests = Object.keys(answers).map((upstream) => ({ ...requestTo(`to ${upstream}`), upstream }))
  return {
    servers,
    upstreams,
    events,
    wait: (ms: number) => {
      nowMs += ms
    },
    async send() {
      const call = newCall()
      const [first, ...rest] = requests
      const response = await upstreams.forward(permit(first!, ...rest), {}, new Client(), call)
      return { status: response.status, body: await readAll(response), ...call }
    },
  }
}

t.test('only what the permit holds is sent, and only once', async (t) => {
  const { upstreams, servers } = await deployAll(t, { default: json({ ok: true }) })
  const granted = permit(requestTo('{"model":"m"}', '/elsewhere'))
  await readAll(await upstreams.forward(granted, {}, new Client(), newCall()))
  await t.rejects(upstreams.forward(granted, {}, new Client(), newCall()), /was used before/)
  t.same(
    servers['default']?.received.map(({ url, body }) => [url, body]),
    [['/v1/elsewhere', '{"model":"m"}']],
  )
})

t.test('a call goes to the first upstream that serves its API and its model', async (t) => {
  const { upstreams } = await deployAll(t, { a: json({}), b: json({}), c: json({}) }, (name) => ({
    apis: name === 'b' ? ['anthropic'] : ['openai'],
    models: name === 'a' ? ['gpt-*'] : ['*'],
    rename: name === 'a' ? { 'gpt-4o': 'prod-gpt-4o' } : {},
    fallback: name === 'a' ? ['c'] : [],
  }))
  const routes = (family: 'openai' | 'anthropic', model: string) =>
    upstreams.routesFor(family, model).map(({ upstream, model }) => [upstream, model])
  t.same(routes('openai', 'gpt-4o'), [
    ['a', 'prod-gpt-4o'],
    ['c', 'gpt-4o'],
  ])
  t.same(routes('openai', 'constructor'), [['c', 'constructor']])
  t.same(routes('anthropic', 'gpt-4o'), [['b', 'gpt-4o']])
  t.same(upstreams.clientNames('a', 'prod-gpt-4o'), ['gpt-4o'])
  t.same(upstreams.clientNames('a', 'gpt-5'), ['gpt-5'])
  t.same(upstreams.clientNames('a', 'claude'), [])
  const { upstreams: few } = await deployAll(t, { a: json({}) }, () => ({ models: ['gpt-*'] }))
  t.throws(() => few.routesFor('openai', 'claude'), { code: 'model_not_found', status: 404, param: 'model' })
})

t.test('a failure or a 429 of one upstream sends the call to the next', async (t) => {
  for (const status of [429, 500, 502, 503, 529]) {
    const { send, servers, events } = await deployAll(t, { a: json({ no: 1 }, status), b: json({ ok: 1 }) })
    t.same(await send(), { status: 200, body: '{"ok":1}', attempts: 2, upstream: 'b', sentModel: 'm' })
    t.same([servers['a']?.received[0]?.body, servers['b']?.received[0]?.body], ['to a', 'to b'])
    t.same(events, [status === 429 ? 'a ok' : 'a failed', 'b ok'])
  }
  const { send } = await deployAll(t, { a: (response) => void response.destroy(), b: json({ ok: 1 }) })
  t.match(await send(), { status: 200, upstream: 'b' }, 'a connection that breaks')
})

t.test('any other answer is the answer, and so is a failure of the last upstream', async (t) => {
  for (const status of [200, 400, 401, 404]) {
    const { send, servers } = await deployAll(t, { a: json({}, status), b: json({}) })
    t.match(await send(), { status, upstream: 'a' })
    t.equal(servers['b']?.received.length, 0)
  }
  const { send } = await deployAll(t, { a: json({ a: 1 }, 500), b: json({ b: 1 }, 503) })
  t.match(await send(), { status: 503, body: '{"b":1}', upstream: 'b' })
})

t.test('a call whose client has left asks no other upstream', async (t) => {
  const client = new Client()
  const { upstreams, servers } = await deployAll(t, { a: () => client.disconnect(), b: json({}) })
  const both = permit({ ...requestTo('1'), upstream: 'a' }, { ...requestTo('2'), upstream: 'b' })
  await t.rejects(upstreams.forward(both, {}, client, newCall()), { code: 'upstream_unavailable' })
  t.equal(servers['b']?.received.length, 0)
})

t.test('calls pass over an upstream that fails in a row, until one call finds it well', async (t) => {
  const { send, wait, events, upstreams, servers } = await deployAll(
    t,
    { a: inTurn(json({}, 500), json({}, 500), json({}, 500), json({ a: 1 })), b: json({ b: 1 }) },
    () => ({ breaker: { failures: 2, openSeconds: 30 } }),
  )
  await send()
  t.same(upstreams.open, [])
  await send()
  t.same(upstreams.open, ['a'])
  t.match(await send(), { upstream: 'b', attempts: 1 })
  t.equal(events.at(-2), 'a passed over')
  wait(30_000)
  const [probe, next] = await Promise.all([send(), send()])
  t.same([probe.attempts, next.attempts].sort(), [1, 2], 'one call tries it')
  t.equal(servers['a']?.received.length, 3)
  wait(30_000)
  t.match(await send(), { upstream: 'a', body: '{"a":1}' })
  t.match(await send(), { upstream: 'a' })
  t.same(upstreams.open, [])
})

t.test('when every breaker is open the call fails at once and says when to come back', async (t) => {
  const { send, servers, wait } = await deployAll(t, { a: json({}, 500) }, () => ({
    breaker: { failures: 1, openSeconds: 30 },
  }))
  t.match(await send(), { status: 500 })
  wait(10_000)
  await t.rejects(send(), { code: 'upstream_unavailable', headers: { 'retry-after': '20' } })
  t.equal(servers['a']?.received.length, 1)
})

t.test('the model is part of the address where the base URL says so', async (t) => {
  const { upstreams, servers } = await deployAll(t, { a: json({}) }, () => ({}))
  await upstreams.close()
  const azure = new Upstreams(
    [
      settings(`${servers['a']!.baseUrl.replace('/v1', '')}/openai/deployments/{model}/`, {
        name: 'a',
        query: { 'api-version': '2024-10-21' },
      }),
    ],
    4,
    { monotonic: () => 0 },
  )
  t.teardown(() => azure.close())
  const request = { ...requestTo('1'), upstream: 'a', model: 'a/b c' }
  await readAll(await azure.forward(permit(request), {}, new Client(), newCall()))
  t.equal(
    servers['a']?.received[0]?.url,
    '/openai/deployments/a%2Fb%20c/chat/completions?api-version=2024-10-21',
  )
  const asked = { ...request, target: '/chat/completions?beta=a?b&Api-Version=1&api%2Dversion=2' }
  await readAll(await azure.forward(permit(asked), {}, new Client(), newCall()))
  t.match(
    servers['a']?.received[1]?.url,
    /\/chat\/completions\?beta=a\?b&api-version=2024-10-21$/,
    'the configured parameter replaces that of the client',
  )
})

const events =
  (...bodies: readonly (object | string)[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const body of bodies)
      response.write(typeof body === 'string' ? body : `data: ${JSON.stringify(body)}\n\n`)
    response.end()
  }

t.test('a failure in the first event, or in a body with status 200, goes to the next upstream', async (t) => {
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  for (const [what, answer] of Object.entries({
    'an overload of Messages': events(`event: error\ndata: ${JSON.stringify(overloaded)}\n\n`),
    'an error after comments': events(': PROCESSING\n\n: PROCESSING\n\n', {
      error: { code: 502, message: 'x' },
    }),
    'a failed response': events({ type: 'response.failed', response: { error: { code: 'server_error' } } }),
    'an overload after the opening of Messages': events(
      { type: 'message_start', message: { id: 'msg_1', content: [] } },
      { type: 'ping' },
      overloaded,
    ),
    'an overload after the opening of a response': events(
      { type: 'response.created', response: { id: 'resp_1', error: null } },
      { type: 'response.in_progress', response: { id: 'resp_1', error: null } },
      { type: 'response.failed', response: { error: { code: 'server_is_overloaded' } } },
    ),
    'an error in a choice': json({ choices: [{ error: { code: 502 }, finish_reason: 'error' }] }),
    'a limit of the provider': events({ error: { code: 'rate_limit_exceeded' } }),
    'a body that is an error': json({ error: { code: 503, message: 'no capacity' } }),
    'an error with a status as text': json({ error: { status: '529', message: 'busy' } }),
  })) {
    const deployed = await deployAll(t, { one: answer, two: json({ ok: true }) })
    t.match(await deployed.send(), { body: '{"ok":true}', upstream: 'two', attempts: 2 }, what)
    t.same(deployed.events, ['one failed', 'two ok'], what)
  }
})

t.test('any other answer is delivered as it is, from its beginning', async (t) => {
  const chunk = { choices: [{ delta: { content: 'hi' } }] }
  const late = { error: { code: 502, message: 'x' } }
  for (const [what, answer, body] of [
    ['a stream', events(chunk, late), `data: ${JSON.stringify(chunk)}\n\ndata: ${JSON.stringify(late)}\n\n`],
    [
      'a stream with an opening',
      events({ type: 'message_start' }, { type: 'content_block_start' }, late),
      [{ type: 'message_start' }, { type: 'content_block_start' }, late]
        .map((one) => `data: ${JSON.stringify(one)}\n\n`)
        .join(''),
    ],
    ['an opening alone', events({ type: 'ping' }), 'data: {"type":"ping"}\n\n'],
    ['a fault of the caller', json({ error: { code: 400 } }), '{"error":{"code":400}}'],
    ['a long body', json({ error: 'x'.repeat(100_000) }), JSON.stringify({ error: 'x'.repeat(100_000) })],
    ['no JSON', json('hello'), 'hello'],
    ['nothing', json(''), ''],
    ['a stream without data', events(': ping\n\n'), ': ping\n\n'],
  ] as const) {
    const deployed = await deployAll(t, { one: answer, two: json({ ok: true }) })
    t.match(await deployed.send(), { body, upstream: 'one', attempts: 1 }, what)
  }
})

t.test('without another upstream a failure in the first event is delivered', async (t) => {
  const failure = { error: { code: 502, message: 'x' } }
  const alone = await deployAll(t, { one: events(failure) })
  t.match(await alone.send(), { status: 200, body: `data: ${JSON.stringify(failure)}\n\n` })
  const both = await deployAll(t, { one: events(failure), two: events(failure) })
  t.match(await both.send(), { body: `data: ${JSON.stringify(failure)}\n\n`, upstream: 'two' })
})

t.test('replaced upstreams serve the calls that know them, and close with all others', async (t) => {
  const held = heldAnswer({ ok: true })
  const server = await startUpstream(json({ ok: true }))
  t.teardown(() => server.close())
  const [stays, goes] = ['stays', 'goes'].map((name) => settings(server.baseUrl, { name }))
  const upstreams = new Upstreams([stays!, goes!], 4, { monotonic: () => 0 })
  const send = async (through: Upstreams, upstream: string) =>
    readAll(await through.forward(permit({ ...requestTo('{}'), upstream }), {}, new Client(), newCall()))
  await send(upstreams, 'stays')
  await send(upstreams, 'goes')
  const next = upstreams.replacedBy([stays!, settings(server.baseUrl, { name: 'comes' })])
  t.same(next.names, ['stays', 'comes'])
  t.equal(next.routeTo('goes', 'm'), null)
  for (const [through, name] of [
    [next, 'stays'],
    [next, 'comes'],
    [upstreams, 'goes'],
    [upstreams, 'goes'],
  ] as const)
    await send(through, name)
  const [first, second, third, , late, later] = server.received.map(({ socket }) => socket())
  t.equal(first, third, 'one that stays keeps its connection')
  t.not(second, late)
  t.not(late, later, 'late calls have connections of their own')
  for (const socket of [second!, late!, later!]) await until('the connection closes', () => socket.destroyed)
  t.notOk(first!.destroyed)
  server.answer = held.answer
  const last = next.replacedBy([])
  const arrived = server.next()
  const cut = send(next, 'stays')
  await arrived
  await last.close()
  await next.close()
  await t.rejects(cut)
})
