// What is under way: who is in, and that who has left costs nothing.

import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { InFlight, type InFlightSlot } from '../../src/core/inflight.ts'

t.test('those that were added and not removed are in, in whatever order they come and go', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 9 })), (moves) => {
      const inFlight = new InFlight<number>()
      const places: InFlightSlot<number>[] = []
      for (const [n, move] of moves.entries()) {
        // Below the number of those that are in, one of them leaves.
        const [leaver] = places.splice(move, 1)
        if (leaver === undefined) places.push(inFlight.add(n))
        else {
          inFlight.remove(leaver)
          inFlight.remove(leaver)
        }
      }
      t.same(new Set(inFlight.items()), new Set(places.map(({ item }) => item)))
      t.equal(inFlight.size, places.length)
    }),
  )
})

t.test('what has left is garbage to a collection of young objects', async (t) => {
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
  const places = Array.from({ length: 50 }, add)
  // Those that are in now grow old, and what holds them.
  gc()
  const before = oldBytes()
  for (let n = 0; n < ITEMS; n++) {
    const [first] = places.splice(0, 1)
    inFlight.remove(first!)
    places.push(add())
    if (n % ITEMS_A_COLLECTION === 0) gc({ type: 'minor' })
  }
  const grownOld = oldBytes() - before
  t.ok(grownOld < (ITEMS * ITEM_NUMBERS * 8) / 10, `${grownOld} bytes of what has left are old`)
})
