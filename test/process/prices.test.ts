// The price file under a running gateway: a good one takes effect soon, a bad one changes nothing.

import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { publish, temporaryFolder } from '../rules/fixture.ts'
import {
  ADMIN_TOKEN,
  openGateway,
  prompt,
  type TestGateway,
  UPSTREAM_KEY,
  writeDeployment,
} from './gateway.ts'
import { openProgram } from './gateway-process.ts'
import { runProgram } from './run-command.ts'
import { eventually, until } from './until.ts'
import { startUpstream } from './upstream.ts'

/** Limit from a change to its effect, milliseconds: 1 s by contract, longer for a busy machine. */
const SOON_MS = 20_000

const upstream = await startUpstream()
t.teardown(() => upstream.close())

const text = (input: number | string) =>
  `prices:\n  "gpt-*": {input: ${input}, output: 10}\n  "*": {input: 0, output: 0}\n`

const pricesOf = async (gateway: TestGateway) => (await gateway.api('GET', '/prices')).body

/** Makes a change and waits until the prices differ. @returns them */
async function changed(gateway: TestGateway, change: () => void): Promise<any> {
  const before = JSON.stringify(await pricesOf(gateway))
  change()
  const differs = (body: any) => JSON.stringify(body) !== before
  return eventually('the change is noticed', () => pricesOf(gateway), differs, SOON_MS)
}

/** A gateway with a price file next to its configuration. */
async function withPrices(t: Parameters<typeof openProgram>[0]) {
  const folder = temporaryFolder(t)
  const file = join(folder, 'prices.yaml')
  writeFileSync(file, text(1.25))
  const options = { upstreamUrl: upstream.baseUrl, folder, rules: 'rules: []\n' }
  const gateway = await openProgram(t, { ...options, config: { prices: { path: 'prices.yaml' } } })
  return { gateway, file }
}

const metric = async (gateway: TestGateway, name: string) =>
  new RegExp(`^sidegate_${name} (\\S+)$`, 'm').exec(await gateway.metrics())?.[1]

t.test('a changed price file takes effect, and a broken or removed one changes nothing', async (t) => {
  const { gateway, file } = await withPrices(t)
  const first = await pricesOf(gateway)
  t.match(first, {
    revision: /^[0-9a-f]{64}$/,
    prices: [
      { model: 'gpt-*', input: 1.25, cached_input: 1.25, output: 10, reasoning: 10, request: 0, image: 0 },
      { model: '*', input: 0 },
    ],
    problems: [],
  })
  t.equal(await metric(gateway, 'price_reloads_total\\{result="ok"\\}'), '1')
  t.match((await gateway.readiness()).body, { prices: 'ok', price_revision: first.revision })

  const second = await changed(gateway, () => writeFileSync(file, text(2.5)))
  t.match([second.prices[0].input, second.problems], [2.5, []], 'written in place')

  const bad = await changed(gateway, () => {
    writeFileSync(`${file}.tmp`, text('2.5 EUR'))
    renameSync(`${file}.tmp`, file)
  })
  t.match(bad, { revision: second.revision, prices: [{ input: 2.5 }, {}] }, 'the last good prices stay')
  t.match(bad.problems, [{ line: 2, path: 'prices.gpt-*.input', text: /prices\.yaml:2:20 .*plain number/ }])
  t.match((await gateway.readiness()).body, {
    ready: true,
    prices: 'the last good prices are in force',
    price_errors: [/prices\.yaml:2:20/],
    price_revision: second.revision,
  })
  t.equal(await metric(gateway, 'price_file_in_force'), '0')
  t.equal(await metric(gateway, 'price_reloads_total\\{result="error"\\}'), '1')
  t.ok(
    gateway.logs.some(({ level, errors }) => level === 'error' && String(errors).includes('prices.yaml:2')),
  )

  const gone = await changed(gateway, () => rmSync(file))
  t.match(gone, { revision: second.revision, problems: [{ message: /cannot be read \(ENOENT\)/ }] })
  const back = await changed(gateway, () => writeFileSync(file, text(3)))
  t.match([back.prices[0].input, back.problems], [3, []], 'a file that is back')
  t.equal(await metric(gateway, 'price_file_in_force'), '1')

  const loads = async () => Number(await metric(gateway, 'price_reloads_total\\{result="ok"\\}'))
  const before = await loads()
  gateway.child.kill('SIGHUP')
  await until('SIGHUP reloads', async () => (await loads()) > before, SOON_MS)
})

t.test('a ConfigMap volume that the kubelet swaps takes effect', async (t) => {
  const volume = temporaryFolder(t)
  publish(volume, '1', { 'prices.yaml': text(1) })
  const gateway = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    config: { prices: { path: join(volume, 'prices.yaml') } },
  })
  for (const version of [2, 3, 4]) {
    const { prices } = await changed(gateway, () =>
      publish(volume, String(version), { 'prices.yaml': text(version) }),
    )
    t.equal(prices[0].input, version)
  }
})

t.test('check names the models of recent calls that have no price', async (t) => {
  const { gateway, file } = await withPrices(t)
  writeFileSync(file, 'prices:\n  "priced/*": {input: 1, output: 1}\n')
  const { key } = await gateway.createKey()
  const models = [
    'priced/a',
    ...Array.from({ length: 22 }, (_, n) => `vendor/m${String(n).padStart(2, '0')}`),
  ]
  for (const model of models) {
    const response = await gateway.chat(key, prompt('hi', { model }))
    t.equal(response.status, 200)
    await response.text()
  }
  const check = async () => {
    const { code, stdout } = await runProgram(['check', '--config', join(gateway.folder, 'sidegate.yaml')], {
      ADMIN_TOKEN,
      UPSTREAM_KEY,
    })
    t.equal(code, 0)
    return stdout
  }
  const warning =
    /^warning: .*sidegate\.yaml:\d+:\d+ prices\.path: has no price for `vendor\/m00`, .*`vendor\/m19` and 2 others, which calls of the last 7 days used; add a line for each$/m
  t.match(await check(), warning, 'next to a running gateway')
  await gateway.stop()
  t.match(await check(), warning, 'without one')
  writeFileSync(file, text(1))
  t.match(await check(), '0 warnings')
  rmSync(join(gateway.folder, 'data'), { recursive: true })
  writeFileSync(file, 'prices: {}\n')
  t.match(await check(), '0 warnings', 'without a log')
  t.notOk(existsSync(join(gateway.folder, 'data')), 'no log is made')
})

t.test('without prices in the configuration there are none', async (t) => {
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl })
  t.same(await pricesOf(gateway), { revision: null, prices: [], problems: [] })
  t.notOk('prices' in (await gateway.readiness()).body)
})

t.test('a bad or missing price file prevents a start', async (t) => {
  const folder = temporaryFolder(t)
  const start = async (path: string) => {
    const { file } = writeDeployment({
      upstreamUrl: upstream.baseUrl,
      folder,
      rules: 'rules: []\n',
      config: { prices: { path } },
    })
    return runProgram(['serve', '--config', file], { ADMIN_TOKEN, UPSTREAM_KEY })
  }
  mkdirSync(join(folder, 'folder'))
  writeFileSync(join(folder, 'bad.yaml'), text(-1))
  const cases: readonly (readonly [string, RegExp])[] = [
    ['bad.yaml', /bad\.yaml:2:20 prices\.gpt-\*\.input: must be from 0 to 1000000/],
    [
      'none.yaml',
      /sidegate\.yaml:\d+:\d+ prices\.path: .*none\.yaml cannot be read \(ENOENT\); name a price file/,
    ],
    ['folder', /prices\.path: .*folder is not a file; name the price file in it/],
  ]
  for (const [path, message] of cases) {
    const { code, stdout, stderr } = await start(path)
    t.equal(code, 2, path)
    t.match(stderr, message)
    t.notMatch(stdout, 'listening')
  }
})
