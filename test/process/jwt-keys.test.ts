// Calls with tokens of issuers in place of keys: the program over sockets, and the official client.

import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { JWTPayload } from 'jose'
import OpenAI from 'openai'
import t from 'tap'
import { ISSUER, keySetOf, newKey, podClaims, signed } from '../hub/tokens.ts'
import { openAi, readText } from './client.ts'
import { prompt, writeDeployment, writtenBy } from './gateway.ts'
import { startProgram } from './gateway-process.ts'
import { eventually, fetchInTime } from './until.ts'
import { completion, json, startUpstream, stream } from './upstream.ts'

const [CLUSTER, NEXT, CI] = [newKey('c1'), newKey('c2'), newKey('ci', 'EdDSA')]
const now = Math.floor(Date.now() / 1000)
const accountToken = (more: JWTPayload = {}, key = CLUSTER) =>
  signed(
    { ...podClaims(Date.now(), { namespace: 'jobs', account: 'batch' }), aud: ['sidegate'], ...more },
    key,
  )
const ciToken = (more: JWTPayload = {}) =>
  signed({ iss: 'https://ci.example', aud: 'sidegate', exp: now + 600, repository: 'acme/web', ...more }, CI)

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())
const issuer = createServer((_, response) => response.end(keySetOf(CI)))
await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve))
t.teardown(() => issuer.close())
const url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/jwks`
const RULES = `
rules:
  - { name: data-models, type: model_access, pattern: ["m"], action: block, enabled: true, match: { labels: { team: data } } }
  - { name: few, type: rate_limit, pattern: "2 requests/1h", action: block, enabled: true, match: { keys: [ci] } }
`
const options = { upstreamUrl: upstream.baseUrl, rules: RULES }
const { folder } = writeDeployment(options)
const keySet = join(folder, 'jwks.json')
writeFileSync(keySet, keySetOf(CLUSTER))
const batch = {
  issuer: ISSUER,
  jwks: { file: 'jwks.json' },
  audience: 'sidegate',
  namespace: 'jobs',
  name: 'batch',
}
const ci = {
  issuer: 'https://ci.example',
  jwks: { url },
  audience: 'sidegate',
  claims: { repository: 'acme/*' },
}
const gateway = await startProgram({
  ...options,
  folder,
  config: {
    keys: [
      { name: 'batch', serviceAccount: batch, labels: { team: 'data' } },
      { name: 'ci', jwt: ci },
      { name: 'old', jwt: { ...ci, claims: { repository: 'old/*' } }, expiresAt: '2020-01-01' },
    ],
  },
})
t.teardown(() => gateway.stop())

const sent: string[] = []
const answers: string[] = []
/** A call whose credential is looked for in everything that is written. */
async function call(token: string, headers?: Record<string, string>, body: object = prompt('hello')) {
  sent.push(token)
  const response = await fetchInTime(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(headers ?? { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  answers.push(text)
  return { status: response.status, body: JSON.parse(text), headers: response.headers }
}

t.test('the official client works with a token as its key, streamed or not', async (t) => {
  const token = await accountToken()
  sent.push(token)
  const client = openAi(gateway, token)
  const messages = [{ role: 'user' as const, content: 'I am alice@example.com', name: 'x' }]
  const answer = await client.chat.completions.create({ model: 'm', messages, user: 'someone' })
  t.equal(answer.choices[0]?.message.content, 'ok')
  t.match(await gateway.newestEntry(), { key_name: 'batch', outcome: 'ok', pii_types: ['email'] })
  upstream.answer = stream(['o', 'k'])
  const streamed = await client.chat.completions.create({ model: 'm', messages, stream: true })
  t.match(await readText(streamed), { text: 'ok', error: null })
  upstream.answer = json(completion('ok'))
  await t.rejects(client.chat.completions.create({ model: 'other', messages }), {
    ...{ status: 403, code: 'model_not_allowed' },
  })
  const expired = await accountToken({ exp: now - 1 })
  sent.push(expired)
  const refused = openAi(gateway, expired).chat.completions.create({ model: 'm', messages })
  await t.rejects(refused, { status: 401, code: 'invalid_api_key' })
})

t.test('the official client sends the token that its file has at each call', async (t) => {
  const path = join(folder, 'token')
  const apiKey = () => readFile(path, 'utf8')
  const client = new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0, fetch: fetchInTime })
  for (const jti of ['renewed 1', 'renewed 2']) {
    sent.push(await accountToken({ jti }))
    writeFileSync(path, sent.at(-1)!)
    const answer = await client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
    })
    t.equal(answer.choices[0]?.message.content, 'ok')
  }
})

t.test('a token counts wherever a key may be, and its receipt is its own', async (t) => {
  const token = await accountToken()
  const done = await call(token, { 'x-api-key': token })
  t.equal(done.status, 200)
  const theirs = await ciToken({ iss: 'https://provider.example' })
  sent.push(theirs)
  t.equal((await call(token, { authorization: `Bearer ${theirs}`, 'x-api-key': token })).status, 200)
  const get = (path: string, bearer: string) =>
    fetchInTime(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${bearer}` } })
  const path = `/v1/audit/receipts/${done.headers.get('x-request-id')}`
  t.equal((await get(path, await accountToken({ jti: 'next' }))).status, 200, 'the next token of the account')
  const other = await ciToken({ jti: 'receipt' })
  sent.push(other)
  t.equal((await get(path, other)).status, 404)
  t.not((await get('/v1/models', token)).status, 401)
  const both = await call(token, { authorization: `Bearer ${token}`, 'x-api-key': other })
  t.match(both, { status: 400, body: { error: { message: /two different Sidegate keys/ } } })
})

t.test('all tokens of a key count against its limits', async (t) => {
  const statuses: number[] = []
  for (const jti of ['1', '2', '3']) statuses.push((await call(await ciToken({ jti }))).status)
  t.same(statuses, [200, 200, 429])
})

t.test('every other token gets the 401 of a wrong key, and a metric says why', async (t) => {
  const wrong = await call('sgate_live_x')
  const cases: [check: string, token: string][] = [
    ['expired', await accountToken({ exp: now - 1 })],
    ['expired', await accountToken({ nbf: now + 600 })],
    ['audience', await accountToken({ aud: ['vault'] })],
    ['issuer', await accountToken({ iss: 'https://elsewhere' })],
    ['key', await accountToken({}, NEXT)],
    ['signature', await accountToken({}, { ...NEXT, id: 'c1' })],
    ['algorithm', await accountToken({}, { ...CI, id: 'c1' })],
    ['claims', await accountToken({ sub: 'system:serviceaccount:jobs:other' })],
    ['claims', await ciToken({ repository: 'evil/web' })],
    ['malformed', `${await ciToken()}.x`],
  ]
  const before = await refusals()
  for (const [check, token] of cases) {
    const { status, body } = await call(token)
    t.same([status, body], [401, wrong.body], check)
  }
  const after = await refusals()
  for (const check of new Set(cases.map(([one]) => one)))
    t.equal(after[check]! - before[check]!, cases.filter(([one]) => one === check).length, check)
  t.match((await call(await ciToken({ repository: 'old/web' }))).status, 401, 'the key itself has expired')
})

const refusals = async () =>
  Object.fromEntries(
    [...(await gateway.metrics()).matchAll(/^sidegate_jwt_refused_total\{reason="(\w+)"\} (\d+)$/gm)].map(
      ([, reason, count]) => [reason!, Number(count)] as const,
    ),
  )

t.test('a rotated file of keys is followed, and a broken one changes nothing', async (t) => {
  const [old, next] = [await accountToken({ jti: 'old' }), await accountToken({ jti: 'next' }, NEXT)]
  t.same([(await call(old)).status, (await call(next)).status], [200, 401])
  writeFileSync(keySet, keySetOf(CLUSTER, NEXT))
  await eventually(
    'the new key',
    async () => (await call(next)).status,
    (status) => status === 200,
  )
  t.equal((await call(old)).status, 200)
  writeFileSync(keySet, '{"keys": [')
  const loads = () => gateway.metrics()
  await eventually(
    'the error',
    async () => {
      await call(next)
      return loads()
    },
    (page) => /jwt_key_loads_total\{result="error"\} [1-9]/.test(page),
  )
  t.equal((await call(old)).status, 200)
  writeFileSync(keySet, keySetOf(NEXT))
  await eventually(
    'the end of the old key',
    async () => (await call(old)).status,
    (status) => status === 401,
  )
  t.equal((await call(next)).status, 200)
})

t.test('such a key is listed, has its last use, and is revoked as others are', async (t) => {
  const listed = async () =>
    (await gateway.api('GET', '/keys')).body.keys.find(({ name }: { name: string }) => name === 'batch')
  const key = await listed()
  t.match(key, {
    state: 'active',
    source: 'file',
    prefix: null,
    labels: { team: 'data' },
    last_used_at: /^20/,
  })
  const token = await accountToken({}, NEXT)
  t.equal((await call(token)).status, 200)
  t.equal((await gateway.api('DELETE', `/keys/${key.id}`)).status, 200)
  t.match(await listed(), { state: 'revoked' })
  t.equal((await call(token)).status, 401, 'at once, although the token is remembered')
})

t.test('no part of a token is in a log, metric, error, the store or a request to the upstream', async (t) => {
  const metrics = await gateway.metrics()
  await gateway.stop()
  const { store, logs } = writtenBy(gateway)
  const places = {
    ...{ store, logs, metrics },
    answers: answers.join('\n'),
    errors: gateway.stderr.join(''),
    upstream: JSON.stringify(upstream.received),
  }
  t.match(logs, /"reason":"audience"/)
  t.ok(sent.length > 20)
  // The header of a token is the same in many.
  const parts = sent.flatMap((token) => token.split('.').slice(1)).filter(({ length }) => length > 8)
  for (const [place, text] of Object.entries(places))
    t.same(
      parts.filter((part) => text.includes(part)),
      [],
      place,
    )
})
