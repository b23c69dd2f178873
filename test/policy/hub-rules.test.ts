// Which limits hold over a fleet.

import t from 'tap'
import { FleetLimits } from '../../src/policy/hub-rules.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { parsed, rule } from './rules.ts'

const limit = (name: string, pattern: string, more: Partial<Rule> = {}) =>
  parsed(rule(name, pattern, { type: 'rate_limit', ...more }))

t.test('limits by key, label or all hold over the fleet, and those by run or end user do not', (t) => {
  const rules = [
    limit('tokens', '100/1m'),
    limit('requests', '7 requests/1mo', { per: 'all' }),
    limit('tools', '5 tool_calls/1h', { per: 'label:team' }),
    limit('places', '2 parallel', { action: 'monitor' }),
    limit('run', '1 USD/run', { per: 'run' }),
    limit('user', '9 requests/1d', { per: 'user' }),
    limit('off', '100/1m', { enabled: false }),
    parsed(rule('keyword', 'aurora')),
  ]
  const limits = new FleetLimits(() => rules)
  t.match(limits.limitOf('tokens'), { unit: 'tokens', amount: 100, windowMs: 60_000 })
  t.match(limits.limitOf('requests:requests'), { amount: 7 })
  t.match(limits.limitOf('tools:tool_calls'), { unit: 'tool_calls', amount: 5 })
  t.match(limits.limitOf('places:parallel'), { unit: 'parallel', amount: 2 })
  for (const count of ['run:usd', 'user:requests', 'off', 'keyword', 'requests', 'unknown'])
    t.equal(limits.limitOf(count), null, count)
  t.match(limits.declared('off'), { limit: { amount: 100 }, rule: { enabled: false } }, 'for what was used')
  t.equal(limits.declared('run:usd'), null)
  t.end()
})

t.test('only rules of the hub count, and a changed set counts at once', (t) => {
  let rules = [limit('own', '100/1m'), limit('hub', '100/1m')]
  const limits = new FleetLimits(
    () => rules,
    ({ name }) => name === 'hub',
  )
  t.strictSame([limits.limitOf('own'), limits.limitOf('hub')?.amount], [null, 100])
  rules = [limit('hub', '200/1m')]
  t.equal(limits.limitOf('hub')?.amount, 200)
  t.end()
})
