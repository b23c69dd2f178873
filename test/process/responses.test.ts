// The Responses API with OpenAI's official client against the running process.

import t from 'tap'
import { openAi } from './client.ts'
import { BLOCK_AURORA, deploy } from './gateway.ts'
import { named, streamed } from './messages-upstream.ts'
import {
  functionCall,
  outputText,
  RESPONSES_USAGE,
  reasoning,
  responseEvents,
  responseOf,
  streamedCall,
  streamedMessage,
  streamedReasoning,
} from './responses-upstream.ts'
import { fetchInTime } from './until.ts'
import { json } from './upstream.ts'

const { upstream, gateway, key } = await deploy(t, undefined, { rules: BLOCK_AURORA })
const client = openAi(gateway, key)

const model = 'test/model'
const sent = () => JSON.parse(upstream.received.at(-1)?.body ?? '{}')

t.test('a response is redacted both ways and sealed', async (t) => {
  upstream.answer = json(
    responseOf(outputText('Write to bob@example.org.'), functionCall('{"card": 4111111111111111}')),
  )
  const input = [
    { role: 'user' as const, content: 'I am ann@example.com.' },
    {
      type: 'function_call' as const,
      call_id: 'call_abc',
      name: 'find',
      arguments: '{"to":"carl@example.com"}',
    },
    { type: 'function_call_output' as const, call_id: 'call_abc', output: '{"phone": "+1 415 555 2671"}' },
  ]
  const answer = await client.responses.create({ model, instructions: 'For dora@example.com.', input })
  t.equal(answer.output_text, 'Write to [EMAIL_4].')
  t.match(answer.output[1], { type: 'function_call', arguments: '{"card": "[CREDIT_CARD_1]"}' })
  t.match(upstream.received.at(-1), { url: '/v1/responses', method: 'POST' })
  t.same(sent(), {
    model,
    instructions: 'For [EMAIL_1].',
    input: [
      { role: 'user', content: 'I am [EMAIL_2].' },
      { ...input[1], arguments: '{"to":"[EMAIL_3]"}' },
      { ...input[2], output: '{"phone": "[PHONE_1]"}' },
    ],
  })
  t.match(await gateway.newestEntry(), {
    api: 'responses',
    outcome: 'ok',
    finish_reason: 'completed',
    prompt_tokens: 13,
    completion_tokens: 5,
    usage_source: 'upstream',
  })
})

t.test('a stream shows each text redacted, piece by piece and whole', async (t) => {
  upstream.answer = streamed(
    responseEvents([
      streamedReasoning('Ask bo', 'b@exam', 'ple.org.'),
      streamedMessage('Write to bo', 'b@exam', 'ple.org', ' or ca', 'll +1 415 5', '55 2671 no', 'w.'),
      streamedCall('{"to": "bo', 'b@example.org", "card": 41111', '11111111111}'),
    ]),
  )
  const stream = client.responses.stream({ model, input: 'hi' })
  const numbers: number[] = []
  let text = ''
  for await (const event of stream) {
    numbers.push(event.sequence_number)
    if (event.type === 'response.output_text.delta') text += event.delta
    if (event.type === 'response.output_text.done') t.equal(event.text, text)
  }
  t.equal(text, 'Write to [EMAIL_1] or call [PHONE_1] now.')
  t.same(
    numbers,
    numbers.map((_number, index) => index),
    'no number is missing',
  )
  const answer = await stream.finalResponse()
  t.match(answer.output, [
    { type: 'reasoning', summary: [{ text: 'Ask [EMAIL_1].' }], encrypted_content: /^gAAAA/ },
    { type: 'message', content: [{ text }] },
    { type: 'function_call', arguments: '{"to": "[EMAIL_1]", "card": "[CREDIT_CARD_1]"}' },
  ])
  const entry = await gateway.newestEntry()
  t.match(entry, { api: 'responses', stream: true, finish_reason: 'completed', total_tokens: 18 })
  const { body: security } = await gateway.api('GET', '/usage/security')
  t.match(security.events[0], { log_id: entry.id })
  const { body } = await gateway.api('GET', `/usage/logs/${entry.id}`)
  t.match(body.response, { output: answer.output.map(({ id, type }) => ({ id, type })) })
  t.notMatch(JSON.stringify(body), /bob@|4111/)
})

t.test('the receipt is in the block of the last event', async (t) => {
  upstream.answer = streamed(responseEvents([streamedMessage('hi')]))
  const response = await fetchInTime(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: 'hi', stream: true }),
  })
  t.match(
    await response.text(),
    /\n\nevent: response\.completed\n: sidegate-audit [^\n]+\ndata: \{[^\n]+\n\n$/,
  )
})

t.test('an answer that breaks off or is blocked ends with an error', async (t) => {
  upstream.answer = streamed(responseEvents([streamedMessage('half')]).slice(0, 6))
  await t.rejects(
    client.responses.stream({ model, input: 'hi' }).finalResponse(),
    /before its answer was complete/,
  )
  upstream.answer = streamed(responseEvents([streamedMessage('about pro', 'ject aurora', ' now')]))
  await t.rejects(client.responses.stream({ model, input: 'hi' }).finalResponse(), /no-aurora/)
  t.match(await gateway.newestEntry(), { outcome: 'blocked' })
  await t.rejects(client.responses.create({ model, input: 'Project Aurora' }), { code: 'blocked_by_policy' })
  await t.rejects(client.responses.create({ model, input: 1 as never }), { code: 'invalid_body' })
})

const FAILURE = { code: 'server_error', message: 'no GPU for bob@example.org', param: null }
const eventsIn = (text: string) => [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!))

async function post(body: object): Promise<{ status: number; text: string }> {
  const response = await fetchInTime(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

t.test('an error event of the upstream keeps its members at the top', async (t) => {
  const begun = responseEvents([streamedMessage('half ', 'an answer')]).slice(0, 5)
  const redacted = { type: 'error', ...FAILURE, message: 'no GPU for [EMAIL_1]', sequence_number: 5 }
  for (const [sent, expected] of [
    [{ type: 'error', ...FAILURE, sequence_number: 5 }, redacted],
    [
      { type: 'error', sequence_number: 5, error: FAILURE },
      { ...redacted, error: {} },
    ],
    [FAILURE, redacted],
    [{ message: FAILURE.message }, { ...redacted, code: null }],
  ] as const) {
    upstream.answer = streamed([...begun, `event: error\ndata: ${JSON.stringify(sent)}\n\n`])
    const { text } = await post({ model, input: 'hi', stream: true })
    const last = eventsIn(text).at(-1)
    if ('error' in sent) t.match(last, { type: 'error', sequence_number: 5, error: { code: 'server_error' } })
    else t.same(last, expected)
    t.match(text, /\nevent: error\n: sidegate-audit [^\n]+\ndata: [^\n]+\n\n$/)
    t.match(await gateway.newestEntry(), { outcome: 'upstream_error' })
  }
  upstream.answer = streamed([...begun, named({ type: 'error', ...FAILURE, sequence_number: 5 })])
  await t.rejects(client.responses.stream({ model, input: 'hi' }).finalResponse(), {
    code: 'server_error',
    message: 'no GPU for [EMAIL_1]',
  })
})

t.test("the gateway's own error event has the next number, and each member once", async (t) => {
  const pieces = ['about ', 'pro', 'ject aurora', ' now']
  for (const [events, expected] of [
    [responseEvents([streamedMessage('half ', 'of it')]).slice(0, 6), { code: 'upstream_unavailable' }],
    [
      responseEvents([streamedMessage(...pieces)]),
      { code: 'response_blocked_by_policy', rule_name: 'no-aurora' },
    ],
  ] as const) {
    upstream.answer = streamed(events)
    const { status, text } = await post({ model, input: 'hi', stream: true })
    const received = eventsIn(text)
    t.equal(status, 200)
    t.same(
      received.map(({ sequence_number: number }) => number),
      received.map((_event, index) => index),
    )
    const error = received.find(({ type }) => type === 'error')
    t.match(error, { message: /./, param: null, ...expected })
    t.notOk('error' in error)
    t.match(text, /\n: sidegate-audit [^\n]+\ndata: [^\n]+\n\n$/)
    const after = received.slice(received.indexOf(error) + 1)
    if (!('rule_name' in expected)) t.same(after, [], 'a failure that may pass')
    else {
      const failed = { code: 'invalid_prompt', message: error.message }
      t.match(after, [{ type: 'response.failed', response: { status: 'failed', error: failed, output: [] } }])
    }
  }
})

t.test('an error before any part of the answer has a status', async (t) => {
  for (const [error, status] of [
    [{ code: 'rate_limit_exceeded', message: 'slow for bob@example.org' }, 429],
    [{ code: 'server_error', message: 'slow for bob@example.org' }, 502],
    [{ code: 'server_is_overloaded', message: 'slow for bob@example.org' }, 503],
    [{ code: 'context_length_exceeded', message: 'slow for bob@example.org' }, 400],
  ] as const) {
    const code = status < 500 ? error.code : 'upstream_unavailable'
    for (const event of [
      named({ type: 'error', ...error, param: null, sequence_number: 0 }),
      named({ type: 'error', error: { type: 'server_error', ...error, param: null }, sequence_number: 0 }),
    ]) {
      upstream.answer = streamed([event])
      for (const stream of [true, false]) {
        const answer = await post({ model, input: 'hi', stream })
        t.equal(answer.status, status, event)
        t.match(JSON.parse(answer.text), { error: { code, message: 'slow for [EMAIL_1]', param: null } })
        t.notMatch(answer.text, /sequence_number/)
        t.match(await gateway.newestEntry(), { status, outcome: 'upstream_error' })
      }
    }
  }
  const response = { ...responseOf(), status: 'failed', error: { code: 'server_error', message: 'no GPU' } }
  upstream.answer = streamed([named({ type: 'response.failed', response, sequence_number: 0 })])
  const failed = await post({ model, input: 'hi', stream: true })
  t.equal(failed.status, 200)
  t.match(eventsIn(failed.text), [{ type: 'response.failed', response: { error: { message: 'no GPU' } } }])
  t.match(await gateway.newestEntry(), { outcome: 'upstream_error' })
})

t.test('a compacted conversation is redacted both ways, sealed and priced as a response', async (t) => {
  const compaction = {
    id: 'cmp_67ccd2bf17f04155552671',
    type: 'compaction',
    encrypted_content: 'gAAAAABoISQ24OyVRYbkYfukdJoqdzWT9yFADiR0iRbyzXlN8LMrVqYmW8tE4KTR',
  }
  const said = { id: 'msg_1', type: 'message', role: 'user', status: 'completed' }
  upstream.answer = json({
    id: 'resp_001',
    object: 'response.compaction',
    created_at: 1_764_967_971,
    output: [{ ...said, content: [{ type: 'input_text', text: 'Write to bob@example.org.' }] }, compaction],
    usage: RESPONSES_USAGE,
  })
  const input = [
    { role: 'user' as const, content: 'I am ann@example.com.' },
    { ...compaction, type: 'compaction' as const },
  ]
  const answer = await client.responses.compact({ model, instructions: 'For dora@example.com.', input })
  t.match(answer, { object: 'response.compaction', output: [{ content: [{ text: 'Write to [EMAIL_3].' }] }] })
  t.same(answer.output[1], compaction)
  t.match(upstream.received.at(-1), { url: '/v1/responses/compact', method: 'POST' })
  t.same(sent(), {
    model,
    instructions: 'For [EMAIL_1].',
    input: [{ role: 'user', content: 'I am [EMAIL_2].' }, compaction],
  })
  t.match(await gateway.newestEntry(), {
    api: 'compact',
    outcome: 'ok',
    prompt_tokens: 13,
    completion_tokens: 5,
    pii_types: ['email'],
  })
  const count = upstream.received.length
  await t.rejects(client.responses.compact({ model, input: 'Project Aurora' }), { message: /no-aurora/ })
  for (const id of ['resp_001', 'resp_unknown'])
    await t.rejects(client.responses.compact({ model, previous_response_id: id }), {
      message: /not found/,
      code: 'previous_response_not_found',
    })
  t.equal(upstream.received.length, count, 'the compacted answer is not kept, and belongs to nobody')
})

t.test('tokens of an input are counted without using any', async (t) => {
  upstream.answer = json({ object: 'response.input_tokens', input_tokens: 41 })
  const count = await client.responses.inputTokens.count({ model, input: 'I am ann@example.com.' })
  t.same(count, { object: 'response.input_tokens', input_tokens: 41 })
  t.match(upstream.received.at(-1), { url: '/v1/responses/input_tokens' })
  t.equal(sent().input, 'I am [EMAIL_1].')
  t.match(await gateway.newestEntry(), { api: 'input_tokens', outcome: 'ok', total_tokens: 0 })
  await t.rejects(client.responses.inputTokens.count({ model, conversation: 'conv_1' }), {
    message: /not found/,
    status: 404,
  })
})

t.test('a whole answer and a stream replace each other for clients that asked for the other', async (t) => {
  const items = [
    reasoning('Ask bob@example.org.'),
    outputText('Write to bob@example.org.'),
    functionCall('{"to": "bob@example.org"}'),
  ]
  const redacted = JSON.parse(JSON.stringify(items).replaceAll('bob@example.org', '[EMAIL_1]'))
  upstream.answer = json(responseOf(...items))
  const fromWhole = await client.responses.stream({ model, input: 'hi' }).finalResponse()
  t.match(fromWhole.output, redacted)
  t.match(fromWhole, { status: 'completed', usage: { total_tokens: 18 } })
  upstream.answer = streamed(responseEvents([streamedMessage('Write to bo', 'b@example.org.')]))
  const whole = await client.responses.create({ model, input: 'hi' })
  t.equal(whole.output_text, 'Write to [EMAIL_1].')
})
