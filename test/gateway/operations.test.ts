// What an operator sees: health, metrics, logs, and every error of a start at once.
// UPDATE_GOLDEN=1 npm test test/gateway/operations.test.ts writes a new golden page of metrics.

import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { discard, startGateway, writeDeployment } from '../process/gateway.ts'
import { runProgram } from '../process/run-command.ts'
import { completion, json, startUpstream, stream } from '../process/upstream.ts'

// Deadline of every wait in this file; the runner's own is too short for a busy machine.
t.setTimeout(300_000)

const GOLDEN = fileURLToPath(new URL('../metrics/metrics.golden.txt', import.meta.url))

const upstream = await startUpstream(json(completion('Ask bob@example.org')))
const gateway = await startGateway({
  upstreamUrl: upstream.baseUrl,
  rules:
    'rules:\n  - { name: word, type: keyword_block, pattern: aurora, action: block, enabled: true }\n  - { name: score, type: prompt_injection, pattern: "", action: monitor, enabled: true }\n',
})
t.teardown(async () => {
  await discard(gateway)
  await upstream.close()
})

t.test('the ops listener serves health and metrics and nothing else', async (t) => {
  const get = (path: string, init: RequestInit = {}) => fetch(`${gateway.opsUrl}${path}`, init)
  t.match(await (await get('/livez')).json(), { live: true })
  const ready = await get('/readyz')
  t.match(
    [ready.status, await ready.json()],
    [200, { ready: true, store: 'ok', rules: 'ok', draining: false }],
  )
  t.match((await get('/metrics')).headers.get('content-type'), 'text/plain')
  for (const path of ['/', '/v1/chat/completions', '/api/v1/keys', '/openapi.json', '/metrics/'])
    t.equal((await get(path)).status, 404, path)
  t.equal((await get('/livez', { method: 'POST' })).status, 405)
  t.equal((await fetch(`${gateway.url}/metrics`)).status, 404, 'the gateway listener has neither')
})

t.test('the metrics page has the golden names and labels', async (t) => {
  const { key } = await gateway.createKey()
  const ask = async (content: string, more: object = {}) =>
    (
      await gateway.chat(key, { model: 'vendor/model', ...more, messages: [{ role: 'user', content }] })
    ).text()
  await ask('I am alice@example.com')
  await ask('aurora')
  upstream.answer = stream(['one ', 'two '])
  await ask('hi', { stream: true })
  const page = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  const shape = page
    .split('\n')
    .filter((line) => /^(?:# (?:HELP|TYPE) )?sidegate_/.test(line))
    .map((line) => (line.startsWith('#') ? line : line.replace(/="[^"]*"/g, '=""').replace(/ \S+$/, '')))
  const golden = `${[...new Set(shape)].join('\n')}\n`
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(GOLDEN, golden)
  t.equal(golden, readFileSync(GOLDEN, 'utf8'))
  t.match(page, /sidegate_requests_total\{api="chat",outcome="ok",stream="false"\} 1/)
  t.match(page, /sidegate_pii_findings_total\{kind="email",direction="request"\} 1/)
  t.match(page, /sidegate_rule_decisions_total\{rule="word",action="block",direction="request"\} 1/)
  t.match(page, /sidegate_tokens_total\{direction="prompt",model="vendor\/model"\} 18/)
  t.match(page, /sidegate_time_to_first_token_seconds_count 1/)
  t.match(page, /sidegate_refusals_total\{code="overloaded"\} 0/, 'a counter exists before its first event')
  t.match(page, /sidegate_rule_reloads_total\{result="ok"\} 1/, 'the start loads the rules')
  t.match(page, /sidegate_rule_reload_success_timestamp_seconds 1\d{9}/)
})

t.test('each entry of the log is counted by its type', async (t) => {
  const { id } = await gateway.createKey('short-lived')
  t.equal((await gateway.api('DELETE', `/keys/${id}`)).status, 200)
  const { logs } = (await gateway.api('GET', '/usage/logs?limit=1')).body
  await gateway.api('POST', '/audit/erase', { request_id: logs[0].id })
  await gateway.api('POST', '/rules', { name: 'mine', type: 'keyword_block', pattern: 'x', action: 'block' })
  const page = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  const counts = page.matchAll(/^sidegate_audit_entries_total\{type="(.+)"\} (\d+)$/gm)
  const { stdout } = await runProgram(['audit', 'export', '--config', join(gateway.folder, 'sidegate.yaml')])
  const entries = stdout
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('{"checkpoint"'))
  const sealed = Map.groupBy(entries, (line): string => JSON.parse(line).type)
  t.ok(sealed.size > 5)
  t.strictSame(
    Object.fromEntries(Array.from(counts, ([, type, count]) => [type, Number(count)])),
    Object.fromEntries(Array.from(sealed, ([type, all]) => [type, all.length])),
  )
})

t.test('a model name becomes a label only after an upstream served it, and labels are bounded', async (t) => {
  const { key } = await gateway.createKey()
  const labels = async () => {
    const page = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
    return new Set([...page.matchAll(/model="([^"]*)"/g)].map(([, model]) => model))
  }
  const ask = async (model: string) =>
    await (await gateway.chat(key, { model, messages: [{ role: 'user', content: 'hi' }] })).text()
  const { usage: _, ...uncounted } = completion('ok')
  upstream.answer = json(uncounted)
  const served = ['local', 'claude-3-5-sonnet@20240620', '@cf/meta/llama-3.1-8b']
  for (const model of served) await ask(model)
  const counted = await labels()
  t.same(
    served.filter((model) => !counted.has(model)),
    [],
  )
  upstream.answer = json({ error: { message: 'no such model' } })
  await ask('unheard-of')
  upstream.answer = json(completion('ok'))
  await ask('ghp_16C7e42F292c691aE77b0c83a834Ae17aB4a')
  for (let i = 0; i < 110; i++) await ask(`m${i}`)
  await ask('somebody@example.com')
  const models = await labels()
  t.ok(models.size <= 101, `${models.size} models`)
  t.ok(models.has('other'))
  t.same(
    [...models].filter((model) => /somebody|ghp_|unheard/.test(model ?? '')),
    [],
  )
})

t.test('the log has one JSON object a line, and the first names the ports', async (t) => {
  const first = gateway.logs[0] ?? {}
  t.match(first, {
    msg: 'listening',
    level: 'info',
    gateway: [/^127\.0\.0\.1:\d+$/],
    ops: [/^127\.0\.0\.1:\d+$/],
  })
  t.ok(
    gateway.logs.every(
      ({ time, level, msg }) =>
        typeof time === 'string' && typeof level === 'string' && typeof msg === 'string',
    ),
  )
  const sealed = gateway.logs.find(({ msg }) => msg === 'call sealed')
  t.match(sealed, { outcome: 'ok', status: 200, key: 'test' })
  const v6 = (first['gateway'] as string[]).find((address) => address.startsWith('[::1]'))
  if (v6 === undefined) t.pass('IPv6', { skip: 'this machine has no IPv6 loopback' })
  else t.equal((await fetch(`http://${v6}/openapi.json`)).status, 200)
})

t.test('every error is reported at once, before anything listens', async (t) => {
  const { folder, file } = writeDeployment({
    upstreamUrl: 'x',
    rules: 'rules:\n  - { name: a, type: keyword_block, pattern: "(", action: block, enabled: true }\n',
  })
  const port = new URL(gateway.url).port
  writeFileSync(
    file,
    `listen:
  gateway: "127.0.0.1:${port}"
upstream:
  baseUrl: "http://user:pass@127.0.0.1/v1"
  apiKey: { env: NOT_SET_ANYWHERE }
admin:
  token: { file: missing }
rules:
  path: rules
data:
  path: data
`,
  )
  const { code, stderr, stdout } = await runProgram(['serve', '--config', file])
  t.equal(code, 2)
  t.equal(stdout, '')
  t.match(stderr, /sidegate\.yaml:4:\d+ upstream\.baseUrl: must not carry a credential/)
  t.match(stderr, /sidegate\.yaml:5:\d+ upstream\.apiKey: environment variable NOT_SET_ANYWHERE is not set/)
  t.match(stderr, /sidegate\.yaml:7:\d+ admin\.token: file missing cannot be used \(ENOENT\)/)
  t.match(stderr, /rules\.yaml:2:\d+ rules\[0\]\.pattern/)
  t.match(stderr, /sidegate\.yaml:2:\d+ listen\.gateway: cannot listen on .*in use/)
  t.match(stderr, /5 errors; nothing was started/)
  t.notMatch(stderr, /user:pass/)
  t.notOk(existsSync(join(folder, 'data')), 'no folder is created')

  writeFileSync(
    file,
    `upstream: { baseUrl: "ftp://x", apiKay: 5 }\nlimits: { bodyBytes: "big" }\npii: { kinds: [emial] }
listen: { ops: "127.0.0.1:${port}" }\nrules: { path: rules }\n`,
  )
  const shapes = await runProgram(['serve', '--config', file])
  t.equal(shapes.code, 2)
  for (const place of [
    /sidegate\.yaml:1:\d+ upstream\.baseUrl: /,
    /sidegate\.yaml:1:\d+ upstream\.apiKay: /,
    /sidegate\.yaml:2:\d+ limits\.bodyBytes: must be an integer/,
    /sidegate\.yaml:3:\d+ pii\.kinds\[0\]: /,
    /sidegate\.yaml:4:\d+ listen\.ops: cannot listen on .*in use/,
    /rules\.yaml:2:\d+ rules\[0\]\.pattern/,
  ])
    t.match(shapes.stderr, place)
  t.match(shapes.stderr, /apiKey/, 'the nearest known name')
  t.match(shapes.stderr, /credit_card/, 'the known kinds')
  t.equal((await runProgram(['serve', '--config', join(folder, 'none.yaml')])).code, 2)
})

t.test('busy ports, unusable folders and missing rules are found before anything is opened', async (t) => {
  const busy = createServer()
  busy.listen({ host: '::1', port: 0, ipv6Only: true })
  try {
    await once(busy, 'listening')
  } catch {
    t.pass('a port in use on IPv6 only', { skip: 'NOT TESTED: this machine has no IPv6 loopback' })
    return
  }
  t.teardown(() => busy.close())
  const { port } = busy.address() as AddressInfo
  const { folder, file } = writeDeployment({ upstreamUrl: 'http://127.0.0.1:1' })
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'occupied'), '')
  const address = JSON.stringify(`127.0.0.1:${port}`)
  writeFileSync(
    file,
    `listen:
  gateway: ${address}
  ops: ${address}
upstream: { baseUrl: "http://127.0.0.1:1" }
data: { path: occupied/data }
rules: { path: nowhere }
`,
  )
  const { code, stderr, stdout } = await runProgram(['serve', '--config', file])
  t.equal(code, 2)
  t.equal(stdout, '')
  t.match(stderr, /sidegate\.yaml:2:\d+ listen\.gateway: cannot listen on \[::1\]:\d+: the port is in use/)
  t.match(stderr, /sidegate\.yaml:3:\d+ listen\.ops: must not be the address of listen\.gateway/)
  t.match(stderr, /sidegate\.yaml:5:\d+ data\.path: .*occupied is not a folder/)
  t.match(stderr, /sidegate\.yaml:6:\d+ rules\.path: .*nowhere cannot be read \(ENOENT\)/)
  t.match(stderr, /4 errors; /)
  writeFileSync(
    file,
    'listen: { gateway: "192.0.2.1:8484", ops: "none.invalid:1" }\nupstream: { baseUrl: "http://127.0.0.1:1" }\n',
  )
  const elsewhere = await runProgram(['serve', '--config', file])
  t.match(elsewhere.stderr, /:1:\d+ listen\.gateway: .*does not have the address; use 0\.0\.0\.0 or \[::\]/)
  t.match(elsewhere.stderr, /:1:\d+ listen\.ops: .*use an IP address/)
})

t.test('the shipped configuration without a credential names the variable to set and the demo', async (t) => {
  const { code, stderr } = await runProgram(['serve'], { OPENROUTER_API_KEY: '', SIDEGATE_ADMIN_TOKEN: '' })
  t.equal(code, 2)
  t.match(
    stderr,
    /config\/sidegate\.yaml:\d+:\d+ upstream\.apiKey: environment variable OPENROUTER_API_KEY is not set/,
  )
  t.match(stderr, /SIDEGATE_ADMIN_TOKEN/)
  t.match(stderr, /npm run demo/)
})
