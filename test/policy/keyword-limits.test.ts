import t from 'tap'
import { KeywordUsage } from '../../src/policy/keyword-limits.ts'
import type { Rule } from '../../src/policy/rule.ts'
import { parsed, rule } from './rules.ts'

const exceeded = (rules: readonly Rule[], share?: number) =>
  new KeywordUsage().add(rules.map(parsed)).exceeded(share)

const words = (from: number) =>
  Array.from({ length: 60 }, (_, index) => `${from + index}${'x'.repeat(1000)}`).join('|')
const five = Array.from({ length: 5 }, (_, index) => rule(String(index), words(index * 100)))

t.test('the words of all rules together have a limit', async (t) => {
  t.equal(exceeded(five.slice(0, 4)), null)
  t.match(exceeded(five), /all keywords together have \d+ characters; at most 262144 are allowed/)
})

t.test('the expressions of all rules together have a limit', async (t) => {
  const large = Array.from({ length: 13 }, (_, index) => rule(String(index), '(?:ab){390}'))
  t.match(exceeded(large), /all expressions together compile to \d+ steps; at most 10000 are allowed/)
})

t.test('disabled rules do not count', async (t) => {
  t.equal(exceeded(five.map((one) => ({ ...one, enabled: false }))), null)
})

t.test('a share of the limits can be asked for', async (t) => {
  t.match(exceeded(five.slice(0, 3), 1 / 2), /^all keywords together/)
  t.equal(exceeded(five.slice(0, 2), 1 / 2), null)
})
