// Streams that fail: errors of the upstream, and events beyond a limit.

import t from 'tap'
import { chunksOf, END, event, relay, textOf } from './fixture.ts'

t.test('an empty error does not end a stream', async (t) => {
  for (const error of [null, '', {}]) {
    const says = (content: string) =>
      `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content } }], error })}\n\n`
    const { sent, failure } = await relay([says('one '), says('two '), ...END])
    t.equal(failure, '', JSON.stringify(error))
    t.equal(
      textOf(sent, ({ content }) => content),
      'one two ',
    )
  }
})

t.test('an event named error is an error with any data', async (t) => {
  const said = event({ delta: { content: 'so ' } })
  for (const name of ['event: error', 'event:error', 'id: 7\nevent: error\n: note']) {
    const data = '{"message":"for dora@example.com and [EMAIL_1]","type":"overloaded_error"}'
    const { sent, failure } = await relay([said, `${name}\ndata: ${data}\n\n`, ...END])
    t.equal(failure, 'upstream_unavailable', name)
    const message = sent.join('').split('\n\n').at(-2)
    t.match(message, new RegExp(`^${name}\n`))
    t.same(
      chunksOf(sent).at(-1),
      { error: { message: 'for [EMAIL_2] and [EMAIL_1]', type: 'overloaded_error' } },
      'in the form that clients read, and without values',
    )
    t.notMatch(sent.join(''), /\[DONE\]/)
  }
  for (const data of ['{}', '{"error":{"message":"busy"}}', said.slice('data: '.length).trim()]) {
    const { sent, failure } = await relay([said, said, said, `event: error\ndata: ${data}\n\n`, ...END])
    t.equal(failure, 'upstream_unavailable', data)
    t.ok(chunksOf(sent).at(-1).error)
  }
  const named = await relay([`event: message\n${said}`, `event: errors\n${said}`, ...END])
  t.equal(named.failure, '')
})

t.test('the growing texts of a stream are limited in number and depth', async (t) => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => event({ delta: { a: { [`f${n}`]: { text: 'so' } } } }))
  t.equal((await relay([...many(4096), ...END])).failure, '')
  t.equal((await relay([...many(4097), ...END])).failure, 'upstream_unavailable')
  const deep = (levels: number): object => (levels === 0 ? { text: 'so' } : { a: deep(levels - 1) })
  t.equal((await relay([event({ delta: deep(15) }), ...END])).failure, '')
  t.equal((await relay([event({ delta: deep(20) }), ...END])).failure, 'upstream_unavailable')
})

t.test('an image may be large, the text of one event may not', async (t) => {
  const picture = `data:image/png;base64,${Buffer.alloc(9_000_000, 7).toString('base64')}`
  const images = [{ type: 'image_url', image_url: { url: picture } }]
  const { sent, failure } = await relay([event({ delta: { images } }), ...END])
  t.equal(failure, '')
  t.ok(sent.join('').includes(picture))
  const long = event({ delta: { content: 'so '.repeat(1_500_000) } })
  t.equal((await relay([long, ...END])).failure, 'upstream_unavailable')
  const said = event({ delta: { content: 'so ' } })
  t.equal((await relay([said, said, long, ...END])).failure, 'upstream_unavailable', 'alike or not')
})

t.test('events before a fatal one are sent, with any cut', async (t) => {
  const broken = [
    event({ delta: { x: JSON.parse(`${'['.repeat(100)}${']'.repeat(100)}`) } }),
    `data: ${JSON.stringify({ choices: Array(2000).fill({ delta: {} }) })}\n\n`,
  ]
  const before = ['one ', 'two '].map((content) => event({ delta: { content } }))
  for (const one of broken) {
    const apart = await relay([...before, one])
    const joined = await relay([[...before, one].join('')])
    t.equal(apart.failure, 'upstream_unavailable')
    t.same(apart.sent, before)
    t.same({ ...joined, sent: joined.sent.join('') }, { ...apart, sent: before.join('') })
  }
})

t.test('an error nested too deep to serialise ends the stream', async (t) => {
  const deep = `event: error\ndata: {"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}\n\n`
  t.equal((await relay([event({ delta: { content: 'so ' } }), deep])).failure, 'upstream_unavailable')
})
