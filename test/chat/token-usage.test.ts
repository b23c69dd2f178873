import fc from 'fast-check'
import t from 'tap'
import { MESSAGES } from '../../src/chat/messages/messages-api.ts'
import { readParts } from '../../src/chat/token-counts.ts'
import {
  estimatePromptTokens,
  estimateTokens,
  mergeUsage,
  readUsage,
  withEstimates,
} from '../../src/chat/token-usage.ts'
import type { JsonObject } from '../../src/core/json.ts'

t.test('reads which tokens came from a cache and which the model did not show', async (t) => {
  const counts = { prompt_tokens: 10, completion_tokens: 20 }
  for (const [usage, cachedTokens, reasoningTokens] of [
    [counts, 0, 0],
    [{ ...counts, prompt_tokens_details: { cached_tokens: 4 } }, 4, 0],
    [{ ...counts, completion_tokens_details: { reasoning_tokens: 5 } }, 0, 5],
    [
      {
        ...{ input_tokens: 10, output_tokens: 20 },
        input_tokens_details: { cached_tokens: 3 },
        output_tokens_details: { reasoning_tokens: 6 },
      },
      3,
      6,
    ],
    [{ ...counts, prompt_tokens_details: { cached_tokens: -1 }, completion_tokens_details: null }, 0, 0],
    [{ ...counts, prompt_cache_hit_tokens: 7 }, 7, 0],
  ] as const)
    t.match(readUsage({ usage }), { cachedTokens, reasoningTokens }, JSON.stringify(usage))
  for (const [cost, nano] of [
    [0.1, 100_000_000],
    [1.4e-7, 140],
    [1e-10, 0],
    [5e-10, 1],
    [0.1234567894999, 123_456_789],
    [-1, null],
    [1e300, null],
  ] as const)
    t.equal(readUsage({ usage: { ...counts, cost } })?.cost, nano, String(cost))
})

t.test('reads the usage of upstreams and ignores invalid values', async (t) => {
  t.same(readUsage({ usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }), {
    promptTokens: 1,
    completionTokens: 2,
    totalTokens: 3,
    ...readParts({}),
    cost: null,
    tier: null,
  })
  t.match(readUsage({ usage: { prompt_tokens: 1 } }), { completionTokens: 0, totalTokens: 1 })
  t.match(readUsage({ usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: -5, cost: 0.25 } }), {
    totalTokens: 3,
    cost: 250_000_000,
  })
  for (const usage of [
    null,
    undefined,
    5,
    [],
    {},
    { prompt_tokens: '1' },
    { prompt_tokens: -1 },
    { prompt_tokens: 1.5 },
    { prompt_tokens: 1, completion_tokens: 1e300 },
    { prompt_tokens: 1, completion_tokens: 1e15 },
  ]) {
    t.equal(readUsage(usage === undefined ? {} : { usage: usage as never }), null, JSON.stringify(usage))
  }
  t.match(readUsage({ usage: { prompt_tokens: 1, completion_tokens: 1, cost: -1 } }), {
    cachedTokens: 0,
    reasoningTokens: 0,
    cost: null,
  })
})

t.test('tokens beyond the parts of a total count as answer', async (t) => {
  const cases: readonly (readonly [JsonObject, number, number])[] = [
    [
      {
        ...{ prompt_tokens: 32, completion_tokens: 9, total_tokens: 135 },
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      103,
      135,
    ],
    [{ prompt_tokens: 8, completion_tokens: 3, total_tokens: 511 }, 503, 511],
    [{ prompt_tokens: 8, completion_tokens: 3, total_tokens: 11 }, 3, 11],
    [{ prompt_tokens: 8, completion_tokens: 3, total_tokens: 2 }, 3, 11],
    [{ prompt_tokens: 8, total_tokens: 8 }, 0, 8],
    [{ prompt_tokens: 0, completion_tokens: 3, total_tokens: 20 }, 3, 20],
    [{ promptTokenCount: 7, candidatesTokenCount: 5, thoughtsTokenCount: 30, totalTokenCount: 42 }, 35, 42],
  ]
  for (const [usage, completionTokens, totalTokens] of cases)
    t.match(readUsage({ usage }), { completionTokens, totalTokens }, JSON.stringify(usage))
})

t.test('reads which tokens went into a cache and which are sound', async (t) => {
  const counts = { prompt_tokens: 10, completion_tokens: 20 }
  const cases: readonly (readonly [JsonObject, object])[] = [
    [{ cached_tokens: 4 }, { cachedTokens: 4 }],
    [{ prompt_tokens_details: { cache_write_tokens: 6 } }, { cacheWriteTokens: 6 }],
    [
      { cache_creation_input_tokens: 6, cache_creation: { ephemeral_1h_input_tokens: 2 } },
      { cacheWriteTokens: 6, cacheWrite1hTokens: 2 },
    ],
    [{ prompt_tokens_details: { audio_tokens: 3 } }, { audioInputTokens: 3 }],
    [{ completion_tokens_details: { audio_tokens: 5 } }, { audioOutputTokens: 5 }],
    [{ service_tier: 'flex' }, { tier: 'flex' }],
  ]
  for (const [more, parts] of cases)
    t.match(readUsage({ usage: { ...counts, ...more } }), parts, JSON.stringify(more))
  t.match(readUsage({ service_tier: 'priority', usage: counts }), { tier: 'priority' })
  t.match(readUsage({ response: { service_tier: 'flex', usage: counts } }), { tier: 'flex' })
  t.match(readUsage({ service_tier: 7, usage: counts }), { tier: null })
})

t.test('an estimate grows with the text', async (t) => {
  t.equal(estimateTokens(''), 0)
  t.equal(estimateTokens('abcdefgh'), 2)
  t.equal(estimateTokens('日本語'), 2)
  t.ok(estimateTokens('这是一个关于数据保护的问题') > estimateTokens('abcdefghijklm'))
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.string(),
      (a, b) => estimateTokens(a + b) >= estimateTokens(a),
    ),
  )
})

t.test('an estimate counts every text a model reads', async (t) => {
  const body = (content: unknown, more: object = {}): JsonObject =>
    ({ model: 'm', messages: [{ role: 'user', content }], ...more }) as JsonObject
  const base = estimatePromptTokens(body('x'))
  t.ok(estimatePromptTokens(body('x'.repeat(400))) >= base + 99)
  t.ok(estimatePromptTokens(body([{ type: 'text', text: 'x'.repeat(400) }])) >= base + 99)
  t.ok(estimatePromptTokens(body('x', { tools: [{ description: 'x'.repeat(400) }] })) >= base + 99)
  t.ok(
    estimatePromptTokens(body({ ['x'.repeat(200)]: Array(100).fill(7) })) >= base + 99,
    'names and numbers too',
  )
  t.equal(
    estimatePromptTokens(body('x', { metadata: { a: 'x'.repeat(400) } })),
    base,
    'metadata are not read by the model',
  )
  const picture = [
    { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(1_000_000)}` } },
  ]
  t.ok(estimatePromptTokens(body(picture)) < 2000, 'a payload is not counted by its bytes')
  const sound = [{ type: 'input_audio', input_audio: { data: 'A'.repeat(1_000_000), format: 'wav' } }]
  t.ok(estimatePromptTokens(body(sound)) < 2000)
  t.ok(estimatePromptTokens(body(`data: ${'x '.repeat(4000)}`)) > 2000, 'a text that only begins like one is')
  const disguised = [{ type: 'input_audio', input_audio: { data: 'some words '.repeat(1000) } }]
  t.ok(estimatePromptTokens(body(disguised)) > 2000)
  t.ok(estimatePromptTokens(body('x', { prediction: { content: 'x'.repeat(400) } })) >= base + 99)
  t.equal(estimatePromptTokens({}), 0)
})

t.test('usage is read wherever known servers write it', async (t) => {
  const counts = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }
  const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  const bodies: JsonObject[] = [
    { usage: counts },
    { usage: { input_tokens: 7, output_tokens: 5 } },
    { x_groq: { id: 'r', usage: counts } },
    { usage: null, x_groq: { usage: counts } },
    { usage: zero, x_groq: { usage: counts } },
    { usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 } },
    { choices: [{ index: 0, usage: counts }] },
    { usage: zero, choices: [{ index: 0, usage: counts }] },
    { prompt_eval_count: 7, eval_count: 5 },
    { meta: { billed_units: { input_tokens: 7, output_tokens: 5 } } },
    { 'amazon-bedrock-invocationMetrics': { inputTokenCount: 7, outputTokenCount: 5 } },
    { timings: { prompt_n: 7, predicted_n: 5 } },
    { usage: counts, x_groq: { usage: { prompt_tokens: 1, completion_tokens: 1 } } },
    {
      usage: { prompt_tokens: 7, completion_tokens: 0 },
      x_groq: { usage: { prompt_tokens: 0, completion_tokens: 5 } },
    },
  ]
  for (const body of bodies)
    t.match(
      readUsage(body),
      {
        promptTokens: 7,
        completionTokens: 5,
        totalTokens: 12,
        cachedTokens: 0,
        reasoningTokens: 0,
        cost: null,
      },
      JSON.stringify(body),
    )
  for (const body of [{ x_groq: {} }, { x_groq: 5 }, { choices: [null, 5, {}] }, { meta: { tokens: 5 } }])
    t.equal(readUsage(body), null)
})

t.test('a count of zero gives way to an older one', async (t) => {
  const usage = (
    promptTokens: number,
    completionTokens: number,
    totalTokens = promptTokens + completionTokens,
  ) => ({
    promptTokens,
    completionTokens,
    totalTokens,
    ...readParts({}),
    cost: null,
    tier: null,
  })
  t.same(mergeUsage(usage(7, 5), usage(0, 0)), usage(7, 5))
  t.same(mergeUsage(usage(7, 0), usage(0, 5)), usage(7, 5))
  t.same(mergeUsage(usage(7, 1), usage(7, 5, 20)), usage(7, 5, 20))
  t.same(mergeUsage(null, usage(0, 0)), usage(0, 0))
  t.same(mergeUsage(usage(7, 5), null), usage(7, 5))
  const estimated = { isEstimated: true }
  t.same(withEstimates(usage(0, 0), 9, 4), { ...usage(9, 4), ...estimated })
  t.same(withEstimates(usage(7, 0), 9, 4), { ...usage(7, 4), ...estimated })
  t.same(withEstimates(usage(0, 5), 9, 4), { ...usage(9, 5), ...estimated })
  t.same(withEstimates(usage(0, 0, 99), 9, 4), { ...usage(9, 4, 99), ...estimated })
  t.same(withEstimates(usage(7, 5), 9, 4), usage(7, 5))
  t.same(withEstimates(usage(7, 0), 9, 0), usage(7, 0), 'an answer without text')
  t.same(withEstimates(usage(0, 0), 9, 0), usage(0, 0))
})

const COMPACTED = {
  input_tokens: 23_000,
  output_tokens: 1000,
  iterations: [
    { type: 'compaction', input_tokens: 180_000, output_tokens: 3500 },
    { type: 'message', input_tokens: 23_000, output_tokens: 1000 },
  ],
}

t.test('samplings that the counts at the top leave out are added', async (t) => {
  const advised = {
    input_tokens: 412,
    output_tokens: 531,
    iterations: [
      { type: 'message', input_tokens: 412, output_tokens: 89 },
      { type: 'advisor_message', model: 'opus', input_tokens: 823, output_tokens: 1612 },
      { type: 'message', input_tokens: 1348, cache_read_input_tokens: 7, output_tokens: 442 },
    ],
  }
  const alone = { ...COMPACTED, iterations: COMPACTED.iterations.slice(0, 1) }
  for (const [usage, promptTokens, completionTokens] of [
    [COMPACTED, 203_000, 4500],
    [alone, 203_000, 4500],
    [advised, 412 + 1348 + 7 + 823, 531 + 1612],
    [{ ...COMPACTED, iterations: [] }, 23_000, 1000],
    [{ ...COMPACTED, iterations: null }, 23_000, 1000],
    [{ ...COMPACTED, iterations: [5, { type: 'message', input_tokens: -1 }] }, 23_000, 1000],
  ] as [JsonObject, number, number][]) {
    const counted = { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
    t.match(MESSAGES.answer.usage({ usage }), counted, JSON.stringify(usage))
    t.match(readUsage({ usage }), counted, 'in any answer')
  }
  t.match(MESSAGES.answer.usage({ usage: advised })?.samplings, [
    { model: null, promptTokens: 412, completionTokens: 89 },
    { model: 'opus', promptTokens: 823, completionTokens: 1612 },
    { model: null, promptTokens: 1355, cachedTokens: 7 },
  ])
  const many = { ...COMPACTED, iterations: Array(1000).fill({ type: 'compaction', input_tokens: 1 }) }
  t.match(MESSAGES.answer.usage({ usage: many }), { promptTokens: 24_000, samplings: { length: 64 } })
})

/** The usage of a message whose events have these usages, streamed and joined. */
function streamed(...usages: readonly JsonObject[]) {
  const reader = MESSAGES.readStream(false)
  let usage = null
  for (const [index, one] of usages.entries()) {
    const event =
      index === 0 ? { type: 'message_start', message: { usage: one } } : { type: 'message_delta', usage: one }
    usage = mergeUsage(usage, reader.read(JSON.stringify(event))!.usage)
    reader.assembler.add(event)
  }
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens } = usage!
  t.match(
    MESSAGES.answer.usage(reader.assembler.result()),
    { promptTokens, completionTokens, cachedTokens, cacheWriteTokens },
    'the joined answer says the same',
  )
  return { promptTokens, completionTokens, cachedTokens, cacheWriteTokens }
}

t.test('a later event of a message keeps the counts that it leaves out', async (t) => {
  const cached = { input_tokens: 100, cache_read_input_tokens: 1000, cache_creation_input_tokens: 500 }
  const counted = { promptTokens: 1600, completionTokens: 10, cachedTokens: 1000, cacheWriteTokens: 500 }
  const start = { ...cached, output_tokens: 1 }
  for (const last of [
    { output_tokens: 10 },
    { input_tokens: 100, output_tokens: 10 },
    { input_tokens: 0, cache_read_input_tokens: null, cache_creation_input_tokens: 0, output_tokens: 10 },
    { ...cached, output_tokens: 10 },
  ])
    t.same(streamed(start, last), counted, JSON.stringify(last))
  t.match(
    streamed(start, { input_tokens: 5000, cache_read_input_tokens: 2000, output_tokens: 10 }),
    { promptTokens: 7500 },
    'counts that grow',
  )
  t.match(streamed({ input_tokens: 100, output_tokens: 1 }, COMPACTED), {
    promptTokens: 203_000,
    completionTokens: 4500,
  })
})

t.test('a cache that is larger than the prompt, or beside it, is a part of the prompt', async (t) => {
  const cache = { cache_read_input_tokens: 900, cache_creation_input_tokens: 200 }
  for (const [usage, promptTokens] of [
    [{ prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, ...cache }, 1200],
    [{ prompt_tokens: 1200, completion_tokens: 10, total_tokens: 1210, ...cache }, 1200],
    [{ prompt_tokens: 1200, input_tokens: 1200, completion_tokens: 10, ...cache }, 1200],
    [{ input_tokens: 5000, output_tokens: 10, ...cache }, 6100],
  ] as const)
    t.match(
      readUsage({ usage }),
      { promptTokens, completionTokens: 10, cachedTokens: 900, cacheWriteTokens: 200 },
      JSON.stringify(usage),
    )
})

t.test('what the tools of an answer used is added, in their model', async (t) => {
  const usage = { input_tokens: 100, output_tokens: 10, total_tokens: 110 }
  const tool_usage = {
    image_gen: { input_tokens: 50, output_tokens: 5000, total_tokens: 5050 },
    web_search: { num_requests: 1 },
  }
  const tools = [{ type: 'web_search' }, { type: 'image_generation', model: 'image-1' }]
  const answer = { usage, tool_usage, tools }
  const counted = {
    ...{ promptTokens: 150, completionTokens: 5010, totalTokens: 5160 },
    samplings: [{ model: 'image-1', promptTokens: 50, completionTokens: 5000 }],
  }
  t.match(readUsage(answer), counted)
  t.match(readUsage({ type: 'response.completed', response: answer }), counted)
  t.match(readUsage({ usage, tool_usage }), { ...counted, samplings: [{ model: null }] })
  for (const none of [null, {}, { image_gen: null }, { image_gen: 5 }])
    t.match(readUsage({ usage, tool_usage: none }), { totalTokens: 110 }, JSON.stringify(none))
})
