// Routes of keys: the list by search, state, label and page, and what is in force for one key,
// compared with the decision on its calls.

import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { NO_TERMS } from '../../src/core/key-terms.ts'
import type { KeyRecord } from '../../src/keys/key-record.ts'
import { ParallelCalls } from '../../src/pipeline/limits/parallel-calls.ts'
import { spendingOf } from '../../src/pipeline/limits/quota.ts'
import { compileAccessList } from '../../src/policy/access-list.ts'
import { matchedKey } from '../../src/policy/compile.ts'
import { judge, NOTHING_SCANNED } from '../../src/policy/decide.ts'
import { compileGlob } from '../../src/policy/glob.ts'
import type { Rule } from '../../src/policy/rule.ts'
import type { SessionRequest } from '../../src/server/api.ts'
import { effectiveTerms } from '../../src/server/routes/effective-terms.ts'
import { type Keys, keyRoutes } from '../../src/server/routes/keys.ts'
import { compileRules, rule } from '../policy/rules.ts'
import { START_MS, testClock } from '../store/fixture.ts'

const key = (
  id: string,
  terms: Partial<KeyRecord['terms']> = {},
  more: Partial<KeyRecord> = {},
): KeyRecord => ({
  id,
  name: `name of ${id}`,
  ...{ prefix: null, createdAtMs: START_MS, lastUsedAtMs: null, revokedAtMs: null, replaces: null },
  line: id,
  terms: { ...NO_TERMS, ...terms },
  source: 'api',
  ...more,
})

type Inputs = Parameters<typeof effectiveTerms>[0]
const RESET_MS = 5000

/** A gateway with rules and keys, 7 used of each limit by a key. */
function serve(keys: readonly KeyRecord[], rules: readonly Rule[] = [], by = keys[0]!) {
  const compiled = compileRules(rules, 'r')
  const parallel = new ParallelCalls()
  for (const limit of compiled.limits(null))
    if (limit.unit === 'parallel')
      parallel.enter({ rule: limit.rule, subject: by.line, amount: limit.amount, force: false })
  const counts = compiled.limits(null).map((limit) => {
    const { ruleId, subject, windowMs } = spendingOf(limit, by, 7, START_MS)
    return { ruleId, subject, windowMs, used: 7, resetMs: RESET_MS }
  })
  const deciding = {
    rules: () => compiled,
    parallel,
    capture: 'full',
    clock: testClock(),
  } as unknown as ReturnType<Inputs>
  const routes = keyRoutes(
    { list: async () => [...keys] } as unknown as Keys,
    testClock(),
    effectiveTerms(() => deciding, { inUse: () => counts }, null),
  )
  const get = async (path: string, search = '', params = {}): Promise<JsonObject> => {
    const route = routes.find((one) => one.method === 'GET' && one.path === path)
    const request = { search, params } as unknown as SessionRequest
    return (await route!.answer(request)).body as JsonObject
  }
  return {
    compiled,
    list: (search = '') => get('/api/v1/keys', search),
    one: async (id: string): Promise<any> => (await get('/api/v1/keys/:id', '', { id }))['effective'],
  }
}

const names = (body: JsonObject) => (body['keys'] as JsonObject[]).map(({ id }) => id)

t.test('the list is searched, filtered and read page by page', async (t) => {
  const keys = [
    key('a', { labels: { team: 'Search', env: 'prod' } }, { prefix: 'sgate_live_Abc' }),
    key('b', { owner: 'ann@example.com' }, { revokedAtMs: START_MS }),
    key('c', { labels: { team: 'batch', 'a=b': 'c=d' } }),
    key('d', { labels: { team: 'search' }, expiresAtMs: START_MS }),
  ]
  const { list } = serve(keys)
  t.strictSame({ ...(await list()), keys: 4 }, { keys: 4, total: 4, next: null }, 'all without a limit')
  const CASES: readonly [search: string, found: readonly string[]][] = [
    ['q=NAME+OF', ['a', 'b', 'c', 'd']],
    ['q=team%3Dsearch', ['a', 'd']],
    ['q=live_abc', ['a']],
    ['q=ANN', ['b']],
    ['q=.*', []],
    ['state=active', ['a', 'c']],
    ['state=revoked', ['b']],
    ['state=expired', ['d']],
    ['label=team', ['a', 'c', 'd']],
    ['label=team%3Dsearch', ['d']],
    ['label=toString', []],
    ['label=a%3Db%3Dc%3Dd', ['c']],
    ['label=a%3Db', ['c']],
    ['label=a', []],
    ['label=env&q=a&state=active', ['a']],
  ]
  for (const [search, found] of CASES) t.same(names(await list(search)), found, search)
  const first = await list('label=team&limit=2')
  t.match(first, { total: 3, next: 'c' })
  t.same(names(first), ['a', 'c'])
  const second = await list('label=team&limit=2&cursor=c')
  t.match(second, { total: 3, next: null })
  t.same(names(second), ['d'])
  t.same(names(await list('state=active&limit=5&cursor=b')), ['c'], 'the key of the cursor matches no more')
  for (const [search, param] of [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['state=gone', 'state'],
    ['cursor=x', 'cursor'],
    ['offset=1', 'offset'],
  ] as const)
    await t.rejects(list(search), { code: 'invalid_parameter', param }, search)
})

t.test('a key shows the models, limits and capture that decide on its calls', async (t) => {
  const team = { labels: { team: 'batch' } }
  const rules = [
    rule('allowed', ['gpt-*', '!gpt-secret'], { type: 'model_access' }),
    rule('watched', ['o*'], { type: 'model_access', action: 'monitor' }),
    rule('others', ['x'], { type: 'model_access', match: { labels: { team: 'other' } } }),
    rule('only claude', ['claude-5'], { type: 'model_access', match: { models: ['claude*'] } }),
    rule('budget', '20 USD/1mo', { type: 'rate_limit', per: 'label:team' }),
    rule('each', '1000 tokens/90s', { type: 'rate_limit', match: { models: ['gpt-*'] } }),
    rule('runs', '5 tool_calls/run', { type: 'rate_limit', per: 'run', action: 'monitor' }),
    rule('all', '10 requests/1d', { type: 'rate_limit', per: 'all' }),
    rule('at a time', '3 parallel', { type: 'rate_limit' }),
    rule('off', '1 parallel', { type: 'rate_limit', enabled: false }),
    { ...rule('no text', 'metadata', { type: 'capture', match: { models: ['o*'] } }), action: undefined },
  ] as Rule[]
  const own = key('a', { ...team, models: ['*-5'], maxParallel: 2 })
  const { one } = serve([own, key('b')], rules)
  const effective = await one('a')
  t.strictSame(effective.models, [
    { pattern: '*-5', rule: null, only_for: null },
    { pattern: 'gpt-*', rule: 'allowed', only_for: null },
    { pattern: '!gpt-secret', rule: 'allowed', only_for: null },
    { pattern: 'claude-5', rule: 'only claude', only_for: ['claude*'] },
  ])
  const slides = new Date(START_MS + RESET_MS).toISOString()
  const NONE = { only_for: null, action: 'block' }
  t.strictSame(
    effective.limits.map(({ rule, ...row }: any) => [rule, row]),
    [
      [
        'budget',
        {
          ...{ ...NONE, unit: 'usd', limit: 20, used: 7e-9, left: 19.999999993, window: '1mo' },
          ...{ subject: 'team = batch', reset_at: '2026-04-01T00:00:00.000Z' },
        },
      ],
      [
        'each',
        {
          ...{ ...NONE, unit: 'tokens', limit: 1000, used: 7, left: 993, window: '90s' },
          ...{ subject: 'key = name of a', only_for: ['gpt-*'], reset_at: slides },
        },
      ],
      [
        'runs',
        {
          ...{ ...NONE, action: 'monitor', unit: 'tool_calls', limit: 5, used: null, left: null },
          ...{ window: 'run', subject: 'each run', reset_at: null },
        },
      ],
      [
        'all',
        {
          ...{ ...NONE, unit: 'requests', limit: 10, used: 7, left: 3, window: '1d' },
          ...{ subject: 'all keys', reset_at: slides },
        },
      ],
      [
        'at a time',
        {
          ...{ ...NONE, unit: 'parallel', limit: 3, used: 1, left: 2, window: null },
          ...{ subject: 'key = name of a', reset_at: null },
        },
      ],
      [
        null,
        {
          ...{ ...NONE, unit: 'parallel', limit: 2, used: 0, left: 2, window: null },
          ...{ subject: 'key = name of a', reset_at: null },
        },
      ],
    ],
  )
  t.strictSame(effective.capture, { value: 'metadata', rule: 'no text', only_for: ['o*'] })
  const other = await one('b')
  t.match(other.limits[0], { subject: 'no team', used: 0, left: 20, reset_at: '2026-04-01T00:00:00.000Z' })
  const { one: unlimited } = serve([key('a'), key('m', { capture: 'metadata' })])
  t.strictSame(await unlimited('a'), {
    models: [{ pattern: '*', rule: null, only_for: null }],
    limits: [],
    capture: { value: 'full', rule: null, only_for: null },
  })
  const { one: refused } = serve([key('a', { models: [] })])
  t.strictSame((await refused('a')).models, [{ pattern: '!*', rule: null, only_for: null }])
  t.strictSame((await unlimited('m')).capture, { value: 'metadata', rule: null, only_for: null })
  await t.rejects(unlimited('x'), { code: 'not_found' })
})

t.test('a model passes the lists that a key shows if and only if the policy permits it', async () => {
  const anyGlob = fc.constantFrom('*', 'gpt-*', 'gpt-5', '!gpt-5', 'o?', '!o*', 'GPT-5')
  const anyList = fc.array(anyGlob, { maxLength: 3 })
  const anyRule = fc.record({
    globs: anyList,
    action: fc.constantFrom('block' as const, 'monitor' as const),
    models: fc.option(fc.constantFrom(['gpt-*'], ['o*'], ['*'])),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.option(anyList),
      fc.array(anyRule, { maxLength: 3 }),
      fc.constantFrom('gpt-5', 'gpt-4', 'GPT-5', 'o3', 'claude'),
      async (models, declared, model) => {
        const rules = declared.map(({ globs, action, models: only }, n) =>
          rule(`r${n}`, globs, {
            ...{ type: 'model_access', action },
            ...(only !== null && { match: { models: only } }),
          }),
        )
        const own = key('a', { models })
        const { one, compiled } = serve([own], rules)
        const shown: any[] = (await one('a')).models
        const lists = Object.values(Object.groupBy(shown, (row) => String(row.rule))) as any[][]
        const isShown = lists.every((list) => {
          const only: string[] | null = list[0]!.only_for
          const isConcerned =
            only === null || only.some((glob) => compileGlob(glob.toLowerCase())(model.toLowerCase()))
          return !isConcerned || compileAccessList(list.map(({ pattern }) => pattern))(model)
        })
        const { outcome } = judge({
          ...NOTHING_SCANNED,
          selection: compiled.select([model], matchedKey(own)),
          ...{ limits: [], models: [model], keyModels: models },
        })
        return isShown === (outcome === 'permit')
      },
    ),
    { numRuns: 300 },
  )
})
