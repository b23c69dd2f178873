// Responses that the provider keeps, with OpenAI's official client against the running process.

import { request } from 'node:http'
import type OpenAI from 'openai'
import t, { type Test } from 'tap'
import { openAi } from './client.ts'
import { deploy, openGateway, type TestGateway } from './gateway.ts'
import { openProgram } from './gateway-process.ts'
import { streamed } from './messages-upstream.ts'
import {
  functionCall,
  outputText,
  RESPONSES_USAGE,
  reasoning,
  responseEvents,
  responseOf,
  streamedMessage,
} from './responses-upstream.ts'
import { inTime } from './until.ts'
import { type Answer, json, type Received, startUpstream } from './upstream.ts'

const model = 'test/model'
/** What an error of the client has, as far as a test says. */
type ErrorShape = { readonly message: RegExp } & Readonly<Record<string, unknown>>

const MISSING = { message: /not found/, status: 404, type: 'invalid_request_error', param: null, code: null }

const { upstream, gateway, key } = await deploy(t)
const { id: keyId, key: otherKey } = await gateway.createKey('other')
const client = openAi(gateway, key)
const other = openAi(gateway, otherKey)

let made = 0
/** Id of the next response. */
const nextId = () => `resp_67ccd2bed1ec81${String(++made).padStart(2, '0')}`

/** Creates a response with these changes. */
async function create(
  body: object = {},
  answered: object = {},
  by: OpenAI = client,
  items: object[] = [outputText('Hello.')],
) {
  upstream.answer = json({ ...responseOf(...items), id: nextId(), ...answered })
  return by.responses.create({
    model,
    input: 'hi',
    ...body,
  } as OpenAI.Responses.ResponseCreateParamsNonStreaming)
}

const sent = () => JSON.parse(upstream.received.at(-1)?.body ?? '{}')

/** Checks that a call is refused and that nothing reaches the upstream. */
async function refused(
  t: Test,
  call: () => PromiseLike<unknown>,
  error: ErrorShape,
  what: string,
): Promise<void> {
  const before = upstream.received.length
  await t.rejects(Promise.resolve(call()), error, what)
  t.equal(upstream.received.length, before, `${what}: nothing is forwarded`)
}

/** Entries of the log, the newest first. */
const entries = async (on: TestGateway = gateway, limit = 10): Promise<any[]> =>
  (await on.api('GET', `/usage/logs?limit=${limit}`)).body.logs

t.test('a stored response is read, listed, cancelled and removed by its key', async (t) => {
  const { id } = await create()
  upstream.answer = json({ ...responseOf(outputText('Write to bob@example.org.')), id })
  const read = await client.responses.retrieve(id, { include: ['message.output_text.logprobs'] })
  t.equal(read.output_text, 'Write to [EMAIL_1].')
  t.match(upstream.received.at(-1), {
    method: 'GET',
    url: `/v1/responses/${id}?include%5B%5D=message.output_text.logprobs`,
    body: '',
    headers: { authorization: /^Bearer upstream-credential/ },
  })
  const entry = await gateway.newestEntry()
  t.match(entry, { api: 'responses', outcome: 'ok', model, total_tokens: 0, pii_types: ['email'] })
  const { body } = await gateway.api('GET', `/usage/logs/${entry.id}`)
  t.match(body.request, { method: 'GET', path: `/v1/responses/${id}` })
  t.notMatch(JSON.stringify(body), /bob@/)

  upstream.answer = json({
    object: 'list',
    data: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: 'a@example.org' }],
      },
    ],
    first_id: 'msg_1',
    last_id: 'msg_1',
    has_more: false,
  })
  const items = await client.responses.inputItems.list(id, { limit: 5, order: 'asc', after: 'msg_0' })
  t.match(items.data, [{ content: [{ text: /^\[EMAIL_\d\]$/ }] }])
  t.match(upstream.received.at(-1), { url: `/v1/responses/${id}/input_items?limit=5&order=asc&after=msg_0` })

  upstream.answer = json({ ...responseOf(), id, status: 'cancelled' })
  t.match(await client.responses.cancel(id), { status: 'cancelled' })
  t.match(upstream.received.at(-1), { method: 'POST', url: `/v1/responses/${id}/cancel`, body: '' })

  upstream.answer = json({ error: { message: 'Not now.', type: 'server_error' } }, 400)
  await t.rejects(client.responses.delete(id), { message: /./, status: 400 })
  upstream.answer = json({ id, object: 'response', deleted: true })
  const { response } = await client.responses.delete(id).withResponse()
  t.match(response.headers.get('x-sidegate-audit'), /;seq=\d+;/)
  t.match(upstream.received.at(-1), { method: 'DELETE', url: `/v1/responses/${id}` })
  t.match(
    await entries(),
    [{}, { outcome: 'ok' }, {}, {}, {}, {}].map(() => ({ api: 'responses' })),
  )
  await refused(t, () => client.responses.retrieve(id), MISSING, 'it is removed')
})

t.test('another key finds nothing', async (t) => {
  const { id } = await create()
  const calls: [string, () => PromiseLike<unknown>][] = [
    ['GET', () => other.responses.retrieve(id)],
    ['stream', () => other.responses.retrieve(id, { stream: true })],
    ['DELETE', () => other.responses.delete(id)],
    ['cancel', () => other.responses.cancel(id)],
    ['input_items', () => other.responses.inputItems.list(id)],
  ]
  const before = (await gateway.api('GET', '/usage/logs?limit=1')).body.total
  for (const [what, call] of calls)
    await refused(t, call, { ...MISSING, message: new RegExp(`Response with id '${id}' not found`) }, what)
  t.equal((await gateway.api('GET', '/usage/logs?limit=1')).body.total, before + calls.length)
  t.match(await gateway.newestEntry(), { outcome: 'invalid_request', key_id: keyId, total_tokens: 0 })
  await refused(
    t,
    () => other.responses.create({ model, input: 'hi', previous_response_id: id }),
    {
      message: /not found/,
      status: 400,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
      type: MISSING.type,
    },
    'previous_response_id',
  )
  t.ok(await client.responses.retrieve(id), 'its own key finds it')
})

t.test('an id that no call made is refused, and is not repeated when it may be personal', async (t) => {
  const { body: unknown } = await raw('GET', '/v1/responses/resp_unknown')
  t.strictSame(JSON.parse(unknown), {
    error: {
      message: "Response with id 'resp_unknown' not found.",
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
  })
  const before = upstream.received.length
  for (const id of ['..%2Fmodels', '%2e%2e', '..', '%252e%252e', 'a%5cb', 'a;b', '%E0%A4', '%00'])
    for (const path of [`/v1/responses/${id}`, `/v1/responses/${id}/input_items`]) {
      const { status, body } = await raw('GET', path)
      t.match([status, JSON.parse(body)], [400, { error: { code: 'invalid_parameter' } }], path)
    }
  for (const id of ['ann%40example.com', '4111111111111111', 'x'.repeat(4000)]) {
    for (const [method, path] of [
      ['GET', `/v1/responses/${id}`],
      ['DELETE', `/v1/responses/${id}`],
      ['POST', `/v1/responses/${id}/cancel`],
      ['GET', `/v1/responses/${id}/input_items`],
    ] as const) {
      const { status, body } = await raw(method, path)
      t.equal(status, 404, `${method} ${id}`)
      t.equal(JSON.parse(body).error.message, 'Response not found.')
    }
  }
  t.equal(upstream.received.length, before)
  const texts = JSON.stringify(await entries(gateway, 100)) + JSON.stringify(gateway.logs)
  t.notMatch(texts, /ann@|ann%40|4111111111111111/)
  for (const body of [
    { conversation: 'conv_1' },
    { conversation: { id: 'conv_1' } },
    { input: [{ type: 'item_reference', id: 'msg_unknown' }] },
    { input: [{ id: 'rs_unknown', type: 'reasoning', summary: [] }] },
    { input: [{ id: 'msg_unknown' }] },
  ])
    await refused(t, () => create(body), { message: /not found/, status: 404 }, JSON.stringify(body))
  for (const extra of [{ previous_response_id: 'resp_1' }, { conversation: 'conv_1' }])
    await refused(
      t,
      () => create({ extra_body: extra }),
      { message: /extra_body/, status: 400 },
      'extra_body',
    )
  await refused(
    t,
    () => create({ previous_response_id: 7 }),
    { message: /previous_response_id/, code: 'invalid_body' },
    'a number',
  )
  await refused(t, () => create({ previous_response_id: '' }), { message: /./, status: 400 }, 'no id')
})

t.test('a query is forwarded only with known parameters', async (t) => {
  const { id } = await create()
  const before = upstream.received.length
  for (const query of [
    'starting_after=3',
    'stream=false&starting_after=3',
    'stream=true&starting_after=-1',
    'stream=true&starting_after=4111111111111111',
    'x=ann@example.com',
    'stream=maybe',
    'include=a%20b',
    'stream=true&stream=true',
  ]) {
    const { status, body } = await raw('GET', `/v1/responses/${id}?${query}`)
    t.equal(status, 400, query)
    t.match(JSON.parse(body).error, { code: 'invalid_parameter', type: 'invalid_request_error' })
    t.notMatch(body, /ann@/)
  }
  t.equal((await raw('DELETE', `/v1/responses/${id}?stream=true`)).status, 400)
  t.equal((await raw('PUT', `/v1/responses/${id}`)).status, 405)
  t.equal((await raw('GET', `/v1/responses/${id}`, {})).status, 401)
  t.equal(upstream.received.length, before)
})

t.test('a stream is read from the event after the last one that the client has', async (t) => {
  const { id } = await create()
  const pieces = ['Write to bo', 'b@exam', 'ple.org', ' or ca', 'll +1 415 5', '55 2671 no', 'w.']
  const all = responseEvents([streamedMessage(...pieces)])
  const read = async (query: string) => {
    const { status, body } = await raw('GET', `/v1/responses/${id}?${query}`)
    t.match([status, body], [200, /: sidegate-audit /], query)
    return [...body.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!))
  }
  upstream.answer = streamed(all)
  const whole = await read('stream=true')
  t.equal(whole.map(({ delta = '' }) => delta).join(''), 'Write to [EMAIL_1] or call [PHONE_1] now.')
  for (let after = 0; after <= whole.length; after++) {
    t.same(await read(`stream=true&starting_after=${after}`), whole.slice(after + 1), String(after))
    t.equal(upstream.received.at(-1)?.url, `/v1/responses/${id}?stream=true`)
  }
  const resumed = await client.responses.retrieve(id, { stream: true, starting_after: 4 })
  const numbers: number[] = []
  for await (const { sequence_number: number } of resumed) numbers.push(number)
  t.equal(numbers[0], 5)
  upstream.answer = streamed(all.slice(5))
  const [first] = await read('stream=true&starting_after=4')
  t.equal(first.sequence_number, 5, 'also of an upstream that sends no earlier ones')
})

const AUTHORIZED = { authorization: `Bearer ${key}` }

/** Sends a path as it is written. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string> = AUTHORIZED,
): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(gateway.url)
  const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
    const sending = request({ hostname, port, path, method, headers }, async (response) =>
      resolve({ status: response.statusCode ?? 0, body: String(Buffer.concat(await response.toArray())) }),
    )
    sending.on('error', reject).end()
  })
  return inTime(`the answer of ${path.slice(0, 100)}`, answered)
}

t.test('a response that is not kept, or not delivered, belongs to nobody', async (t) => {
  for (const [what, body, answered] of [
    ['store: false', { store: false }, {}],
    ['the upstream keeps nothing', {}, { store: false }],
    ['no id', {}, { id: 'with space' }],
  ] as const) {
    const { id } = await create(body, answered)
    await refused(t, () => client.responses.retrieve(id), { message: /not found/, status: 404 }, what)
    await refused(t, () => create({ previous_response_id: id }), { message: /./, status: 400 }, what)
  }
})

t.test('placeholders of a follow-up call start above those of the response', async (t) => {
  const first = await create({ input: 'I am ann@example.com, not [EMAIL_7].' }, {}, client, [
    outputText('Write to bob@example.org.'),
  ])
  t.equal(first.output_text, 'Write to [EMAIL_2].')
  const second = await create(
    { input: 'And carl@example.com?', previous_response_id: first.id },
    {},
    client,
    [outputText('Ask dora@example.org.')],
  )
  t.match(sent(), { input: 'And [EMAIL_8]?', previous_response_id: first.id })
  t.equal(second.output_text, 'Ask [EMAIL_9].')
  await create({ input: 'Not eve@example.com, +1 415 555 2671.', previous_response_id: second.id })
  t.equal(sent().input, 'Not [EMAIL_10], [PHONE_1].')
  await create({ input: 'I am ann@example.com.' })
  t.equal(sent().input, 'I am [EMAIL_1].', 'a new conversation starts at 1')
})

t.test('numbers of an answer that is read are above those of its call, and stay the same', async (t) => {
  const { id } = await create(
    { input: 'I am ann@example.com.', background: true },
    { status: 'queued', output: [], usage: null },
  )
  upstream.answer = json({ ...responseOf(outputText('Write to bob@example.org.')), id })
  t.equal((await client.responses.retrieve(id)).output_text, 'Write to [EMAIL_2].')
  t.equal((await client.responses.retrieve(id)).output_text, 'Write to [EMAIL_2].')
  await create({ input: 'And carl@example.com?', previous_response_id: id })
  t.equal(sent().input, 'And [EMAIL_3]?')
})

t.test('the usage of a background answer counts once, when it is first read as a whole', async (t) => {
  const { id } = await create({ background: true }, { status: 'queued', output: [], usage: null })
  t.match(await gateway.newestEntry(), { outcome: 'ok', total_tokens: 0, finish_reason: null })
  upstream.answer = json({ ...responseOf(), id, status: 'in_progress', usage: null })
  t.match(await client.responses.retrieve(id), { status: 'in_progress' })
  t.match(await gateway.newestEntry(), { total_tokens: 0, cost: null })
  const done = json({ ...responseOf(outputText('Call +1 415 555 2671.')), id })
  upstream.answer = done
  const answers = await Promise.all(Array.from({ length: 5 }, () => client.responses.retrieve(id)))
  t.strictSame(new Set(answers.map((answer) => answer.output_text)), new Set(['Call [PHONE_1].']))
  t.match(answers[0], { usage: RESPONSES_USAGE })
  const counted = (await entries(gateway, 5)).map((entry) => entry.total_tokens)
  t.strictSame(counted.sort(), [0, 0, 0, 0, 18])
  await client.responses.retrieve(id)
  t.match(await gateway.newestEntry(), { total_tokens: 0 })
})

t.test('a background call is refused when values would have to be restored in its answer', async (t) => {
  const rules = 'rules: [{ name: addresses, type: pii, pattern: email, action: restore, enabled: true }]\n'
  const restoring = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules })
  const own = openAi(restoring, (await restoring.createKey()).key)
  const ask = (body: object) => own.responses.create({ model, input: 'I am ann@example.com.', ...body })
  for (const stream of [false, true])
    await refused(
      t,
      () => ask({ background: true, stream }),
      { message: /placeholders. Leave `background` out/, status: 400, param: 'background' },
      `stream: ${stream}`,
    )
  t.match(await restoring.newestEntry(), { outcome: 'invalid_request', total_tokens: 0 })
  upstream.answer = json({ ...responseOf(outputText('You are [EMAIL_1].')), id: 'resp_restored' })
  t.match(await ask({}), { output_text: 'You are ann@example.com.' })
  t.match(await ask({ background: true, input: 'I am nobody.' }), { id: 'resp_restored' })
})

t.test('a background answer whose stream the client leaves counts when it is read', async (t) => {
  const events = responseEvents([streamedMessage('Hello, ', 'world.')])
  const left = new Promise<void>((resolve) => {
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of events.slice(0, 5)) response.write(event)
      response.once('close', () => resolve())
    }
  })
  const stream = await client.responses.create({ model, input: 'hi', background: true, stream: true })
  for await (const event of stream) if (event.type === 'response.output_text.delta') break
  await inTime('the upstream sees that the client left', left)
  t.match(await gateway.entryWith('client_aborted'), { total_tokens: 0, stream: true })
  const { id } = responseOf()
  upstream.answer = json(responseOf(outputText('Hello, world.')))
  t.match(await client.responses.retrieve(id), { id })
  t.match(await gateway.newestEntry(), { total_tokens: 18 })
})

t.test('limits keep what a background answer reserved until it is read as a whole', async (t) => {
  const rules = `
rules:
  - { name: budget, type: rate_limit, pattern: "1000/1h", action: block, enabled: true }
`
  const strict = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules })
  const limited = openAi(strict, (await strict.createKey('limited')).key)
  const used = async () => (await strict.api('GET', '/usage/limits')).body.limits[0].used
  const queued = { status: 'queued', output: [], usage: null }
  const { id } = await create({ background: true, max_output_tokens: 400 }, queued, limited)
  const reserved = await used()
  t.ok(reserved >= 400)
  t.match(await strict.newestEntry(), { total_tokens: 0 })
  const events = responseEvents([streamedMessage('Hello, ', 'world.')])
  const left = new Promise<void>((resolve) => {
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of events.slice(0, 5)) response.write(event)
      response.once('close', () => resolve())
    }
  })
  const stream = await limited.responses.retrieve(id, { stream: true })
  for await (const event of stream) if (event.type === 'response.output_text.delta') break
  await inTime('the upstream sees that the client left', left)
  t.match(await strict.entryWith('client_aborted'), { total_tokens: 0 })
  t.equal(await used(), reserved, 'a part that was read frees nothing')
  const another = await create({ background: true, max_output_tokens: 400 }, queued, limited)
  await t.rejects(create({ max_output_tokens: 400 }, {}, limited), { message: /./, status: 429 })
  upstream.answer = json({ ...responseOf(outputText('Hello.')), id })
  await limited.responses.retrieve(id)
  t.match(await strict.newestEntry(), { total_tokens: 18 })
  t.equal(await used(), reserved + 18, 'the rest is given back')
  upstream.answer = json({ id: another.id, object: 'response', deleted: true })
  await limited.responses.delete(another.id)
  t.equal(await used(), reserved + 18, 'an answer that is deleted unread is not free')
})

t.test('an upstream that counts no usage has it estimated once', async (t) => {
  const { id } = await create({ background: true }, { status: 'queued', output: [], usage: null })
  upstream.answer = json({ ...responseOf(outputText('Hello.')), id, usage: null })
  await client.responses.retrieve(id)
  const entry = await gateway.newestEntry()
  t.match(entry, { usage_source: 'estimated' })
  t.ok(entry.prompt_tokens > 0 && entry.completion_tokens > 0)
  await client.responses.retrieve(id)
  t.match(await gateway.newestEntry(), { total_tokens: 0 })
})

t.test('a call that is not in the background counts its usage itself', async (t) => {
  const { id } = await create()
  t.match(await gateway.newestEntry(), { total_tokens: 18 })
  upstream.answer = json({ ...responseOf(outputText('Hello.')), id })
  await client.responses.retrieve(id)
  t.match(await gateway.newestEntry(), { total_tokens: 0 })
})

t.test('a stored response is streamed, and a stream is stored', async (t) => {
  const events = responseEvents([streamedMessage('Write to bo', 'b@exam', 'ple.org.')])
  upstream.answer = streamed(events)
  const made = await client.responses.stream({ model, input: 'hi' }).finalResponse()
  const stream = await client.responses.retrieve(made.id, { stream: true })
  t.equal(upstream.received.at(-1)?.url, `/v1/responses/${made.id}?stream=true`)
  let text = ''
  for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
  t.equal(text, 'Write to [EMAIL_2].')
  t.match(await gateway.newestEntry(), { stream: true, outcome: 'ok', total_tokens: 0 })
  upstream.answer = json({ ...responseOf(outputText('Write to bob@example.org.')), id: made.id })
  const whole = await client.responses.retrieve(made.id, { stream: true })
  text = ''
  for await (const event of whole) if (event.type === 'response.output_text.delta') text += event.delta
  t.equal(text, 'Write to [EMAIL_2].')
})

t.test('items of a response can be named by its key only', async (t) => {
  await create({}, {}, client, [
    { ...reasoning('Hm.'), id: 'rs_own' },
    { ...functionCall('{}'), id: 'fc_own' },
  ])
  const input = [
    { type: 'item_reference', id: 'rs_own' },
    { type: 'item_reference', id: 'fc_own' },
    { type: 'function_call_output', call_id: 'call_1', output: '7' },
  ]
  await create({ input })
  t.same(sent().input, input)
  await refused(
    t,
    () => create({ input }, {}, other),
    { message: /not found/, status: 404, param: 'input' },
    'another key',
  )
  await refused(
    t,
    () => client.responses.retrieve('rs_own'),
    { message: /not found/, status: 404 },
    'an item is no response',
  )
  await refused(
    t,
    () => create({ previous_response_id: 'rs_own' }),
    { message: /./, status: 400 },
    'nor one to continue',
  )
})

t.test('rules decide on a stored answer, and limits count it', async (t) => {
  const rules = `
rules:
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block, enabled: true }
  - { name: injection, type: prompt_injection, pattern: "", action: block, enabled: true }
  - { name: little, type: rate_limit, pattern: "20/1h", action: block, enabled: true }
`
  const strict = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules })
  const { key: limitedKey } = await strict.createKey('limited')
  const limited = openAi(strict, limitedKey)
  const { id } = await create(
    { background: true, max_output_tokens: 5 },
    { status: 'queued', output: [], usage: null },
    limited,
  )
  upstream.answer = json({ ...responseOf(outputText('about project aurora')), id })
  await t.rejects(limited.responses.retrieve(id), { status: 400, code: 'response_blocked_by_policy' })
  t.match(await strict.newestEntry(), { outcome: 'blocked', total_tokens: 18 })
  await t.rejects(create({ max_output_tokens: 5 }, {}, limited), { message: /./, status: 429 })
  upstream.answer = json({ id, object: 'response', deleted: true })
  await limited.responses.delete(id)
})

t.test('an item of another key is refused also with content, and one of nobody passes', async (t) => {
  const made = await create({}, {}, client, [outputText('mine')])
  const itemId = (made as any).output[0].id
  const { key: strangerKey } = await gateway.createKey('stranger')
  const stranger = openAi(gateway, strangerKey)
  const repeated = (id: string) => ({
    input: [
      {
        type: 'message',
        id,
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'x' }],
      },
      { role: 'user', content: 'go' },
    ],
  })
  const count = upstream.received.length
  await t.rejects(create(repeated(itemId), {}, stranger), { status: 404, message: /not found/ })
  t.equal(upstream.received.length, count)
  await t.resolves(create(repeated(itemId)), 'its own key')
  await t.resolves(create(repeated('msg_of_nobody'), {}, stranger), 'as agents repeat what is not kept')
  const many = { input: Array.from({ length: 5001 }, (_, n) => ({ ...repeated(`msg_${n}`).input[0] })) }
  await t.rejects(create(many), { status: 400, message: /at most 5000 items with an id/ })
})

t.test('models, requests and terms of a key decide on a stored answer', async (t) => {
  const rules = `
rules:
  - { name: three, type: rate_limit, pattern: "3 requests/1h", action: block, enabled: true }
`
  const strict = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules })
  const { key: itsKey } = await strict.createKey('k')
  const its = openAi(strict, itsKey)
  const { id } = await create({}, {}, its)
  await its.responses.retrieve(id)
  await its.responses.retrieve(id)
  await t.rejects(its.responses.retrieve(id), { status: 429, code: 'rate_limit_exceeded' })
  t.match(await strict.newestEntry(), { rules: [{ name: 'three' }], total_tokens: 0 })
  const open = await openGateway(t, { upstreamUrl: upstream.baseUrl })
  const listed = (await open.api('POST', '/keys', { name: 'k' })).body
  const narrow = openAi(open, listed.key)
  const made = await create({}, {}, narrow)
  t.equal((await open.api('PATCH', `/keys/${listed.id}`, { models: ['other'] })).status, 200)
  await t.rejects(narrow.responses.retrieve(made.id), { status: 400, code: 'model_not_allowed' })
})

t.test('a response is known after a stop and after a kill', async (t) => {
  const first = await openProgram(t, { upstreamUrl: upstream.baseUrl })
  const { key: itsKey } = await first.createKey('app')
  const { id } = await create({ input: 'I am ann@example.com.' }, {}, openAi(first, itsKey))
  await first.kill('SIGKILL')
  const second = await openGateway(t, { upstreamUrl: upstream.baseUrl, folder: first.folder })
  const again = openAi(second, itsKey)
  upstream.answer = json({ ...responseOf(outputText('Hello.')), id })
  t.match(await again.responses.retrieve(id), { id })
  await second.stop()
  const third = await openGateway(t, { upstreamUrl: upstream.baseUrl, folder: first.folder })
  await create({ input: 'And bob@example.org?', previous_response_id: id }, {}, openAi(third, itsKey))
  t.equal(sent().input, 'And [EMAIL_2]?')
  const { key: another } = await third.createKey('another')
  await refused(t, () => openAi(third, another).responses.retrieve(id), MISSING, 'another key')
})

t.test('a response is asked for where it was made', async (t) => {
  const failing: Answer = json({ error: { message: 'Broken.' } }, 500)
  const [one, two] = [await startUpstream(), await startUpstream()]
  t.teardown(() => Promise.all([one.close(), two.close()]))
  const upstreams = [
    {
      name: 'one',
      baseUrl: one.baseUrl,
      query: { 'api-version': '1' },
      rename: { [model]: 'theirs' },
      fallback: ['two'],
    },
    { name: 'two', baseUrl: two.baseUrl, models: ['none'] },
  ]
  const routed = await openGateway(t, { upstreamUrl: '', config: { upstreams } })
  const { key: itsKey } = await routed.createKey('app')
  const own = openAi(routed, itsKey)
  const answer = (id: string) => json({ ...responseOf(outputText('Hello.')), id })
  one.answer = answer('resp_one')
  await own.responses.create({ model, input: 'hi' })
  one.answer = failing
  two.answer = answer('resp_two')
  await own.responses.create({ model, input: 'hi' })
  t.match(await routed.newestEntry(), { upstream: 'two' })

  await own.responses.retrieve('resp_two')
  await own.responses.create({ model, input: 'hi', previous_response_id: 'resp_two' })
  const paths = (received: readonly Received[]) => received.map(({ method, url }) => `${method} ${url}`)
  t.strictSame(paths(two.received).slice(1), ['GET /v1/responses/resp_two', 'POST /v1/responses'])
  const asked = two.received.length
  await t.rejects(own.responses.create({ model, input: 'hi', previous_response_id: 'resp_one' }), {
    message: /./,
    status: 502,
  })
  await t.rejects(own.responses.retrieve('resp_one', { include: ['a.b' as never] }), {
    message: /./,
    status: 502,
  })
  t.equal(two.received.length, asked, 'there is no fallback')
  t.match(one.received.at(-2)?.body, /"model":"theirs"/)
  t.match(paths(one.received).at(-1), 'GET /v1/responses/resp_one?include%5B%5D=a.b&api-version=1')
})
