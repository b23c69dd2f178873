import { execFileSync } from 'node:child_process'
import t from 'tap'
import { collectorOf, IdleCollector } from '../../src/gateway/memory.ts'

function setUp() {
  const state = { bytes: 100, collected: 0 }
  const calls = { entered: 0, inFlight: 0 }
  const collector = new IdleCollector({
    calls,
    bytes: () => state.bytes,
    collect() {
      state.collected++
      state.bytes = 110
    },
  })
  const look = (times: number) => {
    for (let time = 0; time < times; time++) collector.check()
  }
  return { state, calls, look }
}

t.test(
  'the heap is collected once after a busy time, when next to nothing has gone on for six looks',
  async (t) => {
    const { state, calls, look } = setUp()
    calls.entered = 1000
    state.bytes = 300
    look(1)
    t.equal(state.collected, 0, 'there were calls since the look before')
    look(5)
    t.equal(state.collected, 0)
    look(1)
    t.equal(state.collected, 1)
    state.bytes = 300
    for (let few = 0; few < 20; few++) {
      calls.entered += 10
      look(1)
    }
    t.equal(state.collected, 1, 'once')
    calls.entered = 2000
    state.bytes = 200
    look(7)
    t.equal(state.collected, 2)
  },
)

t.test('a gateway that is at work, or has grown little, is left alone', async (t) => {
  const { state, calls, look } = setUp()
  state.bytes = 300
  calls.inFlight = 11
  look(10)
  calls.inFlight = 0
  for (let rush = 1; rush <= 10; rush++) {
    calls.entered += 11
    look(6)
  }
  state.bytes = 149
  look(10)
  t.equal(state.collected, 0)
})

t.test('without the flag that lets it collect there is no collector', async (t) => {
  t.equal(globalThis.gc, undefined)
  t.equal(collectorOf({ entered: 0, inFlight: 0 }), null)
})

t.test('with it the heap of a busy time goes back', async (t) => {
  const program = `
    const { collectorOf } = await import(${JSON.stringify(new URL('../../src/gateway/memory.ts', import.meta.url).href)})
    const { getHeapStatistics } = await import('node:v8')
    const collector = collectorOf({ entered: 0, inFlight: 0 })
    let held = Array.from({ length: 2e6 }, (_, index) => ({ index }))
    const before = getHeapStatistics().total_heap_size
    held = null
    for (let look = 0; look < 7; look++) collector.check()
    console.log(getHeapStatistics().total_heap_size < before / 2)
  `
  const flags = ['--expose-gc', '--no-memory-reducer', '--input-type=module', '--eval', program]
  t.equal(execFileSync(process.execPath, flags).toString().trim(), 'true')
})
