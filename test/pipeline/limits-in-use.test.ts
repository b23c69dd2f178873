// Limits in use: which counts are listed, by whose name, in which order, and how many.

import t from 'tap'
import { NO_TERMS } from '../../src/core/key-terms.ts'
import type { KeyRecord } from '../../src/keys/key-record.ts'
import { limitsInUse } from '../../src/pipeline/limits/limits-in-use.ts'
import { spendingOf } from '../../src/pipeline/limits/quota.ts'
import type { Rule } from '../../src/policy/rule.ts'
import type { CountInUse } from '../../src/store/limits/counters.ts'
import { compileRules, rule } from '../policy/rules.ts'
import { START_MS } from '../store/fixture.ts'

const RESET_MS = 5000

const limit = (name: string, pattern: string, more: Partial<Rule> = {}): Rule =>
  rule(name, pattern, { type: 'rate_limit', ...more })

const key = (id: string, more: Partial<KeyRecord> = {}): KeyRecord => ({
  id,
  name: `name of ${id}`,
  prefix: null,
  createdAtMs: START_MS,
  lastUsedAtMs: null,
  revokedAtMs: null,
  replaces: null,
  line: id,
  terms: NO_TERMS,
  source: 'api',
  ...more,
})
const labelled = (id: string, labels: Record<string, string>) => key(id, { terms: { ...NO_TERMS, labels } })

/** What calls of a key have used of each limit of the rules. */
const countsOf = (rules: readonly Rule[], by: KeyRecord, used: number): CountInUse[] =>
  compileRules(rules, 'r')
    .limits(null)
    .map((one) => {
      const { ruleId, subject, windowMs } = spendingOf(one, by, used, START_MS)
      return { ruleId, subject, windowMs, used, resetMs: RESET_MS }
    })

function list(
  rules: readonly Rule[],
  counts: readonly CountInUse[],
  keys: readonly KeyRecord[],
  of: KeyRecord | null = null,
) {
  const found = limitsInUse(compileRules(rules, 'r'), counts, { keys, key: of }, START_MS)
  const rows = found.limits.map(
    ({ limit, subject, used }) =>
      `${limit.rule.name} ${subject.scope} ${subject.subject} ${subject.keyName} ${used}/${limit.amount}`,
  )
  return { ...found, rows }
}

t.test('a count is listed by the id and name of its key, the value of its label, or for all', async (t) => {
  const rules = [
    limit('each', '100/1m'),
    limit('team', '100 requests/1h', { per: 'label:team' }),
    limit('total', '0.0000001 USD/1mo', { per: 'all' }),
    limit('at a time', '5 parallel'),
  ]
  const search = labelled('k1', { team: 'search', env: 'test' })
  const counts = countsOf(rules, search, 30)
  t.same(list(rules, counts, [search]).rows, [
    'each key k1 name of k1 30/100',
    'team label search null 30/100',
    'total all  null 30/100',
  ])
  t.match(list(rules, counts, [search]).limits[0], { resetMs: RESET_MS })
  const plain = key('k2')
  const unlabelled = countsOf(rules, plain, 30)
  t.equal(list(rules, unlabelled, [plain]).rows[1], 'team label  null 30/100', 'keys without the label')
})

t.test('the highest share of any unit is first, then the name', async (t) => {
  const rules = [limit('small', '10/1m'), limit('large', '1M/1m'), limit('also small', '10 requests/1m')]
  const k = key('k1')
  const counts = [
    ...countsOf([rules[0]!, rules[2]!], k, 9),
    ...countsOf([rules[1]!], k, 500_000),
    ...countsOf([rules[0]!], key('k2'), 11),
  ]
  t.same(
    list(rules, counts, [k, key('k2')]).rows.map((row) => row.replace(/ key.* /, ' ')),
    ['small 11/10', 'also small 9/10', 'small 9/10', 'large 500000/1000000'],
  )
})

t.test('keys that replace each other are listed as the newest active one', async (t) => {
  const rules = [limit('each', '100/1m')]
  const first = key('k1')
  const second = key('k2', { line: 'k1', replaces: 'k1' })
  const third = key('k3', { line: 'k1', replaces: 'k2', revokedAtMs: START_MS })
  const counts = countsOf(rules, first, 30)
  const subject = (...keys: KeyRecord[]) => list(rules, counts, keys).limits[0]?.subject.subject
  t.equal(subject(first, second, third), 'k2')
  const expired = { ...second, terms: { ...NO_TERMS, expiresAtMs: START_MS } }
  t.equal(subject(first, expired, third), 'k1')
  const revoked = { ...first, revokedAtMs: START_MS }
  t.equal(subject(revoked, expired, third), 'k3', 'the newest when none is active')
  const ofSecond = list(rules, counts, [first, second, third], second)
  t.same(ofSecond.rows, ['each key k2 name of k2 30/100'], 'its successor counts against the same')
})

t.test('counts of a former rule, window, unit, scope or key are left out', async (t) => {
  const now = limit('each', '100/1m')
  const search = labelled('k1', { team: 'search' })
  const keys = [search, labelled('k2', { env: 'search' })]
  const former = [
    limit('gone', '100/1m'),
    limit('each', '100/1h'),
    limit('each', '100 requests/1m'),
    limit('each', '100/1m', { per: 'all' }),
    limit('each', '100/1m', { per: 'label:team' }),
  ]
  t.same(list([now], countsOf(former, search, 30), keys).rows, [])
  t.same(list([now], countsOf([now], key('unknown'), 30), keys).rows, [])
  t.same(list([{ ...now, enabled: false }], countsOf([now], search, 30), keys).rows, [])
  const perAll = limit('each', '100/1m', { per: 'all' })
  t.same(list([perAll], countsOf([now], search, 30), keys).rows, [], 'a count of one key')
  const perLabel = limit('each', '100/1m', { per: 'label:team' })
  const other = limit('each', '100/1m', { per: 'label:env' })
  t.same(
    list([perLabel, limit('b', '1/1m', { per: 'label:env' })], countsOf([other], search, 30), keys).rows,
    [],
  )
  const legal = labelled('k1', { team: 'legal' })
  t.same(list([perLabel], countsOf([perLabel], legal, 30), keys).rows, [], 'a value that no key has')
})

t.test('of one key, each limit that counts its calls is listed, unused ones too', async (t) => {
  const rules = [
    limit('each', '100/1m'),
    limit('batch', '100/1m', { match: { keys: ['*k2'] } }),
    limit('team', '100/1m', { per: 'label:team' }),
    limit('total', '100/1m', { per: 'all' }),
    limit('at a time', '5 parallel'),
  ]
  const search = labelled('k1', { team: 'search' })
  const also = labelled('k2', { team: 'search' })
  const counts = countsOf(rules, also, 30)
  t.same(list(rules, counts, [search, also], search).rows, [
    'team label search null 30/100',
    'total all  null 30/100',
    'each key k1 name of k1 0/100',
  ])
  t.equal(list(rules, counts, [search, also], search).limits[2]?.resetMs, null)
})

t.test('the 1,000 highest are listed, and that there are more', async (t) => {
  const rules = [limit('each', '2000/1m')]
  const keys = Array.from({ length: 1001 }, (_, n) => key(`k${n}`))
  const counts = keys.flatMap((one, n) => countsOf(rules, one, n + 1))
  const { limits, truncated } = list(rules, counts, keys)
  t.same([limits.length, truncated], [1000, true])
  t.same([limits[0]?.used, limits.at(-1)?.used], [1001, 2])
  t.equal(list(rules, counts.slice(1), keys).truncated, false)
})
