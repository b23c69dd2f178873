// Returning memory after a busy time.

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
  const check = (times: number) => {
    for (let time = 0; time < times; time++) collector.check()
  }
  return { state, calls, check }
}

t.test('the heap is collected once after a busy time, after six quiet checks', async (t) => {
  const { state, calls, check } = setUp()
  calls.entered = 1000
  state.bytes = 300
  check(1)
  t.equal(state.collected, 0, 'there were calls since the last check')
  check(5)
  t.equal(state.collected, 0)
  check(1)
  t.equal(state.collected, 1)
  state.bytes = 300
  for (let few = 0; few < 20; few++) {
    calls.entered += 10
    check(1)
  }
  t.equal(state.collected, 1, 'once')
  calls.entered = 2000
  state.bytes = 200
  check(7)
  t.equal(state.collected, 2)
})

t.test('a busy gateway, or one that has grown little, is not collected', async (t) => {
  const { state, calls, check } = setUp()
  state.bytes = 300
  calls.inFlight = 11
  check(10)
  calls.inFlight = 0
  for (let rush = 1; rush <= 10; rush++) {
    calls.entered += 11
    check(6)
  }
  state.bytes = 149
  check(10)
  t.equal(state.collected, 0)
})

t.test('there is no collector without --expose-gc', async (t) => {
  t.equal(globalThis.gc, undefined)
  t.equal(collectorOf({ entered: 0, inFlight: 0 }), null)
})

t.test('a collection returns the memory of the heap to the system', async (t) => {
  const program = `
    const { collectorOf } = await import(${JSON.stringify(new URL('../../src/gateway/memory.ts', import.meta.url).href)})
    const { getHeapStatistics } = await import('node:v8')
    const collector = collectorOf({ entered: 0, inFlight: 0 })
    let held = Array.from({ length: 2e6 }, (_, index) => ({ index }))
    const before = getHeapStatistics().total_heap_size
    held = null
    for (let checks = 0; checks < 7; checks++) collector.check()
    console.log(getHeapStatistics().total_heap_size < before / 2)
  `
  const flags = ['--expose-gc', '--no-memory-reducer', '--input-type=module', '--eval', program]
  t.equal(execFileSync(process.execPath, flags).toString().trim(), 'true')
})
