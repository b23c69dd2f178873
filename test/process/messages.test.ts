// Anthropic's official client against the running process.

import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { BLOCK_AURORA, deploy } from './gateway.ts'
import {
  MESSAGES_USAGE,
  message,
  messageEvents,
  named,
  streamed,
  streamedText,
  streamedThinking,
  streamedTool,
  textBlock,
} from './messages-upstream.ts'
import { fetchInTime } from './until.ts'
import { json } from './upstream.ts'

const { upstream, gateway, key } = await deploy(t, undefined, { rules: BLOCK_AURORA })
const client = new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0, fetch: fetchInTime })

const model = 'test/claude'
const say = (content: string) => [{ role: 'user' as const, content }]
const request = { model, max_tokens: 100, messages: say('hi') }
/** What a refused call says. */
const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => ({}),
    ({ status, error }: { status: number; error: object }) => ({ status, ...error }),
  )

const sent = () => JSON.parse(upstream.received.at(-1)?.body ?? '{}')

t.test('a message is redacted both ways and sealed', async (t) => {
  upstream.answer = json(message(textBlock('Write to bob@example.org.')))
  const answer = await client.messages.create({
    ...request,
    system: 'You are the desk of ann@example.com.',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'My card is 4111 1111 1111 1111.' },
          { type: 'tool_result', tool_use_id: 'toolu_01', content: '{"to": "carl\\u0040example.com"}' },
        ],
      },
    ],
  })
  t.match(answer, { content: [{ type: 'text', text: 'Write to [EMAIL_3].' }], usage: MESSAGES_USAGE })
  t.match(upstream.received.at(-1), { url: '/v1/messages', method: 'POST' })
  t.same(sent(), {
    ...request,
    system: 'You are the desk of [EMAIL_1].',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'My card is [CREDIT_CARD_1].' },
          { type: 'tool_result', tool_use_id: 'toolu_01', content: '{"to": "[EMAIL_2]"}' },
        ],
      },
    ],
  })
  t.match(await gateway.newestEntry(), {
    api: 'messages',
    outcome: 'ok',
    finish_reason: 'end_turn',
    prompt_tokens: 11,
    completion_tokens: 7,
    usage_source: 'upstream',
  })
})

t.test('the id of a call is where the client reads it, of an answer, a stream and an error', async (t) => {
  const theirs = { 'request-id': 'req_011CX' }
  upstream.answer = json(message(textBlock('ok')), 200, theirs)
  t.match(await client.messages.create(request), { _request_id: 'req_011CX' })
  upstream.answer = json(message(textBlock('ok')))
  const own = client.messages.create(request)
  const { data, response } = await own.withResponse()
  t.match(data, { _request_id: response.headers.get('x-request-id') })
  upstream.answer = json({ type: 'error', error: { type: 'api_error', message: 'no' } }, 500, theirs)
  t.equal(await client.messages.create(request).catch(({ requestID }) => requestID), 'req_011CX')
  const events = messageEvents([streamedText('Hi')])
  upstream.answer = (response, received) => {
    response.setHeader('request-id', 'req_011CX')
    return streamed(events)(response, received)
  }
  const stream = client.messages.stream(request)
  await stream.done()
  t.equal(stream.request_id, 'req_011CX')
  const refused = client.messages.create({ ...request, messages: say('project aurora') })
  t.match(await refused.catch(({ status, requestID }) => [status, requestID]), [400, /^[\da-f-]{36}$/])
})

t.test('the query of the client is forwarded, unless it may hold what is not checked', async (t) => {
  upstream.answer = json(message(textBlock('ok')))
  const flagged = { query: { beta: true } }
  t.match(await client.messages.create(request, flagged), { content: [{ text: 'ok' }] })
  t.equal(upstream.received.at(-1)?.url, '/v1/messages?beta=true')
  upstream.answer = json({ input_tokens: 3 })
  await client.messages.countTokens({ model, messages: say('hi') }, flagged)
  t.equal(upstream.received.at(-1)?.url, '/v1/messages/count_tokens?beta=true')
  const count = upstream.received.length
  const call = client.messages.create(request, { query: { to: 'ann@example.com' } })
  t.match(await refusalOf(call), { status: 400, error: { code: 'invalid_parameter' } })
  t.equal(upstream.received.length, count)
  t.match(await gateway.newestEntry(), { outcome: 'invalid_request' })
})

t.test('a credential of another kind beside the key is ignored, and never leaves', async (t) => {
  upstream.answer = json(message(textBlock('ok')))
  const theirs = 'sk-ant-oat01-of-the-provider'
  for (const headers of [
    { authorization: `Bearer ${theirs}`, 'x-api-key': key },
    { authorization: `Bearer ${key}`, 'x-api-key': theirs },
  ]) {
    const both = new Anthropic({
      apiKey: key,
      baseURL: gateway.url,
      defaultHeaders: headers,
      fetch: fetchInTime,
    })
    t.match(await both.messages.create(request), { content: [{ text: 'ok' }] })
    t.match(JSON.stringify(upstream.received.at(-1)?.headers), /^(?!.*(?:of-the-provider|sgate_live_))/)
  }
  const { key: second } = await gateway.createKey('second')
  const two = new Anthropic({
    apiKey: key,
    baseURL: gateway.url,
    defaultHeaders: { authorization: `Bearer ${key}`, 'x-api-key': second },
    fetch: fetchInTime,
  })
  await t.rejects(two.messages.create(request), { status: 400, message: /two different Sidegate keys/ })
})

t.test("an error before any part of the answer has Anthropic's status and type", async (t) => {
  for (const [type, status] of [
    ['invalid_request_error', 400],
    ['authentication_error', 401],
    ['billing_error', 402],
    ['permission_error', 403],
    ['not_found_error', 404],
    ['request_too_large', 413],
    ['rate_limit_error', 429],
    ['api_error', 500],
    ['timeout_error', 504],
    ['overloaded_error', 529],
  ] as const) {
    const body = { type: 'error', error: { type, message: 'no room for bob@example.org' } } as const
    for (const answer of [streamed([named(body)]), json(body)]) {
      upstream.answer = answer
      const calls = [
        () => client.messages.create(request),
        () => client.messages.stream(request).finalMessage(),
      ]
      for (const call of calls)
        t.match(await refusalOf(call()), {
          status,
          type: 'error',
          error: { type, message: 'no room for [EMAIL_1]' },
        })
      t.match(await gateway.newestEntry(), { status, outcome: 'upstream_error' })
    }
  }
  upstream.answer = streamed([named({ type: 'error', error: { type: 'new_error', message: 'no' } })])
  t.match(await refusalOf(client.messages.create(request)), { status: 502, error: { type: 'api_error' } })
})

t.test('a stream is redacted block by block, and ends with its receipt', async (t) => {
  upstream.answer = streamed(
    messageEvents(
      [
        streamedThinking('EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk', 'Ask bo', 'b@exam', 'ple.org.'),
        streamedText('Write to bo', 'b@exam', 'ple.org', ' or ca', 'll +1 415 5', '55 2671 no', 'w.'),
        streamedTool('mail', '{"to": "bo', 'b@example.org", "card": 41111', '11111111111}'),
      ],
      'tool_use',
    ),
  )
  const answer = await client.messages.stream(request).finalMessage()
  t.match(answer.content, [
    { type: 'thinking', thinking: 'Ask [EMAIL_1].', signature: /^EqQB/ },
    { type: 'text', text: 'Write to [EMAIL_1] or call [PHONE_1] now.' },
    { type: 'tool_use', id: 'toolu_01', name: 'mail', input: { to: '[EMAIL_1]', card: '[CREDIT_CARD_1]' } },
  ])
  t.match(answer, { stop_reason: 'tool_use', usage: MESSAGES_USAGE })
  const entry = await gateway.newestEntry()
  t.match(entry, {
    api: 'messages',
    stream: true,
    finish_reason: 'tool_use',
    prompt_tokens: 11,
    completion_tokens: 7,
  })
  const { body } = await gateway.api('GET', `/usage/logs/${entry.id}`)
  t.same(body.response.content, answer.content)
})

const SIGNATURE = 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds'
const SECRET_THOUGHT = 'Bob is bob@example.org.'

/** Sends a block of reasoning back, as clients do with tools; returns what the upstream gets. */
async function sendBack(block: object): Promise<unknown> {
  upstream.answer = json(message(textBlock('ok')))
  await client.messages.create({
    ...request,
    messages: [
      ...say('hi'),
      { role: 'assistant', content: [block as never, textBlock('hm') as never] },
      ...say('go on'),
    ],
  })
  return sent().messages[1].content
}

t.test('signed reasoning is redacted for the client, and whole again for the provider', async (t) => {
  const original = { type: 'thinking', thinking: SECRET_THOUGHT, signature: SIGNATURE }
  const redacted = { ...original, thinking: 'Bob is [EMAIL_1].' }
  for (const streams of [false, true]) {
    const signature = `${SIGNATURE}${streams ? 'stream' : 'whole'}A1`
    upstream.answer = streams
      ? streamed(messageEvents([streamedThinking(signature, 'Bob is bo', 'b@example.org.')]))
      : json(message({ ...original, signature }))
    const answer = streams
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request)
    t.match(answer.content, [{ ...redacted, signature }])
    t.same(await sendBack(answer.content[0]!), [{ ...original, signature }, textBlock('hm')])
    const { body } = await gateway.api('GET', `/usage/logs/${(await gateway.newestEntry()).id}`)
    t.notMatch(JSON.stringify(body), /bob@/, 'the log has the redacted form')
  }
})

t.test('signed reasoning without its original is left out, and any other passes', async (t) => {
  const unknown = { type: 'thinking', thinking: 'Bob is [EMAIL_1].', signature: `${SIGNATURE}unknown1` }
  t.same(await sendBack(unknown), [textBlock('hm')])
  const forged = { type: 'thinking', thinking: 'Bob is bob@example.org.', signature: `${SIGNATURE}forged1` }
  t.same(await sendBack(forged), [textBlock('hm')], 'what would be altered leaves too')
  t.match(await gateway.metrics(), /sidegate_thoughts_dropped_total 2/)
  const written = JSON.stringify({
    ...request,
    messages: [
      ...say('hi'),
      {
        role: 'assistant',
        content: [unknown, { type: 'tool_use', id: 'toolu_1', name: 'f', input: { x: 7 } }],
      },
    ],
  }).replace('7', '7.0')
  const headers = { 'content-type': 'application/json', 'x-api-key': key }
  await fetchInTime(`${gateway.url}/v1/messages`, { method: 'POST', headers, body: written })
  t.equal(upstream.received.at(-1)?.body, written.replace(`${JSON.stringify(unknown)},`, ''))
  const plain = { type: 'thinking', thinking: 'Nothing to hide.', signature: `${SIGNATURE}plain1` }
  t.same(await sendBack(plain), [plain, textBlock('hm')])
  const other = await gateway.createKey('other')
  const stranger = new Anthropic({
    apiKey: other.key,
    baseURL: gateway.url,
    maxRetries: 0,
    fetch: fetchInTime,
  })
  const known = { type: 'thinking', thinking: 'Bob is [EMAIL_1].', signature: `${SIGNATURE}wholeA1` }
  await stranger.messages.create({
    ...request,
    messages: [
      ...say('hi'),
      { role: 'assistant', content: [known as never, textBlock('hm') as never] },
      ...say('go on'),
    ],
  })
  t.same(sent().messages[1].content, [textBlock('hm')], "another key's originals stay its own")
})

t.test('addresses and credentials of tool servers reach the provider, and not the log', async (t) => {
  upstream.answer = json(message(textBlock('ok')))
  const mcp_servers = [
    {
      type: 'url',
      url: 'https://mcp.example/?u=bob@example.com',
      name: 'docs',
      authorization_token: 'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
    },
  ]
  await client.messages.create({ ...request, mcp_servers } as never)
  t.same(sent().mcp_servers, mcp_servers)
  const { body } = await gateway.api('GET', `/usage/logs/${(await gateway.newestEntry()).id}`)
  t.match(body.request.mcp_servers, [
    { url: '[CREDENTIAL]', name: 'docs', authorization_token: '[CREDENTIAL]' },
  ])
})

t.test('the receipt is in the block of the last event', async (t) => {
  upstream.answer = streamed(messageEvents([streamedText('hi')]))
  const response = await fetchInTime(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, stream: true }),
  })
  const text = await response.text()
  t.match(text, /\n\nevent: message_stop\n: sidegate-audit [^\n]+\ndata: \{"type":"message_stop"\}\n\n$/)
})

t.test('errors have the form of the API', async (t) => {
  const stranger = new Anthropic({ apiKey: 'no', baseURL: gateway.url, maxRetries: 0, fetch: fetchInTime })
  await t.rejects(stranger.messages.create(request), Anthropic.AuthenticationError)
  t.match(await refusalOf(client.messages.create({ ...request, messages: say('about Project Aurora') })), {
    status: 400,
    type: 'error',
    error: { type: 'invalid_request_error', code: 'blocked_by_policy', rule_name: 'no-aurora' },
  })
  t.match(await refusalOf(client.messages.create({ ...request, messages: [] })), {
    status: 400,
    type: 'error',
    error: { type: 'invalid_request_error', param: 'messages' },
  })
  upstream.answer = json({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 529)
  t.match(await refusalOf(client.messages.create(request)), {
    status: 529,
    type: 'error',
    error: { type: 'overloaded_error', message: 'Overloaded' },
  })
  upstream.answer = streamed(messageEvents([streamedText('half')]).slice(0, 4))
  await t.rejects(client.messages.stream(request).finalMessage(), /before its answer was complete/)
  t.match(await gateway.newestEntry(), { outcome: 'upstream_error' })
})

t.test('tokens are counted without using any', async (t) => {
  upstream.answer = json({ input_tokens: 14 })
  const { max_tokens: _none, ...counted } = request
  t.same(await client.messages.countTokens({ ...counted, messages: say('I am ann@example.com') }), {
    input_tokens: 14,
  })
  t.match(upstream.received.at(-1), { url: '/v1/messages/count_tokens', body: /I am \[EMAIL_1\]/ })
  t.match(await gateway.newestEntry(), { api: 'count_tokens', total_tokens: 0, outcome: 'ok' })
})

t.test('a whole answer and a stream replace each other for clients that asked for the other', async (t) => {
  const thinking = {
    type: 'thinking',
    thinking: 'Ask [EMAIL_1].',
    signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk',
  }
  const tool = { type: 'tool_use', id: 'toolu_01', name: 'mail', input: { to: '[EMAIL_1]' } }
  const content = [thinking, textBlock('Write to [EMAIL_1].'), tool]
  const received = JSON.parse(JSON.stringify(content).replaceAll('[EMAIL_1]', 'bob@example.org'))
  upstream.answer = json(message(...received))
  const fromWhole = await client.messages.stream(request).finalMessage()
  t.match(fromWhole.content, content)
  t.match(fromWhole, { stop_reason: 'end_turn', usage: MESSAGES_USAGE })
  upstream.answer = streamed(
    messageEvents([
      streamedText('Write to bo', 'b@example.org.'),
      streamedTool('mail', '{"to":', '"bob@example.org"}'),
    ]),
  )
  const whole = await client.messages.create(request)
  t.match(whole.content, [textBlock('Write to [EMAIL_1].'), tool])
  t.match(whole, { type: 'message', stop_reason: 'end_turn', usage: MESSAGES_USAGE })
})

t.test('a path around the endpoint that is not served is an error in the form of the API', async (t) => {
  for (const path of ['/v1/messages/batches', '/v1/messages/batches/b/results', '/v1/messages/..%2f']) {
    const answer = await fetchInTime(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': key },
    })
    t.match(await answer.json(), { type: 'error', error: { type: /_error$/, message: /./ } }, path)
  }
  const elsewhere = await fetchInTime(`${gateway.url}/v1/batches`, { method: 'POST' })
  t.match(await elsewhere.json(), { error: { code: 'not_found' } })
})
