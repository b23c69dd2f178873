// The limits of a call at a sidecar: those of the hub are lent by it, the others are its own.

import t, { type Test } from 'tap'
import type { LeaseClientParts } from '../../src/fleet/lease-client.ts'
import { FleetQuota } from '../../src/pipeline/limits/fleet-quota.ts'
import { NO_COST } from '../../src/pipeline/limits/money-demand.ts'
import { ParallelCalls } from '../../src/pipeline/limits/parallel-calls.ts'
import { type Demand, Quota, spendingOf, type Used } from '../../src/pipeline/limits/quota.ts'
import { denialError } from '../../src/pipeline/record/failure.ts'
import type { HubRules } from '../../src/policy/hub-rules.ts'
import { CALENDAR_MONTH } from '../../src/policy/limit.ts'
import type { UsageLimit } from '../../src/policy/types/rate-limit.ts'
import { LeaseHub, VirtualTime } from '../fleet/lease-hub.ts'
import { callKey, keyOf } from '../policy/keys.ts'
import { compileRules, rule } from '../policy/rules.ts'
import { openTestStore } from '../store/fixture.ts'

const MINUTE_MS = 60_000

/** The limits of the hub, by the name of the rule. */
const RULES: Readonly<
  Record<string, readonly [pattern: string, limit: UsageLimit, count: string, per?: string]>
> = {
  tokens: ['1000/1m', { unit: 'tokens', amount: 1000, windowMs: MINUTE_MS }, ''],
  requests: ['3 requests/1mo', { unit: 'requests', amount: 3, windowMs: CALENDAR_MONTH }, ':requests', 'all'],
  money: ['1 USD/1d', { unit: 'usd', amount: 1e9, windowMs: 86_400_000 }, ':usd', 'label:team'],
  tools: ['3 tool_calls/1h', { unit: 'tool_calls', amount: 3, windowMs: 3_600_000 }, ':tool_calls', 'all'],
  places: ['2 parallel', { unit: 'parallel', amount: 2, windowMs: 0 }, ':parallel'],
}

function fleet() {
  const time = new VirtualTime()
  const hub = new LeaseHub(time)
  const rules = Object.entries(RULES).map(([name, [pattern, , , per]]) =>
    rule(name, pattern, { type: 'rate_limit', action: 'block', ...(per !== undefined && { per }) }),
  )
  const limits = new Map(
    Object.entries(RULES).map(([name, [, limit, unit]]) => [
      `${rules.find((one) => one.name === name)!.id}${unit}`,
      limit,
    ]),
  )
  for (const [count, { amount: limit, windowMs }] of limits) hub.limits.set(count, { limit, windowMs })
  hub.limits.set('key:parallel', { limit: 1, windowMs: 0 })
  const hubRules: HubRules = { limitOf: (count) => limits.get(count) ?? null }
  return { time, hub, rules, hubRules }
}

type Fleet = ReturnType<typeof fleet>

function sidecarOf(
  t: Test,
  { time, hub, hubRules }: Fleet,
  name: string,
  options: Partial<LeaseClientParts> = {},
) {
  const { store } = openTestStore(t)
  const leases = hub.sidecar(name, options)
  const parts = {
    ...{ leases, counters: store.counters, clock: time },
    isHubKey: (id: string) => id !== 'own',
    parallel: new ParallelCalls(),
    covered: () => {},
  }
  const limits = new FleetQuota(parts)
  limits.connect(hubRules)
  return { limits, leases, store, parts }
}

const demand = (tokens: number, most = 0): Demand => ({
  tokens,
  unlimitedChoices: 0,
  money: most === 0 ? NO_COST : { type: 'priced', most, answer: 0 },
})

const used = (tokens: number, cost = 0): Used => ({
  ...{ tokens, cost, answerTokens: 0, toolCalls: 0, isForwarded: true, keepsReserved: false },
})

async function call(
  { time, rules }: Fleet,
  { limits }: ReturnType<typeof sidecarOf>,
  asked: Demand,
  key = callKey('app', {}, 'key'),
  only?: string,
) {
  const chosen = rules.filter(({ name }) => only === undefined || name === only)
  const selection = compileRules(chosen, 'r').select(['m'], keyOf(key.name))
  const covering = limits.cover(selection, key, asked)
  const isOver = covering.then(() => true)
  await time.advance(10)
  // A call beyond a limit of places waits for one.
  if (!(await Promise.race([isOver, false]))) await time.advance(300)
  const covered = await covering
  return { covered, quota: new Quota(covered, selection, key, asked, time.now()) }
}

t.test('each unit and each scope holds over two sidecars', async (t) => {
  const setting = fleet()
  const [one, other] = [sidecarOf(t, setting, 'a'), sidecarOf(t, setting, 'b')]
  const first = await call(setting, one, demand(600), undefined, 'tokens')
  t.equal(first.quota.refusal, null)
  t.match((await call(setting, other, demand(600), undefined, 'tokens')).quota.refusal, {
    limit: { rule: { name: 'tokens' } },
    neverFits: false,
  })
  t.match((await call(setting, other, demand(1001), undefined, 'tokens')).quota.refusal, { neverFits: true })
  const rotated = { ...callKey('next', {}, 'newer'), line: 'key' }
  t.match((await call(setting, other, demand(500), rotated, 'tokens')).quota.refusal, {}, 'a line of keys')

  for (const side of [one, other, one])
    t.equal((await call(setting, side, demand(1), undefined, 'requests')).quota.refusal, null)
  const third = await call(setting, other, demand(1), callKey('web', {}, 'web'), 'requests')
  t.match(third.quota.refusal, { limit: { unit: 'requests' } }, 'all keys share it')

  const team = { ...callKey('app', {}, 'key'), terms: { ...callKey('x').terms, labels: { team: 'a' } } }
  t.equal((await call(setting, one, demand(1, 7e8), team, 'money')).quota.refusal, null)
  const mate = { ...team, id: 'mate', line: 'mate' }
  t.match((await call(setting, other, demand(1, 4e8), mate, 'money')).quota.refusal, {
    limit: { unit: 'usd' },
  })
  t.equal((await call(setting, other, demand(1, 4e8), undefined, 'money')).quota.refusal, null, 'no label')

  const places = await Promise.all(
    [one, other].map((side) => call(setting, side, demand(1), undefined, 'places')),
  )
  t.ok(places.every(({ quota }) => quota.refusal === null))
  t.match((await call(setting, one, demand(1), undefined, 'places')).quota.refusal, {
    limit: { unit: 'parallel' },
  })
  places[1]!.quota.settle(used(1))
  await setting.time.advance(2000)
  t.equal((await call(setting, one, demand(1), undefined, 'places')).quota.refusal, null)
})

t.test('tool calls above what a call was expected to ask for are carried', async (t) => {
  const setting = fleet()
  const [one, other] = [sidecarOf(t, setting, 'a'), sidecarOf(t, setting, 'b')]
  const { quota } = await call(setting, one, demand(1), undefined, 'tools')
  quota.settle({ ...used(1), toolCalls: 5 })
  await setting.time.advance(2000)
  t.match((await call(setting, other, demand(1), undefined, 'tools')).quota.refusal, {
    limit: { unit: 'tool_calls' },
  })
})

t.test('a limit of the hub by run is counted in the process, without a request', async (t) => {
  const setting = fleet()
  const side = sidecarOf(t, setting, 'a')
  const own = { type: 'rate_limit', action: 'block', per: 'run' } as const
  const rules = [rule('run', '1 requests/run', own)]
  const runs = { ...setting, rules }
  t.equal((await call(runs, side, demand(1))).quota.refusal, null)
  t.match((await call(runs, side, demand(1))).quota.refusal, { limit: { unit: 'requests' } })
  t.strictSame(setting.hub.requests, [])
})

t.test('the calls at a time of a key of the hub hold over the fleet, those of its own here', async (t) => {
  const setting = fleet()
  const [one, other] = [sidecarOf(t, setting, 'a'), sidecarOf(t, setting, 'b')]
  const key = (id: string) => ({
    ...callKey('app', {}, id),
    terms: { ...callKey('x').terms, maxParallel: 1 },
  })
  t.equal((await call(setting, one, demand(1), key('k'), 'none')).quota.refusal, null)
  t.match((await call(setting, other, demand(1), key('k'), 'none')).quota.refusal, { limit: { rule: null } })
  t.equal((await call(setting, one, demand(1), key('own'), 'none')).quota.refusal, null)
  t.equal((await call(setting, other, demand(1), key('own'), 'none')).quota.refusal, null)
})

t.test('a call settles to what it used, and one that is denied gives everything back', async (t) => {
  const setting = fleet()
  const side = sidecarOf(t, setting, 'a')
  const { quota, covered } = await call(setting, side, demand(600), undefined, 'tokens')
  const [change] = quota.settle(used(70))
  t.match(change, { ruleId: /^hub:/, subject: 'key', windowMs: MINUTE_MS, tokens: 70 })
  t.strictSame(quota.settle(used(70)), [], 'only once')
  covered.release()
  const denied = await call(setting, side, demand(500))
  t.equal(denied.quota.refusal, null)
  denied.quota.settle(used(0))
  const selection = compileRules(setting.rules, 'r').select(['m'], keyOf('app'))
  const unused = side.limits.cover(selection, callKey('app', {}, 'key'), demand(400))
  await setting.time.advance(10)
  const blocked = await unused
  blocked.release()
  await setting.time.advance(5000)
  const [count] = [...setting.hub.limits.keys()]
  t.equal(setting.hub.used(count!, 'key'), 70)
})

t.test('what a killed process used reaches the hub at the next start', async (t) => {
  const setting = fleet()
  const side = sidecarOf(t, setting, 'a')
  const [count] = [...setting.hub.limits.keys()]
  const { quota } = await call(setting, side, demand(600), undefined, 'tokens')
  const changes = quota.settle(used(70))
  // Its lease of 600 stays with the hub. A call of 200 was under way.
  const next = new FleetQuota({
    ...side.parts,
    leases: setting.hub.sidecar('a', { firstRequest: 1000 }),
    counters: {
      ...{ reserve: () => null as never, settle: () => [], charge: () => [] },
      hubCounts: changes,
    },
  })
  next.connect(setting.hubRules)
  const selection = compileRules(setting.rules, 'r').select(['m'], keyOf('app'))
  const limit = selection.limits.find(({ rule: { name } }) => name === 'tokens')!
  const spending = spendingOf(limit, callKey('app', {}, 'key'), 200, setting.time.now())
  t.match(next.charge(spending), [{ ruleId: `hub:${count}`, tokens: 200 }])
  await setting.time.advance(5000)
  t.equal(setting.hub.used(count!, 'key'), 270)
})

t.test('a gateway that counts alone says so of each call', async (t) => {
  const setting = fleet()
  const side = sidecarOf(t, setting, 'a', { onHubLoss: 'local' })
  setting.hub.isAway = true
  const { covered, quota } = await call(setting, side, demand(600), undefined, 'tokens')
  t.ok(covered.isLocal)
  t.equal(quota.refusal, null)
  t.ok(side.limits.isAlone)
  t.match(side.limits.inUse(), [{ used: 600, resetMs: 60_990 }], 'what it counts itself')
  const { refusal, ...refused } = (await call(setting, side, demand(600), undefined, 'tokens')).quota
  t.match(refusal, { isAway: true, isAlone: true })
  const denial = { outcome: 'denial', reason: 'rate_limited', rule: refusal!.limit.rule, hits: [] } as const
  t.equal(
    denialError(denial as never, { refusal, ...refused } as never, '00000000').message,
    'No hub answers, and this gateway, which counts the token limit "tokens" alone meanwhile, has too little left of it; try again soon.',
  )
  setting.hub.isAway = false
  await call(setting, side, demand(1), undefined, 'tokens')
  t.notOk(side.limits.isAlone)
  t.match(side.limits.inUse(), [{ used: 601 }], 'what the hub says')
  await setting.time.advance(62_000)
  t.strictSame(side.limits.inUse(), [], 'which is over with the window')
})

t.test('a gateway that counts alone says so also of a call that it refuses first', async (t) => {
  const setting = fleet()
  const [side, other] = [sidecarOf(t, setting, 'a', { onHubLoss: 'local' }), sidecarOf(t, setting, 'b')]
  await call(setting, side, demand(900), undefined, 'tokens')
  await call(setting, other, demand(1), undefined, 'tokens')
  setting.hub.isAway = true
  t.ok((await call(setting, side, demand(600), undefined, 'tokens')).covered.isLocal)
})

t.test('without a hub a refusal says that none answers, not that a limit is reached', async (t) => {
  const setting = fleet()
  const side = sidecarOf(t, setting, 'a')
  const limited = { ...callKey('app', {}, 'key'), terms: { ...callKey('x').terms, maxParallel: 1 } }
  const teamed = { ...limited, terms: { ...callKey('x').terms, labels: { team: 'a' } } }
  setting.hub.isAway = true
  const cases = [
    ['tokens', callKey('app', {}, 'key'), 'the token limit "tokens"'],
    ['requests', callKey('app', {}, 'key'), 'the request limit "requests"'],
    ['places', callKey('app', {}, 'key'), 'the parallel call limit "places"'],
    ['money', teamed, 'the budget "money" of 1.00 USD'],
    ['none', limited, 'the calls at a time of this API key (max_parallel)'],
  ] as const
  for (const [only, key, name] of cases) {
    const { quota } = await call(setting, side, demand(1, 1), key, only)
    t.match(quota.refusal, { isAway: true, retryAfterMs: 1000 }, only)
    const rule = quota.refusal!.limit.rule
    const denial = { outcome: 'denial', reason: 'rate_limited', rule, hits: [] } as const
    const { message, headers } = denialError(denial as never, quota as never, '00000000')
    t.equal(
      message,
      `No hub answers in time, and what this gateway may use of ${name} without one does not cover the call; try again soon.`,
    )
    t.strictSame(headers, { 'retry-after': '1', 'retry-after-ms': '1000' })
  }
})

t.test('without a hub a refusal reports what is left to this gateway', async (t) => {
  const setting = fleet()
  const [one, other] = [sidecarOf(t, setting, 'a'), sidecarOf(t, setting, 'b')]
  await call(setting, one, demand(10), undefined, 'tokens')
  await call(setting, other, demand(10), undefined, 'tokens')
  await setting.time.advance(2000)
  setting.hub.isAway = true
  const { quota } = await call(setting, one, demand(400), undefined, 'tokens')
  t.match(quota, { refusal: { isAway: true }, states: [{ limit: 1000, remaining: 56 }] })
})
