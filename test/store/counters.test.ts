// Token counts: reservations, settling, restarts, expiry.

import fc from 'fast-check'
import t from 'tap'
import { CALENDAR_MONTH, RUN_WINDOW } from '../../src/policy/limit.ts'
import { type Counters, MAXIMUM_COUNTERS, type ReserveRequest } from '../../src/store/limits/counters.ts'
import { requestDraft } from '../audit/drafts.ts'
import { id, openTestStore, START_MS, type TestStore } from './fixture.ts'

const MINUTE_MS = 60_000
const request = (tokens: number, changes: Partial<ReserveRequest> = {}): ReserveRequest => ({
  ruleId: 'rule',
  subject: 'key',
  limitTokens: 1000,
  windowMs: MINUTE_MS,
  tokens,
  unlimitedChoices: 0,
  expectedAnswer: 512,
  nowMs: START_MS,
  force: false,
  ...changes,
})
/** Returns the tokens left, without reserving any. */
const left = (counters: Counters, changes: Partial<ReserveRequest> = {}) => {
  const reservation = counters.reserve(request(1, { limitTokens: 1_000_000, ...changes }))
  counters.settle(reservation, 0, 0)
  return reservation.remaining + 1
}
const used = (counters: Counters, changes: Partial<ReserveRequest> = {}) =>
  1_000_000 - left(counters, changes)

t.test('parallel calls cannot exceed a limit that sequential calls would meet', async (t) => {
  const { store } = openTestStore(t)
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 50 }),
      fc.uuid(),
      (sizes, subject) => {
        const held = sizes.map((tokens) => ({
          tokens,
          ...store.counters.reserve(request(tokens, { subject })),
        }))
        const taken = held.filter(({ allowed }) => allowed).reduce((sum, { tokens }) => sum + tokens, 0)
        return taken <= 1000 && held.every(({ allowed, tokens }) => allowed || tokens > 1000 - taken)
      },
    ),
  )
})

t.test('settling replaces the reserved tokens with the used ones, once', async (t) => {
  const { store } = openTestStore(t)
  const reservation = store.counters.reserve(request(900))
  t.match(store.counters.reserve(request(200)), { allowed: false, remaining: 100 })
  const changes = store.counters.settle(reservation, 50, 0)
  t.match(changes, [{ ruleId: 'rule', subject: 'key', windowMs: MINUTE_MS, tokens: 50 }])
  t.equal(used(store.counters), 50)
  t.strictSame(store.counters.settle(reservation, 50, 0), [], 'only once')
  t.equal(used(store.counters), 50)
})

t.test('a call that used more than was reserved is counted in full', async (t) => {
  const { store } = openTestStore(t)
  store.counters.settle(store.counters.reserve(request(10)), 5000, 0)
  t.equal(used(store.counters), 5000)
  t.equal(store.counters.reserve(request(1)).allowed, false)
})

t.test('a call that used no tokens leaves no count', async (t) => {
  const { store } = openTestStore(t)
  t.strictSame(store.counters.settle(store.counters.reserve(request(900)), 0, 0), [])
  t.equal(used(store.counters), 0)
})

t.test('a refused reservation holds no tokens; a monitored one does', async (t) => {
  const { store } = openTestStore(t)
  const refused = store.counters.reserve(request(2000))
  t.equal(refused.allowed, false)
  t.strictSame(store.counters.settle(refused, 10, 0), [])
  t.equal(used(store.counters), 0)
  const watched = store.counters.reserve(request(2000, { force: true }))
  t.equal(watched.allowed, false)
  t.match(store.counters.settle(watched, 1500, 0), [{ tokens: 1500 }])
  t.equal(used(store.counters), 1500)
})

t.test('a call settles in its reserved bucket after any time', async (t) => {
  const { store } = openTestStore(t)
  const reservation = store.counters.reserve(request(900))
  store.counters.settle(reservation, 800, 0)
  const end = START_MS + MINUTE_MS + 1000
  t.equal(used(store.counters, { nowMs: end - 1 }), 800)
  t.equal(used(store.counters, { nowMs: end }), 0)
})

t.test('rules, keys and windows have separate counts', async (t) => {
  const { store } = openTestStore(t)
  store.counters.reserve(request(900))
  for (const changes of [{ ruleId: 'other' }, { subject: 'other' }, { windowMs: 2 * MINUTE_MS }]) {
    t.equal(used(store.counters, changes), 0)
  }
})

async function call(
  store: TestStore['store'],
  n: number,
  reserved: Partial<ReserveRequest>,
  usedTokens: number,
) {
  const reservation = store.counters.reserve(
    request(usedTokens + 10, { limitTokens: 1_000_000, ...reserved }),
  )
  await store.log.append(requestDraft({ id: id(n) }), {
    counters: store.counters.settle(reservation, usedTokens, 0),
  })
}

t.test('after a restart the counts equal those of the entries in the log', async (t) => {
  const anyCalls = fc.array(
    fc.record({
      ruleId: fc.constantFrom('r1', 'r2'),
      subject: fc.constantFrom('k1', 'k2'),
      windowMs: fc.constantFrom(1000, MINUTE_MS, 86_400_000),
      atMs: fc.nat(90_000),
      tokens: fc.nat(5000),
    }),
    { maxLength: 25 },
  )
  await fc.assert(
    fc.asyncProperty(anyCalls, async (calls) => {
      const first = openTestStore(t, { path: t.testdir() })
      const ordered = calls.toSorted((a, b) => a.atMs - b.atMs)
      for (const [n, { atMs, tokens, ...where }] of ordered.entries()) {
        first.clock.advance(START_MS + atMs - first.clock.now())
        await call(first.store, n, { ...where, nowMs: first.clock.now() }, tokens)
      }
      // Reserved and never sealed: a crash forgets the reservation with the call.
      const nowMs = first.clock.now()
      const places = calls.map(({ ruleId, subject, windowMs }) => ({ ruleId, subject, windowMs, nowMs }))
      const before = places.map((place) => used(first.store.counters, place))
      first.store.counters.reserve(request(77, { ruleId: 'r1', subject: 'k1', nowMs }))
      const second = await first.reopen()
      t.strictSame(
        places.map((place) => used(second.store.counters, place)),
        before,
      )
      await second.store.close()
    }),
    { numRuns: 25 },
  )
})

t.test('counts of an entry that could not be sealed are not stored', async (t) => {
  const { store, reopen } = openTestStore(t)
  const reservation = store.counters.reserve(request(100))
  const counters = store.counters.settle(reservation, 100, 0)
  await t.rejects(store.log.append(requestDraft({ id: id(1), latency_ms: 0.5 }), { counters }))
  const { store: again } = await reopen()
  t.equal(used(again.counters), 0)
})

t.test('expired windows are forgotten, in memory and on disk', async (t) => {
  const first = openTestStore(t)
  const { store, clock } = first
  for (let n = 0; n < 30; n++) {
    await call(store, n, { subject: `key ${n % 3}`, nowMs: clock.now() }, 10)
    clock.advance(5000)
  }
  t.equal(store.counters.size, 3)
  clock.advance(10 * MINUTE_MS)
  await store.counters.sweep()
  t.equal(store.counters.size, 0)
  const second = await first.reopen()
  t.equal(second.store.counters.size, 0)
  // With the clock set back, a count left on disk would apply again.
  second.clock.advance(-10 * MINUTE_MS - 5000)
  const third = await second.reopen()
  t.equal(third.store.counters.size, 0)
})

t.test('a clock set back by any time resets no window, before and after a restart', async (t) => {
  for (const backMs of [1000, 30 * MINUTE_MS, 180 * MINUTE_MS, 400 * 24 * 60 * MINUTE_MS]) {
    let wallMs = START_MS
    let passedMs = 0
    const clock = { now: () => wallMs, monotonic: () => passedMs, advance: () => {} }
    const first = openTestStore(t, { path: t.testdir(), clock, testClock: clock })
    const where = () => ({ windowMs: 60 * MINUTE_MS, nowMs: clock.now() })
    await call(first.store, 1, where(), 900)
    wallMs -= backMs
    t.equal(used(first.store.counters, where()), 900, `back by ${backMs} ms`)
    await first.store.counters.sweep()
    await call(first.store, 2, where(), 50)
    const { store } = await first.reopen()
    t.equal(used(store.counters, where()), 950)
    const answer = store.counters.reserve(request(500, where()))
    t.equal(answer.allowed, false)
    t.ok(answer.retryAfterMs > 0 && answer.retryAfterMs <= 62 * MINUTE_MS, String(answer.retryAfterMs))
    const { windowMs } = where()
    const spent = store.counters.charge({
      ruleId: 'rule',
      subject: 'key',
      windowMs,
      tokens: 7,
      atMs: clock.now(),
    })
    t.equal(spent.length, 1, 'so are calls of a process that ended')
    t.equal(used(store.counters, where()), 957)
    passedMs += 62 * MINUTE_MS
    wallMs += 62 * MINUTE_MS
    t.equal(used(store.counters, where()), 0, 'and the window still slides')
    await store.close()
  }
})

t.test('what is given back leaves its own bucket, and no count becomes negative', async (t) => {
  const clock = { now: () => START_MS, monotonic: () => 0, advance: () => {} }
  const opened = openTestStore(t, { path: t.testdir(), clock, testClock: clock })
  const windowMs = 60 * MINUTE_MS
  const where = { windowMs, nowMs: START_MS }
  await call(opened.store, 1, where, 900)
  const { log, counters } = opened.store
  const giveBack = (tokens: number, subject = 'key') =>
    counters.charge({ ruleId: 'rule', subject, windowMs, tokens: -tokens, atMs: START_MS })
  await log.append(requestDraft({ id: id(2) }), { counters: giveBack(300) })
  t.equal(used(counters, where), 600)
  await log.append(requestDraft({ id: id(3) }), {
    counters: [...giveBack(5000), ...giveBack(5, 'nobody')],
  })
  t.equal(used(counters, where), 0)
  const { store } = await opened.reopen()
  t.equal(used(store.counters, where), 0)
  t.equal(used(store.counters, { ...where, subject: 'nobody' }), 0)
})

t.test('a clock that was ahead locks a limit for at most one window, whatever restarts follow', async (t) => {
  for (const windowMs of [60 * MINUTE_MS, CALENDAR_MONTH]) {
    for (const aheadMs of [2 * 60 * MINUTE_MS, 1500 * 24 * 60 * MINUTE_MS]) {
      let wallMs = START_MS + aheadMs
      const passedMs = 0
      const clock = { now: () => wallMs, monotonic: () => passedMs, advance: () => {} }
      const where = () => ({ windowMs, nowMs: clock.now() })
      let opened = openTestStore(t, { path: t.testdir(), clock, testClock: clock })
      await call(opened.store, 1, where(), 900)
      wallMs = START_MS
      opened = await opened.reopen()
      t.equal(used(opened.store.counters, where()), 900, 'it still counts')
      await opened.store.counters.sweep()
      const limitMs = windowMs === CALENDAR_MONTH ? 32 * 24 * 60 * MINUTE_MS : 62 * MINUTE_MS
      const answer = opened.store.counters.reserve(request(500, where()))
      t.ok(answer.retryAfterMs > 0 && answer.retryAfterMs <= limitMs)
      // Time passes while nothing runs.
      wallMs += limitMs / 2
      opened = await opened.reopen()
      await opened.store.counters.sweep()
      wallMs += limitMs / 2
      opened = await opened.reopen()
      t.equal(used(opened.store.counters, where()), 0, 'and no longer')
      await opened.store.close()
    }
  }
})

t.test('a key in steady use stores only its window', async (t) => {
  const first = openTestStore(t)
  for (let n = 0; n < 200; n++) {
    await call(first.store, n, { windowMs: 1000, nowMs: first.clock.now() }, 1)
    first.clock.advance(17)
  }
  const second = await first.reopen()
  // 61 buckets of 17 ms; with the clock set back, a count left on disk would apply again.
  second.clock.advance(-61 * 17)
  const third = await second.reopen()
  t.ok(used(third.store.counters, { windowMs: 1000, nowMs: third.clock.now() }) <= 62)
})

t.test('with too many counters limits refuse until some expire', async (t) => {
  const { store } = openTestStore(t)
  for (let n = 0; n < MAXIMUM_COUNTERS; n++) store.counters.reserve(request(1, { subject: String(n) }))
  t.match(store.counters.reserve(request(1, { subject: 'one more' })), {
    allowed: false,
    remaining: 0,
    retryAfterMs: 1000,
  })
  t.equal(store.counters.reserve(request(1, { subject: '7' })).allowed, true, 'existing counters still work')
  t.equal(store.counters.size, MAXIMUM_COUNTERS)
  const later = START_MS + 2 * MINUTE_MS
  t.equal(store.counters.reserve(request(1, { subject: 'one more', nowMs: later })).allowed, true)
  t.equal(store.counters.size, 1)
})

t.test('what is in use is listed by rule, subject and window, until it expires', async (t) => {
  const first = openTestStore(t)
  const { store, clock } = first
  await call(store, 1, { nowMs: clock.now() }, 100)
  await call(
    store,
    2,
    { ruleId: 'rule:usd', subject: 'all', windowMs: CALENDAR_MONTH, nowMs: clock.now() },
    7,
  )
  await call(store, 3, { subject: 'unused', nowMs: clock.now() }, 0)
  const held = store.counters.reserve(request(40, { subject: 'running' }))
  const endOfMonthMs = Date.UTC(2026, 3, 1) - START_MS
  const minute = { ruleId: 'rule', windowMs: MINUTE_MS, resetMs: MINUTE_MS + 1000 }
  const month = { ruleId: 'rule:usd', subject: 'all', windowMs: CALENDAR_MONTH, used: 7 }
  const inUse = ({ counters }: TestStore['store']) =>
    counters.inUse(clock.now()).sort((a, b) => b.used - a.used)
  t.same(inUse(store), [
    { ...minute, subject: 'key', used: 100 },
    { ...minute, subject: 'running', used: 40 },
    { ...month, resetMs: endOfMonthMs },
  ])
  store.counters.settle(held, 0, 0)
  t.equal(inUse(store).length, 2, 'a call that used nothing leaves nothing')
  const { store: again } = await first.reopen()
  clock.advance(30_000)
  t.same(inUse(again), [
    { ...minute, subject: 'key', used: 100, resetMs: minute.resetMs - 30_000 },
    { ...month, resetMs: endOfMonthMs - 30_000 },
  ])
  clock.advance(31_000)
  t.same(inUse(again), [{ ...month, resetMs: endOfMonthMs - 61_000 }])
  t.equal(again.counters.size, 2, 'only a sweep forgets')
})

const DAY_MS = 86_400_000

t.test('a run counts from its first call until it has been idle for seven days, over restarts', async (t) => {
  let test = openTestStore(t)
  let n = 0
  const call = async (day: number) => {
    const nowMs = START_MS + day * DAY_MS
    test.clock.advance(nowMs - test.clock.now())
    const { counters } = test.store
    const run = { subject: 'run-key-a', windowMs: RUN_WINDOW, nowMs }
    const reservation = counters.reserve(request(100, run))
    await test.store.log.append(requestDraft({ id: id(n++) }), {
      counters: counters.settle(reservation, 100, 0),
    })
    return 1000 - reservation.remaining
  }
  t.equal(await call(0), 100)
  t.equal(await call(6), 200)
  t.equal(await call(12), 300, 'the first call still counts')
  test = await test.reopen()
  t.equal(await call(18), 400, 'after a restart, too')
  await test.store.counters.sweep()
  test = await test.reopen()
  t.equal(await call(24.5), 500)
  t.equal(await call(33), 100, 'after more than seven idle days it begins anew')
})

t.test('the run that was idle the longest is forgotten first', async (t) => {
  const { store } = openTestStore(t)
  const { counters } = store
  const run = (n: number) => ({ subject: `run-key-${n}`, windowMs: RUN_WINDOW, limitTokens: 10 })
  for (let n = 0; n < 100_000; n++) counters.reserve(request(1, run(n)))
  counters.reserve(request(1, run(0)))
  counters.reserve(request(1, run(100_000)))
  t.equal(counters.size, 100_000)
  t.equal(counters.reserve(request(1, run(0))).remaining, 7, 'used again in time')
  t.equal(counters.reserve(request(1, run(1))).remaining, 9, 'forgotten')
  t.equal(counters.reserve(request(1)).allowed, true, 'other limits are counted apart')
})
