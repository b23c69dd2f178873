// The official client against the running process: whole answers, refusals, models, and the
// requests that reach the upstream.

import OpenAI from 'openai'
import t from 'tap'
import { openAi, readText } from './client.ts'
import { deploy, prompt, UPSTREAM_KEY } from './gateway.ts'
import { fetchInTime } from './until.ts'
import { completion, json, stream, streamOf, USAGE } from './upstream.ts'

const RULES = `
rules:
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block, enabled: true }
  - { name: no-cards, type: pii, pattern: credit_card, action: block, enabled: true, match: { models: [strict/*] } }
  - { name: small-budget, type: rate_limit, pattern: "50/1h", action: block, enabled: true, match: { keys: [limited] } }
`

const { upstream, gateway, key } = await deploy(t, undefined, { rules: RULES })
const client = openAi(gateway, key)

const say = (content: string) => [{ role: 'user' as const, content }]
const lastReceived = () => upstream.received.at(-1)
const newest = gateway.newestEntry
const count = async () => (await gateway.api('GET', '/usage/logs?limit=1')).body.total as number

t.test('a prompt reaches the upstream redacted, with the upstream’s credential', async (t) => {
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

t.test('values that the gateway does not need are forwarded, their texts redacted', async (t) => {
  upstream.answer = json(completion('ok'))
  const odd = (address: string) => ({
    ...prompt('hi', { temperature: 2.5, max_tokens: -1, top_p: 'high' }),
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'tool', tool_call_id: 'call_1', content: { to: address, list: [1, { again: address }] } },
      { role: 'tool', tool_call_id: 'call_2', content: [address, 'x'] },
      { role: 'tool', tool_call_id: 'call_3', content: 5 },
    ],
  })
  const response = await gateway.chat(key, odd('alice@example.com'))
  t.equal(response.status, 200, await response.text())
  t.equal(lastReceived()?.body, JSON.stringify(odd('[EMAIL_1]')))
  const limited = await gateway.createKey('limited')
  const settled = await gateway.chat(limited.key, prompt('hi', { max_tokens: -1_000_000 }))
  t.equal(settled.headers.get('x-ratelimit-limit-tokens'), '50')
  t.ok(Number(settled.headers.get('x-ratelimit-remaining-tokens')) < 50, 'a negative limit frees nothing')
})

t.test('no byte of a body changes but those of a value', async (t) => {
  upstream.answer = json(completion('ok'))
  const body = (content: string) => ` {"model": "test/model", "temperature": 1.0, "top_p" : 1e-1,
  "messages": [ {"role":"user","content":"${content} \\u00e9"} ],
  "response_format": {"type":"json_schema","json_schema":{"name":"s","schema":{"properties":{"name":{},"2026":{},"2025":{}}}}} }
`
  const post = (text: string) =>
    fetchInTime(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      body: text,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
  for (const content of ['hi', 'ann\\u0040example.com', 'a \\"ann@example.com\\"']) {
    t.equal((await post(body(content))).status, 200)
    const redacted = content.replace(/ann\S+com/, '[EMAIL_1]')
    const sent = redacted === content ? body(content) : body(redacted).replace('\\u00e9', 'é')
    t.equal(lastReceived()?.body, sent)
    const { body: logged } = await gateway.api('GET', `/usage/logs/${(await newest()).id}`)
    t.same(logged.request, JSON.parse(sent), 'the log has the same')
  }
})

t.test('an answer is redacted, and its log probabilities are removed', async (t) => {
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

t.test('tool schemas, results and arguments of a prompt are redacted', async (t) => {
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
  t.equal(JSON.parse(JSON.parse(sent).messages[1].tool_calls[0].function.arguments).mail, '[EMAIL_3]')
})

t.test('a value split over text parts is redacted, and an image passes unchanged', async (t) => {
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

t.test('every refusal is an error class of the SDK and makes one entry', async (t) => {
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

t.test('an unknown, mistyped or revoked key gets the same refusal and no entry', async (t) => {
  const before = await count()
  const messages = new Set<string>()
  const revoked = await gateway.createKey('gone')
  await gateway.api('DELETE', `/keys/${revoked.id}`)
  const mistyped = key.slice(0, -1) + (key.endsWith('x') ? 'y' : 'x')
  for (const apiKey of ['nonsense', mistyped, revoked.key]) {
    const stranger = openAi(gateway, apiKey)
    const error = await stranger.chat.completions
      .create({ model: 'm', messages: say('hi') })
      .catch((reason) => reason)
    t.ok(error instanceof OpenAI.AuthenticationError)
    messages.add(error.message)
  }
  t.equal(messages.size, 1)
  t.equal(await count(), before)
})

t.test('a token limit is in the headers, and a call beyond it is a RateLimitError', async (t) => {
  upstream.answer = json(completion('ok'))
  const limited = await gateway.createKey('limited')
  const limitedClient = openAi(gateway, limited.key)
  const first = await limitedClient.chat.completions
    .create({ model: 'm', messages: say('hi') })
    .withResponse()
  t.equal(first.response.headers.get('x-ratelimit-limit-tokens'), '50')
  await limitedClient.chat.completions.create({ model: 'm', messages: say('hi') })
  const error = await limitedClient.chat.completions
    .create({ model: 'm', max_tokens: 20, messages: say('hi') })
    .catch((reason) => reason)
  t.ok(error instanceof OpenAI.RateLimitError)
  t.match(error, { code: 'rate_limit_exceeded' })
  t.ok(Number(error.headers.get('retry-after')) > 60)
  t.equal(error.headers.get('x-should-retry'), 'false')
  t.match(await newest(), { outcome: 'rate_limited', total_tokens: 0 })
})

t.test('structured output stays JSON when strings and numbers in it are replaced', async (t) => {
  const text = '{"card":4111111111111111,"mail":"bob\\u0040example.org","n":[7,5500000000000004],"ok":true}'
  const pieces = text.match(/.{1,5}/g) ?? []
  const ask = { model: 'test/model', messages: say('hi'), response_format: { type: 'json_object' as const } }
  const read = async (streamed: boolean) => {
    upstream.answer = streamed ? stream(pieces) : json(completion(text))
    if (!streamed) return (await client.chat.completions.create(ask)).choices[0]?.message.content ?? ''
    return (await readText(await client.chat.completions.create({ ...ask, stream: true }))).text
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

t.test('the list of models is the upstream’s', async (t) => {
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

t.test('a call to another endpoint, or without /v1, gets 404 that says what to do', async (t) => {
  const notScanned = { status: 404, code: 'not_found', message: /passThrough: \[\{path: "\/v1\/batches"/ }
  await t.rejects(client.batches.list(), notScanned)
  const notFound = { status: 404, code: 'not_found', message: /ends in \/v1/ }
  const elsewhere = client.withOptions({ baseURL: gateway.url })
  await t.rejects(elsewhere.chat.completions.create({ model: 'test/model', messages: say('hi') }), notFound)
})

t.test('a model is found in the upstream’s list, and only the list is requested', async (t) => {
  const model = { id: 'a/b:free', object: 'model' as const, created: 1, owned_by: 'x' }
  upstream.answer = json({ object: 'list', data: [null, { id: 'a' }, model] })
  t.match(await client.models.retrieve('a/b:free'), model)
  const getModel = (path: string) =>
    fetchInTime(`${gateway.url}/v1/models/${path}`, { headers: { authorization: `Bearer ${key}` } })
  t.same(await (await getModel('a/b:free')).json(), model, 'with an unescaped slash')
  for (const path of ['bob@example.org', '%ff', '..%2Fkeys', 'a/b:free/', 'a%2Fb'])
    t.match([(await getModel(path)).status, path], [404, path])
  await t.rejects(client.models.retrieve('gone'), { status: 404, code: 'model_not_found', param: 'model' })
  t.same([...new Set(upstream.received.slice(-8).map(({ url }) => url))], ['/v1/models'])
  t.equal((await fetchInTime(`${gateway.url}/v1/models/a`)).status, 401)
  upstream.answer = json({ object: 'list' })
  t.match([(await getModel('a')).status], [502])
  upstream.answer = json({ error: { message: 'No.', code: 'nope' } }, 403)
  t.match(await (await getModel('a')).json(), { error: { code: 'nope' } })
})

t.test('the receipt of an answer or a stream names its entry', async (t) => {
  upstream.answer = json(completion('ok'))
  const { response } = await client.chat.completions
    .create({ model: 'm', messages: say('hi') })
    .withResponse()
  const entry = await newest()
  t.equal(response.headers.get('x-request-id'), entry.id)
  t.match(response.headers.get('x-sidegate-audit'), `seq=${entry.seq};hash=${entry.hash}`)
  t.match(response.headers.get('server-timing'), /inspect;dur=[0-9.]+/)
  upstream.answer = stream(['ok'])
  const raw = await (await gateway.chat(key, prompt('hi', { stream: true }))).text()
  const sealed = await newest()
  t.ok(raw.endsWith(`: sidegate-audit ${/sidegate-audit (.*)/.exec(raw)?.[1]}\ndata: [DONE]\n\n`))
  t.match(raw, `seq=${sealed.seq};hash=${sealed.hash}`)
  t.equal(raw.split('data: ').length - 1, streamOf(['ok'], false).length)
})
