// Reversible redaction on the running process: the model sees placeholders, the client its own values, and whoever
// keeps anything of the call the placeholders again.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import t from 'tap'
import { discard, startGateway } from './gateway.ts'
import {
  type Answer,
  chunk,
  completion,
  delta,
  event,
  finish,
  json,
  startUpstream,
  stream,
  streamOf,
} from './upstream.ts'

const RULES = `
rules:
  - { name: give-back, type: pii, pattern: "email|credit_card|secret", action: restore, enabled: true }
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block, enabled: true, match: { direction: response } }
  - { name: phones-one-way, type: pii, pattern: phone, action: restore, enabled: true, match: { direction: request } }
  - { name: phones-back, type: pii, pattern: phone, action: monitor, enabled: true, match: { direction: response } }
`
const ALICE = 'alice.restored@example.com'
const AURORA = 'aurora.restored@example.com'
const CARD = '4111 1111 1111 1111'
const KEY = 'AKIAIOSFODNN7EXAMPL1'

const upstream = await startUpstream()
const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: RULES })
t.teardown(async () => {
  await discard(gateway)
  await upstream.close()
})
const { key } = await gateway.createKey('app')
const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
const model = 'test/model'
const say = (content: string) => [{ role: 'user' as const, content }]
const PROMPT = say(`I am ${ALICE}, card ${CARD}, key ${KEY}`)

const newest = async () => {
  const { body } = await gateway.api('GET', '/usage/logs?limit=1')
  return (await gateway.api('GET', `/usage/logs/${body.logs[0].id}`)).body
}

/** A stream of exactly these events. */
const events =
  (...bodies: (object | string)[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const body of bodies) response.write(event(body))
    response.end()
  }

t.test('a whole answer: every text of every choice', async (t) => {
  const body = completion('To [EMAIL_1], card [CREDIT_CARD_1].', 'Not [EMAIL_2] nor [email_1]')
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'send', arguments: '{"to":"\\u005bEMAIL_1]"}' },
  }
  upstream.answer = json({
    ...body,
    choices: [
      {
        ...body.choices[0],
        message: {
          ...body.choices[0]?.message,
          reasoning: 'She is [EMAIL_1].',
          refusal: 'No [SECRET_1]',
          tool_calls: [call],
        },
        logprobs: { content: [{ token: 'To', logprob: 0, top_logprobs: [] }] },
      },
      body.choices[1],
    ],
  })
  const answer = await client.chat.completions.create({ model, messages: PROMPT })
  t.equal(
    upstream.received.at(-1)?.body,
    JSON.stringify({ model, messages: say('I am [EMAIL_1], card [CREDIT_CARD_1], key [SECRET_1]') }),
  )
  t.match(answer.choices, [
    {
      message: {
        content: `To ${ALICE}, card ${CARD}.`,
        reasoning: `She is ${ALICE}.`,
        refusal: `No ${KEY}`,
        tool_calls: [{ function: { arguments: JSON.stringify({ to: ALICE }) } }],
      },
      logprobs: null,
    },
    { message: { content: 'Not [EMAIL_2] nor [email_1]' } },
  ])
  const entry = await newest()
  t.match(entry, {
    pii_types: ['credit_card', 'email', 'secret'],
    rules: [{ name: 'give-back', action: 'restore' }],
    request: { messages: [{ content: 'I am [EMAIL_1], card [CREDIT_CARD_1], key [SECRET_1]' }] },
    response: {
      choices: [
        {
          message: {
            content: 'To [EMAIL_1], card [CREDIT_CARD_1].',
            reasoning: 'She is [EMAIL_1].',
            refusal: 'No [SECRET_1]',
            tool_calls: [{ function: { arguments: '{"to":"\\u005bEMAIL_1]"}' } }],
          },
          logprobs: null,
        },
        { message: { content: 'Not [EMAIL_2] nor [email_1]' } },
      ],
    },
  })
  const { body: report } = await gateway.api('GET', '/usage/security?limit=10')
  t.match(
    report.events.filter((one: { log_id: string }) => one.log_id === entry.id),
    [
      { type: 'rule_trigger', action: 'restore', rule_type: 'pii', injection: null },
      { type: 'pii_detection', direction: 'request', action: 'restore', rule_name: 'give-back' },
    ],
  )
})

t.test('what is new in the answer is redacted, and stays so', async (t) => {
  upstream.answer = json(completion(`Ask bob.restored@example.org or [EMAIL_1], or write ${ALICE}.`))
  const answer = await client.chat.completions.create({ model, messages: PROMPT })
  t.equal(answer.choices[0]?.message.content, `Ask [EMAIL_2] or ${ALICE}, or write ${ALICE}.`)
  t.match(await newest(), {
    response: { choices: [{ message: { content: 'Ask [EMAIL_2] or [EMAIL_1], or write [EMAIL_1].' } }] },
  })
})

t.test(
  'a rule of one direction: put back what it took, another rule says what to do with the new',
  async (t) => {
    upstream.answer = json(completion('Call [PHONE_1] or +1 415 555 2671 now'))
    const answer = await client.chat.completions.create({
      model,
      messages: say('My phone is +1 212 555 0187'),
    })
    t.equal(answer.choices[0]?.message.content, 'Call +1 212 555 0187 or +1 415 555 2671 now')
    t.match(await newest(), {
      rules: [
        { name: 'phones-one-way', action: 'restore' },
        { name: 'phones-back', action: 'monitor' },
      ],
      response: { choices: [{ message: { content: 'Call [PHONE_1] or +1 415 555 2671 now' } }] },
    })
  },
)

t.test('streamed, however a placeholder is cut', async (t) => {
  const text =
    'To [EMAIL_1], not [EMAIL_9] or [EMAIL_1 but [[CREDIT_CARD_1]] and new bob.restored@example.org.'
  const wanted = `To ${ALICE}, not [EMAIL_9] or [EMAIL_1 but [${CARD}] and new [EMAIL_2].`
  const cuttings = [[text], text.split(''), text.split(/(?<=[[_])/), text.match(/.{1,3}/g) ?? []]
  for (const pieces of cuttings) {
    upstream.answer = stream(pieces)
    const runner = client.chat.completions.stream({ model, messages: PROMPT })
    const final = await runner.finalChatCompletion()
    t.equal(final.choices[0]?.message.content, wanted)
    t.match(await newest(), {
      stream: true,
      response: {
        choices: [
          { message: { content: wanted.replace(ALICE, '[EMAIL_1]').replace(CARD, '[CREDIT_CARD_1]') } },
        ],
      },
    })
  }
})

t.test('streamed: choices, reasoning and arguments in fragments, side by side', async (t) => {
  const tool = (args: string, more: object = {}) =>
    chunk([
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, ...more, function: { arguments: args } }] },
        finish_reason: null,
      },
    ])
  const choice = (index: number, fields: object) => chunk([{ index, delta: fields, finish_reason: null }])
  upstream.answer = events(
    choice(0, { role: 'assistant', reasoning: 'It is [EM' }),
    choice(1, { role: 'assistant', content: 'See [CREDIT_' }),
    choice(0, { reasoning: 'AIL_1].' }),
    choice(0, { content: 'Sending to [EMAIL_1] ' }),
    chunk([
      {
        index: 0,
        delta: {
          tool_calls: [
            { index: 0, id: 'call_1', type: 'function', function: { name: 'send', arguments: '' } },
          ],
        },
        finish_reason: null,
      },
    ]),
    tool('{"to":"\\u005bEM'),
    choice(1, { content: 'CARD_1] and' }),
    tool('AIL_1]","ke'),
    tool('y":"[SECRET_'),
    tool('1]","n":1}'),
    finish(0, 'tool_calls'),
    finish(1),
    '[DONE]',
  )
  const runner = client.chat.completions.stream({ model, messages: PROMPT, n: 2 })
  const done: string[] = []
  runner.on('tool_calls.function.arguments.done', (props) => done.push(props.arguments))
  let reasoning = ''
  runner.on('chunk', (part) => {
    reasoning += (part.choices[0]?.delta as { reasoning?: string } | undefined)?.reasoning ?? ''
  })
  const { choices } = await runner.finalChatCompletion()
  t.equal(reasoning, `It is ${ALICE}.`)
  t.match(choices, [
    { message: { content: `Sending to ${ALICE} ` } },
    { message: { content: `See ${CARD} and` } },
  ])
  t.same(
    done.map((text) => JSON.parse(text)),
    [{ to: ALICE, key: KEY, n: 1 }],
  )
  t.match((await newest()).response.choices, [
    {
      message: {
        content: 'Sending to [EMAIL_1] ',
        reasoning: 'It is [EMAIL_1].',
        tool_calls: [{ function: { arguments: '{"to":"\\u005bEMAIL_1]","key":"[SECRET_1]","n":1}' } }],
      },
    },
    { message: { content: 'See [CREDIT_CARD_1] and' } },
  ])
})

t.test('streamed: strings that do not grow, and a last chunk with text in it', async (t) => {
  const note = {
    type: 'url_citation',
    url_citation: { url: 'https://example.com/?q=[EMAIL_1]', title: 'For [EMAIL_1]' },
  }
  upstream.answer = events(
    chunk([{ index: 0, delta: { content: 'To [EMA', annotations: [note] }, finish_reason: null }]),
    chunk([{ index: 0, delta: { content: 'IL_1]' }, finish_reason: 'stop' }]),
    '[DONE]',
  )
  let text = ''
  const notes: unknown[] = []
  const answer = await client.chat.completions.create({ model, messages: PROMPT, stream: true })
  for await (const { choices } of answer) {
    const said = choices[0]?.delta as { content?: string; annotations?: unknown[] } | undefined
    text += said?.content ?? ''
    notes.push(...(said?.annotations ?? []))
  }
  t.equal(text, `To ${ALICE}`)
  t.match(notes, [{ url_citation: { url: `https://example.com/?q=${ALICE}`, title: `For ${ALICE}` } }])
  t.match((await newest()).response.choices[0], { message: { content: 'To [EMAIL_1]', annotations: [note] } })
})

t.test('streamed: log probabilities leave no further than the first value', async (t) => {
  const token = (content: string) =>
    chunk([
      {
        index: 0,
        delta: { content },
        logprobs: { content: [{ token: content, logprob: -1, top_logprobs: [] }] },
        finish_reason: null,
      },
    ])
  upstream.answer = events(...['Dear ', 'reader ', '[EMAIL', '_1]', ' hello'].map(token), finish(), '[DONE]')
  const tokens: string[] = []
  let text = ''
  const answer = await client.chat.completions.create({
    model,
    messages: PROMPT,
    stream: true,
    logprobs: true,
  })
  for await (const { choices } of answer) {
    text += choices[0]?.delta.content ?? ''
    tokens.push(...(choices[0]?.logprobs?.content ?? []).map((one) => one.token))
  }
  t.equal(text, `Dear reader ${ALICE} hello`)
  t.notMatch(tokens.join(''), /EMAIL|_1|hello/)
})

t.test('a forbidden word that only the value completes stops the answer', async (t) => {
  const prompt = say(`I am ${AURORA}`)
  upstream.answer = json(completion('The project [EMAIL_1] is on'))
  await t.rejects(client.chat.completions.create({ model, messages: prompt }), {
    status: 403,
    code: 'response_blocked_by_policy',
  })
  upstream.answer = stream('Well, the project [EMAIL_1] is on'.split(''))
  let text = ''
  const answer = await client.chat.completions.create({ model, messages: prompt, stream: true })
  await t.rejects(
    (async () => {
      for await (const part of answer) text += part.choices[0]?.delta.content ?? ''
    })(),
    /no-aurora/,
  )
  t.equal(text, 'Well, the ')
  t.match(await newest(), {
    outcome: 'blocked',
    blocked: true,
    response: { choices: [{ message: { content: 'Well, the ' } }] },
  })
})

t.test('errors keep placeholders, whole and streamed', async (t) => {
  upstream.answer = json({ error: { message: 'Refused: [EMAIL_1]', type: 'x', code: null } }, 400)
  await t.rejects(client.chat.completions.create({ model, messages: PROMPT }), {
    message: /Refused: \[EMAIL_1\]/,
  })
  upstream.answer = json({ error: { message: 'Refused: [EMAIL_1]' } })
  t.match(await (await gateway.chat(key, { model, messages: PROMPT })).text(), /Refused: \[EMAIL_1\]/)
  upstream.answer = events(delta('Hi '), { error: { message: 'Broke at [EMAIL_1]' } })
  const broken = await (await gateway.chat(key, { model, messages: PROMPT, stream: true })).text()
  t.match(broken, /Broke at \[EMAIL_1\]/)
  t.notMatch(broken, ALICE)
})

t.test('an answer that would grow beyond all bounds', async (t) => {
  const block = `-----BEGIN PRIVATE KEY-----\n${`${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC'.repeat(2)}\n`.repeat(150)}-----END PRIVATE KEY-----`
  const messages = say(`Keep it: ${block}`)
  for (const answer of [
    json(completion('[SECRET_1]\n'.repeat(2000))),
    stream(['[SECRET_1]\n'.repeat(2000)]),
  ]) {
    upstream.answer = answer
    const text = await (await gateway.chat(key, { model, messages })).text()
    t.match(text, /upstream_unavailable/)
    t.match(await newest(), { outcome: 'upstream_error' })
  }
})

t.test('an upstream that breaks off', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const text of streamOf(['To [EMAIL_1] and [EMA'], false).slice(0, 2)) response.write(text)
    response.end()
  }
  const broken = await (await gateway.chat(key, { model, messages: PROMPT, stream: true })).text()
  t.notMatch(broken, '[EMA')
  t.match(await newest(), { outcome: 'upstream_error' })
})

t.test('two calls side by side do not see each other', async (t) => {
  upstream.answer = stream(['Yours is [EMA', 'IL_1] and not [EMAIL_2].'])
  const mine = async (address: string) => {
    const runner = client.chat.completions.stream({ model, messages: say(`I am ${address}`) })
    return (await runner.finalChatCompletion()).choices[0]?.message.content
  }
  const addresses = Array.from({ length: 8 }, (_, index) => `user${index}.restored@example.com`)
  t.same(
    await Promise.all(addresses.map(mine)),
    addresses.map((address) => `Yours is ${address} and not [EMAIL_2].`),
  )
})

t.test('rules of the kind through the API', async (t) => {
  const rule = { name: 'api-restore', type: 'pii', pattern: 'iban', action: 'restore', enabled: true }
  const made = await gateway.api('POST', '/rules', rule)
  t.match(made, { status: 201, body: rule })
  t.match(await gateway.api('POST', '/rules', { ...rule, name: 'back', match: { direction: 'response' } }), {
    status: 400,
    body: { error: { param: 'match.direction' } },
  })
  const { body } = await gateway.api('POST', '/rules', { ...rule, name: 'words', type: 'keyword_block' })
  t.match(body.error.message, /block, monitor/)
})

t.test('no value is left anywhere', async (t) => {
  const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  const { body: list } = await gateway.api('GET', '/usage/logs?limit=1000')
  const details = await Promise.all(
    list.logs.map(async ({ id }: { id: string }) => (await gateway.api('GET', `/usage/logs/${id}`)).body),
  )
  const { body: report } = await gateway.api('GET', '/usage/security?limit=1000')
  await gateway.stop()
  const data = join(gateway.folder, 'data')
  const places: Record<string, string> = {
    store: readdirSync(data)
      .map((name) => readFileSync(join(data, name)).toString('latin1'))
      .join('\n'),
    logs: gateway.logs.map((line) => JSON.stringify(line)).join('\n'),
    'error output': gateway.stderr.join(''),
    upstream: upstream.received.map(({ body, headers }) => body + JSON.stringify(headers)).join('\n'),
    'usage log': JSON.stringify(details),
    'security events': JSON.stringify(report),
    metrics,
  }
  for (const [place, text] of Object.entries(places)) {
    for (const value of ['.restored@example', CARD, KEY]) t.notOk(text.includes(value), `${place}: ${value}`)
  }
  t.match(metrics, /action="restore"/)
})
