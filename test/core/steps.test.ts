import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { atOnce, inSlices, nowOrInSlices, type Steps } from '../../src/core/steps.ts'

/** A clock that advances a millisecond at each reading. */
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

t.test('atOnce and inSlices return the same results', async (t) => {
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

t.test('a piece of one slice ends at once, and a longer one goes on in later turns', async (t) => {
  t.equal(nowOrInSlices(count(1), ticking()), 1)
  const seen: number[] = []
  const longer = nowOrInSlices(
    count(20, (step) => seen.push(step)),
    ticking(),
  )
  t.ok(seen.length > 0 && seen.length < 20)
  t.equal(await longer, 20)
})

t.test('each turn runs one slice of one computation, first come, first served', async (t) => {
  const seen: string[] = []
  const clock = ticking()
  const work = ['a', 'b', 'c'].map((name) =>
    inSlices(
      count(20, () => seen.push(name)),
      clock,
    ),
  )
  t.same(seen, [], 'none starts in the turn that asks for it')
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
    t.ok(names.size <= 1, 'at most one per turn')
    order.push(...names)
  }
  await all
  t.ok(turns >= 9, `${turns} turns`)
  t.same(order.slice(0, 6), ['a', 'b', 'c', 'a', 'b', 'c'])
})

t.test('an error of the check ends the computation', async (t) => {
  let steps = 0
  let hasLeft = false
  const work = inSlices(
    count(1000, () => steps++),
    ticking(),
    () => {
      if (hasLeft) throw new Error('the client left')
    },
  )
  await nextTurn()
  const before = steps
  t.ok(before > 0 && before < 1000)
  hasLeft = true
  await t.rejects(work, /the client left/)
  t.equal(steps, before)
})

t.test('an error of a step is thrown', async (t) => {
  function* failing(): Steps<never> {
    yield
    throw new Error('a bug')
  }
  t.throws(() => atOnce(failing()), /a bug/)
  t.throws(() => nowOrInSlices(failing(), ticking()), /a bug/)
  await t.rejects(inSlices(failing(), ticking()), /a bug/)
  function* failingLater(): Steps<never> {
    yield* count(1000)
    throw new Error('a bug')
  }
  await t.rejects(inSlices(failingLater(), ticking()), /a bug/)
  await t.rejects(Promise.resolve(nowOrInSlices(failingLater(), ticking())), /a bug/)
})
