// Rules and prices of a hub at a gateway: in force with its own files, kept while the hub is away,
// sealed, and not changed here.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { uuidv5 } from '../../src/core/ids.ts'
import { fleetRulesOf } from '../../src/policy/fleet-policy.ts'
import { declarationHash } from '../../src/rules/declaration.ts'
import { fleetRule, startHub } from '../fleet/fixture.ts'
import { rulesText, temporaryFolder } from '../rules/fixture.ts'
import { openGateway, prompt, type TestGateway } from './gateway.ts'
import { runCli } from './run-command.ts'
import { hubOptions, isReady } from './sidecar.ts'
import { until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

t.setTimeout(120_000)

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

const shown = async (gateway: TestGateway): Promise<string[]> =>
  (await gateway.api('GET', '/rules')).body.rules.map(
    ({ name, source, enabled }: any) => `${source.kind} ${name}${enabled ? '' : ' off'}`,
  )
const statusOf = async (gateway: TestGateway, key: string, text: string): Promise<number> => {
  const response = await gateway.chat(key, prompt(text))
  await response.arrayBuffer()
  return response.status
}
const pricesText = (glob: string, input: number): string =>
  `prices: {"${glob}": {input: ${input}, output: 2}}\n`

t.test('rules of the hub are in force beside the own files, sealed, and kept while it is away', async (t) => {
  const hub = await startHub(t)
  const options = { ...hubOptions(upstream, hub), rules: rulesText('mine', 'both') }
  const gateway = await openGateway(t, options)
  await isReady(gateway)
  const { key } = hub.create()
  await hub.acked()
  t.same(await shown(gateway), ['file mine', 'file both'])
  hub.sendRules(fleetRulesOf([fleetRule('BOTH', { pattern: 'theirs' }), fleetRule('hubs')]))
  await hub.acked()
  t.same(await shown(gateway), ['hub BOTH', 'hub hubs', 'file mine'], 'in force before it is acknowledged')
  t.match((await gateway.api('GET', '/rules')).body, {
    rules: [{ source: { kind: 'hub', path: 'hub.yaml', line: 2 } }],
    hidden: [{ name: 'both', source: { kind: 'file' } }],
  })
  t.match((await gateway.readiness()).body, { hidden_rules: ['both'], fleet: 'ok' })
  t.ok(
    gateway.logs.some(({ msg, rules }) => /the hub has rules/.test(String(msg)) && String(rules) === 'both'),
  )
  for (const [text, status] of [
    ['hubs', 403],
    ['theirs', 403],
    ['both', 200],
    ['mine', 403],
  ] as const)
    t.equal(await statusOf(gateway, key, text), status, text)
  const { revision } = (await gateway.api('GET', '/rules')).body
  await until('the set is sealed', async () => {
    const { changes } = (await gateway.api('GET', '/audit/changes?type=rules_loaded')).body
    return changes[0].revision === revision && changes[0].rules === 3
  })
  t.match((await gateway.api('GET', `/rules/revisions/${revision}`)).body.rules, [{ name: 'BOTH' }, {}, {}])

  for (const [method, path, body] of [
    ['POST', '/rules', { name: 'x', type: 'pii', pattern: '*', action: 'block' }],
    ['PATCH', `/rules/${uuidv5('hubs')}`, { enabled: false }],
    ['PATCH', `/rules/${uuidv5('mine')}`, { enabled: false }],
    ['DELETE', `/rules/${uuidv5('mine')}`, undefined],
  ] as const)
    t.match(await gateway.api(method, path, body), {
      status: 409,
      body: { error: { code: 'managed_by_hub', message: new RegExp(hub.url) } },
    })
  writeFileSync(join(gateway.folder, 'rules/rules.yaml'), rulesText('mine', 'more'))
  await until('own files go on', async () => (await shown(gateway)).includes('file more'))
  t.same((await gateway.readiness()).body.hidden_rules, [])

  hub.sendRules(fleetRulesOf([fleetRule('hubs'), fleetRule('bad', { pattern: '(' })]))
  const isNacked = (rule: string) => hub.acks.some(({ nack }) => nack.some((one) => one.rule === rule))
  await until('the refusal', async () => isNacked('bad'))
  t.match(hub.acks.at(-1)?.nack, [
    { rev: hub.rev, rule: 'bad', path: 'pattern', reason: /^rule bad, pattern: / },
  ])
  t.match((await gateway.readiness()).body.fleet, /not in force here: 1; rule bad, pattern/)
  t.match(await gateway.metrics(), /^sidegate_fleet_refused_changes 1$/m)
  t.same((await shown(gateway))[0], 'hub BOTH', 'the last good set stays')
  await gateway.stop()
  hub.isFrozen = true
  hub.cut()
  const again = await openGateway(t, { ...options, folder: gateway.folder, isWritten: true })
  t.same(
    await shown(again),
    ['hub BOTH', 'hub hubs', 'file mine', 'file more'],
    'after a restart without the hub',
  )
  const listed = await runCli(
    ['rules', 'list', '--config', join(gateway.folder, 'sidegate.yaml')],
    options.env,
  )
  t.match(
    listed.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    [
      { name: 'BOTH', source: { kind: 'hub' } },
      { name: 'hubs' },
      { name: 'mine', source: { kind: 'file' } },
      { name: 'more' },
    ],
  )
  hub.isFrozen = false
  hub.sendRules(fleetRulesOf([]))
  await until('the hub has none', async () => (await shown(again)).join() === 'file mine,file more')
})

t.test('an override of the hub ends by its time, also while it is away', async (t) => {
  const hub = await startHub(t)
  hub.clockMs = 3_600_000
  const gateway = await openGateway(t, { ...hubOptions(upstream, hub), rules: 'rules: []\n' })
  await isReady(gateway)
  const rule = fleetRule('hubs')
  hub.sendRules(fleetRulesOf([rule]))
  await hub.acked()
  hub.sendOverride({
    ...{ rule_id: rule.id, rule_name: 'hubs', enabled: false, reason: 'incident' },
    expires_at: new Date(Date.now() + hub.clockMs + 1500).toISOString(),
    declared_hash: declarationHash(rule.declaration),
    created_at: new Date().toISOString(),
  })
  await hub.acked()
  t.match((await gateway.api('GET', '/rules')).body.rules, [
    { enabled: false, declared_enabled: true, override: { reason: 'incident' } },
  ])
  hub.isFrozen = true
  hub.cut()
  await until('it has ended', async () => (await shown(gateway)).join() === 'hub hubs')
  const { revision } = (await gateway.api('GET', '/rules')).body
  await until('the set is sealed', async () => {
    const { changes } = (await gateway.api('GET', '/audit/changes?type=rules_loaded')).body
    return changes[0].revision === revision
  })
})

t.test('prices of the hub come before those of the own file', async (t) => {
  const hub = await startHub(t)
  const options = hubOptions(upstream, hub)
  const folder = temporaryFolder(t)
  const file = join(folder, 'prices.yaml')
  writeFileSync(file, pricesText('a', 1))
  const config = { ...options.config, prices: { path: 'prices.yaml' } }
  const gateway = await openGateway(t, { ...options, folder, rules: 'rules: []\n', config })
  await isReady(gateway)
  const lines = async (): Promise<string[]> =>
    (await gateway.api('GET', '/prices')).body.prices.map(({ model, input }: any) => `${model} ${input}`)
  t.same(await lines(), ['a 1'])
  hub.sendPrices({ revision: 'p1', prices: pricesText('a', 3), unknown_price: 'block' })
  await hub.acked()
  t.same(await lines(), ['a 3', 'a 1'])
  t.match((await gateway.readiness()).body, { hidden_prices: ['a'], price_revision: /^[0-9a-f]{64}$/ })
  hub.sendPrices({ revision: 'p2', prices: 'prices: {a: 1}', unknown_price: 'block' })
  await until('the refusal', async () =>
    hub.acks.some(({ nack }) => /^prices: .*prices\.a/.test(nack[0]?.reason ?? '')),
  )
  t.same(await lines(), ['a 3', 'a 1'], 'the last good ones stay')
  writeFileSync(file, pricesText('b', 5))
  await until('the own file goes on', async () => (await lines()).join() === 'a 3,b 5')
  hub.sendPrices({ revision: null, prices: '', unknown_price: 'block' })
  await until('the hub has none', async () => (await lines()).join() === 'b 5')
})
