// Rules and prices of hubs: their files, which of them count, changes through the API, and what
// sidecars get, over PostgreSQL and real sockets.

import t from 'tap'
import { snapshotOf } from '../../src/rules/snapshot.ts'
import { fleetDatabase } from '../ledger/postgres.ts'
import { fetchInTime, until } from '../process/until.ts'
import { rulesText } from '../rules/fixture.ts'
import { hubOn, sidecarOf } from './pods.ts'
import { hubWith, namesAt, PRICES, page, ready, write } from './policy-hubs.ts'

t.setTimeout(180_000)

t.test('a changed file is with every sidecar of its namespaces, and a bad one changes nothing', async (t) => {
  const hub = await hubWith(t, await fleetDatabase(), rulesText('one'))
  const api = await hub.signIn()
  const shop = await sidecarOf(t, hub, 'a')
  const web = await sidecarOf(t, hub, 'b', { namespace: 'web' })
  await until('the rules', async () => shop.rules.length === 1 && web.prices === PRICES)
  const begunMs = performance.now()
  write(hub, 'rules.yaml', `namespaces: ["sho*"]\n${rulesText('one', 'two')}`)
  await until('the change', async () => shop.rules.length === 2 && web.rules.length === 0)
  t.comment(`a changed rule file was with two sidecars after ${Math.round(performance.now() - begunMs)} ms`)
  t.match((await api('GET', '/rules')).body, {
    rules: [
      { name: 'one', source: { kind: 'file', path: 'rules.yaml', line: 3 }, namespaces: ['sho*'] },
      { name: 'two' },
    ],
    errors: [],
  })
  t.match(await ready(hub), { rules: 'ok', rule_errors: [], prices: 'ok', price_errors: [] })
  const yaml = snapshotOf([{ name: 'printed.yaml', text: (await api('GET', '/rules?format=yaml')).body }])
  t.match(yaml, { problems: [], rules: [{ rule: { name: 'one', namespaces: ['sho*'] } }, {}] })

  write(hub, 'rules.yaml', 'namespaces: [shop]\nrules: [{name: bad, type: keyword_block, pattern: "("}]\n')
  write(hub, 'prices.yaml', 'prices: {m: {input: -1, output: 2}}\n')
  await until('the errors', async () => (await ready(hub)).price_errors.length > 0)
  await until('the errors', async () => (await ready(hub)).rule_errors.length > 0)
  t.match(await ready(hub), {
    rules: /^the rule files of this hub are not in force; what was in force stays$/,
    prices: /^the price file of this hub is not in force; what was in force stays$/,
    rule_errors: [/rules\.yaml:2:\d+ rules\[0\]\.action/, /pattern/],
    price_errors: [/prices\.yaml:1:\d+ prices\.m\.input/],
  })
  t.match((await api('GET', '/rules')).body.errors, [{ path: 'rules[0].action' }, {}])
  t.match((await api('GET', '/prices')).body, { prices: [{ model: 'gpt-*' }], problems: [{}] })
  t.match(await page(hub), /^sidegate_rule_files_in_force 0$/m)
  t.match(await page(hub), /^sidegate_rule_reloads_total\{result="error"\} 1$/m)
  t.same([shop.rules, web.prices], [['one', 'two'], PRICES])
  t.equal(hub.logs.filter(({ errors }) => Array.isArray(errors)).length, 2)

  write(hub, 'rules.yaml', rulesText('three'))
  write(hub, 'prices.yaml', 'prices: {}\n')
  await until('all is well', async () => web.rules.join() === 'three' && shop.prices === 'prices: {}\n')
  await until('and said', async () => (await ready(hub)).rules === 'ok' && (await ready(hub)).prices === 'ok')
  t.match(await page(hub), /^sidegate_rule_files_in_force 1$/m)
  const { changes } = (await api('GET', '/audit/changes?limit=50')).body
  t.match(
    changes
      .map(({ type }: { type: string }) => type)
      .filter((type: string) => /_loaded$/.test(type))
      .sort(),
    ['prices_loaded', 'prices_loaded', 'rules_loaded', 'rules_loaded', 'rules_loaded'],
  )
})

t.test('of hubs with different files the newest change counts, once', async (t) => {
  const database = await fleetDatabase()
  const here = await hubWith(t, database, rulesText('one'))
  const there = await hubWith(t, database, rulesText('one'))
  const api = await there.signIn()
  const revOf = async () => (await api('GET', '/status')).body.rev
  const before = await revOf()
  t.same(await namesAt(api), ['one'])
  write(here, 'rules.yaml', rulesText('two'))
  await until('the change', async () => (await namesAt(api)).join() === 'two')
  await until('the other hub says so', async () => /another hub/.test((await ready(there)).rules))
  t.match(await page(there), /^sidegate_rule_files_in_force 0$/m)
  await there.signIn()
  t.equal(await revOf(), before + 1, 'it does not write its own again')
  write(there, 'rules.yaml', rulesText('two'))
  await until('both are well', async () => (await ready(there)).rules === 'ok')
  t.equal(await revOf(), before + 1, 'the same files write nothing')
  write(there, 'rules.yaml', rulesText('one'))
  await until('a change back counts', async () => (await namesAt(api)).join() === 'one')
  await until('the first hub says so', async () => /another hub/.test((await ready(here)).rules))
  const third = await hubWith(t, database, rulesText('three'))
  t.same(await namesAt(await third.signIn()), ['three'], 'the files of a hub that starts count')
  t.equal(await revOf(), before + 3)
})

t.test('rules made and overridden at one hub are in force at all', async (t) => {
  const database = await fleetDatabase()
  const here = await hubWith(t, database, rulesText('one'))
  const there = await hubOn(t, database)
  const [api, other] = [await here.signIn(), await there.signIn()]
  const sidecar = await sidecarOf(t, there, 'far')
  const made = await api('POST', '/rules', {
    name: 'mine',
    type: 'keyword_block',
    pattern: 'x',
    action: 'block',
  })
  t.match(made, {
    status: 201,
    body: { source: { kind: 'api' }, fleet: { registered: 1, acked: 1, unconfirmed: 0 } },
  })
  t.same(sidecar.rules, ['one', 'mine'])
  t.match(await other('POST', '/rules', { name: 'MINE', type: 'pii', pattern: '*', action: 'block' }), {
    status: 409,
  })
  t.match(await other('POST', '/rules', { name: 'bad', type: 'pii', pattern: 'x', action: 'block' }), {
    status: 400,
  })
  for (const [fields, message] of [
    [{}, /^name is required/],
    [{ name: 'bad' }, /^type is required/],
    [{ name: 'bad', type: 'nothing', pattern: 'x', action: 'block' }, /^type must be/],
    [{ name: 'bad', type: 'pii', pattern: '*', action: 'nothing' }, /^action must be/],
    [{ name: 'bad', type: 'pii', pattern: '*', action: 'block', match: { none: [] } }, /^match/],
    [{ name: 'bad', type: 'pii', pattern: '*', action: 'block', none: 1 }, /^Unknown field/],
  ] as const)
    t.match(await api('POST', '/rules', fields), { status: 400, body: { error: { message } } })
  const [{ id }] = (await other('GET', '/rules')).body.rules
  const off = { enabled: false, reason: 'incident', ttl_seconds: 2 }
  t.match(await other('PATCH', `/rules/${id}`, off), { body: { enabled: false, fleet: { acked: 1 } } })
  t.same(sidecar.rules, ['one!', 'mine'])
  await until(
    'the other hub has it',
    async () => (await api('GET', '/rules')).body.rules[0].override !== null,
  )
  t.match((await api('GET', '/rules?drift=true')).body.rules, [{ name: 'one' }, { name: 'mine' }])
  await until('it ends by itself', async () => sidecar.rules.join() === 'one,mine')
  t.match(await other('DELETE', `/rules/${made.body.id}`), { status: 200, body: { fleet: { acked: 1 } } })
  t.same(sidecar.rules, ['one'])
  t.match(await api('DELETE', `/rules/${id}`), { status: 409 })
  const scoped = { name: 'scoped', type: 'keyword_block', pattern: 'x', action: 'block' }
  t.match(await api('POST', '/rules', { ...scoped, namespaces: ['Shop!'] }), {
    status: 400,
    body: { error: { param: 'namespaces[0]' } },
  })
  const others = await api('POST', '/rules', { ...scoped, namespaces: ['bank*'] })
  t.match(others, { status: 201, body: { namespaces: ['bank*'], fleet: { acked: 1 } } })
  t.same(sidecar.rules, ['one'], 'a sidecar of another namespace does not get a rule')
  const switched = await api('PATCH', `/rules/${others.body.id}`, { enabled: false })
  t.match(switched.body, { enabled: false, namespaces: ['bank*'] })
  t.match((await other('GET', '/rules')).body.rules[1], { name: 'scoped', namespaces: ['bank*'] })
  t.match((await api('DELETE', `/rules/${others.body.id}`)).status, 200)
  const { changes } = (await api('GET', '/audit/changes?limit=7')).body
  t.match(
    changes.map(({ type, actor }: any) => [type, actor]),
    [
      ['rule_deleted', 'platform'],
      ['rule_changed', 'platform'],
      ['rule_created', 'platform'],
      ['rule_deleted', 'platform'],
      ['rule_override_ended', 'gateway'],
      ['rule_override', 'platform'],
      ['rule_created', 'platform'],
    ],
    'each is sealed once',
  )
  await sidecar.acknowledge({ nack: [{ rev: 1, reason: 'x', rule: 'one', path: 'pattern' }] })
  await until(
    'what a sidecar refuses is listed',
    async () => (await api('GET', '/fleet')).body.sidecars[0].nack[0]?.rule === 'one',
  )
})

t.test('the description of a hub has its routes of rules and every schema that it names', async (t) => {
  const hub = await hubOn(t, await fleetDatabase())
  const text = await (await fetchInTime(`${hub.url}/openapi.json`)).text()
  const { paths, components } = JSON.parse(text)
  t.match(paths['/api/v1/rules/{id}'].patch.parameters, [{ name: 'id' }, { name: 'allow_partial' }])
  t.ok('/api/v1/prices' in paths)
  t.notOk('/api/v1/rules/evaluate' in paths, 'a hub judges no calls')
  for (const [, name] of text.matchAll(/#\/components\/schemas\/(\w+)/g))
    t.ok(name! in components.schemas, name!)
})
