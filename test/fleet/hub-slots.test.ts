// The calls at a time that sidecars run of one limit: never more than it, and as good as all of it,
// whichever sidecar a call comes to.

import t from 'tap'
import type { LeaseClient } from '../../src/fleet/lease-client.ts'
import { LeaseHub, VirtualTime } from './lease-hub.ts'
import { anyDemand, runCallers } from './place-model.ts'

const PLACE = { count: 'rule:parallel', subject: 'line' }

function fleet() {
  const time = new VirtualTime()
  const hub = new LeaseHub(time)
  hub.limits.set(PLACE.count, { limit: 3, windowMs: 0 })
  return { time, hub }
}

t.test('places are lent, kept for a moment and given back', async (t) => {
  const { time, hub } = fleet()
  const [one, other] = [hub.sidecar('a'), hub.sidecar('b')]
  const begin = async (sidecar: LeaseClient) => {
    const begun = Promise.resolve(sidecar.begin(sidecar.slot(PLACE)!, 3))
    await time.advance(300)
    return (await begun) === 'begun'
  }
  t.ok(await begin(one))
  t.ok(await begin(one))
  t.ok(await begin(other))
  t.notOk(await begin(other))
  const state = one.slot(PLACE)!
  state.end(time.monotonic())
  one.touched(state)
  t.equal(one.begin(state, 3), 'begun', 'its own place is kept')
  state.end(time.monotonic())
  one.touched(state)
  await time.advance(2000)
  t.equal(hub.slots('rule:parallel'), 2)
  t.ok(await begin(other))
})

t.test('a call is not refused while there is a place, whichever sidecar it comes to', async (t) => {
  for (const [limit, callers] of [
    [4, 3],
    [10, 8],
    [100, 80],
  ] as const)
    for (const callMs of [20, 500]) {
      const { ends, most, waitMs, requests } = await runCallers({
        ...{ limit, callers, callMs, sidecars: 10, calls: 250, seed: limit },
      })
      const figures = `${waitMs.toFixed(1)} ms and ${requests.toFixed(2)} requests a call`
      t.comment(`${callers} of ${limit}, ${callMs} ms: ${figures}`)
      t.ok(ends.full + ends.away <= 250 * 0.005, `${ends.full} refused, ${ends.away} away`)
      t.ok(most <= limit && requests <= 2.5)
    }
})

t.test('after a limit is lowered calls begin only below it, while there is demand', async (t) => {
  for (const [before, limit, callers] of [
    [12, 4, 18],
    [30, 12, 30],
    [9, 1, 9],
    [30, 25, 60],
  ] as const) {
    const { ends, mostLowered } = await runCallers({
      ...{ limit: before, callers, callMs: 200, sidecars: 3, calls: 800, seed: before },
      lowered: { atMs: 2000, limit },
    })
    t.equal(mostLowered, limit, `${before} to ${limit}: ${JSON.stringify(ends)}`)
    t.equal(ends.away, 0)
  }
})

t.test('a sidecar that knows a lower limit than its hub refuses calls beyond it', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a')
  const begin = (limit: number) => Promise.resolve(sidecar.begin(sidecar.slot(PLACE)!, limit))
  const running = [begin(3), begin(3)]
  await time.advance(300)
  await Promise.all(running)
  hub.requests.length = 0
  const late = begin(2)
  await time.advance(260)
  t.equal(await late, 'full')
  t.ok(hub.requests.length <= 8, `${hub.requests.length} requests in 250 ms`)
})

t.test('places are kept for a while as long as most of the limit is left', async (t) => {
  const { ends, requests } = await runCallers({
    ...{ limit: 1000, callers: 30, callMs: 100, sidecars: 3, calls: 1000, seed: 1 },
  })
  t.equal(ends.begun, 1000)
  t.ok(requests < 0.1, `${requests} requests a call`)
})

t.test('calls at a time stay within the limit when messages are lost and sidecars die', async (t) => {
  const sum: Record<string, number> = { begun: 0, full: 0, away: 0 }
  for (let seed = 1; seed <= 30; seed++) {
    const demand = anyDemand(seed)
    const { ends, most } = await runCallers(demand)
    if (most > demand.limit) t.fail(`${most} calls at a time: ${JSON.stringify(demand)}`)
    for (const [name, count] of Object.entries(ends)) sum[name]! += count
  }
  t.comment(JSON.stringify(sum))
  t.ok(Object.values(sum).every((count) => count > 100))
})

t.test('a call beyond the limit is refused once it has waited, and says so', async (t) => {
  const { time, hub } = fleet()
  const [one, other] = [hub.sidecar('a'), hub.sidecar('b')]
  const begin = (sidecar: LeaseClient) => Promise.resolve(sidecar.begin(sidecar.slot(PLACE)!, 3))
  const running = [begin(one), begin(one), begin(one)]
  await time.advance(20)
  await Promise.all(running)
  hub.requests.length = 0
  const late = begin(other)
  const own = begin(one)
  await time.advance(200)
  t.ok(hub.requests.length <= 12, `${hub.requests.length} requests in 200 ms`)
  const state = one.slot(PLACE)!
  state.end(time.monotonic())
  one.touched(state)
  await time.advance(1)
  t.equal(await own, 'begun', 'at once, at the place that a call here left')
  await time.advance(60)
  t.equal(await late, 'full')
})

t.test('a sidecar that starts again has the places of the calls that ended with it', async (t) => {
  const { time, hub } = fleet()
  const begin = (sidecar: LeaseClient) => Promise.resolve(sidecar.begin(sidecar.slot(PLACE)!, 3))
  const life = { isAlive: true }
  const killed = hub.sidecar('a', { isConnected: () => life.isAlive })
  const running = [begin(killed), begin(killed), begin(killed)]
  await time.advance(20)
  await Promise.all(running)
  life.isAlive = false
  const restarted = hub.sidecar('a', { firstRequest: 1000 })
  hub.losesAnswers = true
  restarted.connected()
  await time.advance(1500)
  hub.losesAnswers = false
  const calls = [begin(hub.sidecar('b')), begin(restarted), begin(restarted)]
  await time.advance(20)
  t.strictSame(await Promise.all(calls), ['begun', 'begun', 'begun'])
  t.match(
    hub.requests.filter(({ request }) => request > 1000).map(({ first = false }) => first),
    [true, true],
    'until an answer has come',
  )
})

t.test('while the hub is away a sidecar runs calls up to its share of places', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a')
  hub.guaranteedSlots = 0.5
  const state = sidecar.slot(PLACE)!
  const first = Promise.resolve(sidecar.begin(state, 3))
  await time.advance(10)
  t.equal(await first, 'begun')
  state.end(time.monotonic())
  sidecar.touched(state)
  await time.advance(2000)
  hub.isAway = true
  t.equal(sidecar.begin(state, 3), 'begun')
  t.equal(sidecar.begin(state, 3), 'away')
})

t.test('a call is refused where all places are taken, with each setting of onHubLoss', async (t) => {
  for (const onHubLoss of ['share', 'refuse', 'local'] as const) {
    const { time, hub } = fleet()
    const [one, other] = [hub.sidecar('a'), hub.sidecar('b', { onHubLoss })]
    const begin = (sidecar: LeaseClient) => Promise.resolve(sidecar.begin(sidecar.slot(PLACE)!, 3))
    const running = [begin(one), begin(one), begin(one)]
    await time.advance(20)
    t.strictSame(await Promise.all(running), ['begun', 'begun', 'begun'])
    const late = begin(other)
    await time.advance(250)
    t.equal(await late, 'full', onHubLoss)
  }
})

t.test('calls that wait together beyond the limit are refused as many as do not fit', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a', { onHubLoss: 'local' })
  const state = sidecar.slot(PLACE)!
  const calls = Array.from({ length: 5 }, () => sidecar.begin(state, 3))
  await time.advance(250)
  t.strictSame(await Promise.all(calls), ['begun', 'begun', 'begun', 'full', 'full'])
})
