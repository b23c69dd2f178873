// The usage log: appending, reading, limits, failed commits.

import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { RequestDraft } from '../../src/audit/entry.ts'
import type { UsageFilter } from '../../src/audit/usage-query.ts'
import { verifyChain } from '../../src/audit/verify.ts'
import type { GatewayError } from '../../src/core/errors.ts'
import type { UsageLog } from '../../src/store/log/log.ts'
import { dayOf, securityKey, u64, writeJson } from '../../src/store/tables/layout.ts'
import { requestDraft } from '../audit/drafts.ts'
import {
  beforeWrites,
  DAY_MS,
  id,
  openTestLog,
  openTestStore,
  START_MS,
  testClock,
  until,
} from './fixture.ts'

const at = (ms: number) => new Date(ms).toISOString()
const content = (request: unknown, response: unknown) => JSON.stringify({ request, response })

async function fill(log: UsageLog, drafts: readonly RequestDraft[]): Promise<void> {
  await Promise.all(drafts.map((draft) => log.append(draft)))
}

const verdict = (log: UsageLog) => verifyChain(log.records(0, 1_000_000))

t.test('a new log begins with its genesis entry and continues after a restart', async (t) => {
  const { store, reopen } = openTestStore(t)
  t.match(store.log.head, { seq: 0, hash: /^sha256:[0-9a-f]{64}$/, log: /^[0-9a-f-]{36}$/ })
  const { log, seq, hash } = await store.log.append(requestDraft({ id: id(1) }))
  t.strictSame(store.log.head, { log, seq, hash })
  const { store: again } = await reopen()
  t.strictSame(again.log.head, { log, seq: 1, hash })
  t.match(await again.log.append(requestDraft({ id: id(2) })), { log, seq: 2, prev: hash })
  t.match(verdict(again.log), { ok: true, checked: 3 })
})

t.test('the exchange is stored apart from the chain, which holds a salted commitment', async (t) => {
  const { store } = openTestStore(t)
  const bytes = content({ messages: [] }, { choices: [] })
  const sealed = await store.log.append(requestDraft({ id: id(1) }), { content: bytes })
  const plain = createHash('sha256').update('sidegate-audit/v1/content\n').update(bytes).digest('hex')
  t.match(sealed.content_hash, /^sha256:[0-9a-f]{64}$/)
  t.not(sealed.content_hash, `sha256:${plain}`, 'salted')
  const detail = store.log.get(id(1))
  t.match(detail, { id: id(1), seq: 1, request: { messages: [] }, response: { choices: [] } })
  const raw = Buffer.concat(store.log.records(0, 10).map((record) => Buffer.from(record.bytes))).toString()
  t.notMatch(raw, 'choices')
})

t.test('the error for a damaged exchange contains none of its text', async (t) => {
  const { store } = openTestStore(t)
  await store.log.append(requestDraft({ id: id(1) }), { content: '{"request":heliotrope}' })
  try {
    store.log.get(id(1))
    t.fail('the exchange should not parse')
  } catch (error) {
    t.notMatch(inspect(error), /helio/)
    t.match(error, { message: 'a row of the store is not JSON' })
  }
})

t.test('an entry without an exchange shows null', async (t) => {
  const { store } = openTestStore(t)
  await store.log.append(requestDraft({ id: id(1) }))
  t.match(store.log.get(id(1)), { request: null, response: null, content_hash: null })
})

t.test('unknown ids of any form are not found', async (t) => {
  const { store } = openTestStore(t)
  for (const unknown of ['', 'x', id(9), '\0', 'x'.repeat(100_000)]) t.equal(store.log.get(unknown), null)
})

t.test('an entry that cannot be sealed fails alone and leaves no gap', async (t) => {
  const { store } = openTestStore(t)
  const bad: [string, Partial<RequestDraft>][] = [
    ['a fraction', { latency_ms: 0.5 }],
    ['no point in time', { created_at: 'yesterday' }],
    ['before the epoch', { created_at: '1969-12-31T23:59:59.000Z' }],
    ['no id', { id: '' }],
    ['a very long id', { id: 'x'.repeat(129) }],
    ['a very long model', { model: 'x'.repeat(300_000) }],
    ['an id that is taken', { id: id(1) }],
  ]
  await store.log.append(requestDraft({ id: id(1) }))
  const outcomes = await Promise.allSettled([
    store.log.append(requestDraft({ id: id(2) })),
    ...bad.map(([, changes]) => store.log.append(requestDraft({ id: id(3), ...changes }))),
    store.log.append(requestDraft({ id: id(4) })),
  ])
  t.strictSame(
    outcomes.map(({ status }) => status),
    ['fulfilled', ...bad.map(() => 'rejected'), 'fulfilled'],
  )
  t.match(verdict(store.log), { ok: true, checked: 4 })
  t.equal(store.log.available, true)
  t.equal((await store.log.list({ limit: 10, offset: 0 })).total, 3)
})

t.test("a call with an upstream's malformed text is sealed", async (t) => {
  const { store } = openTestStore(t)
  const sealed = await store.log.append(requestDraft({ id: id(1), finish_reason: 'st\ud800op' }))
  t.equal(sealed.finish_reason, 'st\ufffdop')
  t.match(verdict(store.log), { ok: true })
})

const MODELS = ['a', 'b', 'ü/模型']
const KEYS = ['k1', 'k2']
const anyCall = fc.record({
  model: fc.constantFrom(...MODELS),
  key_id: fc.constantFrom(...KEYS),
  blocked: fc.boolean(),
  pii_detected: fc.boolean(),
  minutes: fc.nat(60),
})
const anyFilter: fc.Arbitrary<UsageFilter> = fc.record(
  {
    keyId: fc.constantFrom(...KEYS, 'k', null),
    model: fc.constantFrom(...MODELS, null),
    blocked: fc.constantFrom(true, false, null),
    piiDetected: fc.constantFrom(true, false, null),
    sinceMs: fc.nat(60).map((minutes) => START_MS + minutes * 60_000),
    untilMs: fc.nat(60).map((minutes) => START_MS + minutes * 60_000),
  },
  { requiredKeys: [] },
)

/** The expected page, without indexes. */
function expectedPage(drafts: readonly RequestDraft[], filter: UsageFilter, limit: number, offset: number) {
  const { keyId, model, blocked, piiDetected, sinceMs, untilMs } = filter
  const matching = drafts
    .filter((draft) => keyId == null || draft.key_id === keyId)
    .filter((draft) => model == null || draft.model === model)
    .filter((draft) => blocked == null || draft.blocked === blocked)
    .filter((draft) => piiDetected == null || draft.pii_detected === piiDetected)
    .filter((draft) => sinceMs == null || Date.parse(draft.created_at) >= sinceMs)
    .filter((draft) => untilMs == null || Date.parse(draft.created_at) <= untilMs)
    .reverse()
  return { ids: matching.slice(offset, offset + limit).map((draft) => draft.id), total: matching.length }
}

async function checkPage(
  t: Test,
  log: UsageLog,
  drafts: readonly RequestDraft[],
  filter: UsageFilter,
  limit: number,
  offset: number,
) {
  const page = await log.list({ limit, offset, filter })
  t.strictSame(
    { ids: page.logs.map((entry) => entry.id), total: page.total },
    expectedPage(drafts, filter, limit, offset),
  )
}

t.test('pages and filters equal a scan of all entries', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyCall, { maxLength: 30 }),
      fc.array(fc.record({ filter: anyFilter, limit: fc.integer({ min: 1, max: 12 }), offset: fc.nat(32) }), {
        minLength: 1,
        maxLength: 6,
      }),
      async (calls, queries) => {
        const { store } = openTestStore(t, { path: t.testdir() })
        const drafts = calls.map(({ minutes, ...call }, n) =>
          requestDraft({ ...call, id: id(n), created_at: at(START_MS + minutes * 60_000) }),
        )
        await fill(store.log, drafts)
        for (const { filter, limit, offset } of queries)
          await checkPage(t, store.log, drafts, filter, limit, offset)
        await store.close()
      },
    ),
    { numRuns: 25 },
  )
})

t.test('a page may exceed one read', async (t) => {
  const { store } = openTestStore(t)
  const drafts = Array.from({ length: 1700 }, (_, n) => requestDraft({ id: id(n), blocked: n % 3 === 0 }))
  await fill(store.log, drafts)
  for (const filter of [{}, { blocked: true }, { blocked: false }]) {
    for (const offset of [0, 499, 500, 501, 1699, 1700, 5000, Number.MAX_SAFE_INTEGER]) {
      await checkPage(t, store.log, drafts, filter, 1000, offset)
    }
  }
})

t.test('entries of other types are in the chain but not in the usage list', async (t) => {
  const { store } = openTestStore(t)
  await store.log.append({
    type: 'rules_loaded',
    revision: 'r',
    rules: 3,
    part: 1,
    parts: 1,
    declarations: null,
    actor: 'gateway',
  })
  await store.log.append(requestDraft({ id: id(1) }))
  await store.log.append({ type: 'stop', version: '1', actor: 'gateway' })
  const { logs, total } = await store.log.list({ limit: 10, offset: 0 })
  t.strictSame([logs.map((entry) => entry.seq), total], [[2], 1])
  t.match(verdict(store.log), { ok: true, checked: 4 })
})

t.test('a list shows one moment while entries are appended', async (t) => {
  const { store } = openTestStore(t)
  const drafts = Array.from({ length: 1200 }, (_, n) => requestDraft({ id: id(n), blocked: true }))
  await fill(store.log, drafts)
  const listing = store.log.list({ limit: 1000, offset: 0, filter: { blocked: true } })
  await fill(
    store.log,
    Array.from({ length: 50 }, (_, n) => requestDraft({ id: id(2000 + n), blocked: true })),
  )
  const { logs, total } = await listing
  t.equal(total, 1200)
  t.equal(logs[0]?.id, id(1199))
})

t.test('security events have totals, days and pages', async (t) => {
  const { store } = openTestStore(t)
  const rule = {
    id: 'r',
    name: 'projects',
    type: 'keyword_block',
    action: 'block',
    direction: 'request' as const,
  }
  const pii = [{ kind: 'email', direction: 'request' as const, count: 1 }]
  const day = (daysAgo: number, changes: Partial<RequestDraft>, n: number) =>
    requestDraft({ id: id(n), created_at: at(START_MS - daysAgo * DAY_MS), ...changes })
  // Not in order of time: the last arrived yesterday and is sealed today.
  const drafts = [
    day(8, { blocked: true, rules: [rule] }, 1),
    day(6, { blocked: true, rules: [rule] }, 2),
    day(0, { pii }, 3),
    day(1, { pii, blocked: true, rules: [rule] }, 4),
    day(0, {}, 5),
  ]
  await fill(store.log, drafts)
  const query = { days: 7, limit: 100, offset: 0, nowMs: START_MS }
  const report = store.log.security(query)
  t.equal(report.since, '2026-02-23T00:00:00.000Z')
  t.strictSame(report.totals, {
    blocked_requests: 2,
    refused_requests: 0,
    pii_detections: 2,
    rule_triggers: 2,
  })
  t.equal(report.total, 6)
  t.equal(report.by_day.length, 7)
  t.strictSame(report.by_day[0], {
    date: '2026-02-23',
    blocked_requests: 1,
    refused_requests: 0,
    pii_detections: 0,
    rule_triggers: 1,
  })
  t.strictSame(report.by_day[6], {
    date: '2026-03-01',
    blocked_requests: 0,
    refused_requests: 0,
    pii_detections: 1,
    rule_triggers: 0,
  })
  const places = report.events.map((event) => event.id)
  t.strictSame(places, [`${id(3)}:0`, `${id(4)}:2`, `${id(4)}:1`, `${id(4)}:0`, `${id(2)}:1`, `${id(2)}:0`])
  for (let offset = 0; offset <= 7; offset++) {
    for (const limit of [1, 2, 5]) {
      const events = store.log.security({ ...query, offset, limit }).events
      t.strictSame(
        events.map((event) => event.id),
        places.slice(offset, offset + limit),
      )
    }
  }
  t.strictSame(store.log.security({ ...query, days: 1 }).total, 1)
  t.strictSame(store.log.security({ ...query, days: 365 }).totals.blocked_requests, 3)
})

t.test('a full store refuses calls but accepts a revocation', async (t) => {
  const { store, tick, reopen } = openTestStore(t)
  const { record } = await store.keys.create('k', 'vera')
  await store.log.append(requestDraft({ id: id(1) }))
  const events: string[] = []
  const full = await reopen({
    maxBytes: 200_000,
    onUnavailable: (cause) => events.push((cause as Error).message),
  })
  let refused: GatewayError | null = null
  let taken = 0
  for (let n = 2; refused === null && n < 500; n++) {
    try {
      await full.store.log.append(requestDraft({ id: id(n) }), {
        content: JSON.stringify({ request: 'x'.repeat(5000) }),
      })
      taken++
    } catch (error) {
      refused = error as GatewayError
    }
    full.tick(1000)
  }
  t.ok(taken > 3, `${taken} taken`)
  t.match(refused, { code: 'audit_unavailable', message: /size limit/, headers: { 'retry-after': '1' } })
  t.equal(full.store.log.available, false)
  t.strictSame(events, ['the store has reached 200000 bytes (audit.maxBytes)'])
  t.ok(full.store.size().usedBytes < 300_000)
  await full.store.keys.revoke(record.id, 'vera')
  t.match(verdict(full.store.log), { ok: true, checked: taken + 4 })
  const { store: larger } = await full.reopen({ maxBytes: 1_000_000 })
  t.equal(larger.log.available, true)
  tick(1000)
})

t.test('room is reserved for running calls while there is any', async (t) => {
  const { store } = openTestStore(t, { maxBytes: 1_000_000 })
  const back = store.log.reserve(5_000_000)
  t.throws(() => store.log.reserve(1), { code: 'audit_unavailable' })
  back()
  const first = store.log.reserve(350_000)
  const second = store.log.reserve(350_000)
  t.throws(() => store.log.reserve(350_000), { code: 'audit_unavailable' })
  first()
  store.log.reserve(350_000)()
  second()
  const { store: giving } = openTestStore(t, { maxBytes: 1_000_000, whenFull: 'drop-content' })
  giving.log.reserve(5_000_000)
  t.doesNotThrow(() => giving.log.reserve(5_000_000), 'where exchanges give way no call has to')
})

t.test('failed commits acknowledge and store nothing, and the log recovers', async (t) => {
  let failing = false
  beforeWrites(t, () => {
    if (failing) throw new Error('input/output error')
  })
  const events: string[] = []
  const { store, tick } = openTestStore(t, {
    onUnavailable: (cause) => events.push((cause as Error).message),
    onAvailable: () => events.push('available'),
  })
  await store.log.append(requestDraft({ id: id(1) }))
  failing = true
  await t.rejects(store.log.append(requestDraft({ id: id(2) })), { code: 'audit_unavailable' })
  t.equal(store.log.available, false)
  await t.rejects(store.keys.create('k', 'vera'), { code: 'audit_unavailable' })
  await t.rejects(store.sessions.create({ name: 'vera', role: 'admin', via: 'token' }, 'f', 1000), {
    code: 'audit_unavailable',
  })
  await t.rejects(store.rules.deleteRule('r', { type: 'stop', version: '1', actor: 'gateway' }), {
    code: 'audit_unavailable',
  })
  tick(1000)
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(store.log.available, false)
  failing = false
  await until(
    () => store.log.available,
    () => tick(1000),
  )
  await store.log.append(requestDraft({ id: id(2) }))
  t.match(verdict(store.log), { ok: true, checked: 3 })
  t.strictSame(events, ['input/output error', 'available'])
})

t.test('events that an older release indexed are listed and removed as they were counted', async (t) => {
  const { log, environment, close } = openTestLog({ path: t.testdir(), clock: testClock() })
  t.teardown(close)
  const { days, security } = environment.tables
  const rule = { id: 'r', name: 'r', action: 'block', direction: 'request' as const }
  const stopped = (n: number, changes: Partial<RequestDraft>) =>
    requestDraft({ id: id(n), created_at: at(START_MS), ...changes })
  const ofModel = { blocked: true, outcome: 'blocked', error_code: 'model_not_allowed' } as const
  const limited = { outcome: 'rate_limited', error_code: 'budget_exceeded' } as const
  await fill(log, [
    stopped(1, { ...ofModel, rules: [{ ...rule, type: 'model_access' }] }),
    stopped(2, { ...limited, rules: [{ ...rule, type: 'rate_limit' }] }),
    stopped(3, limited),
  ])
  const today = dayOf(START_MS)
  const query = { days: 1, limit: 100, offset: 0, nowMs: START_MS }
  t.match(log.security(query), { total: 5, totals: { refused_requests: 3, rule_triggers: 2 } })
  // It indexed no refusal by a limit, and counted that of a model as blocked.
  await environment.transaction(() => {
    const counts = { blocked_request: 1, pii_detection: 0, rule_trigger: 2 }
    days.put(u64(today), writeJson({ counts, next: 3 }))
    for (const ordinal of [3, 4]) security.remove(securityKey(today, ordinal))
  })
  await fill(log, [stopped(4, limited)])
  const report = log.security(query)
  t.match(report, { total: 4, totals: { blocked_requests: 1, refused_requests: 1, rule_triggers: 2 } })
  t.same(
    report.events.map(({ type, log_id }) => [type, log_id]),
    [
      ['refused_request', id(4)],
      ['rule_trigger', id(2)],
      ['rule_trigger', id(1)],
      ['refused_request', id(1)],
    ],
  )
  for (const [firstSeq, total] of [
    [2, 2],
    [3, 1],
    [4, 1],
    [5, 0],
  ] as const) {
    await log.dropOldest(firstSeq)
    t.equal(log.security(query).total, total, `from ${firstSeq} on`)
  }
  t.same([security.count(), days.count()], [0, 0])
})
