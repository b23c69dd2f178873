// Combinations of grouping fields: the bounds of a day, erased users, and the removal of old ones;
// and rollups of a folder that an older release wrote.

import t from 'tap'
import { hashUser } from '../../src/audit/user-hash.ts'
import { openEnvironment } from '../../src/store/environment/journaled.ts'
import {
  admitCombination,
  combinationsBefore,
  dropCombinations,
  readCombination,
} from '../../src/store/rollup/combinations.ts'
import { ReportGroups } from '../../src/store/rollup/report-groups.ts'
import type { Combination } from '../../src/usage/combination.ts'
import type { GroupField } from '../../src/usage/report-query.ts'
import { requestDraft } from '../audit/drafts.ts'
import { DAY_MS, id, openTestStore, START_MS, type TestStore } from './fixture.ts'

const KEY = Buffer.alloc(32, 7)
const DAY = 20_000
const BOUNDS = { users: 2, tools: 2, combinations: { call: 4, tool: 4, run: 6, sidecar: 4 }, runs: 2 }
const HOUR_MS = 3_600_000

const combination = (changes: Partial<Combination>): Combination => ({
  ...{ api: 'chat', key: 'k', key_name: 'n', labels: {}, model: 'm', upstream: null },
  ...{ user: null, user_hash: null },
  ...changes,
})

const named = (user: string) => {
  const hash = hashUser(KEY, user).toString('hex')
  return { user, user_hash: hash }
}

t.test('beyond the bounds of a day, users and then models count together', async (t) => {
  const environment = openEnvironment(t.testdir(), { takesJournal: true })
  t.teardown(() => environment.close())
  const { tables } = environment
  const admit = (changes: Partial<Combination>, day = DAY) =>
    environment.transaction(() => {
      const { model, user } = readCombination(
        tables,
        admitCombination(tables, combination(changes), day, BOUNDS),
      )
      return [model, user]
    })
  t.same(await admit(named('ann')), ['m', 'ann'])
  t.same(await admit(named('ben')), ['m', 'ben'])
  t.same(await admit(named('eve')), ['m', 'other'], 'a third user')
  t.same(await admit(named('ann')), ['m', 'ann'], 'one of the first two')
  t.same(await admit({ model: 'm2' }), ['m2', null])
  t.same(await admit({ model: 'm3' }), ['other', null], 'a fifth combination')
  t.same(await admit({ model: 'm3', ...named('ann') }), ['other', 'other'])
  t.same(await admit({ model: 'm2' }), ['m2', null])
  t.same(await admit({ model: 'm3', ...named('eve') }, DAY + 1), ['m3', 'eve'], 'the next day')
  t.equal(tables.combinations.size, 7)
})

t.test('beyond the bounds of a day, tools and then models with tools count together', async (t) => {
  const environment = openEnvironment(t.testdir(), { takesJournal: true })
  t.teardown(() => environment.close())
  const { tables } = environment
  const admit = (changes: Partial<Combination>, day = DAY) =>
    environment.transaction(() => {
      const number = admitCombination(tables, combination(changes), day, BOUNDS)
      const { model, tool } = readCombination(tables, number)
      return [model, tool]
    })
  t.same(await admit({ tool: 'a' }), ['m', 'a'])
  t.same(await admit({ tool: 'b' }), ['m', 'b'])
  t.same(await admit({ tool: 'c' }), ['m', 'other'], 'a third tool')
  t.same(await admit({ tool: 'a', model: 'm2' }), ['m2', 'a'])
  t.same(await admit({ tool: 'a', model: 'm3' }), ['other', 'other'], 'a fifth combination')
  t.same(await admit({ model: 'm4' }), ['m4', undefined], 'calls have bounds of their own')
  t.same(await admit({ tool: 'c' }, DAY + 1), ['m', 'c'], 'the next day')
})

t.test('the run that was idle for the most days is forgotten, and its sums stay under other', async (t) => {
  const environment = openEnvironment(t.testdir(), { takesJournal: true })
  t.teardown(() => environment.close())
  const { tables } = environment
  const admit = (run: string, day: number, changes: Partial<Combination> = {}) =>
    environment.transaction(() => admitCombination(tables, combination({ run, ...changes }), day, BOUNDS))
  const numbers = [await admit('r1', DAY), await admit('r1', DAY, { model: 'm2' }), await admit('r2', DAY)]
  await admit('r1', DAY + 1)
  numbers.push(await admit('r3', DAY + 2))
  const runs = (groupBy: GroupField[]) => {
    const groups = new ReportGroups(tables, groupBy)
    groups.setDay(DAY)
    for (const number of numbers) groups.sumsOf(number)
    return groups.finish().rows.map((row) => groupBy.map((field) => row[field]).join())
  }
  t.same(runs(['run']), ['other', 'r1', 'r3'])
  t.same(runs(['run', 'model', 'day']), [
    'other,,2024-10-04',
    'r1,m,2024-10-04',
    'r1,m2,2024-10-04',
    'r3,m,2024-10-04',
  ])
  const late = await admit('r4', DAY - 1)
  t.throws(() => readCombination(tables, late), /is missing/, 'the oldest of all is not kept at all')
  const again = await admit('r2', DAY + 3)
  t.not(numbers.includes(again) || again === late, 'a number is not used again')
  t.same(runs(['run']), ['other', 'r3'])
  for (let n = 0; n < 80; n++) numbers.push(await admit('r3', DAY + 10 + n, { model: `model-${n}` }))
  t.equal(runs(['run', 'model']).filter((row) => row.startsWith('r3,')).length, 65, 'and one for all others')
  await environment.transaction(() => {
    const { old } = combinationsBefore(tables, DAY + 1000, 0, 1000)
    dropCombinations(tables, old, DAY + 1000)
  })
  t.equal(tables.combinations.size, 0)
  t.equal(tables.combinationruns.size, 1, 'the next number is left')
})

const seal = async ({ store, clock }: TestStore, n: number, user: string | null, model = 'm') =>
  store.log.append(
    requestDraft({
      id: id(n),
      model,
      created_at: new Date(clock.now()).toISOString(),
      ...(user !== null && { has_user: true as const }),
    }),
    { content: '{}', user: user === null ? null : { hash: hashUser(KEY, user), clear: user } },
  )

const rowsBy = async ({ store, clock }: TestStore, ...groupBy: GroupField[]) => {
  const { rows, complete } = await store.rollups.report({
    groupBy,
    sinceMs: START_MS,
    untilMs: clock.now() + 1,
  })
  return {
    complete,
    rows: new Map(rows.map((row) => [groupBy.map((field) => row[field]).join(), row['requests']])),
  }
}

t.test('an erasure of texts leaves the user in the sums, and a rebuild does not', async (t) => {
  const test = openTestStore(t, { userKey: KEY })
  await seal(test, 1, 'ann')
  await seal(test, 2, 'ann')
  await test.store.log.erase({ requestId: id(1) }, 'vera')
  t.same((await rowsBy(test, 'user')).rows, new Map([['ann', 2]]))
  t.match(await test.store.rebuildRollups(() => {}), { calls: 2, sinceMs: 0 })
  t.same(
    (await rowsBy(test, 'user')).rows,
    new Map([
      ['ann', 1],
      ['erased', 1],
    ]),
  )
  await test.store.log.erase({ user: 'ann' }, 'vera')
  await seal(test, 3, 'ann')
  t.same(
    (await rowsBy(test, 'user')).rows,
    new Map([
      ['erased', 2],
      ['ann', 1],
    ]),
    'a later call of the same user has a row of its own',
  )
})

t.test('a user is not named in the files of rollups after an erasure', async (t) => {
  const test = openTestStore(t, { userKey: KEY, retention: { retainMs: 30 * DAY_MS } })
  await seal(test, 1, 'heliotrope-4711')
  test.clock.advance(2 * HOUR_MS)
  await test.store.rollups.maintain()
  await test.store.log.erase({ user: 'heliotrope-4711' }, 'vera')
  await test.store.close()
  const environment = openEnvironment(test.path)
  t.teardown(() => environment.close())
  const { combinations, combinationusers, combinationdays } = environment.tables
  t.notOk(combinations.rows().some(({ value }) => value.includes('heliotrope')))
  t.equal(combinationusers.size, 0)
  const hash = hashUser(KEY, 'heliotrope-4711')
  t.notOk(combinationdays.keys().some((key) => key.includes(hash)))
})

t.test('rows that are too old are removed, with the combinations that only they have', async (t) => {
  const test = openTestStore(t, { userKey: KEY })
  await seal(test, 1, 'ann', 'old')
  test.clock.advance(1000 * DAY_MS)
  await seal(test, 2, 'ben', 'new')
  await test.store.rollups.maintain()
  test.clock.advance(96 * DAY_MS)
  await test.store.rollups.maintain()
  await test.store.close()
  const environment = openEnvironment(test.path)
  t.teardown(() => environment.close())
  const { combinations, combinationids, combinationusers, rollups } = environment.tables
  t.same(
    [combinations, combinationids, combinationusers, rollups].map(({ size }) => size),
    [1, 1, 1, 1],
  )
  t.match(readCombination(environment.tables, 1), { model: 'new', user: 'ben' })
})

t.test('a folder of an older release counts from the next hour on, and a rebuild counts all', async (t) => {
  const test = openTestStore(t)
  await seal(test, 1, null)
  await test.store.close()
  const environment = openEnvironment(test.path)
  await environment.transaction(() => {
    const { tables } = environment
    const { combinations, combinationids, combinationdays, openhours } = tables
    for (const table of [combinations, combinationids, combinationdays, openhours])
      for (const key of table.keys()) table.remove(key)
    tables.meta.remove(Buffer.from('rollups'))
  })
  await environment.close()
  const again = await test.reopen()
  t.same(await rowsBy(again, 'model'), { complete: false, rows: new Map() })
  await seal(again, 2, null)
  t.same(await rowsBy(again, 'model'), { complete: false, rows: new Map([['m', 1]]) })
  again.clock.advance(HOUR_MS)
  const { complete } = await again.store.rollups.report({
    ...{ groupBy: ['key'], sinceMs: again.clock.now(), untilMs: again.clock.now() + 1 },
  })
  t.equal(complete, true)
  await again.store.rebuildRollups(() => {})
  t.same(await rowsBy(again, 'model'), { complete: true, rows: new Map([['m', 2]]) })
})

t.test('tools and runs of a folder without their sums count from the next hour on', async (t) => {
  const test = openTestStore(t)
  await test.store.close()
  const environment = openEnvironment(test.path)
  await environment.transaction(() =>
    environment.tables.meta.put(Buffer.from('rollups'), Buffer.from('{"firstHour":0}')),
  )
  await environment.close()
  const again = await test.reopen()
  t.equal((await rowsBy(again, 'key')).complete, true)
  t.equal((await rowsBy(again, 'tool')).complete, false)
  await seal(again, 1, null)
  const hour = Math.floor(again.clock.now() / HOUR_MS) + 1
  const period = { sinceMs: hour * HOUR_MS, untilMs: (hour + 1) * HOUR_MS }
  t.equal((await rowsBy(again, 'run')).complete, false)
  t.equal((await again.store.rollups.report({ groupBy: ['run'], ...period })).complete, true)
  await again.store.rebuildRollups(() => {})
  t.equal((await rowsBy(again, 'tool')).complete, true)
})

t.test('a report with too many rows says what to ask for', async (t) => {
  const environment = openEnvironment(t.testdir(), { takesJournal: true })
  t.teardown(() => environment.close())
  const { tables } = environment
  const numbers = await environment.transaction(() =>
    Array.from({ length: 500 }, (_, n) => admitCombination(tables, combination({ model: `m${n}` }), DAY)),
  )
  const fill = (groups: ReportGroups, days: number) => {
    for (let day = 0; day < days; day++) {
      groups.setDay(day)
      for (const number of numbers) groups.sumsOf(number)
    }
    return groups.finish().rows.length
  }
  t.equal(fill(new ReportGroups(tables, ['model', 'day']), 100), 50_000)
  t.equal(fill(new ReportGroups(tables, ['month', 'model']), 120), 2000)
  t.throws(() => fill(new ReportGroups(tables, ['model', 'day']), 101), {
    code: 'invalid_parameter',
    param: 'group_by',
    message: /more than 50000 rows; give fewer fields or a shorter period/,
  })
})
