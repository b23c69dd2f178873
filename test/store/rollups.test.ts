// Rollups: the report equals the sums of the sealed calls, at any stage of packing, after pruning,
// erasure and a rebuild.

import fc from 'fast-check'
import t from 'tap'
import type { RequestDraft } from '../../src/audit/entry.ts'
import type { SealedTool } from '../../src/audit/entry-fields.ts'
import { hashUser } from '../../src/audit/user-hash.ts'
import { MAXIMUM_NANO_USD } from '../../src/core/money.ts'
import { openEnvironment } from '../../src/store/environment/journaled.ts'
import { CallRollup, readFirstHour } from '../../src/store/rollup/call-rollup.ts'
import { admitCombination } from '../../src/store/rollup/combinations.ts'
import { openKey } from '../../src/store/rollup/rollup-periods.ts'
import { reportUsage } from '../../src/store/rollup/usage-report.ts'
import { writeJson } from '../../src/store/tables/layout.ts'
import type { GroupField } from '../../src/usage/report-query.ts'
import { requestDraft } from '../audit/drafts.ts'
import { DAY_MS, id, openTestStore, START_MS, type TestStore, until } from './fixture.ts'

t.setTimeout(240_000)

const KEY = Buffer.alloc(32, 7)
const HOUR_MS = 3_600_000
const HOUSEKEEPING_MS = 60_000
const WATCH_MS = 1000
const MINUTE_MS = 60_000

interface Call {
  readonly key: string
  readonly model: string
  readonly api: string | undefined
  readonly upstream: string | undefined
  readonly team: string | undefined
  readonly user: string | null
  readonly clear: boolean
  readonly blocked: boolean
  /** By a limit; of a blocked call by a rule on models. */
  readonly refused: boolean
  readonly tokens: number
  readonly cost: number | null
  readonly tools: readonly SealedTool[]
  readonly run: string | undefined
  /** Counts for a tool that the call defines and the answer does not call. */
  readonly isDefined?: boolean
}

/** What a test expects a sealed call to count as. */
interface Counted {
  readonly atMs: number
  readonly call: Call
  user: string | null
}

const shown = ({ user, clear }: Call) =>
  user === null ? null : clear ? user : hashUser(KEY, user).toString('hex')

function endingOf({ blocked, refused }: Call): Pick<RequestDraft, 'outcome' | 'error_code'> {
  if (blocked) return { outcome: 'blocked', error_code: refused ? 'model_not_allowed' : 'blocked_by_policy' }
  return refused
    ? { outcome: 'rate_limited', error_code: 'budget_exceeded' }
    : { outcome: 'ok', error_code: null }
}

const LIMITED = { outcome: 'rate_limited', error_code: 'budget_exceeded' } as const
const ENVELOPE = { v: 2, log: id(0), seq: 1, prev: null, ts: '', hash: '', content_hash: null } as const

let calls = 0
async function seal({ store, clock }: TestStore, call: Call): Promise<Counted> {
  await store.log.append(
    requestDraft({
      id: id(++calls),
      created_at: new Date(clock.now()).toISOString(),
      key_id: call.key,
      key_name: `name of ${call.key}`,
      model: call.model,
      blocked: call.blocked,
      ...endingOf(call),
      prompt_tokens: call.tokens,
      completion_tokens: 0,
      total_tokens: call.tokens,
      cost: call.cost,
      ...(call.api !== undefined && { api: call.api }),
      ...(call.upstream !== undefined && { upstream: call.upstream }),
      ...(call.team !== undefined && { labels: { team: call.team } }),
      ...(call.user !== null && { has_user: true as const }),
      ...(call.tools.length > 0 && { tools: call.tools.map((tool) => ({ ...tool })) }),
      ...(call.run !== undefined && { run: call.run }),
    }),
    {
      content: '{"request":{},"response":null}',
      user:
        call.user === null ? null : { hash: hashUser(KEY, call.user), clear: call.clear ? call.user : null },
    },
  )
  return { atMs: clock.now(), call, user: shown(call) }
}

const FIELDS: Readonly<Record<string, (one: Counted) => string | null>> = {
  key: ({ call }) => call.key,
  model: ({ call }) => call.model,
  api: ({ call }) => call.api ?? 'chat',
  upstream: ({ call }) => call.upstream ?? null,
  day: ({ atMs }) => new Date(atMs).toISOString().slice(0, 10),
  month: ({ atMs }) => new Date(atMs).toISOString().slice(0, 7),
  user: ({ user }) => user,
  'label:team': ({ call }) => call.team ?? null,
  tool: ({ call }) => call.tools[0]!.name,
  run: ({ call }) => call.run!,
}

/** What the rows of a report count: calls, those of runs, or each call once for each of its tools. */
function countedParts(counted: readonly Counted[], groupBy: readonly GroupField[]): readonly Counted[] {
  if (groupBy.includes('run')) return counted.filter(({ call }) => call.run !== undefined)
  if (!groupBy.includes('tool')) return counted
  return counted.flatMap((one) =>
    one.call.tools.map((tool) => {
      const used = tool.called > 0 ? { isDefined: false } : { tokens: 0, cost: null, isDefined: true }
      return { ...one, call: { ...one.call, ...used, tools: [tool] } }
    }),
  )
}

/** The sums that are compared; a field that is added has a test of its own. */
const SUMS = [
  ...['requests', 'blocked', 'prompt_tokens', 'completion_tokens', 'total_tokens', 'cost'],
  ...['unpriced_requests', 'tool_calls', 'tool_refusals', 'refused', 'answered'],
] as const

/** The report by a sum over all calls. */
function expectedRows(
  counted: readonly Counted[],
  groupBy: readonly GroupField[],
  since: number,
  end: number,
) {
  const groups = new Map<string, Counted[]>()
  for (const one of countedParts(counted, groupBy)) {
    if (one.atMs < since || one.atMs >= end) continue
    const name = JSON.stringify(groupBy.map((field) => FIELDS[field]!(one)))
    groups.set(name, [...(groups.get(name) ?? []), one])
  }
  return new Map(
    [...groups].map(([name, ones]) => {
      const sum = (of: (call: Call) => number) =>
        Number(ones.reduce((total, { call }) => total + BigInt(of(call)), 0n))
      const isKnown = ones.some(({ call }) => call.cost !== null)
      const unpriced = sum(({ cost, tokens }) => Number(cost === null && tokens > 0))
      const nano = ones.reduce((total, { call }) => total + BigInt(call.cost ?? 0), 0n)
      const cost = Number(`${nano / 10n ** 9n}.${String(nano % 10n ** 9n).padStart(9, '0')}`)
      const sums = {
        requests: ones.length,
        blocked: sum(({ blocked, refused }) => Number(blocked && !refused)),
        prompt_tokens: sum(({ tokens }) => tokens),
        completion_tokens: 0,
        total_tokens: sum(({ tokens }) => tokens),
        cost: !isKnown && unpriced > 0 ? null : cost,
        unpriced_requests: unpriced,
        tool_calls: sum(({ tools }) => tools.reduce((all, { called }) => all + called, 0)),
        tool_refusals: sum(({ tools }) => tools.reduce((all, { refused }) => all + refused, 0)),
        refused: sum(({ refused }) => Number(refused)),
        answered: sum(({ blocked, refused, tokens, isDefined = false }) =>
          Number(!isDefined && ((!blocked && !refused) || tokens > 0)),
        ),
      }
      return [name, sums]
    }),
  )
}

async function report(
  { store }: TestStore,
  groupBy: readonly GroupField[],
  sinceMs: number,
  untilMs: number,
) {
  const answer = await store.rollups.report({ groupBy, sinceMs, untilMs })
  const rows = answer.rows.map((row) => {
    const name = JSON.stringify(groupBy.map((field) => row[field]))
    return [name, Object.fromEntries(SUMS.map((sum) => [sum, row[sum]]))] as const
  })
  return { ...answer, sums: new Map(rows) }
}

/** Runs the housekeeping of a minute to its end. */
async function keepHouse({ tick, store }: TestStore): Promise<void> {
  tick(HOUSEKEEPING_MS)
  // A change waits for the transactions before it.
  let done = false
  void store.rollups.maintain().finally(() => {
    done = true
  })
  await until(() => done)
}

/** Runs it again, as its error says, when entries are pruned meanwhile. */
async function rebuild({ store }: TestStore): Promise<void> {
  for (let isDone = false; !isDone; ) {
    isDone = await store
      .rebuildRollups(() => {})
      .then(
        () => true,
        (error: Error) => {
          if (!/pruned before it was counted/.test(error.message)) throw error
          return false
        },
      )
  }
}

const call: Call = {
  ...{ key: 'k', model: 'm', api: undefined, upstream: undefined, team: undefined, user: null },
  ...{ clear: false, blocked: false, refused: false, tokens: 10, cost: 5, tools: [], run: undefined },
}

const anyCall: fc.Arbitrary<Call> = fc.record({
  key: fc.constantFrom('k1', 'k2'),
  model: fc.constantFrom('m1', 'm2', ''),
  api: fc.constantFrom('chat', 'embeddings', undefined),
  upstream: fc.constantFrom('u1', undefined),
  team: fc.constantFrom('search', undefined),
  user: fc.constantFrom('ann', 'ben', null),
  clear: fc.boolean(),
  blocked: fc.boolean(),
  refused: fc.boolean(),
  tokens: fc.oneof(fc.nat(100), fc.maxSafeNat()),
  cost: fc.option(fc.oneof(fc.nat(1000), fc.constant(MAXIMUM_NANO_USD))),
  tools: fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('bash', 'mcp:jira/search', 'web_search'),
      defined: fc.boolean(),
      called: fc.nat(3),
      refused: fc.nat(2),
    }),
    { maxLength: 3, selector: ({ name }) => name },
  ),
  run: fc.constantFrom('r1', 'r2', undefined),
})

const anyStep = fc.oneof(
  { weight: 6, arbitrary: anyCall.map((one) => ({ kind: 'call' as const, call: one })) },
  {
    weight: 3,
    arbitrary: fc.integer({ min: -2, max: 40 }).map((hours) => ({ kind: 'wait' as const, hours })),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'pack' as const }) },
  { weight: 1, arbitrary: fc.constantFrom('ann', 'ben').map((user) => ({ kind: 'erase' as const, user })) },
  { weight: 1, arbitrary: fc.constant({ kind: 'prune' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'rebuild' as const }) },
)

const GROUPINGS: readonly (readonly GroupField[])[] = [
  ['key'],
  ['model', 'user'],
  ['day', 'key', 'label:team'],
  ['month'],
  ['api', 'upstream', 'user', 'day'],
  ['tool'],
  ['model', 'tool', 'day'],
  ['run'],
  ['key', 'month', 'run'],
]

t.test('the report is the sum of the sealed calls, packed, pruned, erased and rebuilt', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { maxLength: 40 }),
      fc.nat(60),
      fc.nat(60),
      async (steps, from, length) => {
        const test = openTestStore(t, {
          ...{ path: t.testdir({}), userKey: KEY },
          retention: { retainMs: 2 * DAY_MS },
        })
        const counted: Counted[] = []
        for (const step of steps) {
          if (step.kind === 'call') counted.push(await seal(test, step.call))
          else if (step.kind === 'wait') test.clock.advance(step.hours * HOUR_MS + 17 * MINUTE_MS)
          else if (step.kind === 'pack') await keepHouse(test)
          else if (step.kind === 'rebuild') await rebuild(test)
          else if (step.kind === 'erase') {
            await test.store.log.erase({ user: step.user }, 'vera')
            for (const one of counted) if (one.call.user === step.user) one.user = 'erased'
          } else test.tick(WATCH_MS)
        }
        const since = START_MS + from * HOUR_MS
        const end = since + (length + 1) * HOUR_MS
        const all = [0, test.clock.now() + 3 * DAY_MS] as const
        for (const [first, last] of [all, [since, end] as const]) {
          for (const groupBy of GROUPINGS) {
            const { sums } = await report(test, groupBy, first, last)
            t.same(sums, expectedRows(counted, groupBy, first, last), groupBy.join())
          }
          const totals = await Promise.all(
            [['key'], ['tool'], ['run']].map(async ([field]) => {
              const { total } = await report(test, [field as GroupField], first, last)
              return total
            }),
          )
          t.same(totals, [totals[0], totals[0], totals[0]], 'the total is of all calls')
        }
        await rebuild(test)
        for (const groupBy of GROUPINGS) {
          const { sums } = await report(test, groupBy, ...all)
          t.same(sums, expectedRows(counted, groupBy, ...all), `${groupBy.join()} after a rebuild`)
        }
        await test.store.close()
        if (!t.passing()) throw new Error('differs')
      },
    ),
    { numRuns: 30 },
  )
})

t.test('rows are most expensive first, then in the order of the fields; total has the sums', async (t) => {
  const test = openTestStore(t)
  await seal(test, { ...call, key: 'b', cost: 5_000_000_000 })
  await seal(test, { ...call, key: 'a', cost: 5_000_000_000 })
  await seal(test, { ...call, key: 'c', cost: null })
  await seal(test, { ...call, key: 'd', cost: 12_500_000_000 })
  const { rows, total, since, until, complete } = await test.store.rollups.report({
    ...{ groupBy: ['key', 'user'], sinceMs: START_MS + 1, untilMs: START_MS + 2 },
  })
  t.same(
    rows.map(({ key, cost }) => [key, cost]),
    [
      ['d', 12.5],
      ['a', 5],
      ['b', 5],
      ['c', null],
    ],
  )
  t.match(rows[0], { key: 'd', key_name: 'name of d', user: null, requests: 1, unpriced_requests: 0 })
  t.same(Object.keys(rows[0]!).slice(0, 3), ['key', 'key_name', 'user'])
  t.match(total, { requests: 4, total_tokens: 40, cost: 22.5, unpriced_requests: 1 })
  t.same([since, until, complete], ['2026-03-01T12:00:00.000Z', '2026-03-01T13:00:00.000Z', true])
  await t.rejects(test.store.rollups.report({ groupBy: ['key'], sinceMs: START_MS, untilMs: START_MS }), {
    code: 'invalid_parameter',
    param: 'until',
  })
})

t.test('a request costs what the answered ones cost each; what was refused takes no share', async (t) => {
  const test = openTestStore(t)
  await seal(test, { ...call, cost: 3_000_000_000 })
  await seal(test, { ...call, cost: 0 })
  for (let n = 0; n < 7; n++) await seal(test, { ...call, refused: true, tokens: 0, cost: null })
  await seal(test, { ...call, key: 'r', refused: true, tokens: 0, cost: null })
  const report = await test.store.rollups.report({
    ...{ groupBy: ['key'], sinceMs: START_MS, untilMs: START_MS + 1 },
  })
  t.match(report.rows, [
    { key: 'k', requests: 9, blocked: 0, refused: 7, answered: 2, cost: 3, cost_per_request: 1.5 },
    { key: 'r', requests: 1, refused: 1, answered: 0, cost: 0, cost_per_request: null },
  ])
  t.notOk('refused_since' in report)
})

t.test(
  'sums of an older release keep what they count, and the report says from when on it counts more',
  async (t) => {
    const environment = openEnvironment(t.testdir(), { takesJournal: true })
    t.teardown(() => environment.close())
    const { tables } = environment
    const hour = Math.floor(START_MS / HOUR_MS)
    const reportFrom = (firstHour: number) =>
      reportUsage(
        environment,
        { groupBy: ['model'], sinceMs: firstHour * HOUR_MS, untilMs: (hour + 1) * HOUR_MS },
        START_MS,
      )
    const combination = { key: 'k', key_name: 'k', model: 'm', api: 'chat', upstream: null, labels: {} }
    await environment.transaction(() => {
      tables.meta.put(Buffer.from('rollups'), writeJson({ firstHour: hour - 2, firstPartHour: hour - 2 }))
      const number = admitCombination(tables, { ...combination, user: null, user_hash: null }, 1)
      // Eight sums, as the first release packed them: 3 requests, 1 of them blocked.
      tables.openhours.put(openKey(hour - 1, number), Buffer.from('000000110301', 'hex'))
    })
    t.match(await reportFrom(hour - 1), {
      rows: [{ model: 'm', requests: 3, blocked: 1, refused: 0, answered: 0, cost_per_request: null }],
      refused_since: new Date((hour + 1) * HOUR_MS).toISOString(),
    })
    await environment.transaction(() => {
      const rollup = new CallRollup(tables, START_MS)
      rollup.add({ ...requestDraft({ ...LIMITED, total_tokens: 0 }), ...ENVELOPE }, null)
      rollup.write()
    })
    t.match((await reportFrom(hour - 1)).total, { requests: 4, blocked: 1, refused: 1, answered: 0 })
    t.equal((await reportFrom(hour)).refused_since, new Date((hour + 1) * HOUR_MS).toISOString())
    t.equal(readFirstHour(tables, 'run'), hour - 2, 'what was known before stays')
  },
)

t.test('sums beyond the safe integers stay exact', async (t) => {
  const test = openTestStore(t)
  for (let n = 0; n < 5; n++)
    await seal(test, { ...call, tokens: Number.MAX_SAFE_INTEGER, cost: MAXIMUM_NANO_USD })
  const { total } = await test.store.rollups.report({
    groupBy: ['key'],
    sinceMs: START_MS,
    untilMs: START_MS + 1,
  })
  t.match(total, { total_tokens: Number(5n * BigInt(Number.MAX_SAFE_INTEGER)), cost: 45_035_996.27370495 })
})

t.test('hours are kept for two months and days for three years', async (t) => {
  const test = openTestStore(t)
  await seal(test, call)
  const hour = [START_MS, START_MS + HOUR_MS] as const
  const day = [START_MS - 12 * HOUR_MS, START_MS + 12 * HOUR_MS] as const
  const counts = async () => {
    await keepHouse(test)
    const one = await report(test, ['key'], ...hour)
    const whole = await report(test, ['key'], ...day)
    return [one.total.requests, one.complete, whole.total.requests, whole.complete]
  }
  test.clock.advance(61 * DAY_MS)
  t.same(await counts(), [1, true, 1, true])
  test.clock.advance(DAY_MS)
  t.same(await counts(), [0, false, 1, true])
  test.clock.advance((1095 - 62) * DAY_MS)
  t.same(await counts(), [0, false, 1, true])
  test.clock.advance(DAY_MS)
  t.same(await counts(), [0, false, 0, false])
})

t.test('an erasure removes a user from the rollups, also after pruning, and by the hash', async (t) => {
  const test = openTestStore(t, { userKey: KEY, retention: { retainMs: DAY_MS } })
  await seal(test, { ...call, user: 'ann', clear: true })
  await seal(test, { ...call, user: 'ben' })
  test.clock.advance(3 * DAY_MS)
  await keepHouse(test)
  test.tick(WATCH_MS)
  await until(() => test.store.log.records(0, 1)[0]!.seq > 1)
  const users = async () =>
    (
      await test.store.rollups.report({ groupBy: ['user'], sinceMs: START_MS, untilMs: test.clock.now() })
    ).rows.map(({ user }) => user)
  const ben = hashUser(KEY, 'ben').toString('hex')
  t.same(new Set(await users()), new Set(['ann', ben]))
  await test.store.log.erase({ user: 'ann' }, 'vera')
  t.same(new Set(await users()), new Set(['erased', ben]))
  await test.store.log.erase({ user: ben }, 'vera')
  t.same(await users(), ['erased'])
})
