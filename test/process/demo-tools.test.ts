// The demo's stand-in calls tools, through the gateway, for the official client.

import t from 'tap'
import { startStandIn } from '../../src/demo/stand-in-server.ts'
import { openAi } from './client.ts'
import { openGateway } from './gateway.ts'

const standIn = await startStandIn()
const gateway = await openGateway(t, { upstreamUrl: standIn.baseUrl })
t.teardown(() => standIn.close())
const client = openAi(gateway, (await gateway.createKey()).key)

const tool = (name: string, properties: Record<string, object>) => ({
  type: 'function' as const,
  function: { name, parameters: { type: 'object' as const, properties } },
})
const WEATHER = tool('get_weather', {
  city: { type: 'string' },
  unit: { type: 'string', enum: ['celsius', 'kelvin'] },
  days: { type: 'integer', minimum: 3 },
})
const TIME = tool('get_time', {
  zones: { type: 'array', items: { type: 'string' } },
  exact: { type: 'boolean' },
})
const TOOLS = [WEATHER, TIME]
const ask = (content: string, more: object = {}) => ({
  model: 'demo/echo',
  messages: [{ role: 'user' as const, content }],
  tools: TOOLS,
  ...more,
})

/** A request and the functions that it makes the stand-in call. */
const CASES: readonly (readonly [what: string, body: ReturnType<typeof ask>, called: readonly string[]])[] = [
  ['a tool is required', ask('hello', { tool_choice: 'required' }), ['get_weather']],
  [
    'a function is chosen',
    ask('hello', { tool_choice: { type: 'function', function: { name: 'get_time' } } }),
    ['get_time'],
  ],
  ['the prompt names a function', ask('Please run get_time now.'), ['get_time']],
  [
    'the prompt names a function in words',
    ask('Get weather, and then get time'),
    ['get_weather', 'get_time'],
  ],
  ['the prompt asks for a tool', ask('Use a tool to answer.', { tool_choice: 'auto' }), ['get_weather']],
  [
    'calls may not run side by side',
    ask('get_weather and get_time', { parallel_tool_calls: false }),
    ['get_weather'],
  ],
  ['the prompt asks for none', ask('hello'), []],
  ['tools are forbidden', ask('Use get_time.', { tool_choice: 'none' }), []],
  ['there are no tools', { ...ask('Use a tool.'), tools: [] }, []],
]
for (const [what, body, called] of CASES) {
  t.test(`${what}: ${called.join(', ') || 'no call'}`, async (t) => {
    const whole = (await client.chat.completions.create(body)).choices[0]
    const streamed = (await client.chat.completions.stream(body).finalChatCompletion()).choices[0]
    for (const choice of [whole, streamed]) {
      const calls = (choice?.message.tool_calls ?? []).map((call) =>
        call.type === 'function' ? call.function : null,
      )
      t.same(
        calls.map((call) => call?.name),
        called,
      )
      t.equal(choice?.finish_reason, called.length > 0 ? 'tool_calls' : 'stop')
      if (called.length === 0) t.match(choice?.message.content, /This is what reached me/)
      else t.equal(choice?.message.content, null)
    }
  })
}

t.test('arguments fit the schema and quote the redacted prompt', async (t) => {
  const body = ask('get_weather for alice@example.com', { tool_choice: 'required' })
  for (const choice of [
    (await client.chat.completions.create(body)).choices[0],
    (await client.chat.completions.stream(body).finalChatCompletion()).choices[0],
  ]) {
    const [call] = choice?.message.tool_calls ?? []
    t.same(JSON.parse(call?.type === 'function' ? call.function.arguments : ''), {
      city: 'get_weather for [EMAIL_1]',
      unit: 'celsius',
      days: 3,
    })
  }
})

t.test("the client's loop of calls and results ends in an answer", async (t) => {
  for (const stream of [false, true]) {
    const called: string[] = []
    const weather = {
      type: 'function' as const,
      function: {
        ...WEATHER.function,
        description: 'Weather.',
        function: (text: string) => {
          const { unit } = JSON.parse(text) as { unit: string }
          called.push(unit)
          return `21 ${unit}`
        },
      },
    }
    const body = { ...ask('Call get_weather for Paris.'), tools: [weather] }
    const runner = stream
      ? client.chat.completions.runTools({ ...body, stream: true })
      : client.chat.completions.runTools(body)
    t.equal(await runner.finalContent(), 'This is what the tools gave me: «21 celsius».')
    t.same(called, ['celsius'])
  }
})
