// Several limits on one call: which one denies it, what the client learns, what is released.

import fc from 'fast-check'
import t, { type Test } from 'tap'
import { readChatRequest } from '../../src/chat/request.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { ParallelCalls } from '../../src/pipeline/parallel-calls.ts'
import { demandOf, Quota, type Used } from '../../src/pipeline/prompt/quota.ts'
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
  return (tokens: number, nowMs = START_MS) =>
    new Quota(
      { counters, parallel: new ParallelCalls() },
      selection,
      KEY,
      { tokens, unlimitedChoices: 0 },
      nowMs,
    )
}

t.test('a request limits its answers by either parameter name, all or none', async (t) => {
  const demand = (options: JsonObject) =>
    demandOf(readChatRequest({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...options }), 7)
  t.same(demand({ n: 3 }), { tokens: 7, unlimitedChoices: 3 })
  t.same(demand({ max_tokens: null }), { tokens: 7, unlimitedChoices: 1 })
  t.same(demand({ n: 3, max_tokens: 10 }), { tokens: 37, unlimitedChoices: 0 })
  t.same(demand({ max_completion_tokens: 10 }), { tokens: 17, unlimitedChoices: 0 })
})

const used = (tokens: number): Used => ({ tokens, answerTokens: 0, isForwarded: true })

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
