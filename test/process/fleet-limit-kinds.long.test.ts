// Limits of a hub over three sidecars: each unit, each `per`, the end of a month, the official SDK,
// and each way to go on without the hub. A gateway alone, with the same rules, says what is right.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { RateLimitError } from 'openai'
import t from 'tap'
import { hubOn } from '../hub/pods.ts'
import { fleetDatabase, run } from '../ledger/postgres.ts'
import { openGateway, prompt, type TestGateway, writeDeployment } from './gateway.ts'
import { openPod } from './pod-sidecar.ts'
import { fetchInTime, until } from './until.ts'
import { completion, heldAnswer, json, startUpstream } from './upstream.ts'

t.setTimeout(180_000)

/** Part of what one process admits that three sidecars admit at least. */
const USED = 0.9
/** Refusals in a row after which nothing is left. */
const REFUSALS = 6
/** Longer than sidecars keep what they do not use. */
const GIVEN_BACK_MS = 2000
/** So that a busy machine does not refuse the first call of a key. */
const WAIT_MS = 3000
const rule = (key: string, pattern: string, per = 'key'): string =>
  `  - {name: ${key}, type: rate_limit, pattern: "${pattern}", per: "${per}", action: block, match: {keys: ["${key}*"]}}\n`
const RULES = `rules:
${rule('tokens', '400 tokens/1h')}${rule('requests', '20 requests/1h')}${rule('usd', '0.0005 USD/1h')}
${rule('parallel', '2 parallel')}${rule('tools', '10 tool_calls/1h')}${rule('month', '9 requests/1mo')}
${rule('label', '12 requests/1h', 'label:team')}${rule('all', '12 requests/1h', 'all')}
${rule('sdk', '9 requests/1h')}${rule('short', '4 requests/2s')}${rule('loss', '100 requests/1h')}`
/** A call with an answer of 12 tokens costs 33 millionths of a dollar. */
const PRICES = 'prices: {"*": {input: 1, output: 2}}\n'
/** The hub reads the time of the database here. */
const MOVED_TIME = `
  create table moved (by interval not null);
  insert into moved values ('0');
  grant select on moved to sidegate_hub;
  create function clock_timestamp() returns timestamptz language sql as
    'select pg_catalog.clock_timestamp() + by from sidegate.moved'`

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())
const database = await fleetDatabase()
for (const statement of MOVED_TIME.split(';')) await run(database.owner, statement)
await run(
  database.owner,
  `alter role sidegate_hub in database ${new URL(database.owner).pathname.slice(1)}
     set search_path = sidegate, pg_catalog`,
)
const sections = {
  rules: { path: 'rules.yaml' },
  prices: { path: 'prices.yaml', unknownPrice: 'block' },
  limits: { guaranteedShare: 0.2, slotTimeoutSeconds: 600 },
}
const hub = await hubOn(t, database, sections, { 'rules.yaml': RULES, 'prices.yaml': PRICES })
const api = await hub.signIn()
const openOne = (pod: string, onHubLoss: string) =>
  openPod(t, { upstreamUrl: upstream.baseUrl, hub: hub.url, pod, limits: { onHubLoss, waitMs: WAIT_MS } })
const [share, refuse, local] = [
  await openOne('web-0', 'share'),
  await openOne('web-1', 'refuse'),
  await openOne('web-2', 'local'),
]
const sidecars = [share, refuse, local]
for (const one of sidecars)
  await until('the rules are there', async () => (await one.api('GET', '/rules')).body.rules.length === 11)

const alone = await openAlone()
async function openAlone(): Promise<TestGateway> {
  const { folder } = writeDeployment({ upstreamUrl: upstream.baseUrl })
  writeFileSync(join(folder, 'prices.yaml'), PRICES)
  const config = { prices: sections.prices }
  return openGateway(t, { upstreamUrl: upstream.baseUrl, folder, rules: RULES, config })
}

const newKey = async (name: string, terms: object = {}): Promise<{ readonly id: string; key: string }> =>
  (await api('POST', '/keys', { name, ...terms })).body
async function statusOf(gateway: TestGateway, key: string, more: object = {}): Promise<number> {
  const response = await gateway.chat(key, prompt('hi', { max_tokens: 12, ...more }))
  await response.arrayBuffer()
  return response.status
}

/** Calls gateways in turn, with keys in turn, until nothing is left. @returns what was admitted */
async function exhaust(gateways: readonly TestGateway[], ...keys: readonly string[]): Promise<number> {
  let [admitted, refused] = [0, 0]
  for (let n = 0; refused < REFUSALS; n++) {
    const key = keys[Math.floor(n / gateways.length) % keys.length]!
    const isAdmitted = (await statusOf(gateways[n % gateways.length]!, key)) === 200
    admitted += Number(isAdmitted)
    refused = isAdmitted ? 0 : refused + 1
  }
  return admitted
}

for (const unit of ['tokens', 'requests', 'usd'])
  t.test(`three sidecars admit of a limit of ${unit} what one gateway does`, async (t) => {
    const right = await exhaust([alone], (await alone.createKey(unit)).key)
    const admitted = await exhaust(sidecars, (await newKey(unit)).key)
    t.comment(`${admitted} and ${right}`)
    t.ok(right >= 10)
    t.ok(admitted <= right, `${admitted} and ${right}`)
    t.ok(admitted >= Math.floor(right * USED), `${admitted} and ${right}`)
  })

t.test('calls at a time count over the sidecars, and their places come back', async (t) => {
  const { key } = await newKey('parallel')
  const held = heldAnswer()
  upstream.answer = held.answer
  const calls = upstream.received.length
  const running = [share, refuse].map((one) => statusOf(one, key))
  await upstream.reached(calls + 2)
  const late = [local, share].map((one) => statusOf(one, key))
  t.same(await Promise.all(late), [429, 429], 'also where a sidecar without a hub would count alone')
  upstream.answer = json(completion('ok'))
  held.release()
  t.same(await Promise.all(running), [200, 200])
  for (let n = 0; n < 12; n++)
    t.equal(await statusOf(sidecars[n % 3]!, key), 200, 'one call at a time is not refused anywhere')
})

t.test('tool calls that an answer asked for count at every sidecar', async (t) => {
  const { key } = await newKey('tools')
  const call = { type: 'function', function: { name: 'read', arguments: '{}' } }
  const tool_calls = Array.from({ length: 10 }, (_, n) => ({ ...call, id: `call-${n}` }))
  const [choice] = completion('').choices as [object]
  const message = { role: 'assistant', content: null, tool_calls }
  upstream.answer = json({
    ...completion(''),
    choices: [{ ...choice, message, finish_reason: 'tool_calls' }],
  })
  t.equal(await statusOf(share, key), 200)
  upstream.answer = json(completion('ok'))
  await until('the others know', async () => (await statusOf(local, key)) === 429)
  t.equal(await statusOf(refuse, key), 429)
})

t.test('keys that replace each other share a limit', async (t) => {
  const first = await newKey('requests-rotated')
  for (const one of sidecars) t.equal(await statusOf(one, first.key), 200)
  const { key } = (await api('POST', `/keys/${first.id}/rotate`, { grace_seconds: 600 })).body
  const rest = await exhaust(sidecars, key, first.key)
  t.ok(rest <= 17 && rest >= Math.floor(17 * USED), `${rest} of 17`)
  t.equal(await statusOf(share, (await newKey('requests-other')).key), 200, 'another key has its own')
})

t.test('keys with one value of a label share a limit, and so do all keys', async (t) => {
  const team = (name: string) => newKey('label', { labels: { team: name } })
  const [one, two, other] = [await team('a'), await team('a'), await team('b')]
  const shared = await exhaust(sidecars, one.key, two.key)
  t.ok(shared <= 12 && shared >= 10, `${shared} of 12`)
  t.equal(await statusOf(refuse, other.key), 200, 'another value has its own')
  const all = await exhaust(sidecars, (await newKey('all-1')).key, (await newKey('all-2')).key)
  t.ok(all <= 12 && all >= 10, `${all} of 12`)
})

t.test('the SDK sees what is left over the fleet, and waits as long as it is told', async (t) => {
  const clientOf = ({ url }: TestGateway, apiKey: string, maxRetries: number) =>
    new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries, fetch: fetchInTime })
  const ask = (client: OpenAI) =>
    client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }).withResponse()
  const { key } = await newKey('sdk')
  const clients = sidecars.map((one) => clientOf(one, key, 0))
  const left: number[] = []
  for (let n = 0; n < 9; n++) {
    const { headers } = (await ask(clients[n % 3]!)).response
    t.equal(headers.get('x-ratelimit-limit-requests'), '9')
    left.push(Number(headers.get('x-ratelimit-remaining-requests')))
  }
  t.same(left, [8, 7, 6, 5, 4, 3, 2, 1, 0])
  for (const client of clients) {
    const error = await ask(client).then(
      () => null,
      (caught: unknown) => caught,
    )
    t.ok(error instanceof RateLimitError)
    const { headers, code } = error as RateLimitError
    t.equal(code, 'rate_limit_exceeded')
    const seconds = Number(headers?.get('retry-after'))
    t.ok(seconds > 3500 && seconds <= 3780, `${seconds} s`)
    t.equal(headers?.get('x-ratelimit-remaining-requests'), '0')
    t.match(headers?.get('x-ratelimit-reset-requests'), /^(1h|59m)/)
  }
  const short = await newKey('short')
  const patient = sidecars.map((one) => clientOf(one, short.key, 5))
  const startedMs = performance.now()
  for (let n = 0; n < 5; n++) await ask(patient[n % 3]!)
  t.ok(performance.now() - startedMs >= 1000, 'more than the limit takes more than its window')
})

t.test('a new month begins at every sidecar', async (t) => {
  const { key } = await newKey('month')
  // Six seconds before it ends.
  await run(
    database.owner,
    `update moved set by = date_trunc('month', now() + interval '1 month') - now() - interval '6 s'`,
  )
  const before = await exhaust(sidecars, key)
  t.ok(before <= 9 && before >= 8, `${before} of 9`)
  const refused = await refuse.chat(key, prompt('hi'))
  t.equal(refused.status, 429)
  // Up to a twentieth more, in whole seconds.
  t.ok(Number(refused.headers.get('retry-after')) <= 7)
  await until('the month is over', async () => (await statusOf(local, key)) === 200)
  const after = 1 + (await exhaust(sidecars, key))
  t.ok(after <= 9 && after >= 8, `${after} of 9`)
})

t.test('without the hub each sidecar does what its configuration says', async (t) => {
  const { key } = await newKey('loss')
  const used = new Map(sidecars.map((one) => [one, 0]))
  const admit = async (one: TestGateway) => {
    const isAdmitted = (await statusOf(one, key)) === 200
    if (isAdmitted) used.set(one, used.get(one)! + 1)
    return isAdmitted
  }
  // Each asks until it has its part of what is set aside.
  for (let round = 0; round < 4; round++) for (const one of sidecars) t.ok(await admit(one))
  await new Promise((resolve) => setTimeout(resolve, GIVEN_BACK_MS))
  await hub.stop()
  for (const one of sidecars) {
    await until('the feed is over', async () => {
      return (await one.api('GET', '/status')).body.fleet.connected === false
    })
    while (await admit(one));
  }
  t.comment(`used ${[...used.values()]}`)
  t.ok(used.get(share)! > 4 && used.get(share)! <= 6, 'its share')
  t.equal(used.get(refuse), 4, 'nothing more')
  t.equal(used.get(local), 100, 'as if it were alone')
  t.match((await local.readiness()).body.fleet, /counts the limits of the fleet alone/)
  t.match(await local.metrics(), /^sidegate_fleet_limits_alone 1$/m)
  t.match(await share.metrics(), /^sidegate_fleet_limits_alone 0$/m)
  t.ok(local.logs.some(({ limits }) => limits === 'counted in this gateway alone'))
  const usage = async (one: TestGateway) =>
    (await one.api('GET', '/usage/limits')).body.limits.filter(({ rule_name }: any) => rule_name === 'loss')
  t.match(await usage(local), [{ source: 'local', used: 100, left: 0 }])
  t.match(await usage(share), [{ source: 'hub' }])
})
