import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { InFlight, type InFlightSlot } from '../../src/core/inflight.ts'

t.test('the set holds the items that were added and not removed, in any order of operations', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 9 })), (moves) => {
      const inFlight = new InFlight<number>()
      const slots: InFlightSlot<number>[] = []
      for (const [n, move] of moves.entries()) {
        // A move below the size removes an item; any other adds one.
        const [removed] = slots.splice(move, 1)
        if (removed === undefined) slots.push(inFlight.add(n))
        else {
          inFlight.remove(removed)
          inFlight.remove(removed)
        }
      }
      t.same(new Set(inFlight.items()), new Set(slots.map(({ item }) => item)))
      t.equal(inFlight.size, slots.length)
    }),
  )
})

t.test('a scavenge frees removed items', async (t) => {
  setFlagsFromString('--expose-gc')
  const gc: (options?: { type: 'minor' }) => void = runInNewContext('gc')
  const oldBytes = () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ??
    Number.NaN
  const ITEMS = 20_000
  const ITEMS_A_COLLECTION = 200
  const ITEM_NUMBERS = 128
  const inFlight = new InFlight<number[]>()
  const add = () => inFlight.add(new Array(ITEM_NUMBERS).fill(0.5))
  const slots = Array.from({ length: 50 }, add)
  // Moves the items and the set to the old generation.
  gc()
  const before = oldBytes()
  for (let n = 0; n < ITEMS; n++) {
    const [first] = slots.splice(0, 1)
    inFlight.remove(first!)
    slots.push(add())
    if (n % ITEMS_A_COLLECTION === 0) gc({ type: 'minor' })
  }
  const grownOld = oldBytes() - before
  t.ok(
    grownOld < (ITEMS * ITEM_NUMBERS * 8) / 10,
    `${grownOld} bytes of removed items are in the old generation`,
  )
})
