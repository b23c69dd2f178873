// The age of the hub's word: heartbeats that waited are old, and a restart forgets nothing.

import fc from 'fast-check'
import t from 'tap'
import { Freshness } from '../../src/fleet/freshness.ts'

/** Wall and monotonic time, set apart. */
function clocks(wallMs = 1_000_000, monotonicMs = 5000) {
  const at = { wallMs, monotonicMs }
  return {
    now: () => at.wallMs,
    monotonic: () => at.monotonicMs,
    pass(ms: number) {
      at.wallMs += ms
      at.monotonicMs += ms
    },
    setWall(ms: number) {
      at.wallMs += ms
    },
  }
}

const NEVER = { freshAtMs: null, toldMaxStaleSeconds: null, left: false, hubAheadMs: null }
/** The clock of the database is another one. */
const DATABASE_MS = 77_000_000

t.test('age grows from the last heartbeat, on the monotonic clock', async (t) => {
  const clock = clocks()
  const freshness = new Freshness(clock, 10, NEVER)
  t.equal(freshness.ageMs, Number.POSITIVE_INFINITY)
  t.equal(freshness.isStale, true)
  t.equal(freshness.freshAtMs, null)
  const openedMs = clock.monotonic()
  const beat = (delayMs = 0) =>
    freshness.applied({
      t: DATABASE_MS + clock.monotonic() - delayMs,
      receivedMs: clock.monotonic(),
      openedMs,
    })
  beat()
  t.equal(freshness.ageMs, 0)
  clock.setWall(-3_600_000)
  clock.pass(10_000)
  t.equal(freshness.isStale, false)
  t.equal(freshness.remainingMs, 0)
  clock.pass(1)
  t.equal(freshness.isStale, true)
  beat()
  t.equal(freshness.ageMs, 0)
  t.equal(freshness.remainingMs, 10_000)
  clock.pass(1000)
  beat(700)
  t.equal(freshness.ageMs, 700, 'it took 0.7 s longer than the fastest')
})

t.test('the first heartbeat of a feed is as old as the feed at most', async (t) => {
  const clock = clocks()
  const freshness = new Freshness(clock, 10, NEVER)
  const openedMs = clock.monotonic()
  clock.pass(300)
  freshness.applied({ t: DATABASE_MS, receivedMs: clock.monotonic(), openedMs })
  t.equal(freshness.ageMs, 300)
})

t.test('heartbeats that waited while the process was frozen do not make it fresh', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 70 }),
      fc.integer({ min: 2, max: 900 }),
      fc.array(fc.nat(200), { minLength: 1, maxLength: 10 }),
      (before, frozenSeconds, delays) => {
        const clock = clocks()
        const freshness = new Freshness(clock, 5, NEVER)
        const openedMs = clock.monotonic()
        const madeAt = (ms: number) => DATABASE_MS + ms
        for (let n = 0; n < before; n++) {
          clock.pass(1000)
          const delayMs = n === 0 ? 0 : delays[n % delays.length]!
          freshness.applied({
            t: madeAt(clock.monotonic() - delayMs),
            receivedMs: clock.monotonic(),
            openedMs: n === 0 ? clock.monotonic() : openedMs,
          })
        }
        const frozenAtMs = clock.monotonic()
        clock.pass(frozenSeconds * 1000)
        // All that was made meanwhile is read in one moment, in order.
        for (let n = 1; n <= frozenSeconds; n++) {
          const ageMs = (frozenSeconds - n) * 1000
          freshness.applied({
            t: madeAt(frozenAtMs + n * 1000),
            receivedMs: clock.monotonic(),
            openedMs,
          })
          // The delay of the fastest compared heartbeat is not known.
          if (freshness.ageMs < ageMs - Math.max(...delays) - 1) return false
        }
        return true
      },
    ),
    { numRuns: 300 },
  )
})

t.test('a clock of the database that drifts or is set changes ages for a minute at most', async (t) => {
  const clock = clocks()
  const freshness = new Freshness(clock, 60, NEVER)
  const openedMs = clock.monotonic()
  const run = (beats: number, offsetMs: number, drift = 0) => {
    for (let n = 0; n < beats; n++) {
      clock.pass(1000)
      const receivedMs = clock.monotonic()
      freshness.applied({ t: DATABASE_MS + offsetMs + receivedMs * (1 + drift), receivedMs, openedMs })
    }
  }
  run(100, 0)
  t.equal(freshness.ageMs, 0)
  run(100, 0, -0.0001)
  t.ok(freshness.ageMs < 60_000 * 0.0002 * 100, String(freshness.ageMs))
  run(1, -30_000)
  t.ok(freshness.ageMs > 0 && freshness.ageMs <= 1000 + 30_000, 'never fresher than it was')
  run(60, -30_000)
  t.ok(freshness.ageMs < 1, 'all that is compared is of the new clock')
})

t.test('the age survives a restart', async (t) => {
  // seconds since the last heartbeat, as the wall clock has it; what is configured; what the hub knows
  const cases: [passed: number, max: number, told: number | null, left: boolean, isStale: boolean][] = [
    [5, 10, 10, false, false],
    [10, 10, 10, false, false],
    [11, 10, 10, false, true],
    [-1, 10, 10, false, true],
    [20, 60, 10, false, true],
    [20, 10, 60, false, true],
    [5, 60, 10, false, false],
    [5, 60, null, false, false],
    [1, 60, 60, true, true],
  ]
  for (const [passed, max, toldMaxStaleSeconds, left, isStale] of cases) {
    const clock = clocks()
    const freshAtMs = clock.now() - passed * 1000
    const freshness = new Freshness(clock, max, { freshAtMs, toldMaxStaleSeconds, left, hubAheadMs: null })
    t.equal(freshness.isStale, isStale, JSON.stringify({ passed, max, toldMaxStaleSeconds, left }))
    freshness.contacted()
    if (passed >= 0 && !left) {
      t.equal(freshness.freshAtMs, freshAtMs)
      t.equal(freshness.isStale, passed > max, 'from the contact on the configured limit counts')
    }
    freshness.applied({ t: 1, receivedMs: clock.monotonic(), openedMs: clock.monotonic() })
    t.equal(freshness.isStale, false)
  }
})

t.test(
  'the time of the hub advances while it is away, through steps of the wall clock and restarts',
  async (t) => {
    const clock = clocks()
    const freshness = new Freshness(clock, 10, NEVER)
    t.equal(freshness.hubNowMs, clock.now(), 'the own time before the first heartbeat')
    t.equal(freshness.hubAheadMs, null)
    const openedMs = clock.monotonic()
    const hubNow = () => DATABASE_MS + clock.monotonic()
    for (const delayMs of [40, 5, 90]) {
      clock.pass(1000)
      freshness.applied({ t: hubNow() - delayMs, receivedMs: clock.monotonic(), openedMs })
    }
    t.equal(freshness.hubNowMs, hubNow() - 5, 'by the fastest heartbeat')
    clock.pass(600_000)
    clock.setWall(-3_600_000)
    t.equal(freshness.hubNowMs, hubNow() - 5)
    const wantedMs = hubNow() - 5 + 1000
    const { hubAheadMs } = freshness
    clock.pass(1000)
    t.equal(new Freshness(clock, 10, { ...NEVER, hubAheadMs }).hubNowMs, wantedMs)
  },
)
