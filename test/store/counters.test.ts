import fc from 'fast-check'
import t from 'tap'
import { type Counters, MAX_COUNTERS, type ReserveRequest } from '../../src/store/counters.ts'
import { requestDraft } from '../audit/drafts.ts'
import { openTestStore, START_MS, type TestStore } from './fixture.ts'

const MINUTE_MS = 60_000
const id = (n: number) => `01980000-0000-7000-8000-${String(n).padStart(12, '0')}`
const request = (tokens: number, changes: Partial<ReserveRequest> = {}): ReserveRequest => ({
  ruleId: 'rule',
  keyId: 'key',
  limitTokens: 1000,
  windowMs: MINUTE_MS,
  tokens,
  unlimitedChoices: 0,
  nowMs: START_MS,
  force: false,
  ...changes,
})
/** What a limit has left, without taking any of it. */
const left = (counters: Counters, changes: Partial<ReserveRequest> = {}) => {
  const reservation = counters.reserve(request(1, { limitTokens: 1_000_000, ...changes }))
  counters.settle(reservation, 0, 0)
  return reservation.remaining + 1
}
const used = (counters: Counters, changes: Partial<ReserveRequest> = {}) =>
  1_000_000 - left(counters, changes)

t.test('calls side by side do not pass a limit that one after the other would meet', async (t) => {
  const { store } = openTestStore(t)
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 50 }),
      fc.uuid(),
      (sizes, keyId) => {
        const held = sizes.map((tokens) => ({
          tokens,
          ...store.counters.reserve(request(tokens, { keyId })),
        }))
        const taken = held.filter(({ allowed }) => allowed).reduce((sum, { tokens }) => sum + tokens, 0)
        return taken <= 1000 && held.every(({ allowed, tokens }) => allowed || tokens > 1000 - taken)
      },
    ),
  )
})

t.test('settling replaces what was reserved with what was used, once', async (t) => {
  const { store } = openTestStore(t)
  const reservation = store.counters.reserve(request(900))
  t.match(store.counters.reserve(request(200)), { allowed: false, remaining: 100 })
  const changes = store.counters.settle(reservation, 50, 0)
  t.match(changes, [{ ruleId: 'rule', keyId: 'key', windowMs: MINUTE_MS, tokens: 50 }])
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

t.test('a call that used nothing leaves nothing', async (t) => {
  const { store } = openTestStore(t)
  t.strictSame(store.counters.settle(store.counters.reserve(request(900)), 0, 0), [])
  t.equal(used(store.counters), 0)
})

t.test('a refused reservation holds nothing; one that only watches counts on', async (t) => {
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

t.test('a call settles in the bucket it was reserved in, however long it took', async (t) => {
  const { store } = openTestStore(t)
  const reservation = store.counters.reserve(request(900))
  store.counters.settle(reservation, 800, 0)
  const end = START_MS + MINUTE_MS + 1000
  t.equal(used(store.counters, { nowMs: end - 1 }), 800)
  t.equal(used(store.counters, { nowMs: end }), 0)
})

t.test('rules, keys and windows are counted apart', async (t) => {
  const { store } = openTestStore(t)
  store.counters.reserve(request(900))
  for (const changes of [{ ruleId: 'other' }, { keyId: 'other' }, { windowMs: 2 * MINUTE_MS }]) {
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

t.test(
  'after a restart the counts are those of the entries in the log, not a token more or less',
  async (t) => {
    const anyCalls = fc.array(
      fc.record({
        ruleId: fc.constantFrom('r1', 'r2'),
        keyId: fc.constantFrom('k1', 'k2'),
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
        // Held, and never sealed: a crash forgets it, as it forgets the call.
        const nowMs = first.clock.now()
        const places = calls.map(({ ruleId, keyId, windowMs }) => ({ ruleId, keyId, windowMs, nowMs }))
        const before = places.map((place) => used(first.store.counters, place))
        first.store.counters.reserve(request(77, { ruleId: 'r1', keyId: 'k1', nowMs }))
        const second = await first.reopen()
        t.strictSame(
          places.map((place) => used(second.store.counters, place)),
          before,
        )
        await second.store.close()
      }),
      { numRuns: 25 },
    )
  },
)

t.test('what was counted in an entry that could not be sealed is not kept', async (t) => {
  const { store, reopen } = openTestStore(t)
  const reservation = store.counters.reserve(request(100))
  const counters = store.counters.settle(reservation, 100, 0)
  await t.rejects(store.log.append(requestDraft({ id: id(1), latency_ms: 0.5 }), { counters }))
  const { store: again } = await reopen()
  t.equal(used(again.counters), 0)
})

t.test('windows that are over are forgotten, in memory and on disk', async (t) => {
  const first = openTestStore(t)
  const { store, clock } = first
  for (let n = 0; n < 30; n++) {
    await call(store, n, { keyId: `key ${n % 3}`, nowMs: clock.now() }, 10)
    clock.advance(5000)
  }
  t.equal(store.counters.size, 3)
  clock.advance(10 * MINUTE_MS)
  await store.counters.sweep()
  t.equal(store.counters.size, 0)
  const second = await first.reopen()
  t.equal(second.store.counters.size, 0)
  // The clock back where it was: what had been on disk would count again.
  second.clock.advance(-10 * MINUTE_MS - 5000)
  const third = await second.reopen()
  t.equal(third.store.counters.size, 0)
})

t.test('a key in steady use keeps no more than its window on disk', async (t) => {
  const first = openTestStore(t)
  for (let n = 0; n < 200; n++) {
    await call(first.store, n, { windowMs: 1000, nowMs: first.clock.now() }, 1)
    first.clock.advance(17)
  }
  const second = await first.reopen()
  // 61 buckets of 17 ms; what had not been dropped would count once the clock is set back.
  second.clock.advance(-61 * 17)
  const third = await second.reopen()
  t.ok(used(third.store.counters, { windowMs: 1000, nowMs: third.clock.now() }) <= 62)
})

t.test('with too many counters limits refuse, until some are over', async (t) => {
  const { store } = openTestStore(t)
  for (let n = 0; n < MAX_COUNTERS; n++) store.counters.reserve(request(1, { keyId: String(n) }))
  t.match(store.counters.reserve(request(1, { keyId: 'one more' })), {
    allowed: false,
    remaining: 0,
    retryAfterMs: 1000,
  })
  t.equal(store.counters.reserve(request(1, { keyId: '7' })).allowed, true, 'those that are counted go on')
  t.equal(store.counters.size, MAX_COUNTERS)
  const later = START_MS + 2 * MINUTE_MS
  t.equal(store.counters.reserve(request(1, { keyId: 'one more', nowMs: later })).allowed, true)
  t.equal(store.counters.size, 1)
})
