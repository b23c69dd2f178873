// The management API on the running process: keys, rules, dry runs and the usage log.

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { Agent, request } from 'node:http'
import t from 'tap'
import { createApiKey } from '../../src/core/apikey.ts'
import { ADMIN_TOKEN, discard, runCli, startGateway } from './gateway.ts'
import { completion, json, startUpstream } from './upstream.ts'

const FILE_KEY = createApiKey(Buffer.alloc(32, 7))
const RULES = `rules:
  - name: no-aurora
    type: keyword_block
    pattern: project aurora
    action: block
    enabled: true
  - { name: score, type: prompt_injection, pattern: "", action: monitor, enabled: true }
`
const upstream = await startUpstream(json(completion('ok')))
const sha256 = createHash('sha256').update(FILE_KEY).digest('hex')
const gateway = await startGateway({
  upstreamUrl: upstream.baseUrl,
  rules: RULES,
  config: { keys: [{ name: 'batch', sha256 }] },
})
t.teardown(async () => {
  await discard(gateway)
  await upstream.close()
})
const { api, url } = gateway
const say = (content: string) => ({ model: 'm', messages: [{ role: 'user', content }] })
const post = (path: string, headers: Record<string, string>, body: unknown = {}) =>
  fetch(`${url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

/** With headers that fetch does not let through. */
const raw = (method: string, path: string, headers: Record<string, string>, agent?: Agent) =>
  new Promise<{ status: number; body: string }>((resolve, reject) => {
    request(`${url}${path}`, { method, headers, ...(agent === undefined ? {} : { agent }) }, (response) => {
      let body = ''
      response.on('data', (data) => {
        body += data
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
      .on('error', reject)
      .end()
  })

t.test('sessions', async (t) => {
  const made = await post('/session', {}, { token: ADMIN_TOKEN })
  t.equal(made.status, 201)
  t.ok(Date.parse(((await made.json()) as any).expires_at) > Date.now())
  const cookie = made.headers.get('set-cookie') ?? ''
  for (const flag of ['HttpOnly', 'SameSite=Strict', 'Path=/', 'sidegate_session=']) t.match(cookie, flag)
  t.notMatch(cookie, 'Secure')
  t.match(
    (await post('/session', { 'x-forwarded-proto': 'https' }, { token: ADMIN_TOKEN })).headers.get(
      'set-cookie',
    ),
    'Secure',
  )
  const headers = { cookie: cookie.split(';')[0] ?? '' }
  t.equal((await fetch(`${url}/api/v1/session`, { headers })).status, 200)
  t.equal((await fetch(`${url}/api/v1/session`, { method: 'DELETE', headers })).status, 200)
  t.equal((await fetch(`${url}/api/v1/keys`, { headers })).status, 401, 'signed out')
  t.match(await (await post('/session', {}, { token: 'wrong' })).json(), { error: { code: 'invalid_token' } })
})

t.test('who may not', async (t) => {
  const { key } = await gateway.createKey()
  const cookie = await gateway.signIn()
  t.equal((await fetch(`${url}/api/v1/keys`)).status, 401)
  t.equal(
    (await fetch(`${url}/api/v1/keys`, { headers: { authorization: `Bearer ${key}` } })).status,
    401,
    'an API key opens nothing',
  )
  t.equal((await fetch(`${url}/api/v1/nothing`, { headers: { cookie } })).status, 404)
  const wrong = await fetch(`${url}/api/v1/keys`, { method: 'PUT', headers: { cookie } })
  t.match([wrong.status, wrong.headers.get('allow')], [405, 'POST, GET'])
  t.equal(
    (
      await fetch(`${url}/api/v1/keys`, {
        method: 'POST',
        headers: { cookie, 'content-type': 'text/plain' },
        body: '{}',
      })
    ).status,
    415,
  )
  for (const host of ['evil.example', 'localhost.evil.example', '10.0.0.1']) {
    t.equal((await raw('GET', '/api/v1/keys', { host, cookie })).status, 421, `Host: ${host}`)
  }
  for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1', '127.1.2.3:80', '[::1]:8484']) {
    t.equal((await raw('GET', '/api/v1/keys', { host, cookie })).status, 200, `Host: ${host}`)
  }
  const own = new URL(url).host
  const cases: [Record<string, string>, number][] = [
    [{}, 201],
    [{ origin: `http://${own}` }, 201],
    [{ 'sec-fetch-site': 'same-origin' }, 201],
    [{ 'sec-fetch-site': 'none' }, 201],
    [{ origin: 'http://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost:1' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site', origin: `http://${own}` }, 403],
  ]
  for (const [headers, status] of cases) {
    t.equal(
      (await post('/keys', { cookie, ...headers }, { name: 'n' })).status,
      status,
      JSON.stringify(headers),
    )
  }
  t.match((await api('POST', '/keys', '{"name":"a","name":"b"}')).body, { error: { code: 'invalid_body' } })
  // Prompts may be long, and so may a dry run of one; other bodies are a few fields, whoever sends them.
  const long = 'x'.repeat(65 * 1024)
  const refused = await post('/session', {}, { token: long })
  t.equal(refused.status, 413)
  t.equal((await api('POST', '/keys', { name: long })).status, 413)
  t.equal(
    (await api('POST', '/rules/evaluate', { model: 'm', messages: [{ role: 'user', content: long }] }))
      .status,
    200,
  )
})

t.test('keys: shown once, listed, revoked everywhere at once', async (t) => {
  const made = await api('POST', '/keys', { name: 'app' })
  t.equal(made.status, 201)
  t.match(made.body, { name: 'app', key: /^sgate_live_[0-9A-Za-z]{49}$/ })
  const { id, key } = made.body
  const listed = (await api('GET', '/keys')).body
  t.equal(listed.total, listed.keys.length)
  const mine = listed.keys.find((one: any) => one.id === id)
  t.match(mine, { name: 'app', state: 'active', source: 'api', revoked_at: null, last_used_at: null })
  t.notMatch(JSON.stringify(listed), key)
  const limited = await api('GET', '/keys?limit=1')
  t.match([limited.status, limited.body], [400, { error: { code: 'invalid_parameter', param: 'limit' } }])
  t.match(
    listed.keys.find((one: any) => one.source === 'file'),
    { name: 'batch', state: 'active' },
  )

  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const models = () => raw('GET', '/v1/models', { authorization: `Bearer ${key}` }, agent)
  t.equal((await models()).status, 200)
  const gone = await api('DELETE', `/keys/${id}`)
  t.match([gone.status, gone.body], [200, { id, state: 'revoked', last_used_at: /^2/ }])
  t.equal((await models()).status, 401, 'on the connection that was open')
  agent.destroy()
  t.match((await api('DELETE', `/keys/${id}`)).body, { state: 'revoked' })
  t.equal((await api('DELETE', '/keys/unknown')).status, 404)
  t.equal((await gateway.chat(FILE_KEY, say('hi'))).status, 200, 'a key declared by hash')
  const fileId = (await api('GET', '/keys')).body.keys.find((one: any) => one.source === 'file').id
  const cut = await api('DELETE', `/keys/${fileId}`)
  t.match([cut.status, cut.body], [200, { id: fileId, name: 'batch', source: 'file', state: 'revoked' }])
  t.equal((await gateway.chat(FILE_KEY, say('hi'))).status, 401, 'also where it is declared')
  for (const body of [
    {},
    { name: '' },
    { name: 5 },
    { name: 'x'.repeat(129) },
    { name: 'a', role: 'admin' },
    [],
  ]) {
    t.equal((await api('POST', '/keys', body)).status, 400, JSON.stringify(body).slice(0, 40))
  }
})

t.test('keys from the shell, beside the running gateway', async (t) => {
  const config = `${gateway.folder}/sidegate.yaml`
  const made = await runCli(['keys', 'create', '--name', 'shell', '--config', config])
  t.equal(made.code, 0, made.stderr)
  const { id, key } = JSON.parse(made.stdout)
  t.equal((await gateway.chat(key, say('hi'))).status, 200)
  const listed = await runCli(['keys', 'list', '--config', config])
  t.match(listed.stdout, id)
  t.notMatch(listed.stdout, key)
  t.equal((await runCli(['keys', 'revoke', id, '--config', config])).code, 0)
  t.equal((await gateway.chat(key, say('hi'))).status, 401)
  t.equal((await runCli(['keys', 'revoke', 'unknown', '--config', config])).code, 1)
  t.equal((await runCli(['keys', 'make', '--config', config])).code, 2)
  t.equal((await runCli(['keys', 'list', '--name', 'shell', '--config', config])).code, 2)
})

t.test('keys from the shell: a folder that is not there, or cannot be one', async (t) => {
  const dir = t.testdir({
    'new.yaml': 'upstream: { baseUrl: http://h }\ndata: { path: new }\n',
    'bad.yaml': 'upstream: { baseUrl: http://h }\ndata: { path: new.yaml/data }\n',
  })
  const keys = (...args: string[]) => runCli(['keys', ...args])
  t.match(await keys('list', '--config', `${dir}/new.yaml`), { code: 2, stderr: /there is no log in .*new/ })
  t.match(await keys('revoke', 'x', '--config', `${dir}/new.yaml`), { code: 2 })
  t.notOk(existsSync(`${dir}/new`), 'looking makes nothing')
  t.equal((await keys('create', '--name', 'first', '--config', `${dir}/new.yaml`)).code, 0)
  t.match(await keys('list', '--config', `${dir}/new.yaml`), { code: 0, stdout: /"first"/ })
  for (const name of ['', ' ', 'n'.repeat(129)])
    t.match(await keys('create', '--name', name, '--config', `${dir}/new.yaml`), {
      code: 2,
      stderr: /--name must be 1 to 128 characters/,
    })
  t.match(await keys('create', '--name', 'x', '--config', `${dir}/bad.yaml`), {
    code: 2,
    stderr: /the data directory .* cannot be opened/,
  })
})

t.test('rules: mirrored, made, overridden, deleted', async (t) => {
  const { body } = await api('GET', '/rules')
  const aurora = body.rules.find((rule: any) => rule.name === 'no-aurora')
  t.match(aurora, {
    type: 'keyword_block',
    enabled: true,
    declared_enabled: true,
    override: null,
    source: { kind: 'file', path: /rules\.yaml$/, line: 2 },
  })
  t.match(body, { total: 2, revision: /^[0-9a-f]{16}$/, errors: [] })
  const { key } = await gateway.createKey()
  const status = async () => (await gateway.chat(key, say('about project aurora'))).status
  t.equal(await status(), 403)
  const off = await api('PATCH', `/rules/${aurora.id}`, {
    enabled: false,
    reason: 'incident 7',
    ttl_seconds: 60,
  })
  t.match(
    [off.status, off.body],
    [200, { enabled: false, declared_enabled: true, override: { reason: 'incident 7', expires_at: /^2/ } }],
  )
  t.equal(await status(), 200)
  t.match(await (await fetch(`${gateway.opsUrl}/metrics`)).text(), /sidegate_rule_overrides 1/)
  const drift = (await api('GET', '/rules?drift=true')).body
  t.match([drift.rules, drift.total], [[{ name: 'no-aurora', override: { reason: 'incident 7' } }], 1])
  t.not(drift.declared_revision, drift.revision)
  t.match((await api('PATCH', `/rules/${aurora.id}`, { enabled: true })).body, {
    enabled: true,
    override: null,
  })
  const settled = (await api('GET', '/rules?drift=true')).body
  t.same([settled.rules, settled.declared_revision], [[], settled.revision])
  t.equal(await status(), 403)

  const rule = {
    name: 'no-borealis',
    type: 'keyword_block',
    pattern: 'borealis',
    action: 'block',
    enabled: true,
  }
  const made = await api('POST', '/rules', rule)
  t.match([made.status, made.body], [201, { ...rule, source: { kind: 'api' } }])
  t.equal((await gateway.chat(key, say('borealis'))).status, 403)
  t.equal((await api('POST', '/rules', rule)).status, 409)
  t.match((await api('PATCH', `/rules/${made.body.id}`, { enabled: false })).body, { enabled: false })
  t.equal((await gateway.chat(key, say('borealis'))).status, 200)
  const yaml = await api('GET', '/rules?format=yaml')
  t.match(
    [yaml.headers.get('content-type'), yaml.body],
    ['application/yaml', /name: no-aurora[\s\S]*name: no-borealis/],
  )
  t.equal((await api('DELETE', `/rules/${made.body.id}`)).status, 200)
  t.equal((await api('DELETE', `/rules/${made.body.id}`)).status, 404)
  t.equal((await api('DELETE', `/rules/${aurora.id}`)).status, 409)
  const wrong: [object, string][] = [
    [{ ...rule, type: 'magic' }, 'type'],
    [{ ...rule, action: 'redact' }, 'action'],
    [{ ...rule, pattern: '(' }, 'pattern'],
    [{ ...rule, enabled: 'yes' }, 'enabled'],
    [{ ...rule, name: '' }, 'name'],
    [{ ...rule, name: 'ends in a space ' }, 'name'],
    [{ ...rule, colour: 'red' }, 'colour'],
  ]
  for (const [body, param] of wrong) {
    const told = { param, message: /[^.]\.$/ }
    t.match(await api('POST', '/rules', body), { status: 400, body: { error: told } }, param)
  }
  for (const body of [{}, { enabled: 1 }, { enabled: true, ttl_seconds: 0 }, { enabled: true, reason: 5 }]) {
    t.equal((await api('PATCH', `/rules/${aurora.id}`, body)).status, 400, JSON.stringify(body))
  }
})

t.test('a dry run judges and leaves no trace', async (t) => {
  const before = [upstream.received.length, (await api('GET', '/usage/logs?limit=1')).body.total]
  const { body } = await api('POST', '/rules/evaluate', say('Tell alice@example.com about Project Aurora'))
  t.match(body, {
    decision: 'block',
    rules: [{ name: 'no-aurora', action: 'block' }],
    findings: [{ kind: 'email', path: 'messages[0].content', start: 5, end: 22 }],
    injection: { score: Number, threshold: Number, model: String },
  })
  t.equal(body.redacted.messages[0].content, 'Tell [EMAIL_1] about Project Aurora')
  t.match((await api('POST', '/rules/evaluate', say('hello'))).body, { decision: 'allow', findings: [] })
  t.equal((await api('POST', '/rules/evaluate', {})).status, 400)
  t.same([upstream.received.length, (await api('GET', '/usage/logs?limit=1')).body.total], before)
})

t.test('the usage log and the security events', async (t) => {
  const { id: keyId, key } = await gateway.createKey('auditee')
  upstream.answer = json(completion('Ask bob@example.org'))
  await (await gateway.chat(key, { ...say('I am alice@example.com'), model: 'vendor/one' })).text()
  await (await gateway.chat(key, say('project aurora'))).text()
  const page = async (query: string) => (await api('GET', `/usage/logs?${query}`)).body
  const mine = await page(`key_id=${keyId}`)
  t.equal(mine.total, 2)
  t.match(mine.logs, [
    { outcome: 'blocked', blocked: true, rules: [{ name: 'no-aurora', action: 'block' }] },
    { outcome: 'ok', model: 'vendor/one', pii_detected: true, pii_types: ['email'] },
  ])
  t.equal(mine.logs[0].prev_hash === mine.logs[1].hash || mine.logs[0].seq > mine.logs[1].seq, true)
  t.equal((await page(`key_id=${keyId}&blocked=true`)).total, 1)
  t.equal((await page(`key_id=${keyId}&pii_detected=true&model=vendor/one`)).total, 1)
  t.equal((await page('since=2099-01-01')).total, 0)
  const all = await page('limit=1000')
  t.same((await page('limit=2&offset=1')).logs, all.logs.slice(1, 3))
  t.same((await page(`until=${all.logs[0].created_at}&limit=1`)).logs.length, 1)
  const lastDay = all.logs[0].created_at.slice(0, 'YYYY-MM-DD'.length)
  t.equal((await page(`until=${lastDay}`)).total, all.total, 'a day is all of it')
  t.equal((await page('until=2020-01-01')).total, 0)
  const { body: entry } = await api('GET', `/usage/logs/${mine.logs[1].id}`)
  t.equal(entry.request.messages[0].content, 'I am [EMAIL_1]')
  t.equal(entry.response.choices[0].message.content, 'Ask [EMAIL_2]')
  t.equal((await api('GET', '/usage/logs/unknown')).status, 404)
  for (const query of ['limit=0', 'limit=1001', 'offset=-1', 'blocked=maybe', 'since=then', 'order=asc']) {
    t.match(
      await api('GET', `/usage/logs?${query}`),
      { status: 400, body: { error: { param: query.split('=')[0] } } },
      query,
    )
  }
  const { body: report } = await api('GET', '/usage/security?days=2&limit=1000')
  t.match(report, { days: 2, since: /T00:00:00/ })
  t.equal(report.by_day.length, 2)
  t.equal(
    report.total,
    report.totals.blocked_requests + report.totals.pii_detections + report.totals.rule_triggers,
  )
  const events = report.events.filter((event: any) => event.key_id === keyId)
  t.match(
    events.find((event: any) => event.type === 'blocked_request'),
    { rule_name: 'no-aurora', direction: 'request', log_id: mine.logs[0].id, action: 'block' },
  )
  t.same(
    events
      .filter((event: any) => event.type === 'pii_detection')
      .map((event: any) => event.direction)
      .sort(),
    ['request', 'response'],
  )
  for (const query of ['days=0', 'days=366', 'limit=1001'])
    t.equal((await api('GET', `/usage/security?${query}`)).status, 400, query)
})

t.test('sign-ins are throttled, and sessions end with the token', async (t) => {
  const cookie = await gateway.signIn()
  for (let i = 0; i < 5; i++) t.equal((await post('/session', {}, { token: `guess ${i}` })).status, 401)
  const throttled = await post('/session', {}, { token: ADMIN_TOKEN })
  t.equal(throttled.status, 429)
  t.ok(Number(throttled.headers.get('retry-after')) > 0)
  t.equal((await fetch(`${url}/api/v1/keys`, { headers: { cookie } })).status, 200, 'whoever is in stays in')
  await gateway.stop()
  const again = await startGateway({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.equal(
    (await fetch(`${again.url}/api/v1/keys`, { headers: { cookie } })).status,
    200,
    'a session survives a restart',
  )
  await again.stop()
  const changed = await startGateway({
    upstreamUrl: upstream.baseUrl,
    folder: gateway.folder,
    env: { ADMIN_TOKEN: 'another' },
  })
  t.equal((await fetch(`${changed.url}/api/v1/keys`, { headers: { cookie } })).status, 401)
  await changed.stop()
})
