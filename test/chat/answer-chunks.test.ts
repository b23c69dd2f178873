// Whole answers as chunks of a stream.

import fc from 'fast-check'
import t from 'tap'
import { answerChunks } from '../../src/chat/answer-chunks.ts'
import { Assembler } from '../../src/chat/assembler.ts'
import { isObject, type JsonObject } from '../../src/core/json.ts'

const USAGE = { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 }
const call = (more: object) => ({ id: 'call_1', type: 'function', ...more })

const answer = (choices: unknown[], more: object = {}) =>
  ({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, ...more }) as JsonObject

const deltasOf = (message: object): unknown[] =>
  [...answerChunks(answer([{ index: 0, message, finish_reason: 'stop' }]))].map(
    ({ choices }) => (choices as { delta: unknown }[])[0]!.delta,
  )

/** The answer as a client joins its chunks. */
function joined(whole: JsonObject): JsonObject {
  const assembler = new Assembler()
  for (const chunk of answerChunks(whole)) assembler.add(chunk)
  return assembler.result()
}

t.test('a message becomes its role, its texts in the order of streams, and its end', async (t) => {
  t.same(
    [
      ...answerChunks(
        answer([{ index: 0, message: { content: 'Hi', refusal: null }, finish_reason: 'stop' }]),
      ),
    ],
    [
      { delta: { role: 'assistant', refusal: null }, finish_reason: null },
      { delta: { content: 'Hi' }, finish_reason: null },
      { delta: {}, finish_reason: 'stop' },
    ].map((part) => ({
      id: 'x',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, ...part }],
    })),
  )
  const calls = [
    call({ function: { name: 'f', arguments: '{}' } }),
    call({ custom: { name: 'g', input: 'i' } }),
  ]
  t.same(deltasOf({ role: 'assistant', tool_calls: calls, annotations: [1], content: 'a', reasoning: 'r' }), [
    { role: 'assistant' },
    { reasoning: 'r' },
    { content: 'a' },
    { annotations: [1] },
    ...calls.map((one, index) => ({ tool_calls: [{ ...one, index }] })),
    {},
  ])
  t.same(deltasOf({ content: null, function_call: { name: 'f', arguments: '{}' } }), [
    { role: 'assistant', content: null },
    { function_call: { name: 'f', arguments: '{}' } },
    {},
  ])
})

t.test(
  'members around the choices are in the first chunk, usage and error in chunks of their own',
  async (t) => {
    const more = { usage: USAGE, citations: ['https://a.example'], error: { message: 'busy' } }
    const choice = { message: { content: 'a' }, finish_reason: 'stop', logprobs: { content: [] } }
    const [first, ...later] = [...answerChunks(answer([choice, choice], more))]
    t.same(first?.['citations'], more.citations)
    const [usage, error] = later.slice(-2)
    t.match(usage, { id: 'x', choices: [], usage: USAGE })
    t.match(error, { id: 'x', choices: [], error: more.error })
    for (const chunk of later.slice(0, -2))
      t.notOk('usage' in chunk || 'citations' in chunk || 'error' in chunk)
    t.same(
      [first, ...later].flatMap((chunk) => (chunk!['choices'] as JsonObject[]).map(({ index }) => index)),
      [0, 0, 0, 1, 1, 1],
      'choices without an index are numbered by position',
    )
    t.match(later.at(1), { choices: [{ finish_reason: 'stop', logprobs: { content: [] } }] })
    for (const usage of [null, {}, { prompt_tokens: 'many' }])
      t.notOk([...answerChunks(answer([choice], { usage }))].some((chunk) => 'usage' in chunk))
    t.match(
      [...answerChunks(answer([{ index: 0, text: 'legacy', finish_reason: 'stop' }]))],
      [{ choices: [{ text: 'legacy', delta: {} }] }, { choices: [{ finish_reason: 'stop' }] }],
    )
  },
)

t.test('long texts are divided between characters', async (t) => {
  const long = `x${'😀'.repeat(20_000)}`
  const message = {
    role: 'assistant',
    content: long,
    tool_calls: [call({ function: { name: 'f', arguments: long }, index: 0 })],
  }
  const deltas = deltasOf(message) as { content?: string }[]
  t.ok(deltas.length >= 7)
  for (const { content } of deltas) t.ok((content ?? '').isWellFormed())
  for (const delta of deltas) t.ok(JSON.stringify(delta).length < 40_000)
  t.same(joined(answer([{ index: 0, message, finish_reason: 'stop' }], { usage: null })).choices, [
    { index: 0, message, finish_reason: 'stop' },
  ])
})

t.test('a text that no client appends to stays in one chunk', async (t) => {
  const long = `${'a'.repeat(16_380)} bob@example.com`
  for (const name of ['my text', 'format', 'image_url', ''])
    t.same(deltasOf({ [name]: long }), [{ role: 'assistant' }, { [name]: long }, {}], name)
})

const text = fc.oneof(fc.string(), fc.constantFrom(null, '', '4111 1111 1111 1111', 'a'.repeat(40_000)))
const tool = fc.record({
  id: fc.string(),
  type: fc.constant('function'),
  function: fc.record({
    name: fc.string(),
    arguments: fc.oneof(fc.string(), fc.constant('b'.repeat(40_000))),
  }),
})
const message = fc.record(
  {
    role: fc.constant('assistant'),
    content: text,
    refusal: text,
    reasoning: text,
    reasoning_content: text,
    annotations: fc.array(fc.record({ type: fc.string(), title: fc.string() })),
    audio: fc.record({ id: fc.string(), data: fc.string(), transcript: fc.string() }),
    unknown: fc.oneof(fc.integer(), fc.boolean(), fc.string()),
    tool_calls: fc.array(tool, { maxLength: 3 }),
  },
  { requiredKeys: ['role'] },
)

t.test('the chunks joined again give the whole answer', async (t) => {
  const choices = fc.array(fc.record({ message, finish_reason: fc.constantFrom('stop', 'length', null) }), {
    minLength: 1,
    maxLength: 4,
  })
  const usages = fc.constantFrom(null, USAGE)
  fc.assert(
    fc.property(choices, usages, (list, usage) => {
      const numbered = list.map(({ message: said, finish_reason }, index) => {
        const { tool_calls: calls, ...others } = said
        const counted = calls?.map((one, at) => ({ ...one, index: at }))
        // A list without items is no list in a stream.
        const tools = counted === undefined || counted.length === 0 ? {} : { tool_calls: counted }
        return { index, message: { ...others, ...tools }, finish_reason }
      })
      const whole = answer(numbered, { usage, citations: ['c'] })
      t.same(joined(JSON.parse(JSON.stringify(answer(list, { usage, citations: ['c'] })))), whole)
    }),
    { numRuns: 300 },
  )
  t.notOk(isObject(joined(answer([]))['usage']))
})
