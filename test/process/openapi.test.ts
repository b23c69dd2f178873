// Compares the API description with the running service: its routes and its answers.

import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { ADMIN_ROLES } from '../../src/core/admin-role.ts'
import { ADMIN_TOKEN, deploy, prompt } from './gateway.ts'
import { fetchInTime } from './until.ts'
import { completion, json } from './upstream.ts'

const rules =
  'rules:\n  - { name: a, type: keyword_block, pattern: aurora, action: block, enabled: true, match: { models: ["*"] } }\n'
const { upstream, gateway, key } = await deploy(t, json(completion('Ask bob@example.org')), { rules })

const document = (await (await fetchInTime(`${gateway.url}/openapi.json`)).json()) as any
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema(document, 'api')

/** Calls a documented path and checks the request and the answer against its schemas. */
async function check(t: Test, method: string, path: string, target: string, body?: unknown): Promise<any> {
  const answer = await gateway.api(method, target, body)
  const operation = document.paths[`/api/v1${path}`]?.[method.toLowerCase()]
  const response = operation?.responses?.[String(answer.status)]
  const sent = operation?.requestBody?.content['application/json'].schema.$ref
  if (answer.status < 300 && sent !== undefined) {
    const accepts = ajv.getSchema(`api${sent}`)
    t.ok(
      accepts?.(body),
      `${method} ${path} takes ${JSON.stringify(body)}: ${ajv.errorsText(accepts?.errors)}`,
    )
  }
  t.ok(response, `${method} ${path} documents ${answer.status}`)
  const pointer = `api#/paths/${`/api/v1${path}`.replaceAll('~', '~0').replaceAll('/', '~1')}/${method.toLowerCase()}/responses/${answer.status}/content/application~1json/schema`
  const validate = ajv.getSchema(pointer.replaceAll('{', '%7B').replaceAll('}', '%7D'))
  t.ok(validate?.(answer.body), `${method} ${path} ${answer.status}: ${ajv.errorsText(validate?.errors)}`)
  return answer.body
}

t.test('every operation of a session names the role that it needs, and 403', async (t) => {
  for (const [path, operations] of Object.entries<any>(document.paths)) {
    for (const [method, operation] of Object.entries<any>(operations)) {
      const needsSession = operation.security.some((one: object) => 'session' in one)
      const name = `${method} ${path}`
      t.equal(ADMIN_ROLES.includes(operation['x-sidegate-role']), needsSession, name)
      if (needsSession) t.ok(operation.responses['403'], name)
    }
  }
})

t.test('every documented route exists, with the documented methods', async (t) => {
  for (const [path, operations] of Object.entries<any>(document.paths)) {
    const target = path.replace(/\{\w+\}/g, 'x')
    const allowed = new Set(Object.keys(operations).map((method) => method.toUpperCase()))
    const { headers, status } = await fetchInTime(`${gateway.url}${target}`, { method: 'PUT' })
    t.equal(status, 405, path)
    t.same(
      new Set(
        headers
          .get('allow')
          ?.split(', ')
          .filter((method) => allowed.has(method)),
      ),
      allowed,
      path,
    )
  }
})

t.test('large bodies, defaults and other formats are answered as described', async (t) => {
  const long = 'x'.repeat(33 * 1024 * 1024)
  for (const [path, body] of [
    ['/keys', { name: long }],
    ['/rules', { name: long }],
    ['/rules/evaluate', { model: long, messages: [] }],
    ['/session', { token: long }],
  ] as const) {
    const answer = await check(t, 'POST', path, path, body)
    t.equal(answer.error.code, 'body_too_large', path)
  }
  const made = await check(t, 'POST', '/rules', '/rules', {
    name: 'short',
    type: 'prompt_injection',
    action: 'block',
  })
  t.match(made, { pattern: '', enabled: true })
  await check(t, 'DELETE', '/rules/{id}', `/rules/${made.id}`)
  const evaluated = await check(t, 'POST', '/rules/evaluate', '/rules/evaluate', prompt('aurora'))
  const described = document.components.schemas.Evaluation.properties.rules.items.properties
  t.strictSame(Object.keys(evaluated.rules[0]).sort(), Object.keys(described).sort())
  const yaml = await gateway.api('GET', '/rules?format=yaml')
  const types = Object.keys(document.paths['/api/v1/rules'].get.responses['200'].content)
  t.ok(types.includes(yaml.headers.get('content-type')?.split(';')[0] as string))
  t.ok(document.paths['/openapi.json'].get.responses['421'])
})

t.test('an error of the upstream has a described form', async (t) => {
  const { key } = await gateway.createKey('refused')
  const { responses } = document.paths['/v1/chat/completions'].post
  const { answer } = upstream
  t.teardown(() => {
    upstream.answer = answer
  })
  for (const [status, body] of [
    [400, { error: { message: 'no', type: 'theirs', code: 'their_own' } }],
    [418, ['a teapot']],
  ] as const) {
    upstream.answer = json(body, status)
    const response = await gateway.chat(key, prompt('hi'))
    t.equal(response.status, status)
    const { schema } = (responses[status] ?? responses['4XX']).content['application/json']
    const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')))
    t.ok(validate(await response.json()), `${status}: ${ajv.errorsText(validate.errors)}`)
  }
})

t.test('every answer matches its schema', async (t) => {
  const made = await check(t, 'POST', '/keys', '/keys', { name: 'app' })
  const call = async (content: string) => (await gateway.chat(made.key, prompt(content))).text()
  await call('I am alice@example.com')
  await call('aurora')
  await gateway.signIn()
  t.match(await check(t, 'GET', '/session', '/session'), { name: 'admin', role: 'admin', user: 'admin' })
  const { sessions } = await check(t, 'GET', '/sessions', '/sessions')
  const another = sessions.find(({ current }: { current: boolean }) => !current)
  t.match(await check(t, 'DELETE', '/sessions/{id}', `/sessions/${another.id}`), { id: another.id })
  await check(t, 'DELETE', '/sessions/{id}', `/sessions/${another.id}`)
  await check(t, 'GET', '/keys', '/keys')
  await check(t, 'POST', '/keys', '/keys', {})
  await check(t, 'DELETE', '/keys/{id}', `/keys/${made.id}`)
  await check(t, 'DELETE', '/keys/{id}', '/keys/unknown')
  const listed = await check(t, 'GET', '/rules', '/rules')
  const revision = await check(t, 'GET', '/rules/revisions/{revision}', `/rules/revisions/${listed.revision}`)
  t.strictSame(
    revision.rules.map(({ name }: { name: string }) => name),
    listed.rules.map(({ name }: { name: string }) => name),
  )
  await check(t, 'GET', '/rules/revisions/{revision}', '/rules/revisions/unknown')
  await check(t, 'PATCH', '/rules/{id}', `/rules/${listed.rules[0].id}`, {
    enabled: false,
    reason: 'r',
    ttl_seconds: 5,
  })
  const rule = await check(t, 'POST', '/rules', '/rules', {
    name: 'b',
    type: 'rate_limit',
    pattern: '5/1m',
    action: 'monitor',
    enabled: true,
  })
  await (await gateway.chat(key, prompt('counted'))).text()
  const { limits } = await check(t, 'GET', '/usage/limits', '/usage/limits')
  t.match(limits, [{ rule_name: 'b', key_name: 'app' }])
  await check(t, 'GET', '/usage/limits', '/usage/limits?key_id=unknown')
  await check(t, 'GET', '/usage/limits', '/usage/limits?key=unknown')
  await check(t, 'POST', '/rules', '/rules', { name: 'c', type: 'nothing' })
  await check(t, 'DELETE', '/rules/{id}', `/rules/${rule.id}`)
  await check(t, 'POST', '/rules/evaluate', '/rules/evaluate', prompt('a@b.co'))
  const logs = await check(t, 'GET', '/usage/logs', '/usage/logs')
  await check(t, 'GET', '/usage/logs', '/usage/logs?limit=0')
  t.equal((await check(t, 'GET', '/usage/logs', '/usage/logs?outcome=blocked')).total, 1)
  t.equal((await check(t, 'GET', '/usage/logs', '/usage/logs?stopped=blocked')).total, 1)
  const several = '/usage/logs?outcome=blocked,interrupted'
  t.equal((await check(t, 'GET', '/usage/logs', several)).total, 1)
  t.match((await check(t, 'GET', '/usage/logs', '/usage/logs?outcome=ok,fine')).error, {
    param: 'outcome',
    message: /must be one of ok, blocked, .*, overloaded/,
  })
  for (const search of ['', '?hours=2', '?days=1', '?days=30'])
    await check(t, 'GET', '/usage/series', `/usage/series${search}`)
  await check(t, 'GET', '/usage/series', '/usage/series?days=1&hours=1')
  await check(t, 'GET', '/status', '/status')
  await check(t, 'GET', '/usage/logs/live', '/usage/logs/live?after=x')
  const { next_cursor } = await check(t, 'GET', '/usage/logs', '/usage/logs?limit=1&key_id=x&blocked=true')
  t.equal(next_cursor, undefined)
  const { next_cursor: cursor } = await check(t, 'GET', '/usage/logs', `/usage/logs?limit=${logs.total - 1}`)
  const rest = await check(t, 'GET', '/usage/logs', `/usage/logs?limit=1&cursor=${cursor}`)
  t.match(rest, { total: logs.total, logs: [{ id: logs.logs.at(-1).id }] })
  t.notOk('next_cursor' in rest)
  const both = await check(t, 'GET', '/usage/logs', `/usage/logs?cursor=${cursor}&offset=1`)
  t.match(both.error, { code: 'invalid_parameter', param: 'cursor' })
  t.match((await check(t, 'GET', '/usage/logs', '/usage/logs?cursor=x')).error, { param: 'cursor' })
  await check(t, 'GET', '/usage/logs/{id}', `/usage/logs/${logs.logs[0].id}`)
  await check(t, 'POST', '/audit/erase', '/audit/erase', { request_id: logs.logs[0].id })
  await check(t, 'POST', '/audit/erase', '/audit/erase', { request_id: 'unknown' })
  await check(t, 'POST', '/audit/erase', '/audit/erase', {})
  await check(t, 'POST', '/audit/clock', '/audit/clock', { trusted: true })
  await check(t, 'POST', '/audit/clock', '/audit/clock', {})
  await check(t, 'GET', '/usage/logs/{id}', `/usage/logs/${logs.logs[0].id}`)
  await check(t, 'GET', '/usage/security', '/usage/security')
  const { size } = await check(t, 'GET', '/audit/checkpoint', '/audit/checkpoint')
  await check(t, 'GET', '/audit/proof', '/audit/proof?seq=0')
  await check(t, 'GET', '/audit/proof', `/audit/proof?from=1&size=${size}`)
  await check(t, 'GET', '/audit/proof', '/audit/proof')
  await check(t, 'GET', '/audit/receipts/{id}', `/audit/receipts/${logs.logs[0].id}`)
  await check(t, 'GET', '/audit/receipts/{id}', '/audit/receipts/unknown')
  const { changes } = await check(t, 'GET', '/audit/changes', '/audit/changes')
  t.ok(changes.some(({ type, actor }: any) => type === 'erase' && actor === 'admin'))
  await check(t, 'GET', '/audit/changes', '/audit/changes?limit=2&before=5&actor=admin&type=key_created')
  await check(t, 'GET', '/audit/changes', '/audit/changes?limit=0')
  await check(t, 'GET', '/audit/verify', '/audit/verify')
  await check(t, 'POST', '/audit/verify', '/audit/verify')
  await check(t, 'DELETE', '/audit/verify', '/audit/verify')
  await check(t, 'GET', '/audit/verify', '/audit/verify')
  await check(t, 'DELETE', '/session', '/session')
  await check(t, 'POST', '/session', '/session', { token: ADMIN_TOKEN })
})
