// Reasoning in streams: the fields of different servers, and its end.

import t from 'tap'
import { chunksOf, END, event, relay, SPLIT_ADDRESS, textOf } from './fixture.ts'

t.test('reasoning that is sent twice in each chunk ends in one chunk', async (t) => {
  const think = (text: string) =>
    event({ delta: { reasoning: text, reasoning_details: [{ type: 'reasoning.text', index: 0, text }] } })
  const pieces = ['First, think about ', '1889', '. Then ', 'ask bob@exam', 'ple.org']
  const answer = event({ delta: { content: 'It is so' } })
  for (const events of [
    [...pieces.map(think), answer, ...END],
    [...pieces.map(think), ...END],
  ]) {
    const { sent } = await relay(events)
    // As clients read that know both fields.
    const one = textOf(sent, (delta) => delta.reasoning_details?.[0]?.text ?? delta.reasoning)
    const other = textOf(sent, (delta) => delta.reasoning ?? delta.reasoning_details?.[0]?.text)
    t.same([one, other], Array(2).fill('First, think about 1889. Then ask [EMAIL_2]'))
  }
})

t.test('reasoning that is a string and an object is flushed in both forms', async (t) => {
  const shapes: [(text: string) => object, (delta: any) => unknown][] = [
    [(reasoning) => ({ reasoning }), ({ reasoning }) => (typeof reasoning === 'string' ? reasoning : '')],
    [(text) => ({ reasoning: { text } }), ({ reasoning }) => reasoning?.text],
    [(text) => ({ reasoning: [{ index: 0, text }] }), ({ reasoning }) => reasoning?.[0]?.text],
    [(text) => ({ reasoning: { text: { text } } }), ({ reasoning }) => reasoning?.text?.text],
  ]
  const pieces = ['so ', 'mail dora@exam', 'ple.com'].flatMap((text) => shapes.map(([write]) => write(text)))
  const { sent } = await relay([...pieces.map((delta) => event({ delta })), ...END])
  for (const [write, read] of shapes) {
    const text = textOf(sent, (delta) => (typeof read(delta) === 'string' ? read(delta) : ''))
    t.equal(text, 'so mail [EMAIL_2]', JSON.stringify(write('')))
  }
})

t.test('reasoning grows in any field', async (t) => {
  const pieces = SPLIT_ADDRESS.map((thinking) =>
    event({ delta: { thinking_blocks: [{ type: 'thinking', thinking }] } }),
  )
  const { sent, logged } = await relay([...pieces, ...END])
  t.notMatch(sent.join('') + logged, /dora|ple\.com/)
  t.match(sent.join(''), /"thinking_blocks":\[\{"type":"thinking",.*\[EMAIL_2\]/)
})

/** The order of texts in a stream; a name again for each time its text continues. */
const order = (sent: readonly string[]): string[] =>
  chunksOf(sent)
    .flatMap(({ choices }) => Object.entries(choices[0]?.delta ?? {}))
    .filter(([, value]) => value !== '' && value !== null)
    .map(([name]) => name)
    .filter((name, at, names) => name !== names[at - 1])

t.test('reasoning is complete before the answer, and the answer before a tool call', async (t) => {
  const tool = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  const { sent } = await relay([
    ...['I should say', ' hello'].map((reasoning_content) => event({ delta: { reasoning_content } })),
    ...['Hello', ' my', ' friend'].map((content) => event({ delta: { content } })),
    event({ delta: { content: ' look', tool_calls: [tool] } }),
    ...END,
  ])
  t.same(order(sent), ['reasoning_content', 'content', 'tool_calls'])
  t.equal(
    textOf(sent, (delta) => delta.reasoning_content),
    'I should say hello',
  )
  t.equal(
    textOf(sent, (delta) => delta.content),
    'Hello my friend look',
  )
  const legacy = await relay([
    event({ delta: { content: 'calling' } }),
    event({ delta: { function_call: { name: 'f', arguments: '{}' } } }),
    ...END,
  ])
  t.same(order(legacy.sent), ['content', 'function_call'])
})

t.test('a signature follows the text it signs', async (t) => {
  for (const signature of [{ signature: 'c2lnbmVk' }, { type: 'reasoning.encrypted', data: 'c2VhbGVk' }]) {
    const { sent } = await relay([
      event({ delta: { reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'think a lot' }] } }),
      event({ delta: { reasoning_details: [{ type: 'reasoning.text', index: 0, ...signature }] } }),
      event({ delta: { content: 'so' } }),
      ...END,
    ])
    const details = chunksOf(sent).flatMap(({ choices }) => choices[0]?.delta.reasoning_details ?? [])
    t.equal(details.map(({ text }: any) => text ?? '').join(''), 'think a lot')
    t.match(details.at(-1), signature)
  }
})
