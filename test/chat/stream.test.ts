import t from 'tap'
import { Assembler } from '../../src/chat/assembler.ts'
import { flushChunk, readStreamChunk } from '../../src/chat/stream.ts'
import type { JsonObject } from '../../src/core/json.ts'

const read = (body: object) => {
  const chunk = readStreamChunk(JSON.stringify(body))
  if (chunk === null) throw new Error('not a chunk')
  return chunk
}

t.test('takes a chunk apart', async (t) => {
  const chunk = read({
    id: 'x',
    model: 'm',
    provider: 'somewhere',
    choices: [
      {
        index: 0,
        delta: { role: 'assistant', content: 'c', refusal: 'r', reasoning: 'g', unknown: 'u' },
        finish_reason: null,
      },
      {
        index: 2,
        delta: {
          tool_calls: [
            { index: 1, id: 'call', function: { name: 'f', arguments: '{"a' } },
            { index: 3, custom: { input: 'i' } },
          ],
        },
        finish_reason: 'tool_calls',
      },
      {
        index: 3,
        delta: {
          reasoning_details: [{ index: 4, type: 'reasoning.text', text: 't', summary: 's' }],
          function_call: { arguments: 'o' },
          audio: { transcript: 'a' },
        },
      },
    ],
  })
  t.same(
    chunk.deltas.map(({ choice, channel, encoding, text }) => `${choice} ${channel} ${encoding} ${text}`),
    [
      '0 content plain c',
      '0 refusal plain r',
      '0 reasoning plain g',
      '2 tool:1 json {"a',
      '2 tool:3 plain i',
      '3 function_call json o',
      '3 audio plain a',
      '3 reasoning_details:4:text plain t',
      '3 reasoning_details:4:summary plain s',
    ],
  )
  t.same(chunk.finished, [2])
  t.ok(chunk.others.some(({ text }) => text === 'u') && chunk.others.some(({ text }) => text === 'somewhere'))
  t.equal(chunk.error, false)
  for (const delta of chunk.deltas) delta.replace('new')
  for (const other of chunk.others) other.replace('other')
  chunk.commit()
  t.notMatch(JSON.stringify(chunk.body), /"c"|\{\\"a|"u"/)
})

t.test('usage, errors, and what is no chunk', async (t) => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cost: 0.0015 }
  t.match(read({ choices: [], usage }), { usageOnly: true, usage: { totalTokens: 3, costMicros: 1500 } })
  t.equal(read({ choices: [{ index: 0, delta: {} }], usage }).usageOnly, false)
  t.equal(read({ choices: [] }).usageOnly, false)
  t.equal(read({ error: { message: 'x' } }).error, true)
  for (const text of ['', 'x', '[]', 'null', '"a"', '1', '{']) t.equal(readStreamChunk(text), null, text)
  t.doesNotThrow(() =>
    read({
      choices: [null, 1, { delta: null }, { delta: { tool_calls: [null, 'x'], reasoning_details: 5 } }],
    }),
  )
})

t.test('what is flushed carries the envelope and nothing else', async (t) => {
  const like: JsonObject = {
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [],
    usage: { a: 1 },
  }
  t.same(flushChunk(like, 1, 'content', 'rest'), {
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 1, delta: { content: 'rest' }, finish_reason: null }],
  })
  const delta = (channel: string) =>
    (flushChunk({}, 0, channel, 'r') as { choices: { delta: unknown }[] }).choices[0]?.delta
  t.same(delta('tool:3'), { tool_calls: [{ index: 3, function: { arguments: 'r' } }] })
  t.same(delta('function_call'), { function_call: { arguments: 'r' } })
  t.same(delta('audio'), { audio: { transcript: 'r' } })
  t.same(delta('reasoning_details:2:summary'), { reasoning_details: [{ index: 2, summary: 'r' }] })
  for (const channel of [
    'content',
    'refusal',
    'tool:3',
    'function_call',
    'audio',
    'reasoning_details:2:summary',
  ]) {
    t.same(
      read(flushChunk({}, 5, channel, 'r')).deltas.map((one) => [one.choice, one.channel, one.text]),
      [[5, channel, 'r']],
      channel,
    )
  }
})

t.test('chunks put together', async (t) => {
  const assembler = new Assembler()
  t.equal(assembler.complete, false)
  const part = (delta: object, index = 0, finish: string | null = null) =>
    assembler.add({
      id: 'x',
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index, delta: delta as JsonObject, finish_reason: finish }],
    })
  part({ role: 'assistant', content: '' })
  part({ content: 'Hel' })
  part({ content: 'lo', reasoning: 'a' })
  part({ content: null, reasoning: 'b' })
  part({ role: 'assistant', content: 'second' }, 1)
  part({ tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } }] })
  part({ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] })
  part({ tool_calls: [{ index: 1, id: 'd', function: { name: 'g', arguments: '{}' } }] })
  part({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] })
  part({ ['__proto__']: 'x' })
  t.equal(assembler.complete, false)
  part({}, 0, 'tool_calls')
  t.equal(assembler.complete, false, 'the other choice has not ended')
  part({}, 1, 'stop')
  assembler.add({ choices: [], usage: { total_tokens: 3 } })
  t.equal(assembler.complete, true)
  t.equal(assembler.finishReason, 'tool_calls')
  t.match(assembler.result(), {
    id: 'x',
    object: 'chat.completion',
    model: 'm',
    usage: { total_tokens: 3 },
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: 'Hello',
          reasoning: 'ab',
          tool_calls: [
            { id: 'c', function: { name: 'f', arguments: '{"a":1}' } },
            { id: 'd', function: { name: 'g', arguments: '{}' } },
          ],
        },
      },
      { index: 1, finish_reason: 'stop', message: { content: 'second' } },
    ],
  })
})

t.test('an answer without end is cut off', async (t) => {
  const assembler = new Assembler()
  const content = 'x'.repeat(1024 * 1024)
  t.throws(
    () => {
      for (let i = 0; i < 70; i++) assembler.add({ choices: [{ index: 0, delta: { content } }] })
    },
    { code: 'upstream_unavailable' },
  )
})
