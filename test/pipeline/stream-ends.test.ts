// The ends of choices and of streams.

import t from 'tap'
import { chunksOf, END, event, relay, SPLIT_ADDRESS, textOf } from './fixture.ts'

t.test('a choice that continues is one text, for every form of its finish reason', async (t) => {
  for (const reason of [null, '', 'null']) {
    const pieces = SPLIT_ADDRESS.map((content) => event({ delta: { content }, finish_reason: reason }))
    const { sent, logged, failure } = await relay([...pieces, ...END])
    t.notMatch(sent.join('') + logged, /dora/, `finish_reason ${JSON.stringify(reason)}`)
    t.equal(failure, '')
  }
  const text = event({ delta: { content: 'a' }, finish_reason: '' })
  t.equal((await relay([text])).failure, 'upstream_unavailable', 'without any end')
  t.equal((await relay([])).failure, 'upstream_unavailable')
  t.equal((await relay(['data: [DONE]\n\n'])).failure, 'upstream_unavailable', 'no choice began')
  for (const end of END) {
    const { sent, failure } = await relay([text, end])
    t.equal(failure, '', 'one of both is enough')
    t.match(sent.join(''), /"content":"a"[\s\S]*data: \[DONE\]\n\n$/)
  }
  const ended = [...SPLIT_ADDRESS, ...SPLIT_ADDRESS].map((content) =>
    event({ delta: { content }, finish_reason: 'stop' }),
  )
  const { sent } = await relay([...ended, ...END])
  t.notMatch(sent.join(''), /dora|ple\.com/, 'a choice that continues after its end is one text')
  t.equal(
    textOf(sent, (delta) => delta.content),
    'write to [EMAIL_2] now'.repeat(2),
  )
  t.match(chunksOf(sent).at(-1), { choices: [{ delta: {}, finish_reason: 'stop' }] }, 'and ends once')
  t.equal(sent.join('').split('"stop"').length, 2)
})

t.test('a choice that its last text blocks gets no finish reason', async (t) => {
  const word = [event({ delta: { content: 'up to the ze' } }), event({ delta: { content: 'nith' } })]
  const thought = event({ delta: { reasoning_content: 'the zenith' } })
  const reply = event({ delta: { content: 'so' } })
  const other = `data: ${JSON.stringify({ choices: [{ index: 1, delta: { content: 'and' }, finish_reason: 'stop' }] })}\n\n`
  const tool = event({
    delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] },
  })
  for (const events of [
    [...word, ...END],
    [word[0]!, event({ delta: { content: 'nith' }, finish_reason: 'stop' }), END[1]!],
    [...word, tool, ...END],
    [thought, reply, ...END],
    [...word, other, ...END],
  ]) {
    const { sent, logged, failure } = await relay(events)
    t.equal(failure, 'response_blocked_by_policy')
    t.notMatch(sent.join('') + logged, /nith/)
    const ends = [...chunksOf(sent), JSON.parse(logged)].flatMap(({ choices }) => choices)
    for (const { index, finish_reason } of ends)
      if (index === 0)
        t.equal(finish_reason ?? null, null, 'a client that stops there takes it for all there is')
  }
})
