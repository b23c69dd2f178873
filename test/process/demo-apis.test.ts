// The demo's stand-in answers every API, through the gateway, for the official clients.

import { execFileSync } from 'node:child_process'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { startStandIn } from '../../src/demo/stand-in-server.ts'
import { openAi } from './client.ts'
import { openGateway } from './gateway.ts'
import { installBlock } from './install-page.ts'

const standIn = await startStandIn()
const gateway = await openGateway(t, { upstreamUrl: standIn.baseUrl })
t.teardown(() => standIn.close())
const { key } = await gateway.createKey()
const openai = openAi(gateway, key)
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })

const PROMPT = 'Write to alice@example.com'
const ANSWER = /^This is what reached me: «Write to \[EMAIL_1\]»\. .* write to \S+\.$/
const model = 'demo/echo'
const parameters = { type: 'object', properties: { city: { type: 'string' } } } as const

t.test('responses, whole and streamed', async (t) => {
  const whole = await openai.responses.create({ model, input: PROMPT })
  t.match(whole.output_text, ANSWER)
  const items = [{ role: 'user' as const, content: [{ type: 'input_text' as const, text: PROMPT }] }]
  const streamed = await openai.responses.stream({ model, input: items }).finalResponse()
  t.match(streamed.output_text, ANSWER)
})

t.test('responses that call a function and quote its result', async (t) => {
  const tools = [{ type: 'function' as const, name: 'get_weather', parameters, strict: false }]
  const ask = { model, tools, input: 'get_weather for alice@example.com' }
  const called = [await openai.responses.create(ask), await openai.responses.stream(ask).finalResponse()].map(
    ({ output }) => output[0],
  )
  for (const call of called)
    t.match(call, { type: 'function_call', name: 'get_weather', arguments: /get_weather for \[EMAIL_1\]/ })
  const result = { type: 'function_call_output' as const, call_id: 'call_1', output: '21 degrees' }
  const last = await openai.responses.create({ ...ask, input: [{ role: 'user', content: 'x' }, result] })
  t.equal(last.output_text, 'This is what the tools gave me: «21 degrees».')
})

t.test('messages, whole and streamed, and their tokens', async (t) => {
  const ask = { model, max_tokens: 100, messages: [{ role: 'user' as const, content: PROMPT }] }
  t.match(await anthropic.messages.create(ask), { content: [{ text: ANSWER }], stop_reason: 'end_turn' })
  t.match(await anthropic.messages.stream(ask).finalText(), ANSWER)
  t.match(await anthropic.messages.countTokens({ model, messages: ask.messages }), { input_tokens: Number })
})

t.test('messages that call a tool and quote its result', async (t) => {
  const tools = [{ name: 'get_weather', input_schema: parameters }]
  const say = (content: any) => ({
    model,
    max_tokens: 100,
    tools,
    messages: [{ role: 'user' as const, content }],
  })
  const ask = say('get_weather for alice@example.com')
  for (const message of [
    await anthropic.messages.create(ask),
    await anthropic.messages.stream(ask).finalMessage(),
  ]) {
    t.match(message.content, [{ type: 'tool_use', input: { city: 'get_weather for [EMAIL_1]' } }])
    t.equal(message.stop_reason, 'tool_use')
  }
  const chosen = { ...say('hello'), tool_choice: { type: 'any' as const } }
  t.match(await anthropic.messages.create(chosen), { content: [{ name: 'get_weather' }] })
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: '21 degrees' }
  t.match(await anthropic.messages.create(say([result])), { content: [{ text: /«21 degrees»/ }] })
})

t.test('completions, whole and streamed', async (t) => {
  const whole = await openai.completions.create({ model, prompt: PROMPT })
  t.match(whole.choices[0]?.text, ANSWER)
  const pieces: string[] = []
  for await (const chunk of await openai.completions.create({ model, prompt: PROMPT, stream: true }))
    pieces.push(chunk.choices[0]?.text ?? '')
  t.match(pieces.join(''), ANSWER)
  t.ok(pieces.length > 10, 'the text arrives in pieces')
})

t.test('embeddings and moderations', async (t) => {
  const { data } = await openai.embeddings.create({ model, input: ['one two', 'one two', 'seven'] })
  t.equal(data.length, 3)
  t.same(data[0]?.embedding, data[1]?.embedding)
  t.not(data[0]?.embedding.join(), data[2]?.embedding.join())
  const { results } = await openai.moderations.create({ input: PROMPT })
  t.match(results, [{ flagged: false }])
})

t.test('the SDKs need nothing but the variables of the installation page', async (t) => {
  const script = installBlock('Call it')
    .replace('sgate_live_…', key)
    .replaceAll('http://127.0.0.1:8484', gateway.url)
  const lines = execFileSync('bash', ['-euc', `${script}\nenv`], { encoding: 'utf8' }).split('\n')
  const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s)))
  const names = ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY']
  for (const name of names) process.env[name] = env[name]
  t.teardown(() => {
    for (const name of names) delete process.env[name]
  })
  const response = await new OpenAI().responses.create({ model, input: PROMPT })
  t.match(response.output_text, ANSWER)
  const message = { model, max_tokens: 100, messages: [{ role: 'user' as const, content: PROMPT }] }
  t.match(await new Anthropic().messages.create(message), { content: [{ text: ANSWER }] })
})
