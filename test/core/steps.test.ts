// Long work that lets others go on in between.

import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { atOnce, inSlices, type Steps } from '../../src/core/steps.ts'

/** Each look at it takes a millisecond. */
function ticking() {
  let nowMs = 0
  return { monotonic: () => nowMs++ }
}

function* count(to: number, seen: (step: number) => void = () => {}): Steps<number> {
  for (let step = 1; step <= to; step++) {
    seen(step)
    yield
  }
  return to
}

t.test('at once, or in slices: the same result', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(40), { maxLength: 6 }), async (sizes) => {
      const clock = ticking()
      const results = await Promise.all(sizes.map((size) => inSlices(count(size), clock)))
      t.same(results, sizes)
      t.same(
        sizes.map((size) => atOnce(count(size))),
        sizes,
      )
    }),
    { numRuns: 30 },
  )
})

t.test('what is short is done in the turn in which it began', async (t) => {
  let done = false
  void inSlices(count(1), ticking()).then(() => {
    done = true
  })
  await null
  await null
  t.ok(done)
})

t.test('in each turn one slice of one piece of work, in the order they asked in', async (t) => {
  const seen: string[] = []
  const clock = ticking()
  const work = ['a', 'b', 'c'].map((name) =>
    inSlices(
      count(20, () => seen.push(name)),
      clock,
    ),
  )
  const first = seen.splice(0).join('')
  t.match(first, /^a+b+c+$/, 'each begins at once')
  let turns = 0
  let isOver = false
  const all = Promise.all(work).then(() => {
    isOver = true
  })
  const order: string[] = []
  while (!isOver) {
    await nextTurn()
    const names = new Set(seen.splice(0))
    if (names.size > 0) turns++
    t.ok(names.size <= 1, 'no two in one turn')
    order.push(...names)
  }
  await all
  t.ok(turns >= 9, `${turns} turns`)
  t.same(order.slice(0, 6), ['a', 'b', 'c', 'a', 'b', 'c'])
})

t.test('what the check throws after a pause ends the work', async (t) => {
  let steps = 0
  let isLeft = false
  const work = inSlices(
    count(1000, () => steps++),
    ticking(),
    () => {
      if (isLeft) throw new Error('nobody waits')
    },
  )
  const before = steps
  t.ok(before < 1000)
  isLeft = true
  await t.rejects(work, /nobody waits/)
  t.equal(steps, before)
})

t.test('what a step throws is thrown', async (t) => {
  function* failing(): Steps<never> {
    yield
    throw new Error('a bug')
  }
  t.throws(() => atOnce(failing()), /a bug/)
  await t.rejects(inSlices(failing(), ticking()), /a bug/)
})
