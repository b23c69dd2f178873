// The management API on the running process: keys, rules, dry runs and the usage log.

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { Agent } from 'node:http'
import t from 'tap'
import { createApiKey } from '../../src/core/apikey.ts'
import { rawRequest } from './client.ts'
import { deploy, prompt } from './gateway.ts'
import { runProgram } from './run-command.ts'
import { completion, json } from './upstream.ts'

const FILE_KEY = createApiKey(Buffer.alloc(32, 7))
const RULES = `rules:
  - name: no-aurora
    type: keyword_block
    pattern: project aurora
    action: block
    enabled: true
  - { name: score, type: prompt_injection, pattern: "", action: monitor, enabled: true }
`
const sha256 = createHash('sha256').update(FILE_KEY).digest('hex')
const { upstream, gateway } = await deploy(t, json(completion('ok')), {
  rules: RULES,
  config: { keys: [{ name: 'batch', sha256 }] },
})
const { api, url } = gateway

t.test('a key is shown only once, and a revoked key is refused at once', async (t) => {
  const made = await api('POST', '/keys', { name: 'app' })
  t.equal(made.status, 201)
  t.match(made.body, { name: 'app', key: /^sgate_live_[0-9A-Za-z]{49}$/ })
  const { id, key } = made.body
  const listed = (await api('GET', '/keys')).body
  t.equal(listed.total, listed.keys.length)
  const own = listed.keys.find((one: any) => one.id === id)
  t.match(own, { name: 'app', state: 'active', source: 'api', revoked_at: null, last_used_at: null })
  t.notMatch(JSON.stringify(listed), key)
  const limited = await api('GET', '/keys?limit=1')
  t.match(limited.body, { keys: { length: 1 }, total: listed.total, next: listed.keys[0].id })
  const wrong = await api('GET', '/keys?limit=x')
  t.match([wrong.status, wrong.body], [400, { error: { code: 'invalid_parameter', param: 'limit' } }])
  t.match((await api('GET', `/keys/${id}`)).body, { ...own, effective: { capture: { value: 'full' } } })
  t.equal((await api('GET', '/keys/unknown')).status, 404)
  t.match(
    listed.keys.find((one: any) => one.source === 'file'),
    { name: 'batch', state: 'active' },
  )

  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const models = () => rawRequest('GET', `${url}/v1/models`, { authorization: `Bearer ${key}` }, agent)
  t.equal((await models()).status, 200)
  const revoked = await api('DELETE', `/keys/${id}`)
  t.match([revoked.status, revoked.body], [200, { id, state: 'revoked', last_used_at: /^2/ }])
  t.equal((await models()).status, 401, 'on an open connection')
  agent.destroy()
  t.match((await api('DELETE', `/keys/${id}`)).body, { state: 'revoked' })
  t.equal((await api('DELETE', '/keys/unknown')).status, 404)
  t.equal((await gateway.chat(FILE_KEY, prompt('hi'))).status, 200, 'a key declared by hash')
  const fileId = (await api('GET', '/keys')).body.keys.find((one: any) => one.source === 'file').id
  const declared = await api('DELETE', `/keys/${fileId}`)
  t.match(
    [declared.status, declared.body],
    [200, { id: fileId, name: 'batch', source: 'file', state: 'revoked' }],
  )
  t.equal((await gateway.chat(FILE_KEY, prompt('hi'))).status, 401, 'a key of the configuration too')
  for (const body of [
    {},
    { name: '' },
    { name: 5 },
    { name: 'x'.repeat(129) },
    { name: 'alice@example.com' },
    { name: 'a', role: 'admin' },
    [],
  ]) {
    t.equal((await api('POST', '/keys', body)).status, 400, JSON.stringify(body).slice(0, 40))
  }
})

t.test('commands create, list and revoke keys while the gateway runs', async (t) => {
  const config = `${gateway.folder}/sidegate.yaml`
  const made = await runProgram(['keys', 'create', '--name', 'shell', '--config', config])
  t.equal(made.code, 0, made.stderr)
  const { id, key } = JSON.parse(made.stdout)
  t.equal((await gateway.chat(key, prompt('hi'))).status, 200)
  const listed = await runProgram(['keys', 'list', '--config', config])
  t.match(listed.stdout, id)
  t.notMatch(listed.stdout, key)
  t.equal((await runProgram(['keys', 'revoke', id, '--config', config])).code, 0)
  t.equal((await gateway.chat(key, prompt('hi'))).status, 401)
  t.equal((await runProgram(['keys', 'revoke', 'unknown', '--config', config])).code, 1)
  t.equal((await runProgram(['keys', 'make', '--config', config])).code, 2)
  t.equal((await runProgram(['keys', 'list', '--name', 'shell', '--config', config])).code, 2)
})

t.test('commands for keys say when there is no log, and only create makes one', async (t) => {
  const dir = t.testdir({
    'new.yaml': 'upstream: { baseUrl: http://h }\ndata: { path: new }\n',
    'bad.yaml': 'upstream: { baseUrl: http://h }\ndata: { path: new.yaml/data }\n',
  })
  const keys = (...args: string[]) => runProgram(['keys', ...args])
  t.match(await keys('list', '--config', `${dir}/new.yaml`), { code: 2, stderr: /there is no log in .*new/ })
  t.match(await keys('revoke', 'x', '--config', `${dir}/new.yaml`), { code: 2 })
  t.notOk(existsSync(`${dir}/new`), 'reading creates no folder')
  t.equal((await keys('create', '--name', 'first', '--config', `${dir}/new.yaml`)).code, 0)
  t.match(await keys('list', '--config', `${dir}/new.yaml`), { code: 0, stdout: /"first"/ })
  for (const name of ['', ' ', 'n'.repeat(129)])
    t.match(await keys('create', '--name', name, '--config', `${dir}/new.yaml`), {
      code: 2,
      stderr: /--name must have 1 to 128 characters/,
    })
  t.match(await keys('create', '--name', 'x', '--config', `${dir}/bad.yaml`), {
    code: 2,
    stderr: /the data directory .* cannot be opened/,
  })
})

t.test('a rule of a file is listed, and an override changes it at once until it is reset', async (t) => {
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
  const status = async () => (await gateway.chat(key, prompt('about project aurora'))).status
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
  t.match(await gateway.metrics(), /sidegate_rule_overrides 1/)
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
  for (const body of [{}, { enabled: 1 }, { enabled: true, ttl_seconds: 0 }, { enabled: true, reason: 5 }]) {
    t.equal((await api('PATCH', `/rules/${aurora.id}`, body)).status, 400, JSON.stringify(body))
  }
  t.equal((await api('DELETE', `/rules/${aurora.id}`)).status, 409)
})

t.test('a rule of the API takes effect at once, and a bad one is refused with the field', async (t) => {
  const { key } = await gateway.createKey()
  const rule = {
    name: 'no-borealis',
    type: 'keyword_block',
    pattern: 'borealis',
    action: 'block',
    enabled: true,
  }
  const made = await api('POST', '/rules', rule)
  t.match([made.status, made.body], [201, { ...rule, source: { kind: 'api' } }])
  t.equal((await gateway.chat(key, prompt('borealis'))).status, 403)
  t.equal((await api('POST', '/rules', rule)).status, 409)
  t.match((await api('PATCH', `/rules/${made.body.id}`, { enabled: false })).body, { enabled: false })
  t.equal((await gateway.chat(key, prompt('borealis'))).status, 200)
  const yaml = await api('GET', '/rules?format=yaml')
  t.match(
    [yaml.headers.get('content-type'), yaml.body],
    ['application/yaml', /name: no-aurora[\s\S]*name: no-borealis/],
  )
  t.equal((await api('DELETE', `/rules/${made.body.id}`)).status, 200)
  t.equal((await api('DELETE', `/rules/${made.body.id}`)).status, 404)
  const wrong: [object, string][] = [
    [{ ...rule, type: 'magic' }, 'type'],
    [{ ...rule, action: 'allow' }, 'action'],
    [{ ...rule, pattern: '(' }, 'pattern'],
    [{ ...rule, pattern: '\bart\b' }, 'pattern'],
    [{ ...rule, type: 'pii', action: 'redact', pattern: '\bemail' }, 'pattern'],
    [{ ...rule, match: { models: ['\bgpt'] } }, 'match.models[0]'],
    [{ ...rule, enabled: 'yes' }, 'enabled'],
    [{ ...rule, name: '' }, 'name'],
    [{ ...rule, name: 'ends in a space ' }, 'name'],
    [{ ...rule, colour: 'red' }, 'colour'],
  ]
  for (const [body, param] of wrong) {
    const error = { param, message: /[^.]\.$/ }
    t.match(await api('POST', '/rules', body), { status: 400, body: { error } }, param)
  }
})

t.test('a rule of the API may have every field of one in a file', async (t) => {
  const rule = {
    ...{
      name: 'team-budget',
      type: 'rate_limit',
      pattern: '20 USD/1d',
      per: 'label:team',
      action: 'monitor',
    },
    ...{ enabled: false, description: 'For a test.' },
    match: { models: ['gpt-*'], keys: ['batch-*'], labels: { team: 'search' } },
  }
  const made = await api('POST', '/rules', rule)
  t.match([made.status, made.body], [201, rule])
  await api('DELETE', `/rules/${made.body.id}`)
})

t.test('a dry run decides and leaves no trace', async (t) => {
  const before = [upstream.received.length, (await api('GET', '/usage/logs?limit=1')).body.total]
  const { body } = await api('POST', '/rules/evaluate', prompt('Tell alice@example.com about Project Aurora'))
  t.match(body, {
    decision: 'block',
    rules: [{ name: 'no-aurora', action: 'block' }],
    findings: [{ kind: 'email', path: 'messages[0].content', start: 5, end: 22 }],
    injection: { score: Number, threshold: Number, model: String },
  })
  t.equal(body.redacted.messages[0].content, 'Tell [EMAIL_1] about Project Aurora')
  t.match((await api('POST', '/rules/evaluate', prompt('hello'))).body, { decision: 'allow', findings: [] })
  t.equal((await api('POST', '/rules/evaluate', {})).status, 400)
  t.same([upstream.received.length, (await api('GET', '/usage/logs?limit=1')).body.total], before)
})

t.test('the usage log and the security events are filtered, paged and redacted', async (t) => {
  const { id: keyId, key } = await gateway.createKey('auditee')
  upstream.answer = json(completion('Ask bob@example.org'))
  await (await gateway.chat(key, { ...prompt('I am alice@example.com'), model: 'vendor/one' })).text()
  await (await gateway.chat(key, prompt('project aurora'))).text()
  const page = async (query: string) => (await api('GET', `/usage/logs?${query}`)).body
  const own = await page(`key_id=${keyId}`)
  t.equal(own.total, 2)
  t.match(own.logs, [
    { outcome: 'blocked', blocked: true, rules: [{ name: 'no-aurora', action: 'block' }] },
    { outcome: 'ok', model: 'vendor/one', pii_detected: true, pii_types: ['email'] },
  ])
  t.equal(own.logs[0].prev_hash === own.logs[1].hash || own.logs[0].seq > own.logs[1].seq, true)
  t.equal((await page(`key_id=${keyId}&blocked=true`)).total, 1)
  t.equal((await page(`key_id=${keyId}&pii_detected=true&model=vendor/one`)).total, 1)
  t.equal((await page('since=2099-01-01')).total, 0)
  const all = await page('limit=1000')
  t.same((await page('limit=2&offset=1')).logs, all.logs.slice(1, 3))
  t.same((await page(`until=${all.logs[0].created_at}&limit=1`)).logs.length, 1)
  const lastDay = all.logs[0].created_at.slice(0, 'YYYY-MM-DD'.length)
  t.equal((await page(`until=${lastDay}`)).total, all.total, 'a day includes its last moment')
  t.equal((await page('until=2020-01-01')).total, 0)
  const { body: entry } = await api('GET', `/usage/logs/${own.logs[1].id}`)
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
    Object.values<number>(report.totals).reduce((sum, count) => sum + count, 0),
  )
  const events = report.events.filter((event: any) => event.key_id === keyId)
  t.match(
    events.find((event: any) => event.type === 'blocked_request'),
    { rule_name: 'no-aurora', direction: 'request', log_id: own.logs[0].id, action: 'block' },
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
