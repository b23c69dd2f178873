// Answers in another form than the client asked for, and under any content type.

import OpenAI from 'openai'
import t from 'tap'
import { callOnSocket, openAi, readSocket, readText } from './client.ts'
import { deploy, prompt } from './gateway.ts'
import {
  type Answer,
  chunk,
  completion,
  delta,
  event,
  events,
  finish,
  json,
  opening,
  stream,
  USAGE,
  unfinished,
} from './upstream.ts'

t.setTimeout(300_000)

const RULES = `
rules:
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block, enabled: true, match: { direction: response } }
  - { name: give-back, type: pii, pattern: "email", action: restore, enabled: true }
`
const { upstream, gateway, key } = await deploy(t, undefined, { rules: RULES })
const client = openAi(gateway, key)
const request = { model: 'm', messages: [{ role: 'user' as const, content: 'I am eve@example.com' }] }
const streamed = prompt('I am eve@example.com', { stream: true })
const newest = async () => (await gateway.api('GET', `/usage/logs/${(await gateway.newestEntry()).id}`)).body

const TYPES = [
  'text/event-stream',
  'application/json',
  'application/octet-stream',
  'application/x-ndjson',
  'text/html; charset=utf-8',
  'text/plain',
  null,
] as const

/** The answer with another content type; null removes it. */
const under = (type: string | null, answer: Answer): Answer => {
  return (response, received) => {
    const writeHead = response.writeHead.bind(response)
    response.writeHead = ((status: number, headers: Record<string, string>) => {
      const { 'content-type': _, ...others } = headers
      return writeHead(status, { ...others, ...(type === null ? {} : { 'content-type': type }) })
    }) as typeof response.writeHead
    return answer(response, received)
  }
}

/** Sends an answer in pieces of one byte. */
const bytewise = (text: string): Answer => {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    for (const byte of Buffer.from(text))
      await new Promise((resolve) => response.write(Buffer.of(byte), resolve))
    response.end()
  }
}

const post = async (answer: Answer, call: object = streamed) => {
  upstream.answer = answer
  const response = await gateway.chat(key, call)
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

t.test('a stream is a stream under any content type', async (t) => {
  for (const type of TYPES) {
    upstream.answer = under(type, stream(['write to bob@exam', 'ple.com, [EMA', 'IL_1]']))
    const answer = await client.chat.completions.create({ ...request, stream: true })
    t.same(await readText(answer), { text: 'write to [EMAIL_2], eve@example.com', error: null }, String(type))
    t.match(await newest(), { outcome: 'ok', stream: true, finish_reason: 'stop', prompt_tokens: 9 })
  }
  const raw = await post(under('application/json', stream(['Hello.'])))
  t.match(raw, { status: 200, type: 'text/event-stream; charset=utf-8' })
  t.match(raw.text, /\n\n: sidegate-audit \S+\ndata: \[DONE\]\n\n$/)
})

t.test('the first event leaves before the second arrives', async (t) => {
  upstream.answer = (response, received) =>
    under('application/json', unfinished(opening('word by word to the ')))(response, received)
  const text = await readSocket(callOnSocket(gateway, key, streamed), (sent) => sent.includes('word by'))
  t.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  upstream.answer = (response) => void response.writeHead(200, {}).write(': PROCESSING\n\n')
  const waiting = await readSocket(callOnSocket(gateway, key, streamed), (sent) =>
    sent.includes('PROCESSING'),
  )
  t.match(waiting, /^HTTP\/1\.1 200 OK\r\n/, 'a comment keeps the connection alive')
})

t.test('a whole answer to a stream request is a stream', async (t) => {
  const tool = {
    id: 'call_1',
    type: 'function',
    function: { name: 'mail', arguments: '{"to":"bob@example.com"}' },
  }
  const whole = completion('write to bob@example.com, [EMAIL_1]', 'two')
  const called = { role: 'assistant', content: null, tool_calls: [tool] }
  const body = {
    ...whole,
    choices: [...whole.choices, { index: 2, message: called, finish_reason: 'tool_calls' }],
  }
  for (const type of TYPES) {
    upstream.answer = under(type, json(body))
    const { choices, usage } = await client.chat.completions
      .stream({ ...request, stream_options: { include_usage: true } })
      .finalChatCompletion()
    t.match(
      choices.map(({ message, finish_reason }) => [message.role, message.content, finish_reason]),
      [
        ['assistant', 'write to [EMAIL_2], eve@example.com', 'stop'],
        ['assistant', 'two', 'stop'],
        ['assistant', null, 'tool_calls'],
      ],
      String(type),
    )
    t.match(choices[2]?.message.tool_calls, [
      { id: 'call_1', function: { name: 'mail', arguments: '{"to":"[EMAIL_2]"}' } },
    ])
    t.match(usage, USAGE)
  }
  t.match(await newest(), {
    outcome: 'ok',
    stream: true,
    usage_source: 'upstream',
    ...USAGE,
    response: { object: 'chat.completion', choices: [{}, {}, {}] },
  })
  const raw = await post(json(body))
  t.notMatch(raw.text, /"usage"|bob@/, 'no usage without the option')
  t.match(raw.text, /\n\n: sidegate-audit \S+\ndata: \[DONE\]\n\n$/)
  t.match((await newest()).total_tokens, USAGE.total_tokens)
})

t.test('a whole answer as a stream is scanned as such', async (t) => {
  upstream.answer = json(completion(`${'plain words '.repeat(10_000)}then project aurora follows`))
  const { text, error } = await readText(await client.chat.completions.create({ ...request, stream: true }))
  t.match(error, { code: 'response_blocked_by_policy' })
  t.ok(text.length > 100_000 && !/project/.test(text))
  t.match(await newest(), { outcome: 'blocked', blocked: true })
  const long = 'words and '.repeat(200_000)
  upstream.answer = json(completion(`${long}bob@example.com`))
  const all = await readText(await client.chat.completions.create({ ...request, stream: true }))
  t.ok(all.text === `${long}[EMAIL_2]` && all.error === null)
})

const REASON = 'no GPU for bob@example.com'
const REDACTED = 'no GPU for [EMAIL_2]'
const ERRORS: [name: string, answer: Answer, status: number, message: string][] = [
  ['an error', json({ error: { message: REASON, code: 'busy', hint: 'later' } }), 502, REDACTED],
  ['an error with its own status', json({ error: { message: REASON, code: 429 } }), 429, REDACTED],
  ['an error of the server', json({ error: { message: REASON, code: 503 } }), 503, REDACTED],
  ['a status of the server', json({ error: { message: REASON, code: '500' } }), 502, REDACTED],
  ['an error as a text', json({ error: REASON }), 502, REDACTED],
  ['an error in a list', json([{ error: { message: REASON } }]), 502, REDACTED],
  ['an error next to no choices', json({ error: { message: REASON }, choices: [] }), 502, REDACTED],
  ['an event with an error', events({ error: { message: REASON } }), 502, REDACTED],
  [
    'an event with its own status',
    events({ error: { message: REASON, code: 400 } }, '[DONE]'),
    400,
    REDACTED,
  ],
  [
    'an event named error',
    (response) => void response.writeHead(200, {}).end(`event: error\ndata: {"message":"${REASON}"}\n\n`),
    502,
    REDACTED,
  ],
  [
    'an event with an error and a choice',
    events(
      chunk([{ index: 0, delta: { content: '' }, finish_reason: 'error' }], { error: { message: REASON } }),
    ),
    502,
    REDACTED,
  ],
  ['an error by its object', json({ object: 'error', message: REASON, code: 400 }), 400, REDACTED],
  ['an event that is an error by its object', events({ object: 'error', message: REASON }), 502, REDACTED],
  [
    'an error without a message',
    json({ error: { reason: REASON }, choices: [], id: 'x', message: null }),
    502,
    `{"error":{"reason":"${REDACTED}"},"message":null}`,
  ],
  ['an event after a ping', events('ping', { error: { message: REASON } }), 502, REDACTED],
]

t.test('an error with status 200 is an error to the client, in both forms', async (t) => {
  for (const [name, answer, status, message] of ERRORS) {
    for (const type of TYPES) {
      for (const isStream of [true, false]) {
        const sent = await post(under(type, answer), { ...streamed, stream: isStream })
        t.match([sent.status, sent.type], [status, /^application\/json/], `${name} ${type} ${isStream}`)
        const { error } = JSON.parse(sent.text)
        t.match(error, { message, type: 'upstream_error', param: null }, name)
        t.ok('code' in error)
        if (status >= 500) t.equal(error.code, 'upstream_unavailable')
      }
    }
    t.match(await newest(), { outcome: 'upstream_error', status, response: { error: {} } }, name)
    t.notMatch(JSON.stringify(await newest()), /bob@/)
    upstream.answer = answer
    const thrown = await client.chat.completions.create({ ...request, stream: true }).catch((error) => error)
    t.ok(thrown instanceof OpenAI.APIError, name)
    t.equal(thrown.status, status)
  }
  const cause = gateway.logs.filter(({ msg }) => msg === 'call failed').map((line) => String(line['cause']))
  t.notMatch(cause.join('\n'), /GPU/, 'the log has no reason')
})

t.test('an error after the stream began is an event', async (t) => {
  for (const first of [delta('one two three '), delta('bob@')]) {
    const { status, text } = await post(events(first, { error: { message: REASON } }))
    t.equal(status, 200)
    t.match(text, /: sidegate-audit \S+\ndata: \{"error":\{"message":"no GPU for \[EMAIL_\d\]"\}\}\n\n$/)
    t.match(await newest(), { outcome: 'upstream_error', status: 502 })
  }
})

t.test('an answer that holds no answer is an error with a reason, never an empty stream', async (t) => {
  const plain = (text: string) => json(text)
  const CASES: [answer: Answer, message: RegExp][] = [
    [plain(''), /is empty/],
    [plain('\n\n  \n'), /is empty/],
    [plain('<html><body>Bad gateway</body></html>'), /neither an event stream nor a JSON object/],
    [plain(REASON), /no GPU for \[EMAIL_2\]/],
    [plain(`${REASON}\n`), /no GPU for \[EMAIL_2\]/],
    [plain(`x: y\n\n${event(delta('bob@exam'))}${event(delta('ple.com'))}`), /neither an event stream/],
    [plain(`)]}'${JSON.stringify(completion('bob\u0040example.com'))}`), /neither an event stream/],
    [plain('{"model":"m"}\n{"model":"m"}\n'), /not a JSON object/],
    [plain('{"choices":[{"message":{"content":"cut of'), /not a JSON object/],
    [plain('['.repeat(100_000)), /not a JSON object/],
    [plain(`{"choices":[{"message":${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}}]}`), /not a JSON object/],
    [json([]), /not a JSON object/],
    [json({}), /neither an answer of this API/],
    [json({ choices: [] }), /neither an answer of this API/],
    [json({ id: 'x', content: [{ text: 'bob@example.com' }] }), /neither an answer of this API/],
    [json({ detail: REASON }), /no GPU for \[EMAIL_2\]/],
    [json({ message: REASON, choices: null }), /no GPU for \[EMAIL_2\]/],
    [events('[DONE]'), /before its answer was complete/],
    [events('ping'), /before its answer was complete/],
    [events('so'), /not a JSON object/],
    [events(chunk([], { usage: USAGE }), '[DONE]'), /before its answer was complete/],
  ]
  for (const [answer, message] of CASES) {
    for (const type of TYPES) {
      const sent = await post(under(type, answer))
      const error = JSON.parse(sent.text).error
      t.match([sent.status, error.message], [502, message], String(message))
      t.match(error, { type: 'upstream_error', param: null, code: 'upstream_unavailable' })
    }
    t.match(await newest(), { outcome: 'upstream_error', status: 502 })
  }
})

t.test('a stream to a request without stream is one whole answer', async (t) => {
  const calls = [
    { index: 0, id: 'call_1', type: 'function', function: { name: 'mail', arguments: '' } },
    { index: 0, function: { arguments: '{"to":"bob@exam' } },
    { index: 0, function: { arguments: 'ple.com"}' } },
  ]
  const pieces = [
    opening('write to bob@exam'),
    delta('ple.com, [EMAIL_1]'),
    ...calls.map((one) => chunk([{ index: 1, delta: { tool_calls: [one] }, finish_reason: null }])),
    finish(0),
    finish(1, 'tool_calls'),
    chunk([], { usage: USAGE }),
  ]
  for (const type of TYPES) {
    upstream.answer = under(type, events(...pieces, '[DONE]'))
    const whole = await client.chat.completions.create(request)
    t.match(
      whole,
      {
        object: 'chat.completion',
        choices: [
          {
            message: { role: 'assistant', content: 'write to [EMAIL_2], eve@example.com' },
            finish_reason: 'stop',
          },
          { message: { tool_calls: [{ function: { arguments: '{"to":"[EMAIL_2]"}' } }] } },
        ],
        usage: USAGE,
      },
      String(type),
    )
  }
  t.match(await newest(), { outcome: 'ok', stream: false, ...USAGE })
  const call = { ...streamed, stream: false }
  t.equal((await post(bytewise([...pieces, '[DONE]'].map(event).join('')), call)).status, 200, 'in any cut')
  t.equal((await post(events(...pieces), call)).status, 200, 'without [DONE]')
  const open = await post((response) => unfinished(...pieces, '[DONE]')(response), call)
  t.equal(open.status, 200, 'the stream need not close')
  const cut = await post(events(opening('write to ')), call)
  t.match([cut.status, cut.text], [502, /before its answer was complete/])
  t.match((await post(events(opening('a '), { error: { message: REASON } }), call)).text, REDACTED)
  t.match((await post(events(opening('a project '), delta('aurora'), finish(), '[DONE]'), call)).status, 403)
})

t.test('whole answers and streams arrive in any pieces', async (t) => {
  const whole = `\ufeff\n ${JSON.stringify(completion('write to bob@example.com'))}`
  const inEvents = [
    '\ufeff\n\n: note\n\n',
    ...[opening('write to bob@'), delta('example.com'), finish()].map(event),
  ]
  for (const text of [whole, inEvents.join('')]) {
    const sent = await post(bytewise(text))
    t.match([sent.status, sent.type], [200, /event-stream/])
    t.notMatch(sent.text, /bob@/)
    t.match(sent.text, /\[EMAIL_2\][\s\S]*data: \[DONE\]\n\n$/)
  }
})

t.test('a client that leaves while the form is unknown ends the upstream call', async (t) => {
  upstream.answer = (response) => void response.writeHead(200, {}).write('\n')
  const arrived = upstream.next()
  const abort = new AbortController()
  const call = gateway.chat(key, streamed, { signal: abort.signal }).catch(() => null)
  const { closed } = await arrived
  abort.abort()
  await call
  await closed
  t.match(await gateway.entryWith('client_aborted'), { status: 499, stream: true })
})
