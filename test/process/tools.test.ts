// Rules on tools on the running process, through the clients that agents use.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, jsonSchema, streamText, tool } from 'ai'
import t from 'tap'
import { openAi } from './client.ts'
import { deploy } from './gateway.ts'
import { message, messageEvents, streamed, streamedText, streamedTool } from './messages-upstream.ts'
import { responseEvents, responseOf, streamedCall, streamedMessage } from './responses-upstream.ts'
import { calling, streamCalling } from './tool-upstream.ts'
import { fetchInTime } from './until.ts'
import { completion, event, json } from './upstream.ts'

const RULES = `
rules:
  - {name: hide-shell, type: tool_access, pattern: ["*", "!shell*"], action: remove}
  - {name: no-deploy, type: tool_access, pattern: ["*", "!deploy"], action: block}
  - {name: no-rm, type: tool_access, pattern: ["*", "!bash", "!mail"], arguments: [{path: "", pattern: '\\brm\\s+-rf\\s+/'}], action: block}
  - {name: no-mail-after-web, type: tool_access, pattern: ["*", "!send_*"], after: ["web_*", "mcp:*"], action: block}
  - {name: read-seen, type: tool_access, pattern: ["*", "!read"], action: monitor}
`
const { upstream, gateway, key } = await deploy(t, undefined, { rules: RULES })
const fetch = fetchInTime as typeof globalThis.fetch
const baseURL = `${gateway.url}/v1`
const client = openAi(gateway, key)
const anthropic = new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0, fetch })

const model = 'gpt-5'
const messages = [{ role: 'user' as const, content: 'Tidy up.' }]
const parameters = { type: 'object', properties: { command: { type: 'string' } } }
const fn = (name: string) => ({ type: 'function' as const, function: { name, parameters } })
const DELETE = '{"command":"rm -rf /"}'
const LIST = '{"command":"ls"}'
const sent = () => JSON.parse(upstream.received.at(-1)!.body)

const REFUSED = /no-rm\\?" because it calls the tool \\?"(?:bash|mail)/

t.test('a definition is refused by name, and nothing is forwarded', async (t) => {
  const before = upstream.received.length
  const refused = { code: 'tool_not_allowed', param: 'tools', message: /"no-deploy".*"deploy"/ }
  await t.rejects(client.chat.completions.create({ model, messages, tools: [fn('read'), fn('deploy')] }), {
    status: 403,
    ...refused,
    headers: { get: Function },
  })
  await t.rejects(
    client.responses.create({
      model,
      input: 'x',
      tools: [{ type: 'function', name: 'deploy', parameters, strict: false }],
    }),
    { status: 400, ...refused },
  )
  await t.rejects(
    anthropic.messages.create({
      model,
      max_tokens: 9,
      messages,
      tools: [{ name: 'deploy', input_schema: { type: 'object' } }],
    }),
    { status: 400, message: /no-deploy/ },
  )
  t.equal(upstream.received.length, before)
  t.match(await gateway.newestEntry(), {
    outcome: 'blocked',
    blocked: true,
    rules: [{ name: 'no-deploy', action: 'block' }],
    tools: [{ name: 'deploy', defined: true, called: 0, refused: 1 }],
  })
})

t.test('a choice of a refused tool is refused', async (t) => {
  await t.rejects(
    client.chat.completions.create({
      model,
      messages,
      tools: [fn('x')],
      tool_choice: { type: 'function', function: { name: 'deploy' } },
    }),
    { code: 'tool_not_allowed' },
  )
})

t.test('a removed definition does not reach the model, and other bytes stay', async (t) => {
  upstream.answer = json(completion('ok'))
  const body = (tools: string, choice: string) =>
    `{"model": "m",  "messages":[{"role":"user","content":"x"}], "tools": [${tools}]${choice}, "seed": 1.50}`
  const [a, b] = [
    '{"type":"function","function":{"name":"a"}}',
    '{"type":"function","function":{"name":"shell_run"}}',
  ]
  const choice = `,"tool_choice":{"type":"function","function":{"name":"shell_run"}}`
  const response = await fetchInTime(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body(`${a}, ${b}`, choice),
  })
  t.equal(response.status, 200)
  t.equal(upstream.received.at(-1)!.body, body(a, ',"tool_choice":"auto"'))
  const { id } = await gateway.newestEntry()
  const { body: entry } = await gateway.api('GET', `/usage/logs/${id}`)
  t.notMatch(JSON.stringify(entry.request), 'shell_run')
  t.match(entry, {
    rules: [{ name: 'hide-shell', action: 'remove' }],
    tools: [
      { name: 'a', defined: true, called: 0, refused: 0 },
      { name: 'shell_run', defined: true, called: 0, refused: 1 },
    ],
  })
  const { body: security } = await gateway.api('GET', '/usage/security')
  t.match(security.events[0], {
    type: 'rule_trigger',
    rule_name: 'hide-shell',
    rule_type: 'tool_access',
    action: 'remove',
  })
})

t.test('a call of a removed tool is refused', async (t) => {
  upstream.answer = json(calling('shell_run', LIST))
  await t.rejects(client.chat.completions.create({ model, messages, tools: [fn('shell_run'), fn('a')] }), {
    code: 'response_blocked_by_policy',
    message: /"hide-shell" because it calls the tool "shell_run"/,
  })
  const { body } = await gateway.api('GET', '/usage/security')
  t.match(
    body.events.find(({ type }: any) => type === 'refused_request'),
    { rule_name: 'hide-shell' },
  )
})

t.test('a call is refused by its arguments in every API, whole', async (t) => {
  upstream.answer = json(calling('bash', DELETE))
  await t.rejects(client.chat.completions.create({ model, messages, tools: [fn('bash')] }), {
    status: 403,
    code: 'response_blocked_by_policy',
    message: REFUSED,
  })
  t.match(await gateway.newestEntry(), {
    outcome: 'blocked',
    tools: [{ name: 'bash', defined: true, called: 1, refused: 1 }],
  })
  const call = {
    type: 'function_call',
    id: 'f',
    call_id: 'c',
    name: 'bash',
    arguments: DELETE,
    status: 'completed',
  }
  upstream.answer = json(responseOf(call))
  await t.rejects(client.responses.create({ model, input: 'x' }), { message: REFUSED })
  upstream.answer = json(message({ type: 'tool_use', id: 'u', name: 'bash', input: { command: 'rm -rf /' } }))
  await t.rejects(anthropic.messages.create({ model, max_tokens: 9, messages }), { message: REFUSED })
  upstream.answer = json(calling('bash', LIST))
  const answer = await client.chat.completions.create({ model, messages, tools: [fn('bash')] })
  t.match(answer.choices[0]!.message.tool_calls, [{ function: { arguments: LIST } }])
})

t.test('no official client gets a refused call of a stream that renames it', async (t) => {
  const chunk = (call: object) =>
    event({ choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] })
  const renamed = (second: object) =>
    streamed([
      chunk({ index: 0, id: 'a', type: 'function', function: { name: 'list', arguments: '' } }),
      chunk({ index: 0, function: { name: 'deploy', arguments: LIST }, ...second }),
      event({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
      event('[DONE]'),
    ])
  for (const second of [{}, { id: 'a' }, { id: 'b', type: 'function' }]) {
    upstream.answer = renamed(second)
    await t.rejects(
      client.chat.completions.stream({ model, messages }).finalChatCompletion(),
      /no-deploy/,
      JSON.stringify(second),
    )
    const read: string[] = []
    const chat = new ChatOpenAI({ model, apiKey: key, configuration: { baseURL, fetch }, maxRetries: 0 })
    await t.rejects(async () => {
      for await (const piece of await chat.stream('x'))
        for (const { name } of piece.tool_call_chunks ?? []) read.push(String(name))
    }, /no-deploy/)
    t.notOk(read.includes('deploy'))
    const openai = createOpenAI({ apiKey: key, baseURL, fetch })
    const parts: string[] = []
    const options = { model: openai.chat(model), prompt: 'x', maxRetries: 0, onError: () => {} }
    for await (const part of streamText(options).fullStream)
      if (part.type === 'tool-call') parts.push(part.toolName)
    t.notOk(parts.includes('deploy'))
  }
  const start = messageEvents([])[0]!
  t.ok(start.includes('message_start'))
  const block = { type: 'tool_use', id: 'u', name: 'deploy', input: {} }
  upstream.answer = streamed([
    start.replace('"content":[]', `"content":${JSON.stringify([block])}`),
    ...messageEvents([]).slice(1),
  ])
  await t.rejects(anthropic.messages.stream({ model, max_tokens: 9, messages }).finalMessage(), /no-deploy/)
})

t.test('tools of plugins and stored prompts are refused or leave', async (t) => {
  upstream.answer = json(completion('ok'))
  const before = upstream.received.length
  await t.rejects(client.responses.create({ model, prompt: { id: 'pmpt_1' } }), {
    code: 'tool_not_allowed',
    message: /"prompt:pmpt_1"/,
  })
  t.equal(upstream.received.length, before)
  upstream.answer = json(calling('send_mail', '{}'))
  const plugins = [{ id: 'web' }]
  await t.rejects(client.chat.completions.create({ model, messages, plugins } as never), {
    code: 'response_blocked_by_policy',
    message: /no-mail-after-web/,
  })
  t.match((await gateway.newestEntry()).tools[0], { name: 'web_search', defined: true })
})

t.test('a call is refused by its arguments in every API, streamed', async (t) => {
  const read = async (stream: AsyncIterable<any>) => {
    let text = ''
    for await (const one of stream) text += JSON.stringify(one)
    return text
  }
  let text = ''
  upstream.answer = streamed(streamCalling('bash', '{"command":"rm -', 'rf /"}'))
  const chat = client.chat.completions.stream({ model, messages, tools: [fn('bash')] })
  chat.on('content', (piece) => {
    text += piece
  })
  await t.rejects(chat.finalChatCompletion(), { message: REFUSED })
  t.equal(text, 'Let me look.')
  upstream.answer = streamed(
    responseEvents([streamedMessage('Look.'), streamedCall('{"command":"rm -', 'rf /"}')]),
  )
  await t.rejects(client.responses.create({ model, input: 'x', stream: true }).then(read), {
    message: /"no-rm" because it calls the tool/,
  })
  upstream.answer = streamed(
    messageEvents([streamedText('Look.'), streamedTool('bash', '{"command":"rm -', 'rf /"}')], 'tool_use'),
  )
  await t.rejects(anthropic.messages.stream({ model, max_tokens: 9, messages }).finalMessage(), {
    message: REFUSED,
  })
  t.match(await gateway.newestEntry(), { stream: true, tools: [{ name: 'bash', called: 1, refused: 1 }] })
  upstream.answer = streamed(
    messageEvents([streamedText('Look.'), streamedTool('bash', '{"command":', '"ls"}')], 'tool_use'),
  )
  const passed = await anthropic.messages.stream({ model, max_tokens: 9, messages }).finalMessage()
  t.match(passed.content[1], { name: 'bash', input: { command: 'ls' } })
})

t.test('after a result that a rule names a call is refused, before it passes', async (t) => {
  const turn = [
    ...messages,
    {
      role: 'assistant' as const,
      content: null,
      tool_calls: [{ id: 'w', type: 'function' as const, function: { name: 'web_fetch', arguments: '{}' } }],
    },
    { role: 'tool' as const, tool_call_id: 'w', content: 'A page.' },
  ]
  const ask = (list: any) =>
    client.chat.completions.create({ model, messages: list, tools: [fn('send_mail'), fn('web_fetch')] })
  upstream.answer = json(calling('send_mail', '{}'))
  t.match((await ask(messages)).choices[0]!.message.tool_calls, [{ function: { name: 'send_mail' } }])
  await t.rejects(ask(turn), { code: 'response_blocked_by_policy', message: /no-mail-after-web/ })
  upstream.answer = json(completion('ok'))
  t.match((await ask(turn)).choices, [{ message: { content: 'ok' } }], 'the definition alone passes')
})

t.test('a monitored definition passes and is reported', async (t) => {
  const { response } = await client.chat.completions
    .create({ model, messages, tools: [fn('read')] })
    .withResponse()
  t.equal(response.headers.get('x-sidegate-policy'), 'read-seen')
  t.match(sent().tools, [{ function: { name: 'read' } }])
})

t.test('a text before a held call reaches the client at once', async (t) => {
  const [first, begin, ...rest] = streamCalling('bash', LIST)
  let go = () => {}
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  upstream.answer = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(first)
    response.write(begin)
    await gone
    for (const one of rest) response.write(one)
    response.end()
  }
  const chunks: any[] = []
  for await (const one of await client.chat.completions.create({ model, messages, stream: true })) {
    chunks.push(one)
    if (chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('') === 'Let me look.') go()
  }
  t.match(JSON.stringify(chunks), /bash/)
})

const ai = createOpenAI({ apiKey: key, baseURL, fetch })
const AI_MODELS = {
  'openai.chat': {
    model: ai.chat(model),
    whole: json(calling('bash', DELETE)),
    pieces: streamCalling('bash', DELETE),
  },
  'openai.responses': {
    model: ai.responses(model),
    whole: json(
      responseOf({
        type: 'function_call',
        id: 'f',
        call_id: 'c',
        name: 'bash',
        arguments: DELETE,
        status: 'completed',
      }),
    ),
    pieces: null,
  },
  anthropic: {
    model: createAnthropic({ apiKey: key, baseURL, fetch })('claude'),
    whole: json(message({ type: 'tool_use', id: 'u', name: 'bash', input: { command: 'rm -rf /' } })),
    pieces: messageEvents([streamedTool('bash', DELETE)], 'tool_use'),
  },
}
const tools = {
  bash: tool({ inputSchema: jsonSchema<any>({ type: 'object' }), outputSchema: jsonSchema<any>({}) }),
}
for (const [name, { model, whole, pieces }] of Object.entries(AI_MODELS))
  t.test(`the AI SDK with ${name} reports a refused call`, async (t) => {
    upstream.answer = whole
    await t.rejects(generateText({ model, prompt: 'x', tools, maxRetries: 0 }), { message: REFUSED })
    if (pieces === null) return
    upstream.answer = streamed(pieces)
    const errors: unknown[] = []
    const result = streamText({
      model,
      prompt: 'x',
      tools,
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    })
    for await (const part of result.fullStream)
      if (part.type === 'tool-call') t.fail('the call must not arrive')
    t.match(JSON.stringify(errors.map((error: any) => error.message ?? error)), /no-rm/)
  })

t.test('LangChain reports a refused call', async (t) => {
  const chat = new ChatOpenAI({ apiKey: key, model, maxRetries: 0, configuration: { baseURL } })
  upstream.answer = json(calling('bash', DELETE))
  await t.rejects(chat.bindTools([fn('bash')]).invoke('x'), { message: REFUSED })
  upstream.answer = streamed(streamCalling('bash', DELETE))
  await t.rejects(
    (async () => {
      for await (const _ of await chat.stream('x'));
    })(),
    { message: REFUSED },
  )
})

t.test('a dry run names the tools that are refused', async (t) => {
  const { body } = await gateway.api('POST', '/rules/evaluate', {
    model,
    messages,
    tools: [fn('shell_run'), fn('a')],
  })
  t.match(body, {
    decision: 'allow',
    rules: [{ name: 'hide-shell', action: 'remove' }],
    tools: [
      { name: 'shell_run', refused: true },
      { name: 'a', refused: false },
    ],
  })
  t.same(body.redacted.tools, [fn('a')])
})

t.test('metrics count calls by tool', async (t) => {
  const page = await (await fetchInTime(`${gateway.opsUrl}/metrics`)).text()
  t.match(page, /sidegate_tool_calls_total\{tool="bash",decision="called"\} \d+/)
  t.match(page, /sidegate_tool_calls_total\{tool="deploy",decision="refused"\} \d+/)
})
