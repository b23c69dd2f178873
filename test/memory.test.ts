import t from 'tap'
import { IdleCollector, ownHeap } from '../src/memory.ts'

function setUp() {
  const state = { bytes: 100, collected: 0 }
  const calls = { entered: 0, inFlight: 0 }
  const collector = new IdleCollector({
    calls,
    bytes: () => state.bytes,
    async collect() {
      state.collected++
      state.bytes = 110
    },
  })
  const look = async (times: number) => {
    for (let time = 0; time < times; time++) await collector.look()
  }
  return { state, calls, look }
}

t.test('the heap is collected once after a busy time, when nothing has gone on for two looks', async (t) => {
  const { state, calls, look } = setUp()
  calls.entered = 1000
  state.bytes = 300
  await look(1)
  t.equal(state.collected, 0, 'there were calls since the look before')
  await look(1)
  t.equal(state.collected, 0)
  await look(1)
  t.equal(state.collected, 1)
  await look(10)
  t.equal(state.collected, 1)
  calls.entered = 2000
  state.bytes = 200
  await look(3)
  t.equal(state.collected, 2)
})

t.test('a gateway that is at work, or has grown little, is left alone', async (t) => {
  const { state, calls, look } = setUp()
  state.bytes = 300
  calls.inFlight = 1
  await look(10)
  calls.inFlight = 0
  for (let call = 1; call <= 10; call++) {
    calls.entered = call
    await look(2)
  }
  state.bytes = 149
  await look(10)
  t.equal(state.collected, 0)
})

t.test('where garbage cannot be asked to be collected nothing else happens', async (t) => {
  const state = { bytes: 100, asked: 0 }
  const collector = new IdleCollector({
    calls: { entered: 0, inFlight: 0 },
    bytes: () => state.bytes,
    async collect() {
      state.asked++
      throw new Error('no inspector')
    },
  })
  collector.start()
  state.bytes = 300
  for (let time = 0; time < 5; time++) await collector.look()
  t.equal(state.asked, 1)
})

const forgotten = () => new WeakRef({ items: new Array(1e6).fill(0) })

t.test('what nobody holds is gone after a collection of the own heap', async (t) => {
  const held = forgotten()
  // What a weak reference leads to is kept until the turn it was made in is over.
  await new Promise((resolve) => setImmediate(resolve))
  const before = ownHeap.bytes()
  await ownHeap.collect()
  t.ok(held.deref() === undefined)
  t.ok(ownHeap.bytes() < before)
})
