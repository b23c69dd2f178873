// The official client against the running process: what an app team sees, and what left for the upstream.

import OpenAI from 'openai'
import t from 'tap'
import { discard, startGateway, UPSTREAM_KEY } from './gateway.ts'
import {
  chunk,
  completion,
  delta,
  event,
  finish,
  json,
  startUpstream,
  stream,
  streamOf,
  USAGE,
} from './upstream.ts'

const RULES = `
rules:
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block, enabled: true }
  - { name: no-cards, type: pii, pattern: credit_card, action: block, enabled: true, match: { models: [strict/*] } }
  - { name: small-budget, type: rate_limit, pattern: "50/1h", action: block, enabled: true, match: { keys: [limited] } }
`

const upstream = await startUpstream()
const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: RULES })
t.teardown(async () => {
  await discard(gateway)
  await upstream.close()
})
const { key } = await gateway.createKey('app')
const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })

const say = (content: string) => [{ role: 'user' as const, content }]
const lastReceived = () => upstream.received.at(-1)
const newest = async () => (await gateway.api('GET', '/usage/logs?limit=1')).body.logs[0]
const count = async () => (await gateway.api('GET', '/usage/logs?limit=1')).body.total as number

t.test('a chat completion, redacted on its way out', async (t) => {
  upstream.answer = json(completion('Sure, [EMAIL_1].'))
  const answer = await client.chat.completions.create({
    model: 'test/model',
    temperature: 0.5,
    messages: say('Write to alice@example.com, again: ALICE@example.com'),
  })
  t.equal(answer.choices[0]?.message.content, 'Sure, [EMAIL_1].')
  t.equal(
    lastReceived()?.body,
    JSON.stringify({
      model: 'test/model',
      temperature: 0.5,
      messages: say('Write to [EMAIL_1], again: [EMAIL_1]'),
    }),
  )
  t.equal(lastReceived()?.headers.authorization, `Bearer ${UPSTREAM_KEY}`)
  t.notMatch(JSON.stringify(lastReceived()), /sgate_live_/)
  t.match(await newest(), { outcome: 'ok', status: 200, model: 'test/model', pii_types: ['email'], ...USAGE })
})

t.test('an answer is redacted too, and its log probabilities go', async (t) => {
  const body = completion('Ask bob@example.org or [EMAIL_1].')
  upstream.answer = json({
    ...body,
    choices: [{ ...body.choices[0], logprobs: { content: [{ token: 'bob' }] } }],
  })
  const answer = await client.chat.completions.create({
    model: 'test/model',
    messages: say('Mail alice@example.com'),
  })
  t.equal(answer.choices[0]?.message.content, 'Ask [EMAIL_2] or [EMAIL_1].')
  t.equal(answer.choices[0]?.logprobs, null)
})

t.test('a stream says the same, with and without usage', async (t) => {
  upstream.answer = stream(['Ask bo', 'b@exa', 'mple.org', ' or ca', 'll +1 415 5', '55 2671 no', 'w.'])
  const openRoutersWay = { usage: { include: true } }
  for (const asked of [{}, { stream_options: { include_usage: true } }, openRoutersWay]) {
    const answer = await client.chat.completions.create({
      model: 'test/model',
      messages: say('hi'),
      stream: true,
      ...asked,
    })
    let text = ''
    let usage: unknown = null
    for await (const part of answer) {
      text += part.choices[0]?.delta.content ?? ''
      usage = part.usage ?? usage
    }
    t.equal(text, 'Ask [EMAIL_1] or call [PHONE_1] now.')
    t.same(usage, Object.keys(asked).length > 0 ? USAGE : null)
    t.match(JSON.parse(lastReceived()?.body ?? ''), {
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    })
    t.match(await newest(), {
      outcome: 'ok',
      stream: true,
      finish_reason: 'stop',
      usage_source: 'upstream',
      ...USAGE,
    })
  }
})

t.test('the streaming helper gets complete messages', async (t) => {
  upstream.answer = stream(['Hello ', 'wor', 'ld'])
  const runner = client.chat.completions.stream({ model: 'test/model', messages: say('hi') })
  const final = await runner.finalChatCompletion()
  t.equal(final.choices[0]?.message.content, 'Hello world')
})

t.test('tool calls, arguments in fragments, stay JSON', async (t) => {
  const call = (more: object) =>
    event(chunk([{ index: 0, delta: { tool_calls: [{ index: 0, ...more }] }, finish_reason: null }]))
  const fragments = ['{"to":"bo', 'b\\u0040exam', 'ple.org","ca', 'rd":4111111', '111111111,"n":', '5}']
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      event(chunk([{ index: 0, delta: { role: 'assistant', content: 'One moment ' }, finish_reason: null }])),
    )
    response.write(call({ id: 'call_1', type: 'function', function: { name: 'send', arguments: '' } }))
    for (const fragment of fragments) response.write(call({ function: { arguments: fragment } }))
    response.write(event(finish(0, 'tool_calls')))
    response.end(event('[DONE]'))
  }
  const runner = client.chat.completions.stream({ model: 'test/model', messages: say('hi') })
  const done: unknown[] = []
  runner.on('tool_calls.function.arguments.done', (props) => done.push(props.arguments))
  const { message } = (await runner.finalChatCompletion()).choices[0] ?? {}
  const call0 = message?.tool_calls?.[0]
  t.match(call0, { id: 'call_1', function: { name: 'send' } })
  t.same(JSON.parse(call0?.type === 'function' ? call0.function.arguments : ''), {
    to: '[EMAIL_1]',
    card: '[CREDIT_CARD_1]',
    n: 5,
  })
  t.same(done.length, 1)
  t.equal(message?.content, 'One moment ')
})

t.test('texts anywhere in a stream are redacted as they grow, and what is whole stays whole', async (t) => {
  const piece = (more: object) => event(chunk([{ index: 0, delta: more, finish_reason: null }]))
  const annotation = {
    type: 'url_citation',
    url_citation: { url: 'https://a.example/bob', title: 'Ask Bob', start_index: 0, end_index: 3 },
  }
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'send_mail', arguments: '{}' } }
  const cut = ['Ask bob@exam', 'ple.org']
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(piece({ role: 'assistant', content: '' }))
    for (const thinking of cut) response.write(piece({ content: [{ type: 'thinking', thinking }] }))
    for (const text of cut) response.write(piece({ reasoning: { text } }))
    for (const output of cut)
      response.write(piece({ executed_tools: [{ index: 0, type: 'python', output }] }))
    for (const content of cut) response.write(piece({ content }))
    response.write(piece({ annotations: [annotation] }))
    response.write(piece({ tool_calls: [call] }))
    response.write(event(finish(0, 'tool_calls')))
    response.end(event('[DONE]'))
  }
  const answer = await client.chat.completions.create({
    model: 'test/model',
    messages: say('hi'),
    stream: true,
  })
  const deltas: any[] = []
  for await (const part of answer) deltas.push(part.choices[0]?.delta ?? {})
  const text = (read: (one: any) => unknown) => deltas.map((one) => read(one) ?? '').join('')
  t.equal(
    text((one) => Array.isArray(one.content) && one.content[0].thinking).replaceAll('false', ''),
    'Ask [EMAIL_1]',
  )
  t.equal(
    text((one) => one.reasoning?.text),
    'Ask [EMAIL_1]',
  )
  t.equal(
    text((one) => one.executed_tools?.[0].output),
    'Ask [EMAIL_1]',
  )
  t.equal(
    text((one) => typeof one.content === 'string' && one.content).replaceAll('false', ''),
    'Ask [EMAIL_1]',
  )
  t.same(
    deltas.flatMap((one) => one.annotations ?? []),
    [annotation],
  )
  t.same(
    deltas.flatMap((one) => one.tool_calls ?? []),
    [call],
  )
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(piece({ role: 'assistant', content: 'Ask ' }))
    response.write(piece({ annotations: [annotation] }))
    response.write(piece({ tool_calls: [call] }))
    response.write(event(finish(0, 'tool_calls')))
    response.end(event('[DONE]'))
  }
  const runner = client.chat.completions.stream({ model: 'test/model', messages: say('hi') })
  const { message } = (await runner.finalChatCompletion()).choices[0] ?? {}
  const { index: _index, ...called } = call
  t.match(message, { content: 'Ask ', annotations: [annotation], tool_calls: [called] })
})

t.test('tool schemas, tool results and arguments are scanned on the way out', async (t) => {
  upstream.answer = json(completion('ok'))
  await client.chat.completions.create({
    model: 'test/model',
    messages: [
      ...say('go'),
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'f', arguments: '{"mail":"al\\u0069ce@example.com"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '{"owner":"carol\\u0040example.com"}' },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'f',
          description: 'Ask dave@example.com',
          parameters: { type: 'object', properties: { mail: { type: 'string', enum: ['eve@example.com'] } } },
        },
      },
    ],
  })
  const sent = lastReceived()?.body ?? ''
  t.notMatch(sent, /example\.com|u0040/)
  t.equal(JSON.parse(JSON.parse(sent).messages[1].tool_calls[0].function.arguments).mail, '[EMAIL_1]')
})

t.test('multimodal content and split parts', async (t) => {
  upstream.answer = json(completion('ok'))
  const image = `data:image/png;base64,${Buffer.alloc(200, 1).toString('base64')}`
  await client.chat.completions.create({
    model: 'test/model',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Mail frank@exam' },
          { type: 'text', text: 'ple.com please' },
          { type: 'image_url', image_url: { url: image } },
        ],
      },
    ],
  })
  t.same(JSON.parse(lastReceived()?.body ?? '').messages[0].content, [
    { type: 'text', text: 'Mail [EMAIL_1]' },
    { type: 'text', text: ' please' },
    { type: 'image_url', image_url: { url: image } },
  ])
})

t.test('several choices are numbered apart', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [text, index] of [
      ['a@b.co and', 0],
      ['x@y.co and', 1],
      [' c@d.co', 0],
      [' a@b.co', 1],
    ] as const)
      response.write(event(delta(text, index)))
    response.write(event(finish(1)))
    response.write(event(finish(0)))
    response.end(event('[DONE]'))
  }
  const texts = ['', '']
  const answer = await client.chat.completions.create({
    model: 'test/model',
    n: 2,
    messages: say('hi'),
    stream: true,
  })
  for await (const { choices } of answer)
    for (const { index, delta } of choices) texts[index] += delta.content ?? ''
  t.same(texts, ['[EMAIL_1] and [EMAIL_2]', '[EMAIL_1] and [EMAIL_2]'])
})

t.test('every refusal is the SDK’s own error, sealed once', async (t) => {
  upstream.answer = json(completion('ok'))
  const fails = async (
    call: Promise<unknown>,
    status: number,
    code: string,
    kind: abstract new (...args: never[]) => Error,
  ) => {
    const before = await count()
    const error = await call.then(
      () => null,
      (reason) => reason,
    )
    t.ok(error instanceof kind, `${code}: ${error?.constructor.name}`)
    t.match(error, { status, code })
    t.equal(await count(), before + 1, `${code} makes one entry`)
    return error
  }
  const ask = (content: string, model = 'test/model') =>
    client.chat.completions.create({ model, messages: say(content) })
  const blocked = await fails(
    ask('about Project Aurora'),
    403,
    'blocked_by_policy',
    OpenAI.PermissionDeniedError,
  )
  t.equal(blocked.headers.get('x-should-retry'), 'false')
  t.match(blocked.error, { rule_name: 'no-aurora' })
  await fails(
    ask('card 4111 1111 1111 1111', 'strict/model'),
    403,
    'blocked_by_policy',
    OpenAI.PermissionDeniedError,
  )
  await fails(ask('hi', ''), 400, 'invalid_body', OpenAI.BadRequestError)
  await fails(
    client.chat.completions.create({ model: 'm' } as never),
    400,
    'missing_required_parameter',
    OpenAI.BadRequestError,
  )
  upstream.answer = json(
    {
      error: {
        message: `No. Key ${UPSTREAM_KEY} of bob@example.org`,
        type: 'invalid_request_error',
        param: null,
        code: 'context_length',
      },
    },
    400,
  )
  const passed = await fails(ask('hi'), 400, 'context_length', OpenAI.BadRequestError)
  t.notMatch(JSON.stringify(passed.error), new RegExp(`${UPSTREAM_KEY}|bob@`))
  upstream.answer = json({ error: { message: 'slow down' } }, 500)
  await fails(ask('hi'), 502, 'upstream_unavailable', OpenAI.InternalServerError)
  upstream.answer = json(completion('The Project Aurora plan'))
  await fails(ask('hi'), 403, 'response_blocked_by_policy', OpenAI.PermissionDeniedError)
})

t.test('a wrong key is refused the same way whatever is wrong with it, and not sealed', async (t) => {
  const before = await count()
  const messages = new Set<string>()
  const revoked = await gateway.createKey('gone')
  await gateway.api('DELETE', `/keys/${revoked.id}`)
  const mistyped = key.slice(0, -1) + (key.endsWith('x') ? 'y' : 'x')
  for (const apiKey of ['nonsense', mistyped, revoked.key]) {
    const stranger = new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    const error = await stranger.chat.completions
      .create({ model: 'm', messages: say('hi') })
      .catch((reason) => reason)
    t.ok(error instanceof OpenAI.AuthenticationError)
    messages.add(error.message)
  }
  t.equal(messages.size, 1)
  t.equal(await count(), before)
})

t.test('token limits', async (t) => {
  upstream.answer = json(completion('ok'))
  const limited = await gateway.createKey('limited')
  const poor = new OpenAI({ apiKey: limited.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const first = await poor.chat.completions.create({ model: 'm', messages: say('hi') }).withResponse()
  t.equal(first.response.headers.get('x-ratelimit-limit-tokens'), '50')
  await poor.chat.completions.create({ model: 'm', messages: say('hi') })
  const error = await poor.chat.completions
    .create({ model: 'm', max_tokens: 20, messages: say('hi') })
    .catch((reason) => reason)
  t.ok(error instanceof OpenAI.RateLimitError)
  t.match(error, { code: 'rate_limit_exceeded' })
  t.ok(Number(error.headers.get('retry-after')) > 60)
  t.equal(error.headers.get('x-should-retry'), 'false')
  t.match(await newest(), { outcome: 'rate_limited', total_tokens: 0 })
})

t.test('a client that leaves ends the upstream call and is sealed', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(delta('one two three ')))
  }
  const arrived = upstream.next()
  const answer = await client.chat.completions.create({
    model: 'test/model',
    messages: say('hi'),
    stream: true,
  })
  for await (const part of answer) {
    t.equal(part.choices[0]?.delta.content?.trimEnd().startsWith('one two'), true)
    break
  }
  await (await arrived).closed
  let entry = await newest()
  while (entry.outcome !== 'client_aborted') entry = await newest()
  t.match(entry, { status: 499, stream: true, usage_source: 'estimated' })
  t.ok(entry.completion_tokens > 0 && entry.prompt_tokens > 0)
})

t.test('an upstream that breaks off is an error, never a clean end', async (t) => {
  for (const [how, end] of [
    ['closed', (response: any) => response.end()],
    ['reset', (response: any) => response.socket.resetAndDestroy()],
  ] as const) {
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(event(delta('one two three ')), () => end(response))
    }
    const answer = await client.chat.completions.create({
      model: 'test/model',
      messages: say('hi'),
      stream: true,
    })
    const read = async () => {
      for await (const _ of answer);
    }
    await t.rejects(read(), { code: 'upstream_unavailable' }, how)
    t.match(await newest(), { outcome: 'upstream_error' }, how)
  }
})

t.test('an event that its upstream calls an error is one', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      `${event(delta('one two three '))}event: error\ndata: {"message":"busy","type":"overloaded_error"}\n\n`,
    )
  }
  const answer = await client.chat.completions.create({
    model: 'test/model',
    messages: say('hi'),
    stream: true,
  })
  let text = ''
  let failure: any = null
  try {
    for await (const part of answer) text += part.choices[0]?.delta.content ?? ''
  } catch (error) {
    failure = error
  }
  t.ok(failure instanceof OpenAI.APIError)
  t.match(failure, { type: 'overloaded_error', error: { message: 'busy' } })
  t.match(text, /^one two/)
  t.match(await newest(), { outcome: 'upstream_error', stream: true })
})

t.test('a forbidden word in a stream stops it there', async (t) => {
  upstream.answer = stream(['The plan of pro', 'ject au', 'rora is secret'])
  const answer = await client.chat.completions.create({
    model: 'test/model',
    messages: say('hi'),
    stream: true,
  })
  let text = ''
  const read = async () => {
    for await (const part of answer) text += part.choices[0]?.delta.content ?? ''
  }
  await t.rejects(read(), { code: 'response_blocked_by_policy' })
  t.equal(text, 'The plan of ')
  t.match(await newest(), { outcome: 'blocked', blocked: true })
})

t.test('structured output stays JSON, whatever in it is replaced', async (t) => {
  const text = '{"card":4111111111111111,"mail":"bob\\u0040example.org","n":[7,5500000000000004],"ok":true}'
  const pieces = text.match(/.{1,5}/g) ?? []
  const ask = { model: 'test/model', messages: say('hi'), response_format: { type: 'json_object' as const } }
  const read = async (streamed: boolean) => {
    upstream.answer = streamed ? stream(pieces) : json(completion(text))
    if (!streamed) return (await client.chat.completions.create(ask)).choices[0]?.message.content ?? ''
    let said = ''
    for await (const part of await client.chat.completions.create({ ...ask, stream: true }))
      said += part.choices[0]?.delta.content ?? ''
    return said
  }
  for (const streamed of [false, true]) {
    t.same(JSON.parse(await read(streamed)), {
      card: '[CREDIT_CARD_1]',
      mail: '[EMAIL_1]',
      n: [7, '[CREDIT_CARD_2]'],
      ok: true,
    })
  }
})

t.test('models are the upstream’s', async (t) => {
  upstream.answer = json({
    object: 'list',
    data: [{ id: 'a/b', object: 'model', created: 1, owned_by: 'x' }],
  })
  t.same(
    (await client.models.list()).data.map(({ id }) => id),
    ['a/b'],
  )
  t.equal(lastReceived()?.url, '/v1/models')
})

t.test('what calls another endpoint, or leaves /v1 out, is told which there is', async (t) => {
  const says = { status: 404, code: 'not_found', message: /end in \/v1.*POST \/v1\/chat\/completions/ }
  await t.rejects(client.responses.create({ model: 'test/model', input: 'hi' }), says)
  await t.rejects(client.embeddings.create({ model: 'test/model', input: 'hi' }), says)
  const elsewhere = client.withOptions({ baseURL: gateway.url })
  await t.rejects(elsewhere.chat.completions.create({ model: 'test/model', messages: say('hi') }), says)
})

t.test('a model is one of the upstream’s list, of which alone it is asked', async (t) => {
  const model = { id: 'a/b:free', object: 'model' as const, created: 1, owned_by: 'x' }
  upstream.answer = json({ object: 'list', data: [null, { id: 'a' }, model] })
  t.match(await client.models.retrieve('a/b:free'), model)
  const plainly = (path: string) =>
    fetch(`${gateway.url}/v1/models/${path}`, { headers: { authorization: `Bearer ${key}` } })
  t.same(await (await plainly('a/b:free')).json(), model, 'with its slash as it is')
  for (const path of ['bob@example.org', '%ff', '..%2Fkeys', 'a/b:free/', 'a%2Fb'])
    t.match([(await plainly(path)).status, path], [404, path])
  await t.rejects(client.models.retrieve('gone'), { status: 404, code: 'model_not_found', param: 'model' })
  t.same([...new Set(upstream.received.slice(-8).map(({ url }) => url))], ['/v1/models'])
  t.equal((await fetch(`${gateway.url}/v1/models/a`)).status, 401)
  upstream.answer = json({ object: 'list' })
  t.match([(await plainly('a')).status], [502])
  upstream.answer = json({ error: { message: 'No.', code: 'nope' } }, 403)
  t.match(await (await plainly('a')).json(), { error: { code: 'nope' } })
})

t.test('the receipt names the sealed entry', async (t) => {
  upstream.answer = json(completion('ok'))
  const { response } = await client.chat.completions
    .create({ model: 'm', messages: say('hi') })
    .withResponse()
  const entry = await newest()
  t.equal(response.headers.get('x-request-id'), entry.id)
  t.match(response.headers.get('x-sidegate-audit'), `seq=${entry.seq};hash=${entry.hash}`)
  t.match(response.headers.get('server-timing'), /inspect;dur=[0-9.]+/)
  upstream.answer = stream(['ok'])
  const raw = await (await gateway.chat(key, { model: 'm', stream: true, messages: say('hi') })).text()
  const sealed = await newest()
  t.ok(raw.endsWith(`: sidegate-audit ${/sidegate-audit (.*)/.exec(raw)?.[1]}\n\ndata: [DONE]\n\n`))
  t.match(raw, `seq=${sealed.seq};hash=${sealed.hash}`)
  t.equal(raw.split('data: ').length - 1, streamOf(['ok'], false).length)
})
