// What a hub answers to requests for limits: gathered, checked, and the same for one that comes twice.

import t from 'tap'
import { LEASES_PATH } from '../../src/fleet/lease-protocol.ts'
import { LeaseDesk, type LeaseDeskParts } from '../../src/hub/lease-desk.ts'
import type { LimitAnswer, LimitRequest } from '../../src/ledger/limit-ledger.ts'
import { fleetDatabase } from '../ledger/postgres.ts'
import { fetchInTime, until } from '../process/until.ts'
import { hubOn, makeKey, sidecarOf } from './pods.ts'

t.setTimeout(120_000)

const MINUTE_MS = 60_000
const SHOP = 'shop'
const A = { id: 'a', namespace: SHOP }
const B = { id: 'b', namespace: SHOP }
/** Limits of 1,000 tokens a minute, by the name of their rule. */
interface Rule {
  readonly enabled: boolean
  readonly namespaces?: readonly string[]
  readonly action?: 'monitor'
}
const RULES: Record<string, Rule> = {
  rule: { enabled: true },
  off: { enabled: false },
  'off:parallel': { enabled: false },
  shop: { enabled: true, namespaces: ['sh*'] },
  'seen:parallel': { enabled: true, action: 'monitor' },
}
const LIMIT_FILE = 'rules: [{name: tokens, type: rate_limit, pattern: 1000/1m, action: block}]\n'
const ASK = { count: 'rule', subject: 'line', need: 10, want: 10 }
const request = (number: number, more: object = {}) => ({
  ...{ request: number, asks: [ASK], settles: [], shares: [], slots: [] },
  ...more,
})

function desk(exchange: (batch: readonly LimitRequest[]) => ReadonlyMap<string, LimitAnswer>) {
  const batches: (readonly LimitRequest[])[] = []
  const refusals: object[] = []
  const times = { nowMs: 0 }
  const waiting: (() => void)[] = []
  const parts: LeaseDeskParts = {
    ledger: {
      exchange: async (batch) => {
        batches.push(batch)
        return exchange(batch)
      },
    },
    rules: {
      declared(count) {
        const rule = RULES[count]
        const windowMs = count.endsWith('parallel') ? 0 : MINUTE_MS
        return rule === undefined ? null : { rule, limit: { unit: 'tokens', amount: 1000, windowMs } }
      },
    },
    maxParallelOf: (line) => (line === 'line' ? 5 : null),
    timers: { set: (callback) => waiting.push(callback), clear: () => {} },
    monotonic: () => times.nowMs,
    answered: () => {},
    refused: () => {},
    log: (refusal) => refusals.push(refusal),
  }
  const fire = () => {
    for (const callback of waiting.splice(0)) callback()
  }
  return { desk: new LeaseDesk(parts), batches, refusals, times, fire }
}

const nothing = (batch: readonly LimitRequest[]) =>
  new Map(batch.map(({ sidecar }) => [sidecar, { timeMs: 7, lent: [], refused: [] }]))

t.test('requests of some milliseconds are one transaction, with one of each sidecar', async (t) => {
  const { desk: one, batches, fire } = desk(nothing)
  const answers = [one.answer(A, request(1)), one.answer(B, request(1)), one.answer(A, request(2))]
  fire()
  t.strictSame(await answers[0], { time: 7, grants: [], slots: [] })
  t.strictSame(
    batches[0]!.map(({ sidecar }) => sidecar),
    ['a', 'b'],
  )
  await answers[1]
  await until('the next batch is set', async () => {
    fire()
    return batches.length === 2
  })
  t.match(await answers[2], { time: 7 })
})

t.test('a request that comes again within ten seconds gets the same answer', async (t) => {
  const { desk: one, batches, fire, times } = desk(nothing)
  const first = one.answer(A, request(1))
  fire()
  await first
  times.nowMs = 9000
  t.equal(one.answer(A, request(1)), first)
  times.nowMs = 11_000
  t.not(one.answer(A, request(1)), first)
  fire()
  await until('it is answered anew', async () => batches.length === 2)
})

t.test('what is unknown or too much is refused, counted and logged once', async (t) => {
  const { desk: one, batches, refusals, fire } = desk(nothing)
  const bad = {
    asks: [ASK, { ...ASK, count: 'other' }, { ...ASK, subject: 'x', need: 1001 }],
    settles: [{ count: 'rule', subject: 'line', bucket: 1, amount: 1001 }],
    slots: [
      { count: 'key:parallel', subject: 'line', need: 9, held: 0 },
      { count: 'key:parallel', subject: 'nobody', need: 1, held: 0 },
    ],
  }
  const answer = one.answer(A, request(1, bad))
  fire()
  await answer
  t.match(batches[0]![0]!.items, [
    { count: 'key:parallel', subject: 'line', slots: { need: 5, held: 0 }, limit: 5, windowMs: 0 },
    { count: 'rule', subject: 'line', settles: [], ask: { need: 10 }, limit: 1000 },
  ])
  t.match(refusals, [
    { sidecar: 'a', reason: 'amount', count: 'key:parallel' },
    { reason: 'unknown_limit', count: 'key:parallel' },
  ])
})

t.test('what the ledger refuses of running calls is counted and logged, as other amounts', async (t) => {
  const {
    desk: one,
    batches,
    refusals,
    fire,
  } = desk((batch) => {
    const [{ sidecar, items }] = batch as [LimitRequest]
    return new Map([[sidecar, { timeMs: 7, lent: [], refused: items.slice(0, 1) }]])
  })
  const slots = ['key', 'seen'].map((rule) => ({
    count: `${rule}:parallel`,
    subject: 'line',
    need: 0,
    held: 1e9,
  }))
  const answer = one.answer(A, request(1, { asks: [], slots }))
  fire()
  t.strictSame(await answer, { time: 7, grants: [], slots: [] })
  t.match(batches[0]![0]!.items, [
    { count: 'key:parallel', slots: { held: 1e9, most: 5 } },
    { count: 'seen:parallel', slots: { held: 1e9, most: 100_000 } },
  ])
  t.match(refusals, [{ sidecar: 'a', count: 'key:parallel', reason: 'amount' }])
})

t.test('what calls used of a rule that was switched off is taken, and nothing is lent', async (t) => {
  const { desk: one, batches, refusals, fire } = desk(nothing)
  const answer = one.answer(
    A,
    request(1, {
      asks: [{ ...ASK, count: 'off' }],
      settles: [{ count: 'off', subject: 'line', bucket: 1, amount: 7 }],
      shares: [{ count: 'off', subject: 'line', share: 3 }],
      slots: [
        { count: 'off:parallel', subject: 'line', need: 0, held: 2 },
        { count: 'off:parallel', subject: 'other', need: 1, held: 2 },
      ],
    }),
  )
  fire()
  await answer
  t.match(batches[0]![0]!.items, [
    { count: 'off:parallel', subject: 'line', slots: { need: 0, held: 2 } },
    { count: 'off', settles: [{ bucket: 1, amount: 7 }], share: 3, ask: null },
  ])
  t.equal(batches[0]![0]!.items.length, 2)
  t.match(refusals, [{ reason: 'switched_off' }])
})

t.test('a sidecar has no part in the limits of other namespaces', async (t) => {
  const { desk: one, batches, refusals, fire } = desk(nothing)
  const settles = [{ count: 'shop', subject: 'line', bucket: 1, amount: 7 }]
  const asked = request(1, { asks: [{ ...ASK, count: 'shop' }], settles })
  const answers = [one.answer(A, asked), one.answer({ id: 'c', namespace: 'bank' }, asked)]
  fire()
  await Promise.all(answers)
  t.match(batches[0], [{ items: [{ count: 'shop', ask: { need: 10 } }] }, { sidecar: 'c', items: [] }])
  t.match(refusals, [{ sidecar: 'c', count: 'shop', reason: 'namespace' }])
})

t.test('a request that comes after a newer one is refused', async (t) => {
  const { desk: one, refusals, fire } = desk(() => new Map())
  const answer = one.answer(A, request(1))
  fire()
  await t.rejects(answer, { code: 'conflict' })
  t.match(refusals, [{ reason: 'late_request' }])
})

t.test('sidecars get leases of one limit, and the slots of a key, from each hub', async (t) => {
  const database = await fleetDatabase()
  const shared = [{ rules: { path: 'rules.yaml' } }, { 'rules.yaml': LIMIT_FILE }] as const
  const [hub, other] = [await hubOn(t, database, ...shared), await hubOn(t, database, ...shared)]
  const api = await hub.signIn()
  const { id: count } = (await api('GET', '/rules')).body.rules[0]
  const key = await makeKey(api, { max_parallel: 1, namespaces: ['shop'] })
  const [one, two] = [await sidecarOf(t, hub, 'one'), await sidecarOf(t, other, 'two')]
  const lease = async (sidecar: typeof one, number: number, need: number) => {
    const slots = [{ count: 'key:parallel', subject: key.id, need: 1, held: 0 }]
    const asks = [{ ...ASK, count, need, want: need }]
    const { status, text } = await sidecar.exchange(LEASES_PATH, request(number, { asks, slots }))
    t.equal(status, 200)
    return JSON.parse(text)
  }
  await until('the other hub has the key', async () => two.keys.size === 1)
  const first = await lease(one, 1, 700)
  t.match(first, {
    grants: [{ size: 700, left: 300, limit: 1000, share: 100 }],
    slots: [{ size: 1, left: 0 }],
  })
  t.ok(Math.abs(first.time - Date.now()) < 5000)
  const second = await lease(two, 1, 700)
  t.match(second, { grants: [{ size: 300, left: 0 }], slots: [{ size: 0 }] })
  const stranger = await sidecarOf(t, hub, 'stranger', { namespace: 'bank' })
  t.match(
    await lease(stranger, 1, 1),
    { grants: [{ size: 0 }], slots: [] },
    'the key is of another namespace',
  )
  t.equal((await one.exchange(LEASES_PATH, request(1, { asks: 1 }))).status, 400)
  t.equal(await one.leave(), 204)
  t.match(await lease(two, 2, 1), { grants: [{ size: 0 }], slots: [{ size: 1, left: 0 }] })
  const disabled = { enabled: false, reason: 'a test' }
  t.equal((await api('PATCH', `/rules/${count}`, disabled)).status, 200)
  await until('the other hub no longer lends', async () => two.rules.includes('tokens!'))
  const { grants } = await lease(two, 3, 1)
  t.strictSame(grants, [], 'of a rule that is not in force')
  const settles = [{ count, subject: 'line', bucket: second.grants[0].bucket, amount: 100 }]
  await two.exchange(LEASES_PATH, request(4, { asks: [], settles }))
  t.equal((await api('PATCH', `/rules/${count}`, { enabled: true })).status, 200)
  await until('the other hub lends again', async () => two.rules.includes('tokens'))
  t.match(await lease(two, 5, 150), { grants: [{ size: 150 }] }, 'what was given back meanwhile counts')
  const page = await (await fetchInTime(`http://${hub.opsAddress}/metrics`)).text()
  t.match(page, /sidegate_hub_lease_requests_total\{result="answered"\} [23]\n/)
})
