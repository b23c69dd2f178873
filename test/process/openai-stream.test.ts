// The official client against the running process: streamed answers.

import OpenAI from 'openai'
import t from 'tap'
import { openAi, readText } from './client.ts'
import { BLOCK_AURORA, deploy } from './gateway.ts'
import { inTime } from './until.ts'
import {
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

const { upstream, gateway, key } = await deploy(t, undefined, { rules: BLOCK_AURORA })
const client = openAi(gateway, key)

const model = 'test/model'
const say = (content: string) => [{ role: 'user' as const, content }]
const request = { model, messages: say('hi') }
const newest = gateway.newestEntry

t.test('a stream is redacted, and has usage only when the client requests it', async (t) => {
  upstream.answer = stream(['Ask bo', 'b@exa', 'mple.org', ' or ca', 'll +1 415 5', '55 2671 no', 'w.'])
  const openRouterUsage = { usage: { include: true } }
  for (const asked of [{}, { stream_options: { include_usage: true } }, openRouterUsage]) {
    const answer = await client.chat.completions.create({
      ...request,
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
    t.match(JSON.parse(upstream.received.at(-1)?.body ?? ''), {
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

t.test('the streaming helper of the SDK gets complete messages', async (t) => {
  upstream.answer = stream(['Hello ', 'wor', 'ld'])
  const runner = client.chat.completions.stream(request)
  const final = await runner.finalChatCompletion()
  t.equal(final.choices[0]?.message.content, 'Hello world')
})

t.test('arguments of a tool call that arrive in fragments are redacted and stay JSON', async (t) => {
  const call = (more: object) =>
    chunk([{ index: 0, delta: { tool_calls: [{ index: 0, ...more }] }, finish_reason: null }])
  const fragments = ['{"to":"bo', 'b\\u0040exam', 'ple.org","ca', 'rd":4111111', '111111111,"n":', '5}']
  upstream.answer = events(
    opening('One moment '),
    call({ id: 'call_1', type: 'function', function: { name: 'send', arguments: '' } }),
    ...fragments.map((fragment) => call({ function: { arguments: fragment } })),
    finish(0, 'tool_calls'),
    '[DONE]',
  )
  const runner = client.chat.completions.stream(request)
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

t.test('growing texts anywhere in a stream are redacted, and whole objects pass unchanged', async (t) => {
  const piece = (fields: object) => chunk([{ index: 0, delta: fields, finish_reason: null }])
  const annotation = {
    type: 'url_citation',
    url_citation: { url: 'https://a.example/bob', title: 'Ask Bob', start_index: 0, end_index: 3 },
  }
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'send_mail', arguments: '{}' } }
  const cut = ['Ask bob@exam', 'ple.org']
  const last = [
    piece({ annotations: [annotation] }),
    piece({ tool_calls: [call] }),
    finish(0, 'tool_calls'),
    '[DONE]',
  ]
  upstream.answer = events(
    opening(''),
    ...cut.map((thinking) => piece({ content: [{ type: 'thinking', thinking }] })),
    ...cut.map((text) => piece({ reasoning: { text } })),
    ...cut.map((output) => piece({ executed_tools: [{ index: 0, type: 'python', output }] })),
    ...cut.map((content) => piece({ content })),
    ...last,
  )
  const answer = await client.chat.completions.create({ ...request, stream: true })
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
  upstream.answer = events(opening('Ask '), ...last)
  const runner = client.chat.completions.stream(request)
  const { message } = (await runner.finalChatCompletion()).choices[0] ?? {}
  const { index: _index, ...called } = call
  t.match(message, { content: 'Ask ', annotations: [annotation], tool_calls: [called] })
})

t.test('each choice of a stream has its own placeholders', async (t) => {
  upstream.answer = events(
    delta('a@b.co and', 0),
    delta('x@y.co and', 1),
    delta(' c@d.co', 0),
    delta(' a@b.co', 1),
    finish(1),
    finish(0),
    '[DONE]',
  )
  const texts = ['', '']
  const answer = await client.chat.completions.create({ ...request, n: 2, stream: true })
  for await (const { choices } of answer)
    for (const { index, delta } of choices) texts[index] += delta.content ?? ''
  t.same(texts, ['[EMAIL_1] and [EMAIL_2]', '[EMAIL_1] and [EMAIL_2]'])
})

t.test('a client that leaves a stream ends the upstream call and is sealed', async (t) => {
  upstream.answer = unfinished(delta('one two three '))
  const arrived = upstream.next()
  const answer = await client.chat.completions.create({ ...request, stream: true })
  for await (const part of answer) {
    t.equal(part.choices[0]?.delta.content?.trimEnd().startsWith('one two'), true)
    break
  }
  await inTime('the upstream call ends', (await arrived).closed)
  const entry = await gateway.entryWith('client_aborted')
  t.match(entry, { status: 499, stream: true, usage_source: 'estimated' })
  t.ok(entry.completion_tokens > 0 && entry.prompt_tokens > 0)
})

t.test('a stream that its upstream cuts off ends with an error', async (t) => {
  for (const [how, end] of [
    ['closed', (response: any) => response.end()],
    ['reset', (response: any) => response.socket.resetAndDestroy()],
  ] as const) {
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(event(delta('one two three ')), () => end(response))
    }
    const answer = await client.chat.completions.create({ ...request, stream: true })
    t.match((await readText(answer)).error, { code: 'upstream_unavailable' }, how)
    t.match(await newest(), { outcome: 'upstream_error' }, how)
  }
})

t.test('an error event of the upstream is an APIError with its type and message', async (t) => {
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      `${event(delta('one two three '))}event: error\ndata: {"message":"busy","type":"overloaded_error"}\n\n`,
    )
  }
  const answer = await client.chat.completions.create({ ...request, stream: true })
  const { text, error } = await readText(answer)
  t.ok(error instanceof OpenAI.APIError)
  t.match(error, { type: 'overloaded_error', error: { message: 'busy' } })
  t.match(text, /^one two/)
  t.match(await newest(), { outcome: 'upstream_error', stream: true })
})

t.test('a forbidden word ends a stream before the word', async (t) => {
  upstream.answer = stream(['The plan of pro', 'ject au', 'rora is secret'])
  const answer = await client.chat.completions.create({ ...request, stream: true })
  const { text, error } = await readText(answer)
  t.match(error, { code: 'response_blocked_by_policy' })
  t.equal(text, 'The plan of ')
  t.match(await newest(), { outcome: 'blocked', blocked: true })
})

t.test('a zero next to text is no count', async (t) => {
  const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  const counted = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }
  const text = 'one two three four five six seven eight'
  const ask = async (isStream: boolean, ...usages: object[]) => {
    upstream.answer = isStream
      ? events(delta(text), ...usages.map((more) => chunk([], more)), finish(), '[DONE]')
      : json({ ...completion(text), usage: null, ...usages[0] })
    await (await gateway.chat(key, { ...request, stream: isStream })).text()
    return newest()
  }
  for (const isStream of [true, false]) {
    for (const more of [{ usage: zero }, { usage: zero, x_groq: { usage: zero } }]) {
      const entry = await ask(isStream, more)
      t.match(entry, { usage_source: 'estimated', outcome: 'ok' })
      t.ok(entry.prompt_tokens > 0 && entry.completion_tokens >= 8)
      t.equal(entry.total_tokens, entry.prompt_tokens + entry.completion_tokens)
    }
    const half = await ask(isStream, { usage: { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 } })
    t.match(half, { usage_source: 'estimated', prompt_tokens: 7 })
    t.ok(half.completion_tokens >= 8 && half.total_tokens === 7 + half.completion_tokens)
    for (const more of [{ x_groq: { usage: counted } }, { usage: zero, x_groq: { usage: counted } }])
      t.match(await ask(isStream, more), { usage_source: 'upstream', ...counted })
  }
  t.match(await ask(true, { usage: counted }, { usage: zero }), { usage_source: 'upstream', ...counted })
})
