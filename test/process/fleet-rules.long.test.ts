// Rules and prices of a hub over processes: how soon a changed file is in force on three sidecars,
// what bad files do, and rules of the same name on both sides.

import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { type FleetHub, type FleetSidecar, RunningFleet } from '../fleet/running-fleet.ts'
import { type Api, signIn } from '../hub/fixture.ts'
import { rulesText } from '../rules/fixture.ts'
import { fetchInTime, until } from './until.ts'

t.setTimeout(180_000)

/** Limit from the write of a rule file to its effect on all sidecars. */
const IN_FORCE_MS = 1000
const CHANGES = 8

const prices = (input: number | string): string => `prices: {"*": {input: ${input}, output: 1}}\n`

t.test('a changed rule file is in force on three sidecars within a second', async (t) => {
  const fleet = new RunningFleet({
    pods: ['web-0', 'web-1'],
    maxStaleSeconds: 600,
    hubConfig: { rules: { path: 'rules.yaml' }, prices: { path: 'prices.yaml' } },
    hubFiles: { 'rules.yaml': rulesText('first'), 'prices.yaml': prices(1) },
  })
  t.teardown(() => fleet.stop())
  await fleet.start()
  const sidecars = [...fleet.sidecars, await fleet.startSidecar('api-0', 'api')]
  const [hub] = fleet.hubs as [FleetHub]
  const write = (name: string, text: string) => writeFileSync(join(dirname(hub.file), name), text)
  const apis = new Map<FleetSidecar, Api>()
  for (const sidecar of sidecars) apis.set(sidecar, await signIn(sidecar.url, fleet.token))
  const rulesOf = async (sidecar: FleetSidecar): Promise<any> =>
    (await apis.get(sidecar)!('GET', '/rules')).body
  const names = async (sidecar: FleetSidecar): Promise<string> =>
    (await rulesOf(sidecar)).rules.map(({ name, source }: any) => `${source.kind} ${name}`).join()
  const everywhere = (wanted: string, on = sidecars) =>
    until(wanted, async () => (await Promise.all(on.map(names))).every((one) => one === wanted))
  const health = async (url: string): Promise<any> => (await fetchInTime(`${url}/readyz`)).json()
  await everywhere('hub first')

  const taken: number[] = []
  for (let change = 0; change < CHANGES; change++) {
    const begunMs = performance.now()
    write('rules.yaml', rulesText('first', `change-${change}`))
    await everywhere(`hub first,hub change-${change}`)
    taken.push(performance.now() - begunMs)
    await delay(100)
  }
  taken.sort((one, other) => one - other)
  t.comment(
    `a rule file was in force on three sidecars after ${taken.map((one) => Math.round(one)).join(', ')} ms (${CHANGES} changes)`,
  )
  t.ok(taken[CHANGES / 2]! <= IN_FORCE_MS, `the median is ${Math.round(taken[CHANGES / 2]!)} ms`)

  write('rules.yaml', 'rules: [{name: bad, type: keyword_block, pattern: "(", action: block}]\n')
  write('prices.yaml', prices('-1'))
  await until('the hub says so', async () => {
    const { rule_errors, price_errors } = await health(hub.opsUrl)
    return rule_errors.length > 0 && price_errors.length > 0
  })
  await everywhere(`hub first,hub change-${CHANGES - 1}`)
  const priceAt = async (sidecar: FleetSidecar) =>
    (await apis.get(sidecar)!('GET', '/prices')).body.prices[0].input
  t.same(await Promise.all(sidecars.map(priceAt)), [1, 1, 1])

  write('rules.yaml', `namespaces: ["sho?"]\n${rulesText('both', 'shops')}`)
  write('prices.yaml', prices(4))
  const [one, other, api] = sidecars as [FleetSidecar, FleetSidecar, FleetSidecar]
  await everywhere('hub both,hub shops', [one, other])
  await everywhere('', [api])
  await until('the prices', async () => (await Promise.all(sidecars.map(priceAt))).join() === '4,4,4')

  writeFileSync(join(one.folder, 'rules/rules.yaml'), rulesText('BOTH', 'own'))
  await everywhere('hub both,hub shops,file own', [one])
  t.match((await rulesOf(one)).hidden, [{ name: 'BOTH', source: { kind: 'file' } }])
  t.match(await health(one.opsUrl), { hidden_rules: ['BOTH'], fleet: 'ok' })
  t.match(await apis.get(one)!('POST', '/rules', {}), {
    status: 409,
    body: { error: { code: 'managed_by_hub' } },
  })

  hub.child.signal('SIGKILL')
  await hub.child.exited
  await everywhere('hub both,hub shops', [other])
  write('rules.yaml', rulesText('later'))
  hub.child = await fleet.startHub(hub.file)
  await everywhere('hub later', [other, api])
})
