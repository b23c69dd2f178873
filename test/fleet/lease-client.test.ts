// What a sidecar does with the limits of its hub: it covers calls from leases, waits only when they
// do not reach, and goes on without a hub as configured.

import t from 'tap'
import type { Cover } from '../../src/fleet/hub-limit.ts'
import type { LeaseClient } from '../../src/fleet/lease-client.ts'
import { LeaseHub, VirtualTime } from './lease-hub.ts'

const MINUTE_MS = 60_000
const RULE = { count: 'rule', subject: 'line' }

function fleet() {
  const time = new VirtualTime()
  const hub = new LeaseHub(time)
  hub.limits.set('rule', { limit: 1000, windowMs: MINUTE_MS })
  hub.limits.set('rule:parallel', { limit: 3, windowMs: 0 })
  return { time, hub }
}

/** Asks for tokens; the answer stands in `covers` once there is one. */
function ask(sidecar: LeaseClient, need: number, expected = 0) {
  const state = sidecar.limit(RULE, MINUTE_MS)!
  const covers: Cover[] = []
  const cover = sidecar.cover(state, { limit: 1000, need, expected })
  if (cover instanceof Promise) void cover.then((one) => covers.push(one))
  else covers.push(cover)
  return { state, covers }
}

t.test('a call waits for the first lease, and those after it are covered at once', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a')
  const first = ask(sidecar, 10)
  t.strictSame(first.covers, [])
  await time.advance(10)
  t.match(first.covers, [{ source: 'lease', isWithin: true }])
  for (let call = 0; call < 20; call++) {
    ask(sidecar, 10)
    await time.advance(20)
  }
  const before = hub.requests.length
  t.ok(before < 15, `${before} requests for 21 calls`)
  t.match(ask(sidecar, 1).covers, [{ source: 'lease' }])
})

t.test('calls of one turn ask together, and those that fit go on when not all do', async (t) => {
  const { time, hub } = fleet()
  const [one, other] = [hub.sidecar('a'), hub.sidecar('b')]
  const taken = ask(one, 500)
  await time.advance(10)
  t.match(taken.covers, [{ source: 'lease' }])
  hub.requests.length = 0
  const calls = [600, 200, 200].map((need) => ask(other, need))
  await time.advance(10)
  t.strictSame(
    calls.map(({ covers }) => covers[0]?.source),
    ['refused', 'lease', 'lease'],
  )
  t.equal(hub.requests.length, 1)
  t.ok(calls[0]!.covers[0]!.retryAfterMs > 50_000, 'when enough of what counts has left the window')
})

t.test('a refusal because of the shares of others says when the call fits', async (t) => {
  const { time, hub } = fleet()
  const [one, other] = [hub.sidecar('a'), hub.sidecar('b')]
  ask(one, 1)
  await time.advance(10)
  for (const need of [300, 300, 300]) ask(other, need)
  await time.advance(10)
  const late = ask(other, 50)
  await time.advance(10)
  t.match(late.covers, [{ source: 'refused' }])
  t.ok(late.covers[0]!.retryAfterMs > 50_000, `${late.covers[0]!.retryAfterMs} ms`)
})

t.test('what a call did not use can be used by another sidecar soon', async (t) => {
  const { time, hub } = fleet()
  const [one, other] = [hub.sidecar('a'), hub.sidecar('b')]
  const call = ask(one, 900)
  await time.advance(10)
  call.state.leased.settle(call.covers[0]!.taken, 100, time.monotonic())
  one.touched(call.state)
  await time.advance(300)
  t.equal(hub.used('rule', 'line'), 100)
  const next = ask(other, 700)
  await time.advance(10)
  t.match(next.covers, [{ source: 'lease' }])
})

t.test('while the hub is away a sidecar uses its lease, then its share, and no more', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a')
  const first = ask(sidecar, 10)
  await time.advance(10)
  t.equal(first.state.leased.share, 100)
  hub.isAway = true
  t.match(ask(sidecar, 90).covers, [{ source: 'share' }])
  t.match(ask(sidecar, 1).covers, [{ source: 'away', isWithin: false, retryAfterMs: 1000 }])
  await time.advance(MINUTE_MS + 2000)
  t.match(ask(sidecar, 100).covers, [{ source: 'share' }], 'in each window')
  hub.isAway = false
  await time.advance(2000)
  t.equal(hub.used('rule', 'line'), 100, 'the hub hears of it')
})

t.test('a sidecar whose calls are far larger than its share has none', async (t) => {
  const { time, hub } = fleet()
  const [large, small] = [hub.sidecar('a'), hub.sidecar('b')]
  ask(large, 401)
  const call = ask(small, 10)
  await time.advance(10)
  t.equal(ask(large, 1).state.leased.share, 0)
  t.equal(call.state.leased.share, 66)
  for (let calls = 0; calls < 20; calls++) {
    ask(large, 1)
    await time.advance(1000)
  }
  t.equal(ask(large, 1).state.leased.share, 66, 'its calls have become smaller')
})

t.test('shares become even within seconds without further calls, and are kept', async (t) => {
  const { time, hub } = fleet()
  hub.limits.set('rule:parallel', { limit: 20, windowMs: 0 })
  hub.guaranteedSlots = 0.2
  const sidecars = ['a', 'b', 'c'].map((name) => hub.sidecar(name))
  const slots = sidecars.map((one) => one.slot({ count: 'rule:parallel', subject: 'line' })!)
  for (const [n, one] of sidecars.entries()) {
    ask(one, 1)
    const begun = Promise.resolve(one.begin(slots[n]!, 20))
    await time.advance(10)
    t.equal(await begun, 'begun')
    slots[n]!.end(time.monotonic())
    one.touched(slots[n]!)
  }
  await time.advance(10_000)
  const shares = () => sidecars.map((one) => one.limit(RULE, MINUTE_MS)!.leased.share)
  t.strictSame(shares(), [50, 50, 50])
  t.strictSame(
    slots.map(({ share }) => share),
    [1, 1, 1],
  )
  t.equal(hub.slots('rule:parallel'), 0, 'idle places are given back')
  hub.requests.length = 0
  await time.advance(300_000)
  t.ok(hub.requests.length < 40, `${hub.requests.length} requests in five minutes`)
  const late = hub.sidecar('d')
  ask(late, 1)
  await time.advance(200_000)
  t.strictSame([...shares(), late.limit(RULE, MINUTE_MS)!.leased.share], [40, 40, 40, 40])
  t.equal(sidecars[0]!.slot({ count: 'rule:parallel', subject: 'line' }), slots[0], 'the share is kept')
  await time.advance(700_000)
  t.strictSame(shares(), [0, 0, 0], 'a limit that nobody uses sets nothing aside')
  t.strictSame(
    slots.map(({ share }) => share),
    [0, 0, 0],
  )
})

t.test('without a hub `refuse` uses leases alone, and `local` counts alone and says so', async (t) => {
  const { time, hub } = fleet()
  const alone: boolean[] = []
  const strict = hub.sidecar('a', { onHubLoss: 'refuse' })
  const local = hub.sidecar('b', { onHubLoss: 'local', alone: (isAlone) => alone.push(isAlone) })
  ask(strict, 10)
  ask(local, 10)
  await time.advance(10)
  hub.isAway = true
  t.match(ask(strict, 10).covers, [{ source: 'away' }])
  t.match(ask(local, 900).covers, [{ source: 'local' }])
  t.match(ask(local, 100).covers, [{ source: 'away' }], 'its own limit is reached')
  t.ok(local.isAlone)
  hub.isAway = false
  await time.advance(2000)
  t.strictSame(alone, [true, false])
  t.equal(hub.used('rule', 'line'), 920)
})

t.test('a call waits at most the configured time for a hub that does not answer', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a')
  ask(sidecar, 1)
  await time.advance(10)
  hub.losesAnswers = true
  const call = ask(sidecar, 80)
  await time.advance(249)
  t.strictSame(call.covers, [])
  await time.advance(1)
  t.match(call.covers, [{ source: 'share' }])
  await time.advance(760)
  t.match(ask(sidecar, 10).covers, [{ source: 'share' }], 'and not at all while it counts as away')
  hub.losesAnswers = false
  await time.advance(3000)
  t.equal(hub.used('rule', 'line'), 91, 'what was lent in vain is given back')
})

t.test('a call waits on when the process was too busy to read the answer', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a')
  const call = ask(sidecar, 10)
  await time.advance(1)
  time.stall(400)
  await time.advance(10)
  t.match(call.covers, [{ source: 'lease' }])
  hub.losesAnswers = true
  const lost = ask(sidecar, 900)
  await time.advance(1)
  time.stall(300)
  await time.advance(49)
  t.strictSame(lost.covers, [])
  await time.advance(60)
  t.match(lost.covers, [{ source: 'away' }], 'as long as it was busy, once')
})

t.test('a sidecar asks its hub as soon as it is connected, for nothing', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a')
  sidecar.connected()
  await time.advance(10)
  t.match(hub.requests, [{ asks: [], settles: [], shares: [], slots: [] }])
  time.stepMs = 3_600_000
  sidecar.connected()
  const call = ask(sidecar, 10)
  await time.advance(20)
  t.match(call.covers, [{ source: 'lease' }], 'a call that comes meanwhile is asked for next')
})

t.test('a limit that only monitors never waits, and its use reaches the hub', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a')
  const state = sidecar.limit(RULE, MINUTE_MS)!
  const monitor = (need: number) => {
    const cover = state.monitor({ limit: 1000, need, expected: 0 }, sidecar.moment())
    sidecar.touched(state)
    return cover
  }
  t.match(monitor(900), { source: 'monitored', isWithin: true })
  t.match(monitor(200), { source: 'monitored', isWithin: false })
  await time.advance(2000)
  t.equal(hub.used('rule', 'line'), 1000, 'a bucket counts at most the limit')
  const other = ask(hub.sidecar('b'), 1)
  await time.advance(10)
  t.match(other.covers, [{ source: 'refused' }])
})

t.test('a sidecar that stops gives back its leases, its share and its places', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a')
  const call = ask(sidecar, 10)
  const slot = sidecar.slot({ count: 'rule:parallel', subject: 'line' })!
  void Promise.resolve(sidecar.begin(slot, 3))
  await time.advance(10)
  call.state.leased.settle(call.covers[0]!.taken, 4, time.monotonic())
  slot.end(time.monotonic())
  const stopped = sidecar.stop()
  await time.advance(1000)
  await stopped
  t.equal(hub.used('rule', 'line'), 4)
  t.equal(hub.slots('rule:parallel'), 0)
  const all = ask(hub.sidecar('b'), 996)
  await time.advance(10)
  t.match(all.covers, [{ source: 'lease' }])
})

t.test('a limit that the hub does not know is treated as if the hub were away', async (t) => {
  const { time, hub } = fleet()
  const sidecar = hub.sidecar('a')
  const state = sidecar.limit({ count: 'other', subject: 'line' }, MINUTE_MS)!
  const cover = Promise.resolve(sidecar.cover(state, { limit: 10, need: 1, expected: 0 }))
  await time.advance(10)
  t.match(await cover, { source: 'away' })
})
