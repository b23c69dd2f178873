import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import {
  bucketAt,
  bucketLength,
  CALENDAR_MONTH,
  charge,
  expire,
  isLive,
  learn,
  openWindow,
  type QuotaWindow,
  reserveTokens,
  usedTokens,
  windowLength,
  windowUse,
} from '../../src/policy/limit.ts'

const MINUTE_MS = 60_000
const START_MS = Date.UTC(2026, 2, 1)

function reserve(window: QuotaWindow, tokens: number, nowMs: number, limitTokens = 100, enforced = true) {
  return reserveTokens(window, {
    limitTokens,
    tokens,
    unlimitedChoices: 0,
    expectedAnswer: 512,
    nowMs,
    enforced,
  })
}

/** Reserves tokens for a call that ends at once and uses all of them. */
function use(window: QuotaWindow, tokens: number, nowMs: number) {
  const answer = reserve(window, tokens, nowMs)
  if (answer.bucketIndex !== null) charge(window, answer.bucketIndex, 0, -answer.charged)
  return answer
}

t.test('tokens fit up to the limit', async (t) => {
  const window = openWindow(MINUTE_MS)
  t.match(reserve(window, 60, START_MS), { allowed: true, remaining: 40, retryAfterMs: 0 })
  t.match(reserve(window, 41, START_MS), { allowed: false, remaining: 40, bucketIndex: null })
  t.match(reserve(window, 40, START_MS), { allowed: true, remaining: 0 })
  t.match(reserve(window, 1, START_MS), { allowed: false, remaining: 0 })
  t.equal(usedTokens(window), 100)
})

t.test('a call costs at least one token, so an exhausted limit refuses empty calls too', async (t) => {
  const window = openWindow(MINUTE_MS)
  reserve(window, 100, START_MS)
  t.equal(reserve(window, 0, START_MS).allowed, false)
})

t.test('a limit that monitors charges tokens above it too', async (t) => {
  const window = openWindow(MINUTE_MS)
  t.match(reserve(window, 150, START_MS, 100, false), { allowed: false, remaining: 0 })
  t.equal(usedTokens(window), 150)
})

t.test('tokens are released bucket by bucket, at the time that was named', async (t) => {
  const window = openWindow(MINUTE_MS)
  use(window, 30, START_MS)
  use(window, 70, START_MS + 10_000)
  const refused = reserve(window, 50, START_MS + 20_000)
  // The first bucket releases 30, which is not enough; the second releases the rest.
  t.equal(refused.retryAfterMs, 51_000)
  t.equal(refused.resetMs, 51_000)
  t.equal(reserve(window, 50, START_MS + 20_000 + refused.retryAfterMs - 1).allowed, false)
  t.equal(reserve(window, 50, START_MS + 20_000 + refused.retryAfterMs).allowed, true)
})

t.test('a call above the limit never fits', async (t) => {
  t.match(reserve(openWindow(MINUTE_MS), 101, START_MS), {
    allowed: false,
    remaining: 100,
    retryAfterMs: 0,
    isHeld: false,
    resetMs: 0,
  })
})

t.test('a refund never makes a bucket negative, and charging a past bucket keeps the order', async (t) => {
  const window = openWindow(MINUTE_MS)
  charge(window, 5, 10)
  charge(window, 3, 7)
  charge(window, 4, -2)
  charge(window, 5, -50)
  t.strictSame(window.buckets, [
    { index: 3, tokens: 7, held: 0 },
    { index: 5, tokens: 0, held: 0 },
  ])
})

t.test(
  'a clock set back a little loses nothing, and one set back by more than a window does not block for ever',
  async (t) => {
    const window = openWindow(MINUTE_MS)
    reserve(window, 100, START_MS)
    t.equal(reserve(window, 1, START_MS - 30_000).allowed, false)
    t.equal(reserve(window, 1, START_MS - 3_600_000).allowed, true)
  },
)

t.test('buckets cover a window of any length', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 * 86_400_000 }), fc.maxSafeNat(), (windowMs, nowMs) => {
      const bucketMs = bucketLength(windowMs)
      const current = bucketAt(bucketMs, nowMs)
      // What happened a whole window ago still counts; what is over two windows old does not.
      return (
        isLive(bucketMs, bucketAt(bucketMs, nowMs - windowMs), current) &&
        !isLive(bucketMs, bucketAt(bucketMs, nowMs - 62 * bucketMs), current)
      )
    }),
  )
})

const anyCalls = fc.array(fc.record({ afterMs: fc.nat(20_000), tokens: fc.integer({ min: 1, max: 60 }) }), {
  minLength: 1,
  maxLength: 80,
})

t.test('no window of the length exceeds the limit, wherever it begins', async () => {
  fc.assert(
    fc.property(anyCalls, (calls) => {
      const window = openWindow(MINUTE_MS)
      const taken: { atMs: number; tokens: number }[] = []
      let nowMs = START_MS
      for (const { afterMs, tokens } of calls) {
        nowMs += afterMs
        if (reserve(window, tokens, nowMs).allowed) taken.push({ atMs: nowMs, tokens })
      }
      return taken.every(({ atMs }) => {
        const inside = taken.filter((other) => other.atMs >= atMs && other.atMs <= atMs + MINUTE_MS)
        return inside.reduce((sum, { tokens }) => sum + tokens, 0) <= 100
      })
    }),
  )
})

t.test(
  'a refused call fits after retryAfterMs if nothing else happens, and not a bucket earlier',
  async () => {
    fc.assert(
      fc.property(anyCalls, (calls) => {
        const window = openWindow(MINUTE_MS)
        let nowMs = START_MS
        for (const { afterMs, tokens } of calls) {
          nowMs += afterMs
          const { allowed, retryAfterMs, resetMs } = use(window, tokens, nowMs)
          if (allowed) continue
          const later = structuredClone(window)
          const tooSoon = structuredClone(window)
          return (
            retryAfterMs > 0 &&
            retryAfterMs <= resetMs &&
            !reserve(tooSoon, tokens, nowMs + retryAfterMs - window.bucketMs).allowed &&
            reserve(later, tokens, nowMs + retryAfterMs).allowed
          )
        }
        return true
      }),
    )
  },
)

t.test('the retry time is true when running calls use all that they hold', async (t) => {
  const window = openWindow(86_400_000)
  use(window, 30, START_MS)
  const running = reserve(window, 60, START_MS + 1000)
  const refused = reserve(window, 70, START_MS + 1000)
  t.match(refused, { allowed: false, isHeld: true })
  t.match(reserve(window, 71, START_MS), { allowed: false, isHeld: false }, 'it would not fit without them')
  const wasteful = structuredClone(window)
  charge(wasteful, running.bucketIndex!, 0, -running.charged)
  t.equal(reserve(wasteful, 70, START_MS + refused.retryAfterMs - window.bucketMs).allowed, false)
  t.equal(reserve(wasteful, 70, START_MS + 1000 + refused.retryAfterMs).allowed, true)
  charge(window, running.bucketIndex!, -60, -running.charged)
  t.equal(reserve(window, 70, START_MS + 1000).allowed, true)
})

t.test('the retry time of a short window is less than a second', async (t) => {
  const window = openWindow(300)
  reserve(window, 60, START_MS)
  t.match(reserve(window, 70, START_MS), { allowed: false, retryAfterMs: 61 * 5 })
})

const unlimited = (window: QuotaWindow, tokens: number, limitTokens: number, choices = 1) =>
  reserveTokens(window, {
    limitTokens,
    tokens,
    unlimitedChoices: choices,
    expectedAnswer: 512,
    nowMs: START_MS,
    enforced: true,
  })

t.test('an unlimited answer leaves less for concurrent calls and does not refuse its own', async (t) => {
  const window = openWindow(MINUTE_MS)
  t.match(
    unlimited(window, 10, 100),
    { allowed: true, remaining: 90, charged: 100 },
    'never more than there is',
  )
  t.match(unlimited(window, 10, 100), { allowed: false, retryAfterMs: 61_000, isHeld: true })
  const wide = openWindow(MINUTE_MS)
  t.match(unlimited(wide, 10, 10_000), { charged: 522 })
  t.match(unlimited(wide, 10, 10_000, 3), { remaining: 10_000 - 522 - 10, charged: 10 + 3 * 512 })
  t.match(reserve(wide, 10, START_MS, 10_000), { charged: 10 })
})

t.test('the expected length follows the average of past answers, per choice', async (t) => {
  const window = openWindow(MINUTE_MS)
  learn(window, 0, 1)
  t.match(unlimited(window, 1, 100_000), { charged: 513 }, 'one that never came says nothing')
  learn(window, 300, 3)
  t.match(unlimited(window, 1, 100_000, 2), { charged: 201 })
  for (let n = 0; n < 100; n++) learn(window, 2000, 1)
  t.match(unlimited(window, 1, 100_000), { charged: 2001 })
})

t.test('concurrent calls exceed a limit no further than sequential calls', async () => {
  const sizes = fc.record({
    limit: fc.integer({ min: 1, max: 5000 }),
    prompt: fc.integer({ min: 1, max: 300 }),
    answer: fc.integer({ min: 1, max: 2000 }),
    calls: fc.integer({ min: 1, max: 100 }),
  })
  fc.assert(
    fc.property(sizes, ({ limit, prompt, answer, calls }) => {
      const window = openWindow(MINUTE_MS)
      learn(window, answer, 1)
      let together = 0
      for (let n = 0; n < calls; n++) if (unlimited(window, prompt, limit).allowed) together++
      let inTurn = 0
      for (let used = 0; inTurn < calls && used + prompt <= limit; used += prompt + answer) inTurn++
      return together === inTurn
    }),
  )
})

t.test('the state of a limit stays small', async (t) => {
  const window = openWindow(MINUTE_MS)
  for (let second = 0; second < 1000; second++) reserve(window, 1, START_MS + second * 1000, 1_000_000)
  t.equal(window.buckets.length, 61)
  expire(window, bucketAt(window.bucketMs, START_MS + 10_000_000))
  t.equal(window.buckets.length, 0)
})

t.test('a month of the calendar counts until it ends, in UTC', async (t) => {
  const end = Date.UTC(2026, 11, 1)
  const window = openWindow(CALENDAR_MONTH)
  const reserve = (tokens: number, nowMs: number) =>
    reserveTokens(window, {
      limitTokens: 100,
      tokens,
      unlimitedChoices: 0,
      expectedAnswer: 512,
      nowMs,
      enforced: true,
    })
  t.match(reserve(60, Date.UTC(2026, 10, 1)), { allowed: true, remaining: 40, resetMs: 30 * 86_400_000 })
  t.match(reserve(40, end - 1000), { allowed: true, remaining: 0, resetMs: 1000 })
  t.match(reserve(1, end - 1), { allowed: false, retryAfterMs: 1 })
  t.match(reserve(100, end), { allowed: true, remaining: 0 })
  t.match(reserve(101, end), { allowed: false, retryAfterMs: 0 })
})

t.test('the use of a window is what the next call finds, and reading it changes nothing', async () => {
  fc.assert(
    fc.property(anyCalls, fc.nat(200_000), (calls, afterMs) => {
      const window = openWindow(MINUTE_MS)
      let nowMs = START_MS
      for (const call of calls) {
        nowMs += call.afterMs
        use(window, call.tokens, nowMs)
      }
      const before = structuredClone(window)
      const { used, resetMs } = windowUse(window, nowMs + afterMs)
      const isUnchanged = isDeepStrictEqual(window, before)
      const { remaining } = reserve(structuredClone(window), 1, nowMs + afterMs, 1_000_000)
      const isOverThen = windowUse(window, nowMs + afterMs + resetMs).used === 0
      const isLeftBefore = used === 0 || windowUse(window, nowMs + afterMs + resetMs - 1).used > 0
      return isUnchanged && used === 1_000_000 - remaining - 1 && isOverThen && isLeftBefore
    }),
  )
})

t.test('a month of the calendar is as long as it is', async (t) => {
  t.equal(windowLength(MINUTE_MS, START_MS), MINUTE_MS)
  t.equal(windowLength(CALENDAR_MONTH, Date.UTC(2026, 1, 28, 23, 59)), 28 * 86_400_000)
  t.equal(windowLength(CALENDAR_MONTH, Date.UTC(2026, 11, 1)), 31 * 86_400_000)
})
