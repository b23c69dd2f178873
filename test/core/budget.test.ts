import fc from 'fast-check'
import t from 'tap'
import { Budget } from '../../src/core/budget.ts'

t.test('take succeeds while enough is free, and released amounts can be taken again', async (t) => {
  const budget = new Budget(10)
  t.same([budget.take(6), budget.take(5), budget.take(4), budget.take(1)], [true, false, true, false])
  budget.release(6)
  t.same([budget.take(6), budget.take(1)], [true, false])
})

t.test('waiting requests are granted in order, and a small one does not overtake a large one', async (t) => {
  const budget = new Budget(10)
  const order: string[] = []
  const acquire = (name: string, amount: number) =>
    budget.wait(amount).then((release) => {
      order.push(name)
      return release
    })
  const releaseFirst = await acquire('first', 8)
  const large = acquire('large', 9)
  const small = acquire('small', 1)
  await new Promise(setImmediate)
  t.same(order, ['first'], 'the small request would fit')
  releaseFirst()
  releaseFirst()
  const releaseLarge = await large
  await small
  t.same(order, ['first', 'large', 'small'])
  t.notOk(budget.take(1), 'the second call released nothing')
  releaseLarge()
  t.ok(budget.take(9))
})

t.test('a request larger than the budget is granted alone', async (t) => {
  const budget = new Budget(10)
  const release = await budget.wait(1000)
  t.notOk(budget.take(1))
  release()
  t.ok(budget.take(10))
})

t.test('a caller that waits no longer gives its place to the next', async (t) => {
  const budget = new Budget(10)
  const release = await budget.wait(6)
  const late = budget.waitAtMost(9, 5)
  const small = budget.wait(4)
  t.equal(await late, null)
  const releaseSmall = await small
  t.notOk(budget.take(1))
  releaseSmall()
  release()
  const inTime = await budget.waitAtMost(10, 5)
  inTime!()
  t.ok(budget.take(10))
})

t.test('a first caller goes before those that wait', async (t) => {
  const budget = new Budget(10)
  const release = await budget.wait(10)
  const order: string[] = []
  const note = (name: string) => (free: () => void) => {
    order.push(name)
    free()
  }
  const waiting = [budget.wait(10).then(note('second')), budget.wait(10, true).then(note('first'))]
  release()
  await Promise.all(waiting)
  t.same(order, ['first', 'second'])
})

t.test('the amount taken never exceeds the size, and in the end all is free', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.tuple(fc.nat(30), fc.nat(3)), { maxLength: 30 }),
      async (size, requests) => {
        const budget = new Budget(size)
        let inside = 0
        await Promise.all(
          requests.map(async ([amount, turns]) => {
            const release = await budget.wait(amount)
            inside += Math.min(amount, size)
            if (inside > size) throw new Error(`${inside} of ${size}`)
            for (let turn = 0; turn < turns; turn++) await null
            inside -= Math.min(amount, size)
            release()
          }),
        )
        if (!budget.take(size)) throw new Error('some is still taken')
      },
    ),
    { numRuns: 300 },
  )
})
