// The limits in use of a running gateway: by key, by label and by all, in tokens, requests and money.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { discard, prompt, startGateway, type TestGateway } from './gateway.ts'
import { completion, heldAnswer, json, startUpstream } from './upstream.ts'

// Deadline of every wait in this file.
t.setTimeout(300_000)

const RULES = `rules:
  - { name: each, type: rate_limit, pattern: "1000/1h", action: block, enabled: true }
  - { name: team, type: rate_limit, pattern: "10 requests/1h", per: "label:team", action: block, enabled: true }
  - { name: total, type: rate_limit, pattern: "1 USD/1mo", per: all, action: monitor, enabled: true }
  - { name: batch, type: rate_limit, pattern: "50/1m", action: block, enabled: true, match: { keys: [batch] } }
`
/** A token of an answer costs 0.001 USD, one of a prompt nothing. */
const PRICES = 'prices:\n  "*": {input: 0, output: 1000}\n'
const HOUR = 3600

const upstream = await startUpstream()
t.teardown(() => upstream.close())
const ANSWER = json({
  ...completion('ok'),
  usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 },
})

const folder = mkdtempSync(join(tmpdir(), 'sidegate-test-'))
mkdirSync(join(folder, 'rules'))
writeFileSync(join(folder, 'prices.yaml'), PRICES)
const options = {
  upstreamUrl: upstream.baseUrl,
  folder,
  rules: RULES,
  config: { prices: { path: 'prices.yaml' } },
}
let gateway = await startGateway(options)
t.teardown(() => discard(gateway))

const createKey = async (name: string, labels = {}): Promise<{ id: string; key: string }> =>
  (await gateway.api('POST', '/keys', { name, labels })).body
const search = await createKey('app', { team: 'search' })
const plain = await createKey('batch')

const call = async (key: string) => {
  const response = await gateway.chat(key, prompt('hi', { max_tokens: 20 }))
  await response.text()
  return response.status
}
const limits = async (on: TestGateway, query = '') => {
  const { status, body } = await on.api('GET', `/usage/limits${query}`)
  t.equal(status, 200)
  t.equal(body.truncated, false)
  return body.limits as any[]
}
const brief = (rows: any[]) => rows.map((row) => [row.rule_name, row.subject, row.used, row.allowed])

t.test('nothing is listed before the first call', async (t) => {
  t.same(await limits(gateway), [])
})

t.test('each limit shows what its calls used, highest share first', async (t) => {
  upstream.answer = ANSWER
  t.equal(await call(search.key), 200)
  t.equal(await call(search.key), 200)
  const rows = await limits(gateway)
  t.same(brief(rows), [
    ['each', search.id, 220, 1000],
    ['team', 'search', 2, 10],
    ['total', '', 0.2, 1],
  ])
  t.match(rows, [
    { unit: 'tokens', scope: 'key', key_name: 'app', window_seconds: HOUR },
    { unit: 'requests', scope: 'label', key_name: null, window_seconds: HOUR },
    { unit: 'usd', scope: 'all', key_name: null, resets_at: /^20\d\d-\d\d-01T00:00:00\.000Z$/ },
  ])
  t.match(rows, [
    { subject_name: 'key = app', left: 780, window: '1h' },
    { subject_name: 'team = search', left: 8, window: '1h' },
    { subject_name: 'all keys', left: 0.8, window: '1mo' },
  ])
  const { effective } = (await gateway.api('GET', `/keys/${search.id}`)).body
  const inForce = rows.map((row) => [row.rule_name, row.subject_name, row.used, row.left, row.resets_at])
  t.same(
    effective.limits.map((row: any) => [row.rule, row.subject, row.used, row.left, row.reset_at]),
    inForce,
    'the page of a key says the same',
  )
  const days = rows[2].window_seconds / HOUR / 24
  t.ok(days >= 28 && days <= 31 && Number.isInteger(days), `a month of ${days} days`)
  const leftMs = Date.parse(rows[0].resets_at) - Date.now()
  t.ok(leftMs > 0.9 * HOUR * 1000 && leftMs < 1.1 * HOUR * 1000, rows[0].resets_at)
  const rule = (await gateway.api('GET', '/rules')).body.rules.find(({ name }: any) => name === 'each')
  t.equal(rows[0].rule_id, rule.id)
})

t.test('of one key, all limits that count its calls are listed', async (t) => {
  t.same(brief(await limits(gateway, `?key_id=${plain.id}`)), [
    ['total', '', 0.2, 1],
    ['batch', plain.id, 0, 50],
    ['each', plain.id, 0, 1000],
    ['team', '', 0, 10],
  ])
  t.match((await limits(gateway, `?key_id=${plain.id}`))[1], { key_name: 'batch', resets_at: null })
  t.same(await limits(gateway, '?key_id=unknown'), [])
})

t.test('what a running call reserves is used until the call ends', async (t) => {
  const held = heldAnswer()
  upstream.answer = held.answer
  const before = upstream.received.length
  const running = call(plain.key)
  await upstream.reached(before + 1)
  const [batch] = await limits(gateway, `?key_id=${plain.id}`)
  t.ok(batch.rule_name === 'batch' && batch.used >= 20, JSON.stringify(batch))
  held.release()
  t.equal(await running, 200)
})

t.test('a rotated key is listed as its successor, also after a restart', async (t) => {
  const successor = (await gateway.api('POST', `/keys/${search.id}/rotate`, { grace_seconds: 600 })).body
  const before = await limits(gateway, `?key_id=${search.id}`)
  t.same(brief(before), [
    ['each', successor.id, 220, 1000],
    ['total', '', 0.212, 1],
    ['team', 'search', 2, 10],
  ])
  t.equal(await gateway.stop(), 0)
  gateway = await startGateway(options)
  t.same(await limits(gateway, `?key_id=${successor.id}`), before)
})

t.test('the overview has outcomes, times and budgets, and reports count what was refused', async (t) => {
  const overview = async () => (await gateway.api('GET', '/overview?hours=24')).body
  t.match(await overview(), { outcomes: { ok: 0 }, added_latency_ms: null, budgets: [] })
  upstream.answer = json({
    ...completion('ok'),
    usage: { prompt_tokens: 10, completion_tokens: 700, total_tokens: 710 },
  })
  const late = await createKey('late')
  t.same([await call(late.key), await call(late.key), await call(late.key)], [200, 200, 429])
  const { outcomes, added_latency_ms: added, time_to_first_token_ms: first, budgets } = await overview()
  t.match(outcomes, { ok: 2, rate_limited: 1, blocked: 0 })
  t.ok(added.p50 > 0 && added.p50 <= added.p95, JSON.stringify(added))
  t.equal(first, null, 'no call was a stream')
  t.match(budgets, [{ rule_name: 'total', used: 1.612, left: 0, subject_name: 'all keys' }])
  const { total, rows } = (await gateway.api('GET', '/usage/report?group_by=key')).body
  t.match(total, { requests: 6, blocked: 0, refused: 1, answered: 5, cost_per_request: 0.3224 })
  t.match(rows[0], { key_name: 'late', requests: 3, refused: 1, answered: 2, cost_per_request: 0.7 })
  const { totals, events } = (await gateway.api('GET', '/usage/security')).body
  t.match(totals, { blocked_requests: 0, refused_requests: 1 })
  t.match(events[0], { type: 'refused_request', rule_name: 'each', key_name: 'late' })
  for (const query of ['?hours=25', '?days=1'])
    t.equal((await gateway.api('GET', `/overview${query}`)).status, 400)
})

t.test('an unknown parameter is named, and a session is needed', async (t) => {
  const { status, body } = await gateway.api('GET', '/usage/limits?limit=5')
  t.match([status, body.error], [400, { code: 'invalid_parameter', param: 'limit', message: /key_id/ }])
  t.equal((await fetch(`${gateway.url}/api/v1/usage/limits`)).status, 401)
})
