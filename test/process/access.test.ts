// What keys and rules allow on the running process: models, expiry, rotation, requests and calls at
// a time.

import t from 'tap'
import { openAi } from './client.ts'
import { discard, openGateway, prompt, startGateway } from './gateway.ts'
import { startProgram } from './gateway-process.ts'
import { runProgram } from './run-command.ts'
import { until } from './until.ts'
import { completion, json, silent, startUpstream } from './upstream.ts'

const RULES = `
rules:
  - { name: search-models, type: model_access, pattern: ["gpt-*", "!gpt-secret"], action: block, match: { labels: { team: search } } }
  - { name: legal-requests, type: rate_limit, pattern: "3 requests/1h", per: "label:team", action: block, match: { labels: { team: legal } } }
  - { name: few, type: rate_limit, pattern: "3 requests/1h", action: block, match: { keys: [few] } }
  - { name: narrow, type: rate_limit, pattern: "2 parallel", action: block, match: { keys: [narrow] } }
`
const upstream = await startUpstream()
t.teardown(() => upstream.close())
const gateway = await openGateway(t, {
  upstreamUrl: upstream.baseUrl,
  rules: RULES,
  config: { passThrough: [{ path: '/v1/images/*', methods: ['POST'] }] },
})
const OK = json(completion('ok'))
upstream.answer = OK

const createKey = async (name: string, terms: object = {}) =>
  (await gateway.api('POST', '/keys', { name, ...terms })).body as { id: string; key: string }
const ask = (model: string, more: object = {}) => ({ ...prompt('hi'), model, ...more })
async function call(key: string, body: object = ask('m')) {
  const response = await gateway.chat(key, body)
  return { status: response.status, headers: response.headers, body: (await response.json()) as any }
}

t.test('a key calls the models of its list only, fallbacks included', async (t) => {
  const { key, id } = await createKey('listed', { models: ['gpt-*', '!gpt-secret'] })
  const before = upstream.received.length
  t.equal((await call(key, ask('gpt-4o'))).status, 200)
  for (const body of [
    ask('gpt-secret'),
    ask('llama'),
    ask('gpt-4o', { models: ['gpt-4o', 'llama'] }),
    ask('gpt-4o', { fallbacks: [{ model: 'llama' }] }),
    ask('gpt-4o', { tools: [{ type: 'image_generation', model: 'llama' }] }),
  ]) {
    const { status, body: answer } = await call(key, body)
    t.equal(status, 403)
    t.match(answer.error, { code: 'model_not_allowed', param: 'model', message: /gpt-\*, !gpt-secret/ })
    t.match(await gateway.newestEntry(), { outcome: 'blocked', blocked: true, key_id: id })
  }
  t.equal(upstream.received.length, before + 1, 'nothing else is forwarded')
  await gateway.api('PATCH', `/keys/${id}`, { models: null })
  t.equal((await call(key, ask('llama'))).status, 200, 'a change is in force at once')
})

t.test('a rule by label allows models, and the entry has the labels', async (t) => {
  const { key } = await createKey('search', { labels: { team: 'search' } })
  t.equal((await call(key, ask('gpt-4o'))).status, 200)
  const refused = await call(key, ask('llama'))
  t.match(refused.body.error, { code: 'model_not_allowed', rule_name: 'search-models' })
  t.equal(refused.headers.get('x-sidegate-policy'), 'search-models')
  const { body } = await gateway.api('GET', '/usage/logs?limit=1')
  t.match(body.logs, [{ labels: { team: 'search' }, rules: [{ name: 'search-models' }] }])
})

t.test('a key lists the models that it may call', async (t) => {
  const { key } = await createKey('reader', { models: ['gpt-*'], labels: { team: 'search' } })
  const models = ['gpt-4o', 'gpt-secret', 'llama'].map((id) => ({ id, object: 'model' }))
  upstream.answer = json({ object: 'list', data: models })
  const client = openAi(gateway, key)
  const { data } = await client.models.list()
  t.same(
    data.map(({ id }) => id),
    ['gpt-4o'],
  )
  await t.rejects(client.models.retrieve('llama'), { status: 404, code: 'model_not_found' })
  const all = await openAi(gateway, (await createKey('all')).key).models.list()
  t.equal(all.data.length, 3)
  upstream.answer = OK
})

t.test('a filtered list names no hidden model', async (t) => {
  const { key } = await createKey('page-reader', { models: ['gpt-*', '!gpt-secret'] })
  const data = ['gpt-secret', 'gpt-4o', 'llama'].map((id) => ({ id, type: 'model' }))
  upstream.answer = json({ data, has_more: true, first_id: 'gpt-secret', last_id: 'llama' })
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(`${gateway.url}/v1/models`, { headers })
  upstream.answer = OK
  t.strictSame(await answer.json(), {
    object: 'list',
    data: [{ id: 'gpt-4o', type: 'model' }],
    has_more: false,
    first_id: 'gpt-4o',
    last_id: 'gpt-4o',
  })
})

t.test('a key with a list calls no path whose model is not known', async (t) => {
  const post = (key: string) =>
    fetch(`${gateway.url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{"model":"dall-e"}',
    }).then(async (response) => ({ status: response.status, body: await response.text() }))
  const { key } = await createKey('drawing', { models: ['gpt-*'] })
  t.match(await post(key), { status: 403, body: /model_not_allowed/ })
  t.match(await post((await createKey('free')).key), { status: 200 })
})

t.test('an expired key gets the answer of an unknown one, and is counted apart', async (t) => {
  const expires_at = new Date(Date.now() + 1500).toISOString()
  const { key } = await createKey('brief', { expires_at })
  const unknown = await call(`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`)
  await until('the key expires', async () => (await call(key)).status === 401)
  const expired = await call(key)
  t.same(expired.body, unknown.body)
  t.match(await gateway.metrics(), /sidegate_refusals_total\{code="expired_api_key"\} [1-9]/)
})

t.test('a rotated key and its successor share limits', async (t) => {
  const { id, key } = await createKey('few')
  const { body: next } = await gateway.api('POST', `/keys/${id}/rotate`, { grace_seconds: 60 })
  t.match(next, { name: 'few', replaces: id })
  const { body: older } = await gateway.api('GET', `/keys/${id}`)
  t.match(older, { replaced_by: next.id, replaces: null, state: 'active' })
  const { keys } = (await gateway.api('GET', '/keys?q=few')).body
  t.strictSame(
    keys.map((one: { replaced_by?: string }) => one.replaced_by),
    [next.id, undefined],
  )
  const statuses: number[] = []
  for (const one of [key, next.key, key, next.key, key]) statuses.push((await call(one)).status)
  t.same(statuses, [200, 200, 200, 429, 429])
  t.match(await gateway.api('POST', `/keys/${id}/rotate`, {}), { status: 400 })
})

t.test('a limit of requests lets exactly that many of 50 parallel calls through', async (t) => {
  const keys = [
    await createKey('legal-1', { labels: { team: 'legal' } }),
    await createKey('legal-2', { labels: { team: 'legal' } }),
  ]
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => call(keys[n % 2]!.key)))
  t.equal(answers.filter(({ status }) => status === 200).length, 3)
  const refused = answers.find(({ status }) => status === 429)
  t.match(refused?.body.error, { code: 'rate_limit_exceeded', rule_name: 'legal-requests' })
  t.equal(refused?.headers.get('x-ratelimit-limit-requests'), '3')
  t.equal(refused?.headers.get('x-ratelimit-remaining-requests'), '0')
  t.ok(Number(refused?.headers.get('retry-after')) > 0)
})

t.test('calls at a time are limited by rule and by key', async (t) => {
  upstream.answer = silent
  const limited = [
    { ...(await createKey('narrow')), message: /"narrow"/ },
    { ...(await createKey('own', { max_parallel: 2 })), message: /max_parallel/ },
  ]
  for (const { key, message } of limited) {
    const leave = new AbortController()
    const before = upstream.received.length
    const running = [1, 2].map(() =>
      gateway.chat(key, ask('m'), { signal: leave.signal }).catch(() => 'left'),
    )
    await until('both are forwarded', () => upstream.received.length === before + 2)
    const refused = await call(key)
    t.equal(refused.status, 429)
    t.match(refused.body.error, { code: 'rate_limit_exceeded', message })
    t.ok(['5', '6'].includes(refused.headers.get('retry-after')!))
    leave.abort()
    t.same(await Promise.all(running), ['left', 'left'])
    upstream.answer = OK
    await until('there is room again', async () => (await call(key)).status === 200)
    upstream.answer = silent
  }
  upstream.answer = OK
})

t.test('requests of a process that was killed count', async (t) => {
  const options = { upstreamUrl: upstream.baseUrl, rules: RULES }
  const first = await startProgram(options)
  const { body } = await first.api('POST', '/keys', { name: 'few' })
  upstream.answer = silent
  const before = upstream.received.length
  void first.chat(body.key, ask('m')).catch(() => {})
  await until('it is forwarded', () => upstream.received.length === before + 1)
  await first.kill('SIGKILL')
  upstream.answer = OK
  const second = await startGateway({ ...options, folder: first.folder })
  t.teardown(() => discard(second))
  const statuses = await Promise.all(
    Array.from({ length: 5 }, async () => (await second.chat(body.key, ask('m'))).status),
  )
  t.equal(statuses.filter((status) => status === 200).length, 2)
})

t.test(
  'a revoked successor tells which keys before it still work, and can revoke them as well',
  async (t) => {
    const first = await createKey('first')
    const rotate = async (id: string) =>
      (await gateway.api('POST', `/keys/${id}/rotate`, { grace_seconds: 600 })).body as {
        id: string
        key: string
      }
    const second = await rotate(first.id)
    const third = await rotate(second.id)
    const told = await gateway.api('DELETE', `/keys/${third.id}`)
    t.match(told.body, {
      state: 'revoked',
      working_predecessors: [
        { id: second.id, state: 'active' },
        { id: first.id, state: 'active' },
      ],
    })
    t.equal((await call(first.key)).status, 200)
    const all = await gateway.api('DELETE', `/keys/${third.id}?revoke_predecessor=true`)
    t.notOk('working_predecessors' in all.body)
    for (const { key } of [first, second, third]) t.equal((await call(key)).status, 401)
  },
)

t.test('the command line makes keys with terms, rotates and hashes them', async (t) => {
  const cli = (...args: string[]) => runProgram([...args, '--config', `${gateway.folder}/sidegate.yaml`])
  const made = JSON.parse(
    (
      await cli(
        ...['keys', 'create', '--name', 'cli', '--models', 'gpt-*, !gpt-secret', '--expires', '2100-01-01'],
        ...['--label', 'team=search', '--label', 'env=test', '--owner', 'Ann', '--max-parallel', '2'],
      )
    ).stdout,
  )
  t.equal((await call(made.key, ask('gpt-secret'))).status, 403)
  const listed = (await cli('keys', 'list', '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(listed.at(-1), {
    id: made.id,
    models: ['gpt-*', '!gpt-secret'],
    expires_at: '2100-01-01T00:00:00.000Z',
    labels: { team: 'search', env: 'test' },
    owner: 'Ann',
    max_parallel: 2,
    state: 'active',
  })
  const next = JSON.parse((await cli('keys', 'rotate', made.id, '--grace', '0')).stdout)
  t.equal((await call(made.key, ask('gpt-4o'))).status, 401)
  t.equal((await call(next.key, ask('gpt-4o'))).status, 200)
})
