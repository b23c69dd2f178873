// Leases over a fleet: no window exceeds its limit, whatever is lost, and little is left unused.

import fc from 'fast-check'
import t from 'tap'
import { Holdings, leaseTime } from '../../src/policy/lease.ts'
import { LeasedLimit } from '../../src/policy/leased-limit.ts'
import { CALENDAR_MONTH } from '../../src/policy/limit.ts'
import { fitsAt } from '../../src/policy/limit-book.ts'
import { admittedByOne, type ModelOptions, mostInWindow, runModel } from './fleet-model.ts'

const anyFleet = fc.record({
  seed: fc.nat(),
  limit: fc.integer({ min: 20, max: 100_000 }),
  windowMs: fc.constantFrom(1000, 2000, 5000),
  sidecars: fc.integer({ min: 1, max: 8 }),
  guaranteedShare: fc.constantFrom(0, 0.1, 0.2, 0.5, 1),
  isSkewed: fc.boolean(),
})

/** Demand of about four times the limit, in calls of up to a fiftieth of it. */
function demanding(fleet: Pick<ModelOptions, 'limit' | 'windowMs' | 'sidecars'>) {
  const largestCall = Math.max(1, Math.floor(fleet.limit / 50))
  const calls = (4 * fleet.limit) / ((largestCall + 1) / 2)
  return { largestCall, betweenMs: (fleet.windowMs * fleet.sidecars) / calls }
}

t.test('no window holds more than the limit, whatever is lost, late, doubled or dies', async () => {
  fc.assert(
    fc.property(anyFleet, (fleet) => {
      const durationMs = 3 * fleet.windowMs
      const { uses } = runModel({ ...fleet, ...demanding(fleet), durationMs, isTroubled: true })
      return mostInWindow(uses, fleet.windowMs) <= fleet.limit
    }),
    { numRuns: 30 },
  )
})

t.test('with demand above the limit the fleet uses nearly what one process admits', async (t) => {
  const fleets = [2000, 10_000].flatMap((windowMs) => [1, 4].map((sidecars) => ({ windowMs, sidecars })))
  // Most of these have no call within a window, and their shares would be lost to the others.
  const many = { windowMs: 5000, sidecars: 200 }
  for (const { windowMs, sidecars } of [...fleets, many]) {
    const fleet = { limit: 10_000, windowMs, sidecars, guaranteedShare: 0.2 }
    const more = { seed: 7, durationMs: 4 * windowMs, isSkewed: false, isTroubled: false }
    const { uses, calls } = runModel({ ...fleet, ...demanding(fleet), ...more })
    const used = uses.reduce((sum, { amount }) => sum + amount, 0)
    const share = used / admittedByOne(calls, fleet.limit, windowMs)
    t.ok(share >= 0.95, `${windowMs} ms, ${sidecars} sidecars: ${share.toFixed(3)}`)
  }
})

t.test('a lease of a month of the calendar ends with it, and is charged to it', async (t) => {
  const end = Date.UTC(2026, 1, 1)
  t.strictSame(leaseTime(CALENDAR_MONTH, end - 10_000), { bucket: 56 * 12, expiresAtMs: end })
  t.strictSame(leaseTime(CALENDAR_MONTH, end), { bucket: 56 * 12 + 1, expiresAtMs: end + 60_000 })
})

t.test('a share is not used while the month may be either of two', async (t) => {
  const limit = new LeasedLimit(CALENDAR_MONTH)
  limit.share = 10
  const end = Date.UTC(2026, 1, 1)
  t.equal(limit.takeShare(1, { earliestMs: end - 1, latestMs: end }, 0), null)
  t.not(limit.takeShare(10, { earliestMs: end, latestMs: end + 1 }, 0), null)
  t.equal(limit.takeShare(1, { earliestMs: end, latestMs: end + 1 }, 0), null, 'it is used')
})

t.test('what is used of a share counts, however late the answers of the hub are', async (t) => {
  for (const doubtMs of [0, 900, 1100, 5000, 60_000]) {
    const limit = new LeasedLimit(1000)
    limit.share = 10
    const time = (atMs: number) => ({ earliestMs: atMs, latestMs: atMs + doubtMs })
    t.not(limit.takeShare(10, time(1_000_000), 0), null)
    for (const laterMs of [0, 500, 1000])
      t.equal(limit.takeShare(1, time(1_000_000 + laterMs), laterMs), null, `${doubtMs}, ${laterMs}`)
    t.not(limit.takeShare(1, time(1_000_000 + doubtMs + 2000), doubtMs + 2000), null, 'it is over')
  }
})

t.test('what a call did not use goes back to its lease, and after its end to the hub', async (t) => {
  const limit = new LeasedLimit(60_000)
  limit.add({ bucket: 7, size: 100, endMs: 50 })
  const [first, second] = [limit.take(40, 0)!, limit.take(60, 0)!]
  t.equal(limit.take(1, 0), null)
  limit.settle(first, 10, 0)
  t.equal(limit.left(0), 30)
  t.strictSame(limit.report(0), [], 'the hub has lent it whole')
  t.strictSame(limit.report(50), [{ bucket: 7, amount: 70 }])
  limit.reported([{ bucket: 7, amount: 70 }], 7000)
  limit.settle(second, 90, 50)
  t.strictSame(limit.report(50), [{ bucket: 7, amount: 100 }], 'more than was reserved is carried')
})

t.test(
  'a sidecar gets what its calls need, and ahead of them a part that leaves some for others',
  async (t) => {
    const holdings = new Holdings()
    t.equal(holdings.grant(1000, 'a', { need: 700, want: 700 }), 700)
    t.equal(holdings.grant(1000, 'b', { need: 1, want: 1000 }), Math.floor(300 / 4 / 8))
    t.equal(holdings.grant(1000, 'c', { need: 1000, want: 1000 }), 291, 'the rest, of which some calls fit')
  },
)

t.test('the guaranteed part is split anew as sidecars come, and counts before it is told', async (t) => {
  const terms = { limit: 1000, guaranteedShare: 0.2 }
  const holdings = new Holdings()
  t.equal(holdings.share(terms, 'a', 0), 100, 'there is room for another one')
  t.equal(holdings.share(terms, 'b', 0), 50, 'and for a third that comes at once')
  t.equal(holdings.left(1000, 'b'), 900)
  t.equal(holdings.share(terms, 'a', 100), 66)
  t.equal(holdings.share(terms, 'c', 0), 25, 'the first one may not know that yet')
  t.equal(holdings.share(terms, 'a', 66), 50)
  t.equal(holdings.share(terms, 'a', 50), 50)
  t.equal(holdings.share(terms, 'c', 25), 50)
})

t.test('a share that would cover few calls of a sidecar is not set aside for it', async (t) => {
  const terms = { limit: 1000, guaranteedShare: 0.2 }
  const holdings = new Holdings()
  t.equal(holdings.share(terms, 'a', 0, 301), 0)
  t.equal(holdings.share(terms, 'a', 0, 300), 100, 'a third of a usual call')
  t.equal(holdings.share(terms, 'a', 100, 400), 100, 'which may become a quarter')
  t.equal(holdings.share(terms, 'b', 0, 401), 0)
  t.equal(holdings.left(1000, 'b'), 900, 'which still is a holder')
  t.equal(holdings.share(terms, 'a', 100, 400), 0, 'a part for three no longer covers a quarter')
  t.equal(holdings.left(1000, 'b'), 900, 'the first one may not know that yet')
  t.equal(holdings.share(terms, 'a', 0, 400), 0)
  t.equal(holdings.left(1000, 'b'), 1000)
  t.equal(holdings.share(terms, 'b', 0, 190), 66, 'calls became smaller')
})

const anyAsks = fc.record({
  limit: fc.integer({ min: 1, max: 3000 }),
  guaranteedShare: fc.constantFrom(0, 0.1, 0.2, 0.5, 1),
  holders: fc.integer({ min: 1, max: 12 }),
  asks: fc.array(fc.tuple(fc.nat({ max: 11 }), fc.boolean()), { maxLength: 60 }),
})

t.test('shares never exceed the guaranteed part, whatever is lost, and become even', async () => {
  fc.assert(
    fc.property(anyAsks, ({ limit, guaranteedShare, holders, asks }) => {
      const guaranteed = Math.floor(limit * guaranteedShare)
      const names = Array.from({ length: holders }, (_, n) => `sidecar ${n}`)
      const used = new Map<string, number>()
      const holdings = new Holdings()
      const ask = (name: string, isLost: boolean) => {
        const told = holdings.share({ limit, guaranteedShare }, name, used.get(name) ?? 0)
        if (!isLost) used.set(name, told)
        const recorded = names.map((one) => holdings.of(one).share)
        return (
          recorded.reduce((sum, share) => sum + share, 0) <= guaranteed &&
          names.every((one) => (used.get(one) ?? 0) <= holdings.of(one).share)
        )
      }
      for (const [n, isLost] of asks) if (!ask(names[n % holders]!, isLost)) return false
      for (let round = 0; round < 14; round++) for (const name of names) if (!ask(name, false)) return false
      const [least, most] = [Math.min(...used.values()), Math.max(...used.values())]
      return (
        least === most &&
        (guaranteed < holders || least >= Math.max(1, Math.floor(guaranteed / (holders + 1))))
      )
    }),
    { numRuns: 300 },
  )
})

t.test('sidecars that come together each get some of the guaranteed part at once', async (t) => {
  const holdings = new Holdings()
  const terms = { limit: 60_000, guaranteedShare: 0.2 }
  const told = Array.from({ length: 10 }, (_, n) => holdings.share(terms, `sidecar ${n}`, 0))
  t.ok(
    told.every((share) => share > 0),
    told.join(' '),
  )
})

t.test('a refused need fits once enough of what counts has left the window', async (t) => {
  const nowMs = 600_000
  const terms = { windowMs: 60_000, nowMs }
  const sums = [
    { bucket: 600, amount: 70 },
    { bucket: 590, amount: 30 },
  ]
  t.equal(fitsAt(terms, 0, sums, 30), 651_000)
  t.equal(fitsAt(terms, 0, sums, 31), 661_000)
  t.equal(fitsAt(terms, 0, sums, 0), nowMs)
  t.equal(fitsAt(terms, -20, sums, 30), 661_000, 'more than the limit is used')
  t.equal(fitsAt(terms, 0, [], 1), 660_000, 'the shares of others may have changed')
})
