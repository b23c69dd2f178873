import fc from 'fast-check'
import t from 'tap'
import { Budget } from '../../src/core/budget.ts'

t.test('so much is taken as there is, and what is given back can be taken again', async (t) => {
  const room = new Budget(10)
  t.same([room.take(6), room.take(5), room.take(4), room.take(1)], [true, false, true, false])
  room.give(6)
  t.same([room.take(6), room.take(1)], [true, false])
})

t.test('who waits gets in in the order of asking, and nobody passes', async (t) => {
  const room = new Budget(10)
  const order: string[] = []
  const enter = (name: string, amount: number) =>
    room.wait(amount).then((leave) => {
      order.push(name)
      return leave
    })
  const leaveFirst = await enter('first', 8)
  const large = enter('large', 9)
  const small = enter('small', 1)
  await new Promise(setImmediate)
  t.same(order, ['first'], 'there would be room for the small one')
  leaveFirst()
  leaveFirst()
  const leaveLarge = await large
  await small
  t.same(order, ['first', 'large', 'small'])
  t.notOk(room.take(1), 'what was left twice was given back once')
  leaveLarge()
  t.ok(room.take(9))
})

t.test('who asks for more than there is gets all of it, by himself', async (t) => {
  const room = new Budget(10)
  const leave = await room.wait(1000)
  t.notOk(room.take(1))
  leave()
  t.ok(room.take(10))
})

t.test('there is never more taken than there is, and in the end all of it is free', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.tuple(fc.nat(30), fc.nat(3)), { maxLength: 30 }),
      async (size, takers) => {
        const room = new Budget(size)
        let inside = 0
        await Promise.all(
          takers.map(async ([amount, turns]) => {
            const leave = await room.wait(amount)
            inside += Math.min(amount, size)
            if (inside > size) throw new Error(`${inside} of ${size}`)
            for (let turn = 0; turn < turns; turn++) await null
            inside -= Math.min(amount, size)
            leave()
          }),
        )
        if (!room.take(size)) throw new Error('something is still taken')
      },
    ),
    { numRuns: 300 },
  )
})
