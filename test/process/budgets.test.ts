// Limits of money on the running process: parallel calls, kills, models without a price.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { discard, openGateway, prompt } from './gateway.ts'
import { startProgram } from './gateway-process.ts'
import { completion, json, silent, startUpstream } from './upstream.ts'

/** A token of an answer costs 0.001 USD, one of a prompt nothing. */
const PRICES = `prices:
  "priced-*": {input: 0, output: 1000}
`
const RULES = `rules:
  - { name: team-budget, type: rate_limit, pattern: "1 USD/1mo", action: block, enabled: true }
`
const TOKENS = 100
const COST = 0.1

const upstream = await startUpstream()
t.teardown(() => upstream.close())

/** An answer of TOKENS tokens. */
const answer = json({
  ...completion('ok'),
  usage: { prompt_tokens: 10, completion_tokens: TOKENS, total_tokens: TOKENS + 10 },
})

const body = (model = 'priced-a', more: object = {}) => prompt('hi', { model, max_tokens: TOKENS, ...more })

function deployment(prices: object = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-test-'))
  mkdirSync(join(folder, 'rules'))
  writeFileSync(join(folder, 'prices.yaml'), PRICES)
  const config = { prices: { path: 'prices.yaml', ...prices } }
  return { upstreamUrl: upstream.baseUrl, folder, rules: RULES, config }
}

const open = (t: Test, prices?: object) => openGateway(t, deployment(prices))

t.test('50 parallel calls never cost more than a limit of money, also after kill -9', async (t) => {
  const options = deployment()
  let gateway = await startProgram(options)
  const { key } = await gateway.createKey('app')
  const send = async () => {
    const statuses = Array.from({ length: 50 }, async () => {
      const response = await gateway.chat(key, body())
      await response.text()
      return response.status
    })
    return (await Promise.allSettled(statuses)).map((one) => (one.status === 'fulfilled' ? one.value : 0))
  }
  const before = upstream.received.length
  upstream.answer = silent
  const cut = send()
  await upstream.reached(before + 10)
  await gateway.kill('SIGKILL')
  await cut
  gateway = await startProgram(options)
  t.teardown(() => discard(gateway))
  upstream.answer = answer
  const statuses = await send()
  t.same(new Set(statuses), new Set([429]), 'the calls that were cut off may have cost all of it')
  const paid = upstream.received.length - before
  t.ok(paid * COST <= 1, `${paid} calls reached the upstream`)
})

t.test('a call settles to its cost, which its entry, the log and the metrics show', async (t) => {
  const gateway = await open(t)
  const { key } = await gateway.createKey('app')
  upstream.answer = answer
  await (await gateway.chat(key, body())).text()
  t.match(await gateway.newestEntry(), { cost: COST, cost_source: 'book' })
  upstream.answer = json({
    ...completion('ok'),
    usage: { prompt_tokens: 10, completion_tokens: TOKENS, total_tokens: TOKENS + 10, cost: 0.25 },
  })
  await (await gateway.chat(key, body())).text()
  t.match(await gateway.newestEntry(), { cost: 0.25, cost_source: 'upstream' })
  const page = await gateway.metrics()
  t.match(page, /^sidegate_budget_used_usd\{rule="team-budget"\} 0\.35$/m)
  t.match(page, /^sidegate_budget_allowed_usd\{rule="team-budget"\} 1$/m)
  t.match((await gateway.api('POST', '/rules/evaluate', body())).body, { estimated_cost: COST })
  t.match((await gateway.api('POST', '/rules/evaluate', body('x'))).body, { estimated_cost: null })
})

t.test('a budget that is used up refuses with the day on which it ends', async (t) => {
  const gateway = await open(t)
  const { key } = await gateway.createKey('app')
  upstream.answer = json({ ...completion('ok'), usage: { prompt_tokens: 1, completion_tokens: 1, cost: 5 } })
  await (await gateway.chat(key, body())).text()
  const refused = await gateway.chat(key, body())
  t.equal(refused.status, 429)
  t.match(await refused.json(), {
    error: { code: 'budget_exceeded', rule_name: 'team-budget', message: /until 20\d\d-\d\d-01\.$/ },
  })
  t.equal(refused.headers.get('x-should-retry'), 'false')
})

t.test('a budget that running calls hold names the day on which it ends at the latest', async (t) => {
  const gateway = await open(t)
  const { key } = await gateway.createKey('app')
  upstream.answer = silent
  const before = upstream.received.length
  const leaving = new AbortController()
  const running = Array.from({ length: 10 }, () => gateway.chat(key, body(), { signal: leaving.signal }))
  await upstream.reached(before + 10)
  const refused = await gateway.chat(key, body())
  t.match(await refused.json(), {
    error: {
      code: 'budget_exceeded',
      message: /is used up by what running calls may cost .* until 20\d\d-\d\d-01\.$/,
    },
  })
  const now = new Date()
  const endMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)
  t.ok(Number(refused.headers.get('retry-after-ms')) >= endMs - now.getTime())
  t.equal(refused.headers.get('x-should-retry'), null)
  leaving.abort()
  await Promise.allSettled(running)
})

t.test('a model without a price is refused under a limit of money, or not counted', async (t) => {
  upstream.answer = answer
  const strict = await open(t)
  const { key } = await strict.createKey('app')
  const refused = await strict.chat(key, body('unheard-of'))
  t.equal(refused.status, 403)
  t.match(await refused.json(), {
    error: { code: 'price_unknown', param: 'model', rule_name: 'team-budget' },
  })
  const lax = await open(t, { unknownPrice: 'ignore' })
  const { key: other } = await lax.createKey('app')
  for (let call = 0; call < 12; call++) {
    const passed = await lax.chat(other, body('unheard-of'))
    await passed.text()
    t.equal(passed.status, 200)
  }
  t.match(await lax.newestEntry(), { cost: null, cost_source: null })
  t.match(await lax.metrics(), /^sidegate_unpriced_requests_total 12$/m)
})
