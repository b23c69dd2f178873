// Several limits on one call: which one denies it, what the client learns, what is released.

import fc from 'fast-check'
import t, { type Test } from 'tap'
import { readChatRequest } from '../../src/chat/request.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { demandOf, Quota } from '../../src/pipeline/prompt/quota.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { compileRules, rule } from '../policy/rules.ts'
import { openTestStore, START_MS } from '../store/fixture.ts'

const KEY = { id: 'key', name: 'app' }
const MINUTE_MS = 60_000

const limit = (name: string, pattern: string, action: 'block' | 'monitor' = 'block'): Rule =>
  rule(name, pattern, { type: 'rate_limit', action })

function setting(t: Test, ...rules: Rule[]) {
  const { counters } = openTestStore(t).store
  const selection = compileRules(rules, 'r').select(['m'], KEY.name)
  return (tokens: number, nowMs = START_MS) =>
    new Quota(counters, selection, KEY, { tokens, unlimitedChoices: 0 }, nowMs)
}

t.test('a request limits its answers by either parameter name, all or none', async (t) => {
  const demand = (options: JsonObject) =>
    demandOf(readChatRequest({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...options }), 7)
  t.same(demand({ n: 3 }), { tokens: 7, unlimitedChoices: 3 })
  t.same(demand({ max_tokens: null }), { tokens: 7, unlimitedChoices: 1 })
  t.same(demand({ n: 3, max_tokens: 10 }), { tokens: 37, unlimitedChoices: 0 })
  t.same(demand({ max_completion_tokens: 10 }), { tokens: 17, unlimitedChoices: 0 })
})

const exceeded = (quota: Quota) => quota.evidence.filter((one) => one.exceeded).map(({ rule }) => rule.name)

t.test('without a limit there is nothing to report or settle', async (t) => {
  const quota = setting(t)(10)
  t.match(quota, { evidence: [], tightest: null, retryAfterMs: 0 })
  t.same(quota.settle(10, 0), [])
})

t.test('the headers report the limit with the least left', async (t) => {
  const reserve = setting(t, limit('hour', '1000/1h'), limit('minute', '300/1m'))
  t.match(reserve(100).tightest, { limitTokens: 300, remainingTokens: 200 })
  const later = START_MS + 2 * MINUTE_MS
  reserve(300, later)
  t.match(reserve(250, later + 2 * MINUTE_MS).tightest, { limitTokens: 300, remainingTokens: 50 })
  t.match(reserve(200, later + 4 * MINUTE_MS).tightest, { limitTokens: 300, remainingTokens: 100 })
  t.match(reserve(120, later + 6 * MINUTE_MS).tightest, { limitTokens: 1000, remainingTokens: 30 })
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
  t.match(
    refused.tightest,
    { limitTokens: 1000, remainingTokens: 80 },
    'not of one that had room, or watches',
  )
  t.ok(refused.retryAfterMs <= refused.tightest!.resetMs, 'by then it has room again')
})

t.test('a limit without room denies the call, and other limits release their share', async (t) => {
  const reserve = setting(t, limit('hour', '900/1h'), limit('minute', '300/1m'))
  reserve(200)
  const refused = reserve(200)
  t.same(exceeded(refused), ['minute'])
  t.ok(refused.retryAfterMs > 0 && refused.retryAfterMs <= MINUTE_MS + MINUTE_MS / 60)
  const later = START_MS + 2 * MINUTE_MS
  t.same(exceeded(reserve(300, later)), [])
  t.same(
    exceeded(reserve(300, later + 2 * MINUTE_MS)),
    [],
    '200 + 300 + 300 of the hour, not 1000: there is room for 900',
  )
  t.same(refused.settle(0, 0), [], 'a refused call adds nothing to the log')
})

t.test('when two limits deny a call, the longer wait is reported', async (t) => {
  const reserve = setting(t, limit('hour', '300/1h'), limit('minute', '300/1m'))
  reserve(300).settle(300, 0)
  const refused = reserve(1)
  t.same(exceeded(refused), ['hour', 'minute'])
  t.ok(refused.retryAfterMs > 59 * MINUTE_MS)
})

t.test('a monitoring limit counts but never delays', async (t) => {
  const reserve = setting(t, limit('watch', '100/1m', 'monitor'))
  t.same(exceeded(reserve(80)), [])
  const over = reserve(80)
  t.same(exceeded(over), ['watch'])
  t.equal(over.retryAfterMs, 0)
  t.match(over.settle(50, 0), [{ ruleId: 'watch', keyId: 'key', tokens: 50 }])
  over.settle(50, 0)
  t.same(exceeded(reserve(1)), ['watch'], '80 + 50: usage is counted once')
})

t.test('a reservation settles to the real usage, higher or lower', async (t) => {
  const reserve = setting(t, limit('hour', '1000/1h'))
  const less = reserve(900)
  t.match(less.settle(100, 0), [{ ruleId: 'hour', tokens: 100 }])
  t.match(reserve(100).tightest, { remainingTokens: 800 })
  const more = reserve(100)
  t.match(more.settle(500, 0), [{ tokens: 500 }])
  t.match(reserve(1).tightest, { remainingTokens: 1000 - 100 - 100 - 500 - 1 })
})

t.test('parallel calls never reserve more than the limit', async (t) => {
  const call = fc.record({ reserved: fc.nat(400), used: fc.nat(400), settles: fc.boolean() })
  fc.assert(
    fc.property(fc.array(call, { maxLength: 40 }), fc.uuid(), (calls, name) => {
      const reserve = setting(t, limit(name, '1000/1h'))
      let held = 0
      for (const { reserved, used, settles } of calls) {
        const quota = reserve(reserved)
        if (exceeded(quota).length > 0) {
          if (held + Math.max(1, reserved) <= 1000) return false
          quota.settle(0, 0)
          continue
        }
        held += Math.max(1, reserved)
        if (held > 1000) return false
        if (!settles) continue
        // Only usage within the reservation keeps the bound; an upstream may report more.
        quota.settle(Math.min(used, reserved), 0)
        held += Math.min(used, reserved) - Math.max(1, reserved)
      }
      return true
    }),
    { numRuns: 30 },
  )
})
