// Several limits on one call: which one denies it, what the client learns, what is released.

import fc from 'fast-check'
import t, { type Test } from 'tap'
import { readChatRequest } from '../../src/chat/request.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { type MoneyDemand, NO_COST } from '../../src/pipeline/limits/money-demand.ts'
import { ParallelCalls } from '../../src/pipeline/limits/parallel-calls.ts'
import { demandOf, Quota, type Used } from '../../src/pipeline/limits/quota.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { callKey, keyOf } from '../policy/keys.ts'
import { compileRules, rule } from '../policy/rules.ts'
import { openTestStore, START_MS } from '../store/fixture.ts'

const KEY = callKey('app', {}, 'key')
const MINUTE_MS = 60_000

const limit = (name: string, pattern: string, action: 'block' | 'monitor' = 'block'): Rule =>
  rule(name, pattern, { type: 'rate_limit', action })

function setting(t: Test, ...rules: Rule[]) {
  const { counters } = openTestStore(t).store
  const selection = compileRules(rules, 'r').select(['m'], keyOf(KEY.name))
  return (tokens: number, nowMs = START_MS, money: MoneyDemand = NO_COST) =>
    new Quota(
      { counters, parallel: new ParallelCalls() },
      selection,
      KEY,
      { tokens, unlimitedChoices: 0, money },
      nowMs,
    )
}

t.test('a request limits its answers by either parameter name, all or none', async (t) => {
  const demand = (options: JsonObject) =>
    demandOf(
      readChatRequest({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...options }),
      7,
      NO_COST,
    )
  t.match(demand({ n: 3 }), { tokens: 7, unlimitedChoices: 3 })
  t.match(demand({ max_tokens: null }), { tokens: 7, unlimitedChoices: 1 })
  t.match(demand({ n: 3, max_tokens: 10 }), { tokens: 37, unlimitedChoices: 0 })
  t.match(demand({ max_completion_tokens: 10 }), { tokens: 17, unlimitedChoices: 0 })
})

const used = (tokens: number): Used => ({
  tokens,
  answerTokens: 0,
  cost: 0,
  toolCalls: 0,
  isForwarded: true,
  keepsReserved: false,
})

const exceeded = (quota: Quota) => quota.evidence.filter((one) => one.exceeded).map(({ rule }) => rule?.name)

t.test('without a limit there is nothing to report or settle', async (t) => {
  const quota = setting(t)(10)
  t.match(quota, { evidence: [], states: [], refusal: null })
  t.same(quota.settle(used(10)), [])
})

t.test('the headers report the limit with the least left', async (t) => {
  const reserve = setting(t, limit('hour', '1000/1h'), limit('minute', '300/1m'))
  t.match(reserve(100).states[0], { limit: 300, remaining: 200 })
  const later = START_MS + 2 * MINUTE_MS
  reserve(300, later)
  t.match(reserve(250, later + 2 * MINUTE_MS).states[0], { limit: 300, remaining: 50 })
  t.match(reserve(200, later + 4 * MINUTE_MS).states[0], { limit: 300, remaining: 100 })
  t.match(reserve(120, later + 6 * MINUTE_MS).states[0], { limit: 1000, remaining: 30 })
})

t.test('a denied call reports the limit that denies it', async (t) => {
  const reserve = setting(
    t,
    limit('hour', '1000/1h'),
    limit('minute', '300/1m'),
    limit('watch', '10/1m', 'monitor'),
  )
  for (let minute = 0; minute < 4; minute++) reserve(230, START_MS + 2 * minute * MINUTE_MS)
  const refused = reserve(250, START_MS + 8 * MINUTE_MS)
  t.same(exceeded(refused), ['hour', 'watch'])
  t.match(refused.states[0], { limit: 1000, remaining: 80 }, 'not of one that had room, or watches')
  t.ok(refused.refusal!.retryAfterMs <= refused.states[0]!.resetMs, 'by then it has room again')
})

t.test('a limit without room denies the call, and other limits release their share', async (t) => {
  const reserve = setting(t, limit('hour', '900/1h'), limit('minute', '300/1m'))
  reserve(200)
  const refused = reserve(200)
  t.same(exceeded(refused), ['minute'])
  t.ok(refused.refusal!.retryAfterMs > 0 && refused.refusal!.retryAfterMs <= MINUTE_MS + MINUTE_MS / 60)
  const later = START_MS + 2 * MINUTE_MS
  t.same(exceeded(reserve(300, later)), [])
  t.same(
    exceeded(reserve(300, later + 2 * MINUTE_MS)),
    [],
    '200 + 300 + 300 of the hour, not 1000: there is room for 900',
  )
  t.same(refused.settle(used(0)), [], 'a refused call adds nothing to the log')
})

t.test('when two limits deny a call, the longer wait is reported', async (t) => {
  const reserve = setting(t, limit('hour', '300/1h'), limit('minute', '300/1m'))
  reserve(300).settle(used(300))
  const refused = reserve(1)
  t.same(exceeded(refused), ['hour', 'minute'])
  t.ok(refused.refusal!.retryAfterMs > 59 * MINUTE_MS)
})

t.test('a monitoring limit counts but never delays', async (t) => {
  const reserve = setting(t, limit('watch', '100/1m', 'monitor'))
  t.same(exceeded(reserve(80)), [])
  const over = reserve(80)
  t.same(exceeded(over), ['watch'])
  t.equal(over.refusal, null)
  t.match(over.settle(used(50)), [{ ruleId: 'watch', subject: 'key', tokens: 50 }])
  over.settle(used(50))
  t.same(exceeded(reserve(1)), ['watch'], '80 + 50: usage is counted once')
})

t.test('a reservation settles to the real usage, higher or lower', async (t) => {
  const reserve = setting(t, limit('hour', '1000/1h'))
  const less = reserve(900)
  t.match(less.settle(used(100)), [{ ruleId: 'hour', tokens: 100 }])
  t.match(reserve(100).states[0], { remaining: 800 })
  const more = reserve(100)
  t.match(more.settle(used(500)), [{ tokens: 500 }])
  t.match(reserve(1).states[0], { remaining: 1000 - 100 - 100 - 500 - 1 })
})

t.test('parallel calls never reserve more than the limit', async (t) => {
  const call = fc.record({ reserved: fc.nat(400), used: fc.nat(400), settles: fc.boolean() })
  fc.assert(
    fc.property(fc.array(call, { maxLength: 40 }), fc.uuid(), (calls, name) => {
      const reserve = setting(t, limit(name, '1000/1h'))
      let held = 0
      for (const { reserved, used: usedTokens, settles } of calls) {
        const quota = reserve(reserved)
        if (exceeded(quota).length > 0) {
          if (held + Math.max(1, reserved) <= 1000) return false
          quota.settle(used(0))
          continue
        }
        held += Math.max(1, reserved)
        if (held > 1000) return false
        if (!settles) continue
        // Only usage within the reservation keeps the bound; an upstream may report more.
        quota.settle(used(Math.min(usedTokens, reserved)))
        held += Math.min(usedTokens, reserved) - Math.max(1, reserved)
      }
      return true
    }),
    { numRuns: 30 },
  )
})

const USD = 1_000_000_000
const priced = (most: number, answer = 0): MoneyDemand => ({ type: 'priced', most, answer })

t.test('a limit of money holds what calls may cost and settles to what they cost', async (t) => {
  const reserve = setting(t, limit('team', '10 USD/1d'))
  const first = reserve(5, START_MS, priced(6 * USD))
  t.equal(first.refusal, null)
  const refused = reserve(5, START_MS, priced(6 * USD))
  t.match(refused.refusal, { hasNoPrice: false, neverFits: false, nowMs: START_MS })
  t.match(exceeded(refused), ['team'])
  t.match(first.settle({ ...used(5), cost: 1 * USD }), [{ ruleId: /:usd$/, tokens: USD }])
  t.equal(reserve(5, START_MS, priced(9 * USD)).refusal, null)
  t.match(reserve(5, START_MS, priced(11 * USD)).refusal, { neverFits: true })
  t.same(reserve(5, START_MS, priced(1)).states, [], 'no header reports money')
})

t.test('a call whose use is not known keeps at least its reservation', async (t) => {
  const reserve = setting(
    t,
    limit('team', '10 USD/1d'),
    limit('hour', '1000/1h'),
    limit('calls', '9 requests/1h'),
  )
  const settled = (tokens: number, cost: number) =>
    reserve(100, START_MS, priced(USD))
      .settle({ ...used(tokens), cost, keepsReserved: true })
      .map((change) => change.tokens)
  t.same(settled(3, 2), [USD, 100, 1])
  t.same(settled(300, 2 * USD), [2 * USD, 300, 1])
})

t.test('a call above its reservation is carried', async (t) => {
  const reserve = setting(t, limit('team', '10 USD/1d'))
  reserve(5, START_MS, priced(USD)).settle({ ...used(5), cost: 15 * USD })
  t.ok(reserve(5, START_MS, priced(1)).refusal)
})

t.test('a call without a price is refused, or not counted', async (t) => {
  const reserve = setting(t, limit('team', '10 USD/1d'), limit('watched', '10 USD/1h', 'monitor'))
  const refused = reserve(5, START_MS, { type: 'refused' })
  t.match(refused.refusal, { hasNoPrice: true, limit: { rule: { name: 'team' } } })
  const ignored = reserve(5, START_MS, { type: 'ignored' })
  t.same([ignored.refusal, ignored.evidence, ignored.settle(used(5))], [null, [], []])
})

t.test('answers without a limit reserve what such answers cost before', async (t) => {
  const { counters } = openTestStore(t).store
  const selection = compileRules([limit('team', '100 USD/1d')], 'r').select(['m'], keyOf(KEY.name))
  const parts = { counters, parallel: new ParallelCalls() }
  const call = () =>
    new Quota(parts, selection, KEY, { tokens: 1, unlimitedChoices: 1, money: priced(1, 8 * USD) }, START_MS)
  const first = call()
  t.equal(counters.highestUse('team:usd', 86_400_000), 1 + 8 * USD)
  first.settle({ ...used(10), answerTokens: 5, cost: 4 * USD })
  t.equal(counters.highestUse('team:usd', 86_400_000), 4 * USD)
  call()
  t.equal(counters.highestUse('team:usd', 86_400_000), 6 * USD + 1, 'half of the cost was the answer')
})

t.test('parallel calls with a length limit never cost more than a limit of money', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          most: fc.integer({ min: 1, max: 50 }),
          share: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        {
          maxLength: 40,
        },
      ),
      async (calls) => {
        const { counters } = openTestStore(t).store
        const selection = compileRules([limit('team', '0.0000001 USD/1d')], 'r').select(
          ['m'],
          keyOf(KEY.name),
        )
        const parts = { counters, parallel: new ParallelCalls() }
        const running = calls.flatMap(({ most, share }) => {
          const quota = new Quota(
            parts,
            selection,
            KEY,
            { tokens: 1, unlimitedChoices: 0, money: priced(most) },
            START_MS,
          )
          return quota.refusal === null ? [{ quota, cost: Math.floor(most * share) }] : []
        })
        for (const { quota, cost } of running) quota.settle({ ...used(1), cost })
        return running.reduce((sum, { cost }) => sum + cost, 0) <= 100
      },
    ),
    { numRuns: 30 },
  )
})

t.test('a limit of tool calls settles to what the answer asked for', async (t) => {
  const call = setting(t, limit('steps', '3 tool_calls/1d'))
  const first = call(10)
  t.match(first.settle({ ...used(10), toolCalls: 2 }), [{ ruleId: 'steps:tool_calls', tokens: 2 }])
  const second = call(10)
  t.same(second.settle({ ...used(10), toolCalls: 0, keepsReserved: true }), [], 'an answer without a call')
  call(10).settle({ ...used(10), toolCalls: 1 })
  t.same(exceeded(call(10)), ['steps'])
})

t.test('parallel calls reserve the tool calls that an answer of the window had at most', async (t) => {
  const call = setting(t, limit('steps', '10 tool_calls/1d'))
  const together = (answers: readonly number[]) => {
    const running = answers.map((toolCalls) => ({ toolCalls, quota: call(10) }))
    const passed = running.filter(({ quota }) => quota.refusal === null)
    for (const { quota } of running)
      if (quota.refusal !== null) t.equal(quota.refusal.isHeld, true, 'it may pass when those end')
    for (const { quota, toolCalls } of passed) quota.settle({ ...used(10), toolCalls })
    return passed.length
  }
  t.equal(together([1, 1, 1, 1, 1]), 3, 'four each, at first, and what is left')
  t.equal(together([1, 1, 1]), 3, 'one each, as seen')
  t.equal(together([2]), 1)
  t.equal(together([1, 0, 0]), 1, 'two each')
  t.equal(together([1]), 1)
  t.equal(call(10).refusal?.isHeld, false)
})

t.test('a call that others of its run keep out may try again soon, and else never', async (t) => {
  const steps = rule('steps', '2 tool_calls/run', { type: 'rate_limit', per: 'run' })
  const call = setting(t, limit('short', '1 requests/1m'), steps)
  const first = call(10)
  first.settle({ ...used(10), toolCalls: 1, isForwarded: false })
  const second = call(10)
  t.match(call(10, START_MS + 1).refusal, { isRunOver: false, limit: { rule: { name: 'short' } } })
  second.settle({ ...used(10), toolCalls: 1 })
  t.match(call(10, START_MS + 2).refusal, {
    ...{ isHeld: false, isRunOver: true, hasRun: false, retryAfterMs: 0 },
    limit: { rule: { name: 'steps' } },
  })
  const alone = setting(t, steps)
  const running = alone(10)
  t.match(alone(10).refusal, { isHeld: true, isRunOver: false, retryAfterMs: 5000 })
  running.settle({ ...used(10), toolCalls: 2 })
  t.match(alone(10).refusal, { isHeld: false, isRunOver: true, retryAfterMs: 0 })
})

t.test('a limit of a run or a user is shared by its calls, and by those of a key without one', async (t) => {
  const { counters } = openTestStore(t).store
  const rules = [
    rule('run', '1 requests/run', { type: 'rate_limit', per: 'run' }),
    rule('user', '3 requests/1d', { type: 'rate_limit', per: 'user' }),
  ]
  const selection = compileRules(rules, 'r').select(['m'], keyOf(KEY.name))
  const call = (run: string | null, user: string | null = null, key = KEY) => {
    const parts = { counters, parallel: new ParallelCalls() }
    const demand = { tokens: 1, unlimitedChoices: 0, money: NO_COST }
    const quota = new Quota(parts, selection, key, demand, START_MS, { run, user })
    quota.settle(used(1))
    return exceeded(quota)
  }
  t.same(call('a', 'u'), [])
  t.same(call('a', 'u'), ['run'])
  t.same(call('b', 'u'), [])
  t.same(call('c', 'u'), [])
  t.same(call('d', 'u'), ['user'])
  t.same(call('a', 'v', callKey('other', {}, 'other')), [], 'a run is of one key')
  t.same(call(null, 'w'), [])
  t.same(call(null, 'w'), ['run'], 'calls without a run share one count')
})
