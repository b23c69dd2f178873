import t from 'tap'
import { APIS } from '../../src/chat/apis.ts'
import { parseExactSteps } from '../../src/chat/exact-json.ts'
import type { ModelRequest } from '../../src/chat/model-request.ts'
import { readChatRequest, upstreamBodies } from '../../src/chat/request.ts'
import type { JsonObject, JsonValue } from '../../src/core/json.ts'
import { atOnce } from '../../src/core/steps.ts'
import type { StreamUsage } from '../../src/core/upstream-config.ts'
import { requestBody } from './api-bodies.ts'

const messages = [{ role: 'user', content: 'hi' }]

const bodiesOf = (request: ModelRequest, streamUsage: StreamUsage = 'auto') =>
  upstreamBodies(request, Buffer.from(JSON.stringify(request.body)), streamUsage)

t.test('a stream that asks for usage has a second body for upstreams that refuse it', async (t) => {
  const bodies = (more: object) =>
    bodiesOf(readChatRequest({ model: 'm', messages, ...more })).map((body) => JSON.parse(String(body)))
  const stream = { model: 'm', messages, stream: true }
  t.same(bodies({ stream: true }), [{ ...stream, stream_options: { include_usage: true } }, stream])
  const own = { ...stream, stream_options: { x: 1 } }
  t.same(bodies(own), [{ ...stream, stream_options: { x: 1, include_usage: true } }, own])
  for (const asked of [{}, { stream: true, stream_options: { include_usage: true } }])
    t.equal(bodies(asked).length, 1)
})

t.test('the configuration may ask for the usage of a stream always or never', async (t) => {
  const request = readChatRequest({ model: 'm', messages, stream: true })
  const [auto = '', plain = ''] = bodiesOf(request).map(String)
  t.same(bodiesOf(request, 'always').map(String), [auto])
  t.same(bodiesOf(request, 'never').map(String), [plain])
})

t.test('reads the fields that the gateway needs', async (t) => {
  const spaced = { model: ' m\n', models: ['n '], messages }
  t.match(readChatRequest(spaced), { model: 'm', models: ['m', 'n'], body: spaced }, 'as rules name it')
  for (const asking of [{ guided_json: {} }, { structured_outputs: { json: {} } }])
    t.match(readChatRequest({ model: 'm', messages, ...asking }), { asksForJson: true })
  const plain = readChatRequest({ model: 'm', messages })
  t.match(plain, { model: 'm', stream: false, includeUsage: false, asksForJson: false, maxTokens: null })
  for (const type of ['json_object', 'json_schema'])
    t.match(readChatRequest({ model: 'm', messages, response_format: { type } }), { asksForJson: true })
  for (const format of [null, 'json_object', { type: 'text' }])
    t.match(readChatRequest({ model: 'm', messages, response_format: format }), { asksForJson: false })
  t.match(readChatRequest({ model: 'm', messages, max_tokens: 10, n: 3 }), { maxTokens: 30 })
  t.same(readChatRequest({ model: 'm', messages }).models, ['m'])
  t.same(readChatRequest({ model: 'm', models: ['n', 'o'], messages }).models, ['m', 'n', 'o'])
  t.match(readChatRequest({ model: 'm', messages, max_tokens: 10, max_completion_tokens: 20 }), {
    maxTokens: 20,
  })
  t.match(readChatRequest({ model: 'm', messages, max_tokens: Number.MAX_SAFE_INTEGER, n: 128 }), {
    maxTokens: Number.MAX_SAFE_INTEGER,
  })
  t.doesNotThrow(() =>
    readChatRequest({ model: 'm', messages, prompt: ['a text'], prediction: { content: 'x' } }),
  )
  const stream = { model: 'm', messages, stream: true, stream_options: { include_usage: true } }
  t.match(readChatRequest(stream), { stream: true, includeUsage: true })
  for (const [usage, includeUsage] of [
    [{ include: true }, true],
    [{ include: false }, false],
    [null, false],
    [true, false],
  ] as const) {
    const asked = { model: 'm', messages, stream: true, usage }
    t.match(readChatRequest(asked), { includeUsage }, `OpenRouter's usage: ${JSON.stringify(usage)}`)
  }
  t.doesNotThrow(() =>
    readChatRequest({ model: 'm', messages, tools: [], plugins: {}, temperature: null, stream: null }),
  )
  t.doesNotThrow(() => readChatRequest({ model: 'm', messages: [{ role: 'assistant', tool_calls: [] }] }))
})

t.test('values that the gateway does not need pass as they are', async (t) => {
  const passes = (more: object) => {
    const body = { model: 'm', messages, ...more } as JsonObject
    const request = readChatRequest(body)
    t.equal(String(bodiesOf(request)[0]), JSON.stringify(body))
    return request
  }
  for (const value of [2.5, -1, 'hot', {}, null]) {
    passes({ temperature: value, top_p: value, seed: value, stop: value, user: value, tools: value })
  }
  const contents = [{ a: { b: 'c' }, d: [1, 2] }, {}, 5, true, ['one', 'two'], [null, { type: 'text' }], []]
  for (const content of contents) passes({ messages: [...messages, { role: 'tool', content }] })
  const limits: [unknown, number | null][] = [
    [-1, null],
    [0, null],
    ['100', 200],
    ['x', null],
    [{}, null],
    [1.5, 4],
    [1e300, Number.MAX_SAFE_INTEGER],
    [5, 10],
  ]
  for (const [value, maxTokens] of limits) {
    for (const name of ['max_tokens', 'max_completion_tokens'])
      t.match(passes({ [name]: value, n: 2 }), { maxTokens, choices: 2 }, `${name}: ${value}`)
  }
  for (const [made, choices] of [
    [3, 3],
    ['3', 3],
    [2.5, 3],
    [1, 2],
    [-1, 2],
    ['x', 2],
    [[9], 2],
    [1e9, 128],
  ] as const)
    t.equal(passes({ best_of: made, n: 2 }).choices, choices, `best_of: ${made}`)
  t.equal(passes({ max_completion_tokens: -1, max_tokens: 5 }).maxTokens, null, 'one of them is no limit')
  t.equal(passes({ max_completion_tokens: 0, max_tokens: 5 }).maxTokens, 5)
  t.equal(passes({ max_completion_tokens: 5, max_tokens: 500 }).maxTokens, 500)
  const large = atOnce(parseExactSteps('{"model":"m","messages":[{"role":"user"}],"max_tokens":1e400}'))
  t.equal(readChatRequest(large).maxTokens, Number.MAX_SAFE_INTEGER)
})

t.test('the largest limit that any server reads counts, as a number or in a text', async (t) => {
  for (const api of APIS) {
    const { max_tokens: _, max_output_tokens: __, ...own } = requestBody(api.name, 'hi') as JsonObject
    const read = (more: object) => api.readRequest({ ...own, ...more } as JsonObject).maxTokens
    if (read({ max_tokens: 7, max_output_tokens: 7 }) !== 7) {
      t.equal(read({ max_tokens: 7 }), 0, `${api.name} makes no text`)
      continue
    }
    for (const name of [
      'max_tokens',
      'max_completion_tokens',
      'max_output_tokens',
      'max_tokens_to_sample',
      'n_predict',
      'max_new_tokens',
      'max_length',
      'num_predict',
      'max-gen-len',
      'maxNewTokens',
    ])
      for (const value of [900, '900', ' 900 ', '9e2', '9_00', '９００'])
        t.equal(
          read({ max_tokens: 1, max_output_tokens: 1, [name]: value }),
          900,
          `${api.name} ${name}: ${value}`,
        )
    for (const value of ['', ' ', 'x', '1'.repeat(65), [9], { a: 9 }, true, null])
      t.equal(read({ max_output_tokens: 2, n_predict: value }), 2, `${api.name}: ${JSON.stringify(value)}`)
    for (const value of [-1, '-1'])
      t.equal(read({ max_tokens: 1, n_predict: value }), null, `${api.name} ${value}`)
  }
  const choices = (more: object) => readChatRequest({ model: 'm', messages, n: 2, ...more }).choices
  for (const name of ['best_of', 'n_cmpl', 'num_return_sequences']) t.equal(choices({ [name]: '3' }), 3, name)
})

t.test('a refusal names the path of the field', async (t) => {
  const cases: [JsonValue, string | null, string][] = [
    [[], null, 'invalid_body'],
    ['text', null, 'invalid_body'],
    [{ messages }, 'model', 'missing_required_parameter'],
    [{ model: '', messages }, 'model', 'invalid_body'],
    [{ model: 7, messages }, 'model', 'invalid_body'],
    [{ model: 'm'.repeat(300), messages }, 'model', 'invalid_body'],
    [{ model: 'm', models: 7, messages }, 'models', 'invalid_body'],
    [{ model: 'm', models: ['other', 7], messages }, 'models[1]', 'invalid_body'],
    [{ model: 'm', models: Array(65).fill('other'), messages }, 'models[64]', 'invalid_body'],
    [{ model: 'm', messages, fallbacks: [{ model: ' ' }] }, 'fallbacks[0].model', 'invalid_body'],
    [{ model: 'm', messages, fallbacks: [{ model: 'o', n: 9 }] }, 'fallbacks[0].n', 'invalid_body'],
    [
      { model: 'm', messages, fallbacks: [{ model: 'o', Max_Tokens: 9 }] },
      'fallbacks[0].max_tokens',
      'invalid_body',
    ],
    [
      { model: 'm', messages, fallbacks: [{ model: 'o', messages }] },
      'fallbacks[0].messages',
      'invalid_body',
    ],
    [
      { model: 'm', messages, fallbacks: [{ model: 'o', api_base: 'x' }] },
      'fallbacks[0].api_base',
      'invalid_body',
    ],
    [{ model: 'm', messages, tools: [{ type: 'x', model: 5 }] }, 'tools[0].model', 'invalid_body'],
    [{ model: 'm' }, 'messages', 'missing_required_parameter'],
    [{ model: 'm', messages: [] }, 'messages', 'invalid_body'],
    [{ model: 'm', messages: {} }, 'messages', 'invalid_body'],
    [{ model: 'm', messages: ['hi'] }, 'messages[0]', 'invalid_body'],
    [
      { model: 'm', messages: [...messages, { content: 'x' }] },
      'messages[1].role',
      'missing_required_parameter',
    ],
    [{ model: 'm', messages: [{ role: 5 }] }, 'messages[0].role', 'invalid_body'],
    [{ model: 'm', messages: [{ role: 'user', content: [1, 2] }] }, 'messages[0].content[0]', 'invalid_body'],
    [{ model: 'm', messages, stream: 'yes' }, 'stream', 'invalid_body'],
    [{ model: 'm', messages, stream_options: 1 }, 'stream_options', 'invalid_body'],
    [
      { model: 'm', messages: [{ role: 'tool', content: ['x', [7]] }] },
      'messages[0].content[1]',
      'invalid_body',
    ],
    [{ model: 'm', messages, n: -1 }, 'n', 'invalid_body'],
    [{ model: 'm', messages, n: 1.5 }, 'n', 'invalid_body'],
    [{ model: 'm', messages, n: '3' }, 'n', 'invalid_body'],
    [{ model: 'm', messages, base_url: 'http://evil' }, 'base_url', 'invalid_body'],
    [{ model: 'm', messages, API_Key: 'x' }, 'api_key', 'invalid_body'],
    [{ model: 'm', messages, api_base: 'x' }, 'api_base', 'invalid_body'],
    [{ model: 'm', messages, extra_headers: {} }, 'extra_headers', 'invalid_body'],
    [{ model: 'm', messages, Messages: [] }, 'messages', 'invalid_body'],
    [{ model: 'm', messages, MAX_TOKENS: 5 }, 'max_tokens', 'invalid_body'],
    [{ model: 'm', messages, 'me\u017f\u017fages': [] }, 'messages', 'invalid_body'],
    [{ model: 'm', messages, 'max_to\u212aens': 5 }, 'max_tokens', 'invalid_body'],
    [{ model: 'm', messages, apiKey: 'x' }, 'apikey', 'invalid_body'],
    [{ model: 'm', messages, 'extra-headers': {} }, 'extra-headers', 'invalid_body'],
    [{ model: null, messages }, 'model', 'missing_required_parameter'],
    [{ model: 'm', messages: null }, 'messages', 'missing_required_parameter'],
    [{ model: 'm', messages, n: 129 }, 'n', 'invalid_body'],
    [{ model: 'm', messages, prompt: [15496, 995] }, 'prompt', 'invalid_body'],
    [{ model: 'm', messages, input: [[15496], ['x']] }, 'input', 'invalid_body'],
    [{ model: 'm', messages, prediction: { content: [1] } }, 'prediction.content', 'invalid_body'],
  ]
  for (const [body, param, code] of cases)
    t.throws(() => readChatRequest(body), { code, param, status: 400 }, JSON.stringify(body).slice(0, 80))
})

t.test('the forwarded body is the parsed one, and a stream asks for usage', async (t) => {
  const sent = (body: JsonValue) => JSON.parse(String(bodiesOf(readChatRequest(body))[0]))
  t.same(sent({ model: 'm', messages, x: [1, { y: null }] }), { model: 'm', messages, x: [1, { y: null }] })
  t.same(sent({ model: 'm', messages, stream: true }).stream_options, { include_usage: true })
  t.same(sent({ model: 'm', messages, stream: true, stream_options: { other: 1 } }).stream_options, {
    other: 1,
    include_usage: true,
  })
  const inBothWays = sent({ model: 'm', messages, stream: true, usage: { include: true } })
  t.match(inBothWays, { usage: { include: true }, stream_options: { include_usage: true } })
  t.equal(
    String(bodiesOf(readChatRequest({ model: 'm', messages, stream: true, z: '}' }))[0]),
    JSON.stringify({ model: 'm', messages, stream: true, z: '}', stream_options: { include_usage: true } }),
  )
  const body = { model: 'm', messages, stream: true }
  bodiesOf(readChatRequest(body))
  t.notOk('stream_options' in body, 'the log has what the client sent')
})

t.test('every model that a member names counts as a model of the call', async (t) => {
  for (const [more, models, param] of [
    [{ models: ['a', ' b'] }, ['a', 'b'], 'models[0]'],
    [{ fallbacks: 'a' }, ['a'], 'fallbacks'],
    [{ fallbacks: ['a', { model: 'b' }] }, ['a', 'b'], 'fallbacks[0]'],
    [{ Fallbacks: [{ Model: 'a' }] }, ['a'], 'fallbacks[0].model'],
    [{ fallbacks: [{ m: ['a', 'b'] }] }, ['a', 'b'], 'fallbacks[0][0]'],
    [{ context_window_fallbacks: [{ m: 'a' }] }, ['a'], 'context_window_fallbacks[0]'],
    [{ context_window_fallback_dict: { m: 'a' } }, ['a'], 'context_window_fallback_dict'],
    [{ content_policy_fallbacks: [{ m: ['a'] }] }, ['a'], 'content_policy_fallbacks[0][0]'],
    [
      { providerOptions: { gateway: { models: ['a'], order: ['x'] } } },
      ['a'],
      'provideroptions.gateway.models[0]',
    ],
    [{ provider_options: { gateway: { models: ['a'] } } }, ['a'], 'provider_options.gateway.models[0]'],
    [
      { tools: [{ type: 'function' }, { type: 'advisor_20260301', name: 'advisor', model: 'a' }] },
      ['a'],
      'tools[1].model',
    ],
    [{ tools: [{ type: 'image_generation', model: 'a' }] }, ['a'], 'tools[0].model'],
    [
      { tools: [{ type: 'openrouter:advisor', parameters: { model: 'a' } }] },
      ['a'],
      'tools[0].parameters.model',
    ],
    [
      {
        tools: [
          { type: 'openrouter:advisor', parameters: { tools: [{ type: 'x', parameters: { model: 'a' } }] } },
        ],
      },
      ['a'],
      'tools[0].parameters.tools[0].parameters.model',
    ],
    [
      { input: [{ role: 'user' }, { type: 'additional_tools', tools: [{ model: 'a' }] }] },
      ['a'],
      'input[1].tools[0].model',
    ],
    [
      {
        messages: [
          { role: 'user', content: 'x' },
          {
            role: 'system',
            content: [
              { type: 'tool_addition', tool: { type: 'tool_definition', definition: { model: 'a' } } },
            ],
          },
        ],
      },
      ['a'],
      'messages[1].content[0].tool.definition.model',
    ],
    [
      { plugins: [{ id: 'fusion', analysis_models: ['a'], model: 'b' }] },
      ['a', 'b'],
      'plugins[0].analysis_models[0]',
    ],
    [
      { compound_custom: { models: { answering_model: 'a', reasoning_model: 'b' } } },
      ['a', 'b'],
      'compound_custom.models',
    ],
    [{ draft_model: 'a' }, ['a'], 'draft_model'],
    [{ fallbacks: null, tools: [{ model: null }], plugins: {} }, [], undefined],
    [
      { tools: [{ type: 'function', name: 'f', parameters: { properties: { model: { type: 'string' } } } }] },
      [],
      undefined,
    ],
  ] as [object, string[], string | undefined][]) {
    for (const api of APIS) {
      const own = requestBody(api.name, 'hi')
      const request = api.readRequest({ ...own, model: 'm', ...more })
      t.same(request.models, ['m', ...models], `${api.name} ${JSON.stringify(more)}`)
      t.equal(request.named[1]?.param, param, `${api.name} ${JSON.stringify(more)}`)
    }
  }
})

t.test('no API takes a member of its own from extra_body', async (t) => {
  for (const api of APIS) {
    const read = (more: object) => api.readRequest({ ...requestBody(api.name, 'hi'), ...more })
    const shared = {
      model: 'x',
      Model: 'x',
      models: ['x'],
      max_tokens: 1,
      'Max-Tokens': 1,
      api_key: 'k',
      n: 9,
      n_predict: 9,
      n_cmpl: 9,
      fallbacks: ['x'],
      provider_options: {},
      tools: [],
      plugins: [],
    }
    for (const [name, value] of Object.entries({ ...shared, extra_body: {} }))
      for (const outer of ['extra_body', 'Extra_Body', 'extraBody'])
        t.throws(
          () => read({ [outer]: { [name]: value } }),
          { code: 'invalid_body', status: 400, message: /^extra_?body/ },
          `${api.name} ${outer}.${name}`,
        )
    t.doesNotThrow(() => read({ extra_body: { top_n_sigma: 1 } }), `${api.name}: a member of a server`)
  }
})

t.test('every API lists the text that its model reads', async (t) => {
  for (const api of APIS) {
    const { texts } = atOnce(api.requestTexts(requestBody(api.name, 'I am alice')))
    t.ok(
      texts.some(({ text }) => text.includes('I am alice')),
      api.name,
    )
  }
})
