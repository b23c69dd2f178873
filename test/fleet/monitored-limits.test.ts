// A limit of the hub that only monitors: how it compares with one process that sees all calls.

import t from 'tap'
import { seededRandom } from '../../src/core/seeded-random.ts'
import { openWindow, reserveTokens } from '../../src/policy/limit.ts'
import { LeaseHub, VirtualTime } from './lease-hub.ts'

const SIDECARS = 10
/** Part of the calls beyond a limit that the sidecars may miss together. */
const MISSED = 0.05

function fleet(count: string, limit: number, windowMs: number) {
  const time = new VirtualTime()
  const hub = new LeaseHub(time)
  hub.guaranteedShare = 0.2
  hub.limits.set(count, { limit, windowMs })
  const sidecars = Array.from({ length: SIDECARS }, (_, n) => hub.sidecar(`s${n}`))
  return { time, hub, sidecars }
}

t.test('a limit that monitors finds what one process finds, where demand is even', async (t) => {
  for (const [limit, windowMs, demand] of [
    [60, 60_000, 1.1],
    [300, 10_000, 1.5],
  ] as const) {
    const { time, sidecars } = fleet('rule', limit, windowMs)
    const window = openWindow(windowMs)
    const calls = Math.round(1.2 * limit * demand)
    const found = { fleet: 0, process: 0 }
    for (let call = 0; call < calls; call++) {
      await time.advance(Math.round((1.2 * windowMs * (call + 1)) / calls) - time.monotonic())
      const sidecar = sidecars[call % SIDECARS]!
      const state = sidecar.limit({ count: 'rule', subject: 'line' }, windowMs)!
      const cover = state.monitor({ limit, need: 1, expected: 0 }, sidecar.moment())
      sidecar.touched(state)
      const request = { limitTokens: limit, tokens: 1, nowMs: time.now(), enforced: false }
      const right = reserveTokens(window, { ...request, unlimitedChoices: 0, expectedAnswer: 0 })
      found.fleet += Number(!cover.isWithin)
      found.process += Number(!right.allowed)
    }
    const missed = 1 - found.fleet / found.process
    t.ok(Math.abs(missed) < MISSED, `${limit} in ${windowMs} ms, ${demand}: ${JSON.stringify(found)}`)
  }
})

t.test('what the hub counted is forgotten with its window', async (t) => {
  const { time, sidecars } = fleet('rule', 10, 10_000)
  const [one, other] = sidecars as [(typeof sidecars)[0], (typeof sidecars)[0]]
  const monitor = (sidecar: typeof one, need: number) => {
    const state = sidecar.limit({ count: 'rule', subject: 'line' }, 10_000)!
    const cover = state.monitor({ limit: 10, need, expected: 0 }, sidecar.moment())
    sidecar.touched(state)
    return cover.isWithin
  }
  t.ok(monitor(one, 8))
  await time.advance(400)
  t.ok(monitor(other, 2))
  await time.advance(400)
  t.notOk(monitor(other, 1))
  await time.advance(15_000)
  t.ok(monitor(other, 8))
})

t.test('a limit of calls at a time that monitors counts those of the other sidecars', async (t) => {
  const limit = 20
  const count = 'rule:parallel'
  const { time, hub, sidecars } = fleet(count, limit, 0)
  const random = seededRandom(3)
  const found = { fleet: 0, process: 0 }
  let running = 0
  const pass = (ms: number) => new Promise<void>((resolve) => void time.set(resolve, ms))
  const work = async () => {
    for (let call = 0; call < 10; call++) {
      await pass(1 + Math.floor(random() * 4000))
      const sidecar = sidecars[Math.floor(random() * SIDECARS)]!
      const state = sidecar.slot({ count, subject: 'line' })!
      found.process += Number(running >= limit)
      found.fleet += Number(!state.monitor(limit, time.monotonic()))
      sidecar.touched(state)
      running++
      await pass(1 + Math.floor(random() * 6000))
      running--
      state.end(time.monotonic())
      sidecar.touched(state)
    }
  }
  void Promise.all(Array.from({ length: 1.8 * limit }, work))
  await time.advance(150_000)
  t.comment(JSON.stringify(found))
  t.equal(running, 0)
  t.ok(found.process > 100 && Math.abs(1 - found.fleet / found.process) < 2 * MISSED, JSON.stringify(found))
  t.equal(hub.slots(count), 0)
})
