// What the overview says of a real gateway.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { VERSION } from '../../src/core/version.ts'
import { deploy, openGateway, prompt } from './gateway.ts'
import { eventually, fetchInTime } from './until.ts'
import { completion, heldAnswer, json, startUpstream } from './upstream.ts'

const RULES = `rules:
  - { name: a, type: keyword_block, pattern: aurora, action: block }
  - { name: b, type: keyword_block, pattern: borealis, action: block, enabled: false }
`
const PRICES = 'prices:\n  "*": {input: 1, output: 2}\n'

t.test('the state of a gateway, from its parts', async (t) => {
  const startMs = Date.now()
  const { gateway, upstream, key } = await deploy(t, json(completion('Hello.')), { rules: RULES })
  const status = async () => (await gateway.api('GET', '/status')).body
  await (await gateway.chat(key, prompt('hi'))).text()
  const first = await status()
  const newest = await gateway.newestEntry()
  t.match(first, {
    version: VERSION,
    ready: true,
    draining: false,
    store: { available: true, limit_bytes: 10 * 1024 ** 3, quarantines: 0 },
    rules: { total: 2, enabled: 1, overrides: 0, in_force: true, errors: [] },
    prices: null,
    upstreams: [{ name: 'default', open: false }],
    audit: {
      verification: { running: false, ok: null, finished_at: null },
      retention: { waits: false, reason: null },
    },
    calls_in_flight: 0,
  })
  t.ok(first.serves.includes('live-log') && !first.serves.includes('fleet'), 'pages of the console')
  t.equal(first.rules.revision, newest.policy_revision)
  t.ok(first.audit.seq >= newest.seq && first.audit.hash.startsWith('sha256:'))
  const checkpoint = (await gateway.api('GET', '/audit/checkpoint')).body
  t.ok(first.audit.checkpoint.size <= checkpoint.size && first.audit.checkpoint.size > 0)
  for (const at of [first.started_at, first.rules.loaded_at, first.audit.checkpoint.created_at])
    t.ok(Date.parse(at) >= startMs - 1 && Date.parse(at) <= Date.now(), at)
  const { used_bytes, free_bytes, journal_lag_frames, journal_lag_seconds } = first.store
  t.ok(used_bytes > 0 && free_bytes > 0 && journal_lag_frames >= 0 && journal_lag_seconds >= 0)

  t.test('a changed rule file has a new time of load; a bad one keeps it and is an error', async (t) => {
    const file = join(gateway.folder, 'rules', 'rules.yaml')
    writeFileSync(file, `${RULES}  - { name: c, type: keyword_block, pattern: cirrus, action: block }\n`)
    const { rules } = await eventually('the new rules', status, ({ rules }) => rules.total === 3)
    t.ok(Date.parse(rules.loaded_at) > Date.parse(first.rules.loaded_at))
    t.equal(rules.enabled, 2)
    writeFileSync(file, 'rules: [{ name: x }]\n')
    const bad = await eventually('the error', status, ({ rules }) => !rules.in_force)
    t.match(bad.rules, {
      total: 3,
      revision: rules.revision,
      loaded_at: rules.loaded_at,
      errors: [/rules\.yaml:1:\d+ rules\[0\]\.type: is required/],
    })
    t.equal(bad.ready, true)
    writeFileSync(file, RULES)
    await eventually('the first rules', status, ({ rules }) => rules.in_force)
  })

  t.test('an override, a full check and a running call are in it', async (t) => {
    const [rule] = (await gateway.api('GET', '/rules')).body.rules
    await gateway.api('PATCH', `/rules/${rule.id}`, { enabled: false, ttl_seconds: 60 })
    t.match((await status()).rules, { enabled: 0, overrides: 1 })
    await gateway.api('POST', '/audit/verify')
    const checked = await eventually('a verdict', status, ({ audit }) => audit.verification.ok !== null)
    t.match(checked.audit.verification, { ok: true, finished_at: /Z$/ })
    const held = heldAnswer()
    upstream.answer = held.answer
    const arrived = upstream.next()
    const answer = gateway.chat(key, prompt('hi'))
    await arrived
    await eventually('a call in flight', status, (body) => body.calls_in_flight === 1)
    held.release()
    await (await answer).text()
  })

  t.test('it needs a session, takes no parameter and holds no secret', async (t) => {
    t.equal((await fetchInTime(`${gateway.url}/api/v1/status`)).status, 401)
    t.match((await gateway.api('GET', '/status?x=1')).body.error, { param: 'x' })
    const text = JSON.stringify(await status())
    for (const secret of [key, upstream.baseUrl, 'upstream-credential-for-tests', 'an-admin-token-for-tests'])
      t.notOk(text.includes(secret), secret)
  })
})

t.test('an upstream whose breaker is open', async (t) => {
  const upstream = await startUpstream(json({ error: { message: 'broken' } }, 500))
  t.teardown(() => upstream.close())
  const one = { baseUrl: upstream.baseUrl, apiKey: { env: 'UPSTREAM_KEY' }, retries: { attempts: 0 } }
  const other = await startUpstream()
  t.teardown(() => other.close())
  const gateway = await openGateway(t, {
    upstreamUrl: upstream.baseUrl,
    config: {
      upstreams: [
        { name: 'broken', ...one, models: ['m'], breaker: { failures: 1, openSeconds: 3600 } },
        { name: 'well', ...one, models: ['other'], baseUrl: other.baseUrl },
      ],
    },
  })
  const { key } = await gateway.createKey()
  await (await gateway.chat(key, prompt('hi'))).text()
  const { body } = await gateway.api('GET', '/status')
  t.strictSame(body.upstreams, [
    { name: 'broken', open: true },
    { name: 'well', open: false },
  ])
})

t.test('the prices in force', async (t) => {
  const first = await openGateway(t, { upstreamUrl: 'http://127.0.0.1:9/v1' })
  await first.stop()
  const file = join(first.folder, 'prices.yaml')
  writeFileSync(file, PRICES)
  const gateway = await openGateway(t, {
    upstreamUrl: 'http://127.0.0.1:9/v1',
    folder: first.folder,
    config: { prices: { path: 'prices.yaml' } },
  })
  const status = async () => (await gateway.api('GET', '/status')).body
  const { prices } = await status()
  t.match(prices, { revision: /^[0-9a-f]{64}$/, in_force: true })
  writeFileSync(file, 'prices: 5\n')
  const bad = await eventually('the error', status, (body) => !body.prices.in_force)
  t.equal(bad.prices.revision, prices.revision)
})
