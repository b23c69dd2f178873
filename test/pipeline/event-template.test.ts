import fc from 'fast-check'
import t from 'tap'
import type { StreamReader } from '../../src/chat/api-format.ts'
import { ChatStream } from '../../src/chat/chat-stream.ts'
import { ResponsesStream } from '../../src/chat/responses/responses-stream.ts'
import { readStreamChunk } from '../../src/chat/stream-chunk.ts'
import { countsOf, EventTemplateMatcher, writeEvent } from '../../src/pipeline/answer/event-template.ts'

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
const matcherOf = (...events: readonly string[]) => learned(new ChatStream(false), events)

function learned(reader: StreamReader, events: readonly string[]): EventTemplateMatcher {
  const matcher = new EventTemplateMatcher(reader)
  for (const data of events) {
    const chunk = reader.read(data)
    if (chunk !== null) matcher.learn(data, '', chunk)
  }
  return matcher
}

const match = (matcher: EventTemplateMatcher, data: string) => matcher.match({ data, otherLines: '' })

/** A numbered and padded piece of a response. */
const piece = (delta: string, sequence_number: number, obfuscation: string) =>
  JSON.stringify({
    type: 'response.output_text.delta',
    sequence_number,
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta,
    logprobs: [],
    obfuscation,
  })

t.test('a form that occurs twice in a row becomes the template', async (t) => {
  t.equal(match(matcherOf(event('one')), event('two')), null)
  t.equal(match(matcherOf(event('one'), event('two', { created: 1 })), event('three')), null)
  const form = matcherOf(event('one'), event('two'))
  t.equal(match(form, event(' and three'))?.text, ' and three')
  t.equal(match(form, event(' and three', { created: 1 })), null)
  t.match(match(form, event('three'))?.template, { choice: 0, channel: 'content', droppable: true })
  const saying = matcherOf(event('one', {}, { role: 'assistant' }), event('two', {}, { role: 'assistant' }))
  const next = match(saying, event('three', {}, { role: 'assistant' }))
  t.match(next?.template, { droppable: false }, 'it still says who speaks')
})

t.test('the template reads as the parser does and writes as the serialiser does', async () => {
  const form = matcherOf(event('one'), event('two'))
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (raw) => {
      const text = raw.toWellFormed()
      const data = event(text)
      const matched = match(form, data)
      const read = matched?.text ?? null
      if (read !== null && read !== readStreamChunk(data)?.deltas[0]?.text) return false
      // Texts that are empty, or have quotes, backslashes or control characters, are left to the
      // parser.
      if ((read === null) !== (text === '' || JSON.stringify(text) !== `"${text}"`)) return false
      const other = match(form, event('another'))
      return other !== null && writeEvent(other, text, {}) === data
    }),
  )
})

t.test('the number of an event and its padding differ from event to event', async (t) => {
  const form = learned(new ResponsesStream(false), [piece('one', 4, 'aB3'), piece('two', 5, 'xQ7mK')])
  t.match(match(form, piece('three', 6, 'aB3'))?.template, { choice: 0, channel: 'delta', droppable: true })
  const numbers = fc.nat(999_999)
  const padding = fc.stringMatching(/^[A-Za-z]\w{0,15}$/).filter((text) => !/\d{9}/.test(text))
  fc.assert(
    fc.property(numbers, fc.string({ minLength: 1 }), padding, fc.string(), (number, text, pad, other) => {
      const matched = match(form, piece(text, number, pad))
      if (matched === null) return JSON.stringify(text) !== `"${text}"`
      const isRead = matched.text === text && countsOf(matched)['sequence_number'] === number
      const written = writeEvent(matched, other, { sequence_number: number + 1 })
      return isRead && written === piece(other, number + 1, pad)
    }),
  )
  t.equal(match(form, piece('three', 6, '4111111111111111')), null, 'a number is no padding')
  t.equal(match(form, piece('three', 6, 'bob@example.org')), null)
  t.equal(match(form, piece('three', 10_000_000, 'aB3')), null)
  t.equal(match(form, piece('three', 6, 'aB3').replace('"sequence_number":6', '"sequence_number":06')), null)
  t.equal(match(form, `${piece('three', 6, 'aB3')},`), null)
  t.equal(match(form, piece('three', 6, 'aB3').replace('msg_1', 'msg_2')), null)
})

t.test('an event with other lines than the template fits none', async (t) => {
  const form = matcherOf(event('one'), event('two'))
  const data = event('three')
  t.equal(form.match({ data, otherLines: 'event: error' }), null)
  t.equal(form.match({ data, otherLines: 'id: 3' }), null)
  t.equal(form.match({ data: null, otherLines: '' }), null)
})

t.test('padding differs in chunks of chat, too', async (t) => {
  const form = matcherOf(event('one', { obfuscation: 'aB3' }), event('two', { obfuscation: 'xQ7mK' }))
  t.equal(match(form, event('three', { obfuscation: 'Zz' }))?.text, 'three')
  t.equal(match(form, event('three', { obfuscation: '+1 415 555 2671' })), null)
})

t.test('the end of a text ends its template', async (t) => {
  const pieces = [piece('one', 4, 'aB3'), piece('two', 5, 'xQ7mK')]
  const { delta: _delta, ...place } = JSON.parse(piece('', 6, 'a'))
  const done = JSON.stringify({ ...place, type: 'response.output_text.done', text: 'onetwo' })
  t.equal(match(learned(new ResponsesStream(false), [...pieces, done]), piece('three', 7, 'aB3')), null)
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
      t.equal(match(form, event('three').replace('"content"', '"content":"evil","content"')), null, name)
    else t.equal(match(form, events[1]), null, name)
  }
})
