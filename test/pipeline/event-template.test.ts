import fc from 'fast-check'
import t from 'tap'
import { ChatStream } from '../../src/chat/chat-stream.ts'
import { readStreamChunk } from '../../src/chat/stream-chunk.ts'
import { EventTemplateMatcher, writeEvent } from '../../src/pipeline/answer/event-template.ts'

const event = (text: string, more: object = {}, delta: object = {}) =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'a/b',
    choices: [{ index: 0, delta: { ...delta, content: text }, logprobs: null, finish_reason: null }],
    ...more,
  })

/** A matcher that has learned these events in order. */
function matcherOf(...events: readonly string[]): EventTemplateMatcher {
  const matcher = new EventTemplateMatcher(new ChatStream(false))
  for (const data of events) {
    const chunk = readStreamChunk(data)
    if (chunk !== null) matcher.learn(data, chunk)
  }
  return matcher
}

t.test('a form that occurs twice in a row becomes the template', async (t) => {
  t.equal(matcherOf(event('one')).template, null)
  t.equal(matcherOf(event('one'), event('two', { created: 1 })).template, null)
  const form = matcherOf(event('one'), event('two'))
  t.equal(form.match(event(' and three')), ' and three')
  t.equal(form.match(event(' and three', { created: 1 })), null)
  t.match(form.template, { choice: 0, channel: 'content', droppable: true })
  const saying = matcherOf(event('one', {}, { role: 'assistant' }), event('two', {}, { role: 'assistant' }))
  t.match(saying.template, { droppable: false }, 'it still says who speaks')
})

t.test('the template reads as the parser does and writes as the serialiser does', async () => {
  const form = matcherOf(event('one'), event('two'))
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (raw) => {
      const text = raw.toWellFormed()
      const data = event(text)
      const read = form.match(data)
      if (read !== null && read !== readStreamChunk(data)?.deltas[0]?.text) return false
      // Texts that are empty, or have quotes, backslashes or control characters, are left to the
      // parser.
      if ((read === null) !== (text === '' || JSON.stringify(text) !== `"${text}"`)) return false
      return form.template !== null && writeEvent(form.template, text) === data
    }),
  )
})

t.test('an event with more than a text makes no template', async (t) => {
  const cases: Record<string, [string, string]> = {
    usage: [event('one', { usage: { prompt_tokens: 1 } }), event('two', { usage: { prompt_tokens: 1 } })],
    error: [event('one', { error: { message: 'x' } }), event('two', { error: { message: 'x' } })],
    'another text': [event('one', { note: 'call me' }), event('two', { note: 'call me' })],
    'two choices': [event('one'), event('two')].map((data) => {
      const body = JSON.parse(data)
      return JSON.stringify({ ...body, choices: [body.choices[0], { index: 1, delta: {} }] })
    }) as [string, string],
    'the end': [event('one'), event('two')].map((data) =>
      data.replace('"finish_reason":null', '"finish_reason":"stop"'),
    ) as [string, string],
    'log probabilities': [event('one'), event('two')].map((data) =>
      data.replace('"logprobs":null', '"logprobs":{"content":[]}'),
    ) as [string, string],
    'numbers of tokens': [event('one'), event('two')].map((data) =>
      data.replace('"logprobs":null', '"token_ids":[1]'),
    ) as [string, string],
    'a part of a list': [event('one', {}, { parts: ['x'] }), event('two', {}, { parts: ['x'] })],
    'the same key twice': [event('one'), event('two')].map((data) =>
      data.replace('"content"', '"content":"x","content"'),
    ) as [string, string],
    'a text that occurs elsewhere too': [
      '{"x":{"content":"a"},"choices":[{"index":0,"delta":{"content" :"a"}}]}',
      '{"x":{"content":"b"},"choices":[{"index":0,"delta":{"content" :"b"}}]}',
    ],
  }
  for (const [name, events] of Object.entries(cases)) {
    const form = matcherOf(...events)
    if (name === 'the same key twice')
      t.equal(form.match(event('three').replace('"content"', '"content":"evil","content"')), null, name)
    else t.equal(form.template, null, name)
  }
})
