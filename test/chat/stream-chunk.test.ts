import t from 'tap'
import { Assembler } from '../../src/chat/assembler.ts'
import { flushChunk, groupCompatible } from '../../src/chat/channel.ts'
import { readStreamChunk } from '../../src/chat/stream-chunk.ts'
import type { JsonObject, JsonValue } from '../../src/core/json.ts'

const read = (body: object) => {
  const chunk = readStreamChunk(JSON.stringify(body))
  if (chunk === null) throw new Error('not a chunk')
  return chunk
}

t.test('splits a chunk into deltas and other texts', async (t) => {
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
      '0 unknown plain u',
      '2 tool_calls[1].function.name plain f',
      '2 tool_calls[1].function.arguments json {"a',
      '2 tool_calls[3].custom.input plain i',
      '3 reasoning_details[4].text plain t',
      '3 reasoning_details[4].summary plain s',
      '3 function_call.arguments json o',
      '3 audio.transcript plain a',
    ],
  )
  t.same(chunk.finished, [2])
  t.same(
    chunk.others.map(({ text }) => text),
    ['somewhere', 'unknown'],
  )
  t.equal(chunk.error, false)
  for (const delta of chunk.deltas) delta.replace('new')
  for (const other of chunk.others) other.replace('other')
  chunk.commit()
  t.notMatch(JSON.stringify(chunk.body), /"c"|\{\\"a|"u"/)
})

/** Places where a provider may put words that a client reads, with the channel if they grow. */
const MARK = 'marked text'
const PLACES: Record<string, [JsonObject, string | null]> = {
  content: [{ content: MARK }, 'content'],
  'content parts': [{ content: [{ type: 'text', text: MARK }] }, 'content'],
  'thoughts among content parts': [
    { content: [{ type: 'thinking', thinking: [{ type: 'text', text: MARK }] }] },
    'content[thinking].thinking[text].text',
  ],
  'a note on a part': [{ content: [{ type: 'text', text: 'a', note: MARK }] }, null],
  'a note on a thought': [{ content: [{ type: 'thinking', note: MARK, thinking: ['x'] }] }, null],
  'a thought that is a string': [
    { content: [{ type: 'thinking', thinking: MARK }] },
    'content[thinking].thinking',
  ],
  'a thought that is a string in a list': [{ content: [{ type: 'thinking', thinking: [MARK] }] }, null],
  'a part that is a string': [{ content: [MARK] }, null],
  'a part that refuses': [{ content: [{ type: 'refusal', refusal: MARK }] }, 'content[refusal].refusal'],
  'a part without a type': [{ content: [{ text: MARK }] }, 'content'],
  'a part with the type of something else': [{ content: [{ type: MARK }] }, null],
  'content of another shape': [{ content: { text: MARK } }, 'content.text'],
  'reasoning of another shape': [{ reasoning: { text: MARK } }, 'reasoning.text'],
  reasoning: [{ reasoning_content: MARK }, 'reasoning_content'],
  'an unknown field': [{ thinking: MARK }, 'thinking'],
  'an unknown field with a strange name': [{ 'a b': MARK }, null],
  'an unknown object': [{ extra: { deep: MARK } }, 'extra.deep'],
  'an unknown list': [{ extra: { deep: [MARK] } }, null],
  'an item that has a number': [{ extra: [{ index: 7, note: MARK }] }, 'extra[7].note'],
  'an item that has none': [{ extra: [{ note: MARK }] }, null],
  'an item that has a type': [{ extra: [{ type: 'summary_text', text: MARK }] }, 'extra[summary_text].text'],
  'a tool of the provider': [{ executed_tools: [{ output: MARK }] }, 'executed_tools[0].output'],
  'the name of a field': [{ [MARK]: 1 }, null],
  'a role': [{ role: MARK }, null],
  'the name of a tool': [
    { tool_calls: [{ index: 0, function: { name: MARK } }] },
    'tool_calls[0].function.name',
  ],
  'the id of a tool call': [{ tool_calls: [{ index: 0, id: MARK }] }, null],
  'arguments as an object': [{ tool_calls: [{ function: { arguments: { a: MARK } } }] }, null],
  'a tool call of another shape': [{ tool_calls: [{ function: MARK }] }, 'tool_calls[0].function'],
  'a tool call that is a string': [{ tool_calls: [MARK] }, null],
  'tool calls of another shape': [{ tool_calls: { a: MARK } }, 'tool_calls.a'],
  'arguments of the second tool': [
    { tool_calls: [{}, { function: { arguments: MARK } }] },
    'tool_calls[1].function.arguments',
  ],
  'the name of an old function': [{ function_call: { name: MARK } }, 'function_call.name'],
  'an old function of another shape': [{ function_call: [MARK] }, null],
  'a transcript': [{ audio: { transcript: MARK } }, 'audio.transcript'],
  'audio of another shape': [{ audio: { data: MARK } }, null],
  'a detail of reasoning': [{ reasoning_details: [{ text: MARK }] }, 'reasoning_details[0].text'],
  'another detail of reasoning': [{ reasoning_details: [{ data: MARK }] }, null],
  'a detail that is a string': [{ reasoning_details: [MARK] }, null],
  'an annotation': [{ annotations: [{ url_citation: { title: MARK } }] }, null],
}

t.test('every text of a delta is listed and can be replaced', async (t) => {
  for (const [place, [delta, channel]] of Object.entries(PLACES)) {
    const chunk = read({ choices: [{ index: 4, delta }] })
    const deltas = chunk.deltas.filter(({ text }) => text === MARK)
    const others = chunk.others.filter(({ text }) => text === MARK)
    t.same(
      deltas.map((one) => `${one.choice} ${one.channel}`),
      channel === null ? [] : [`4 ${channel}`],
      place,
    )
    t.equal(deltas.length + others.length, 1, place)
    for (const one of [...deltas, ...others]) one.replace('other words')
    chunk.commit()
    const expected = JSON.stringify({ choices: [{ index: 4, delta }] }).replace(MARK, 'other words')
    t.equal(JSON.stringify(chunk.body), expected, place)
  }
})

t.test('every text outside the deltas is listed', async (t) => {
  const places: JsonObject[] = [
    { note: MARK },
    { [MARK]: 1 },
    { error: { message: MARK } },
    { error: MARK },
    { choices: MARK },
    { choices: [MARK] },
    { choices: [{ note: MARK }] },
    { choices: [{ delta: MARK }] },
    { choices: [{ finish_reason: MARK }] },
    { choices: [{ message: { content: MARK } }] },
    { usage: { note: MARK } },
    { id: `${MARK}!` },
  ]
  for (const body of places) {
    t.equal(read(body).others.filter(({ text }) => text.startsWith(MARK)).length, 1, JSON.stringify(body))
  }
})

t.test('an ordinary chunk has one delta', async (t) => {
  const chunk = read({
    id: 'chatcmpl-AbC123',
    object: 'chat.completion.chunk',
    created: 1700000000,
    model: 'gpt-4o-2024-08-06',
    service_tier: 'default',
    system_fingerprint: 'fp_44709d6fcb',
    obfuscation: 'x8Kd',
    choices: [
      { index: 0, delta: { role: 'assistant', content: 'Hi' }, logprobs: null, finish_reason: 'stop' },
    ],
  })
  t.same(chunk.others, [])
  t.equal(chunk.deltas.length, 1)
})

t.test('the first delta of a tool call is listed, even without arguments', async (t) => {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }
  t.match(read({ choices: [{ delta: { content: '', tool_calls: [call] } }] }).deltas, [
    { choice: 0, channel: 'tool_calls[0].function.name', whole: true, text: 'f' },
    { choice: 0, channel: 'tool_calls[0].function.arguments', encoding: 'json', whole: false, text: '' },
  ])
})

t.test('a chunk nested too deep is refused', async (t) => {
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  t.throws(() => readStreamChunk(`{"choices":[{"delta":{"extra":${deep}}}]}`), {
    code: 'upstream_unavailable',
  })
})

t.test('reads usage and errors, and refuses data that is no chunk', async (t) => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cost: 0.0015 }
  t.match(read({ choices: [], usage }), { usageOnly: true, usage: { totalTokens: 3, cost: 1_500_000 } })
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

t.test('a flushed chunk has the envelope and nothing else', async (t) => {
  const like: JsonObject = {
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [],
    usage: { a: 1 },
  }
  t.same(flushChunk(like, 1, [['content', 'rest']]), {
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 1, delta: { content: 'rest' }, finish_reason: null }],
  })
  const delta = (channel: string) =>
    (flushChunk({}, 0, [[channel, 'r']]) as { choices: { delta: unknown }[] }).choices[0]?.delta
  t.same(delta('tool_calls[3].function.arguments'), {
    tool_calls: [{ index: 3, function: { arguments: 'r' } }],
  })
  t.same(delta('function_call.arguments'), { function_call: { arguments: 'r' } })
  t.same(delta('audio.transcript'), { audio: { transcript: 'r' } })
  t.same(delta('reasoning_details[2].summary'), {
    reasoning_details: [{ type: 'reasoning.summary', index: 2, summary: 'r' }],
  })
  t.same(delta('tool_calls[3].custom.input'), { tool_calls: [{ index: 3, custom: { input: 'r' } }] })
  for (const channel of [
    'content',
    'refusal',
    'content[refusal].refusal',
    'content[thinking].thinking',
    'content[thinking].thinking[text].text',
    'content[thinking].thinking[].text',
    'tool_calls[3].function.arguments',
    'tool_calls[-3].function.arguments',
    'tool_calls[3].function.name',
    'function_call.arguments',
    'audio.transcript',
    'reasoning_details[2].text',
    'reasoning_details[2].summary',
    'reasoning.summary[summary_text].text',
    'tool_calls[3].custom.input',
    'reasoning_content',
    'thinking',
    'executed_tools[1].output',
    'voice',
    '__proto__',
    'provider_specific_fields.reasoning_content',
    'a.__proto__.thinking_blocks[0].thinking',
    'a.tool_calls[1].function.arguments',
    'choice:text',
  ]) {
    t.same(
      read(flushChunk({}, 5, [[channel, 'r']])).deltas.map((one) => [one.choice, one.channel, one.text]),
      [[5, channel, 'r']],
      channel,
    )
  }
})

t.test('reasoning is flushed in one chunk from any place', async (t) => {
  const channels = [
    'reasoning',
    'reasoning_content',
    'reasoning_details[0].text',
    'reasoning_details[1].summary',
    'thinking_blocks[0].thinking',
    'content[thinking].thinking',
    'content[thinking].thinking[text].text',
    'a.reasoning',
    'a.reasoning_details[0].text',
    '__proto__.reasoning',
  ]
  const chunk = flushChunk(
    {},
    0,
    channels.map((channel) => [channel, 'r']),
  )
  t.same(new Set(read(chunk).deltas.map(({ channel }) => channel)), new Set(channels))
  const groups = (...names: string[]) => groupCompatible(names.map((name) => [name, 0] as const)).length
  t.equal(groups(), 0)
  t.equal(groups(...channels.filter((channel) => !channel.startsWith('content'))), 1)
  t.equal(groups('reasoning', 'reasoning.text'), 2, 'not when one contains the other')
  t.equal(groups('a.reasoning[0].text', 'a.reasoning.text', 'reasoning.text'), 2)
  t.equal(groups('content[thinking.a].thinking', 'thinking.a'), 1)
})

t.test('chunks assemble to an answer', async (t) => {
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

t.test('an answer that is too long is refused', async (t) => {
  const endless = (delta: (i: number) => object, count: number, index: (i: number) => number = () => 0) => {
    const assembler = new Assembler()
    for (let i = 0; i < count; i++) {
      assembler.add({ choices: [{ index: index(i), delta: delta(i) as JsonObject }] })
    }
  }
  const content = 'x'.repeat(1024 * 1024)
  const error = { code: 'upstream_unavailable' }
  t.throws(() => endless(() => ({ content }), 70), error, 'a text')
  t.throws(() => endless((i) => ({ [`${i}${content}`]: 1 }), 70), error, 'names')
  t.throws(() => endless(() => ({ list: [{ text: content }] }), 70), error, 'a list')
  t.throws(() => endless((i) => ({ tool_calls: [{ index: i }] }), 300), error, 'tool calls')
  t.throws(
    () =>
      endless(
        () => ({}),
        2000,
        (i) => i,
      ),
    error,
    'choices',
  )
  t.doesNotThrow(() => endless(() => ({ annotations: [{ a: 1 }] }), 2000))
})

t.test('a chunk with too many choices is refused', async (t) => {
  const event = (count: number) =>
    JSON.stringify({ choices: Array.from({ length: count }, (_, index) => ({ index, delta: {} })) })
  t.equal(readStreamChunk(event(1024))?.finished.length, 0)
  t.throws(() => readStreamChunk(event(1025)), { code: 'upstream_unavailable', message: /1024 choices/ })
})

t.test('an item of a long list grows in constant time', async (t) => {
  const assembler = new Assembler()
  const grow = (items: JsonValue[]) => assembler.add({ choices: [{ index: 0, delta: { items } }] })
  grow([{ index: 0, text: 'a' }])
  grow(Array<JsonValue>(200_000).fill('x'))
  const startMs = performance.now()
  for (let i = 0; i < 20_000; i++) grow([{ index: 0, text: 'b' }])
  t.ok(performance.now() - startMs < 15_000, 'and not in a minute')
  t.match(assembler.result(), {
    choices: [{ message: { items: [{ text: `a${'b'.repeat(20_000)}` }, 'x'] } }],
  })
})

t.test('the assembled answer shares nothing with its chunks', async (t) => {
  const assembler = new Assembler()
  const details: JsonObject[] = [
    { index: 0, text: 'a' },
    { index: 0, text: 'b' },
  ]
  const chunk: JsonObject = { choices: [{ delta: { reasoning_details: details, extra: { n: 1 } } }] }
  const before = JSON.stringify(chunk)
  assembler.add(chunk)
  assembler.add({ choices: [{ delta: { extra: { n: 2, m: [3] } }, finish_reason: 'stop' }] })
  assembler.add({ choices: [{ finish_reason: 'stop' }], error: { message: 'late' } })
  t.equal(JSON.stringify(chunk), before)
  t.equal(assembler.complete, true)
  t.match(assembler.result(), {
    error: { message: 'late' },
    choices: [{ message: { reasoning_details: [{ text: 'ab' }], extra: { n: 2, m: [3] } } }],
  })
})

t.test('a chunk may hold a whole message', async (t) => {
  const assembler = new Assembler()
  assembler.add({
    choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
  })
  t.match(assembler.result(), { choices: [{ message: { content: 'x' }, finish_reason: 'stop' }] })
})
