import fc from 'fast-check'
import t from 'tap'
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
    cachedTokens: 0,
    reasoningTokens: 0,
    cost: null,
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

t.test('a zero replaces no count', async (t) => {
  const usage = (
    promptTokens: number,
    completionTokens: number,
    totalTokens = promptTokens + completionTokens,
  ) => ({
    promptTokens,
    completionTokens,
    totalTokens,
    cachedTokens: 0,
    reasoningTokens: 0,
    cost: null,
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
