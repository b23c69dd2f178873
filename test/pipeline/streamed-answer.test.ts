// Streams as a whole: equal events, streams that arrive together, and memory.

import fc from 'fast-check'
import t from 'tap'
import { Budget } from '../../src/core/budget.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { STEP_UNITS } from '../../src/core/steps.ts'
import { relay } from './fixture.ts'

/** @param alike whether the events differ only in their text */
function eventsOf(pieces: readonly string[], alike: boolean, role: boolean): string[] {
  const event = (index: number, delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({
      id: 'x',
      created: alike ? 1 : index,
      choices: [{ index: 0, delta, finish_reason: finish }],
    })}\n\n`
  const said = pieces.map((content, index) =>
    event(index, role ? { role: 'assistant', content } : { content }),
  )
  return [...said, event(pieces.length, {}, 'stop'), 'data: [DONE]\n\n']
}

const piece = fc.oneof(
  fc.constantFrom('word ', 'and ', ' then', 'bob@', 'example.', 'org ', 'project ', 'aurora', 'harbour '),
  fc.constantFrom(
    '[EMAIL',
    '_1]',
    '[EMAIL_1] ',
    '"quoted"',
    'back\\slash',
    'line\n',
    'é😀',
    '4111 1111 ',
    '1111 1111',
  ),
  fc.string({ maxLength: 5 }),
)

t.test('the template and the parser give the same stream', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), fc.boolean(), async (pieces, role) => {
      const [alike, apart] = await Promise.all([
        relay(eventsOf(pieces, true, role)),
        relay(eventsOf(pieces, false, role)),
      ])
      t.strictSame(alike, apart)
    }),
    { numRuns: 400 },
  )
})

t.test('streams relayed in turns give the same as each alone', async (t) => {
  // With this clock, each look ends a slice.
  let readings = 0
  const hurried = { now: () => 0, monotonic: () => 10 * readings++ }
  const burst = fc.tuple(fc.array(piece, { minLength: 1, maxLength: 20 }), fc.boolean(), fc.boolean())
  let turns = 0
  await fc.assert(
    fc.asyncProperty(fc.array(burst, { minLength: 2, maxLength: 3 }), async (bursts) => {
      const streams = bursts.map(([pieces, alike, isOneEvent]) => {
        const long = pieces.map((said) => said.padEnd(8, ' and').repeat(STEP_UNITS / 64))
        return eventsOf(isOneEvent ? [long.join('')] : long, alike, false).join('')
      })
      const watch = setInterval(() => turns++, 0)
      const together = await Promise.all(streams.map((stream) => relay([stream], { clock: hurried })))
      clearInterval(watch)
      for (const [index, stream] of streams.entries()) t.strictSame(together[index], await relay([stream]))
    }),
    { numRuns: 40 },
  )
  t.ok(turns > 0, 'other work went on meanwhile')
})

t.test(
  'the logged answer is counted as it grows, and the stream ends when memory is exhausted',
  async (t) => {
    const pieces = Array.from({ length: 50 }, (_, index) => `word ${index} and `)
    let kept = 0
    const all = await relay(eventsOf(pieces, true, false), {
      keep: (bytes) => {
        kept += bytes
      },
    })
    t.ok(kept >= pieces.join('').length, `${kept}`)
    const room = new Budget(kept / 2)
    const half = await relay(eventsOf(pieces, true, false), {
      keep: (bytes) => {
        if (!room.take(bytes)) throw new GatewayError('overloaded', 'full')
      },
    })
    t.equal(half.failure, 'overloaded')
    const sent = half.sent.join('')
    t.ok(sent.length > 1000 && all.sent.join('').startsWith(sent))
  },
)
