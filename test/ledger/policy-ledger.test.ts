// The rules, overrides and prices of a fleet in the database: equal ones write nothing, each change
// is sealed and in the feed.

import t from 'tap'
import { ChangeReading } from '../../src/ledger/change-reading.ts'
import type { Database } from '../../src/ledger/database.ts'
import { readFleet } from '../../src/ledger/fleet-reading.ts'
import { type DeclaredFileRule, readPolicy } from '../../src/ledger/policy-ledger.ts'
import { MAXIMUM_FLEET_OVERRIDES } from '../../src/policy/fleet-policy.ts'
import type { ApiRule, RuleDeclaration, RuleOverride } from '../../src/policy/rule.ts'
import { openDatabase, partsOn } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'

t.setTimeout(120_000)

const declared = (name: string, pattern = name): RuleDeclaration => ({
  name,
  type: 'keyword_block',
  pattern,
  match: { labels: { z: '1', a: '2' } },
  action: 'block',
  enabled: true,
})
const fileRule = (name: string, more: Partial<DeclaredFileRule> = {}): DeclaredFileRule => ({
  ...{ id: `id of ${name}`, declaration: declared(name), namespaces: null, path: 'a.yaml', line: 2 },
  ...more,
})
const DRAFT = { type: 'rule_created', rule_id: 'x', rule_name: 'x', enabled: true, actor: 'vera' } as const
const HUB = { id: '0b0e7a4e-5a0c-4f6a-9d55-3d1f7c9f4a10', version: '1', connected: 0 }

const readAfter = (database: Database, rev: number) => readFleet(database, HUB, { rev, ordersMark: '' })
const loadedSets = async (database: Database) => {
  const query = { limit: 10, beforeSeq: null, actor: null, type: 'rules_loaded' }
  return (await new ChangeReading(database).listChanges(query)).changes
}

async function open(t: Parameters<typeof openDatabase>[0]) {
  const { hub } = await fleetDatabase()
  const parts = partsOn(openDatabase(t, hub))
  await parts.log.open()
  return parts
}

t.test('rule files are written when they differ, and unchanged rules keep their times', async (t) => {
  const { policy, database, clock } = await open(t)
  const files = [fileRule('one', { namespaces: ['shop'] }), fileRule('two')]
  t.equal(await policy.replaceFiles('r1', files), true)
  t.equal(await policy.replaceFiles('r1', files), false, 'equal files write nothing')
  const createdAtMs = clock.now()
  t.strictSame((await readPolicy(database)).rules, [
    { ...files[0], source: 'file', createdAtMs, updatedAtMs: createdAtMs },
    { ...files[1], source: 'file', createdAtMs, updatedAtMs: createdAtMs },
  ])
  clock.advance(1000)
  const two = fileRule('two', { declaration: declared('two', 'other') })
  t.equal(await policy.replaceFiles('r2', [fileRule('three'), two, files[0]!]), true)
  t.match((await readPolicy(database)).rules, [
    { id: 'id of three', createdAtMs: createdAtMs + 1000 },
    { id: 'id of two', createdAtMs, updatedAtMs: createdAtMs + 1000, declaration: { pattern: 'other' } },
    { id: 'id of one', createdAtMs, updatedAtMs: createdAtMs, namespaces: ['shop'] },
  ])
  const [newest] = await loadedSets(database)
  t.match(newest, { revision: 'r2', rules: 3, part: 1, parts: 1 })
  const reading = await readAfter(database, 1)
  t.match([reading.rev, reading.policy?.rules.length], [2, 3])
  t.equal((await readAfter(database, 2)).policy, undefined, 'nothing changed since')
  t.equal((await readAfter(database, -1)).policy?.rules.length, 3)
})

t.test('a large set takes several entries in one transaction', async (t) => {
  const { policy, database } = await open(t)
  const files = Array.from({ length: 30 }, (_, n) =>
    fileRule(`rule ${n}`, { declaration: declared(`rule ${n}`, 'x'.repeat(20_000)) }),
  )
  await policy.replaceFiles('r1', files)
  t.match(
    (await loadedSets(database)).map(({ part, parts }: any) => [part, parts]),
    [
      [4, 4],
      [3, 4],
      [2, 4],
      [1, 4],
    ],
  )
})

t.test('a rule of the API has a name of its own, and gives way to a file', async (t) => {
  const { policy, database, clock } = await open(t)
  const rule: ApiRule = { ...declared('Mine'), id: 'u7', createdAtMs: clock.now(), updatedAtMs: clock.now() }
  await policy.putRule(rule, DRAFT)
  await policy.putRule({ ...rule, enabled: false }, DRAFT)
  await t.rejects(policy.putRule({ ...rule, id: 'u8', name: 'mine' }, DRAFT), { code: 'conflict' })
  t.match((await readPolicy(database)).rules, [
    { id: 'u7', source: 'api', path: null, declaration: { name: 'Mine', enabled: false } },
  ])
  await policy.replaceFiles('r1', [fileRule('mine')])
  t.strictSame(
    (await readPolicy(database)).rules.map(({ id }) => id),
    ['id of mine'],
  )
  await policy.deleteRule('u7', DRAFT)
  const { rev } = await readAfter(database, 0)
  await policy.deleteRule('u7', DRAFT)
  t.equal((await readAfter(database, 0)).rev, rev, 'a second hub that deletes it changes nothing')
})

t.test('an override is kept until it ends, once for all hubs', async (t) => {
  const { policy, database, clock } = await open(t)
  const override: RuleOverride = {
    ...{ ruleId: 'r', ruleName: 'rule', enabled: false, reason: 'noise', declaredHash: 'h' },
    ...{ expiresAtMs: clock.now() + 1000, createdAtMs: clock.now() },
  }
  await policy.putOverride(override, DRAFT)
  t.strictSame((await readPolicy(database)).overrides, [{ ...override, rev: 1 }])
  await policy.deleteOverride({ ruleId: 'r', createdAtMs: clock.now() - 1 }, DRAFT)
  t.equal((await readPolicy(database)).overrides.length, 1, 'a newer one stays')
  await Promise.all([policy.deleteOverride(override, DRAFT), policy.deleteOverride(override, DRAFT)])
  t.match(await readAfter(database, 1), { rev: 2, policy: { overrides: [] } })
  await database.rows(
    `insert into override select 'o' || n, 'n', true, '', null, 'h', now(), 0 from generate_series(1, $1) n`,
    [MAXIMUM_FLEET_OVERRIDES],
  )
  await t.rejects(policy.putOverride(override, DRAFT), { code: 'conflict', message: /withdraw some/ })
})

t.test('prices are written when they differ', async (t) => {
  const { policy, database } = await open(t)
  t.match((await readPolicy(database)).prices, { revision: null, prices: '' })
  const prices = { revision: 'p1', prices: 'prices: {}', unknown_price: 'ignore' } as const
  t.equal(await policy.replacePrices(prices, 0), true)
  t.equal(await policy.replacePrices(prices, 0), false)
  t.equal(await policy.replacePrices({ ...prices, unknown_price: 'block' }, 0), true)
  t.match((await readAfter(database, 1)).policy?.prices, { revision: 'p1', unknown_price: 'block' })
})
