import fc from 'fast-check'
import t from 'tap'
import { estimatePromptTokens, estimateTokens, readUsage } from '../../src/chat/token-usage.ts'
import type { JsonObject } from '../../src/core/json.ts'

t.test('reads the usage of upstreams and ignores invalid values', async (t) => {
  t.same(readUsage({ usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }), {
    promptTokens: 1,
    completionTokens: 2,
    totalTokens: 3,
    costMicros: null,
  })
  t.match(readUsage({ usage: { prompt_tokens: 1 } }), { completionTokens: 0, totalTokens: 1 })
  t.match(readUsage({ usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: -5, cost: 0.25 } }), {
    totalTokens: 3,
    costMicros: 250_000,
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
  t.match(readUsage({ usage: { prompt_tokens: 1, completion_tokens: 1, cost: -1 } }), { costMicros: null })
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
