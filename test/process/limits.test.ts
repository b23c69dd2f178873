// Token limits on the running process: calls side by side, crashes, what is settled.

import t from 'tap'
import { discard, startGateway } from './gateway.ts'
import { completion, json, startUpstream } from './upstream.ts'

const RULES = `
rules:
  - { name: budget, type: rate_limit, pattern: "1000/1h", action: block, enabled: true, match: { keys: [app] } }
  - { name: watched, type: rate_limit, pattern: "10/1h", action: monitor, enabled: true, match: { keys: [watched] } }
`
const body = (tokens: number) => ({
  model: 'm',
  max_tokens: tokens,
  messages: [{ role: 'user', content: 'hi' }],
})
const answer = (total: number) =>
  json({
    ...completion('ok'),
    usage: { prompt_tokens: 10, completion_tokens: total - 10, total_tokens: total },
  })

const upstream = await startUpstream()
t.teardown(() => upstream.close())

t.test('50 calls side by side against a limit that fits 10', async (t) => {
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: RULES })
  t.teardown(() => discard(gateway))
  upstream.answer = answer(100)
  const { key } = await gateway.createKey('app')
  const before = upstream.received.length
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const response = await gateway.chat(key, body(90))
      await response.text()
      return response.status
    }),
  )
  t.equal(statuses.filter((status) => status === 200).length, 10)
  t.equal(statuses.filter((status) => status === 429).length, 40)
  t.equal(upstream.received.length - before, 10, 'the rest never left')
  const { body: blocked } = await gateway.api('GET', '/usage/logs?limit=100')
  t.equal(blocked.logs.filter(({ outcome }: any) => outcome === 'rate_limited').length, 40)
})

t.test('what was used is settled and survives kill -9', async (t) => {
  let gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: RULES })
  upstream.answer = answer(400)
  const { key } = await gateway.createKey('app')
  for (const left of ['600', '200']) {
    const response = await gateway.chat(key, body(100))
    await response.text()
    t.equal(response.status, 200)
    t.equal(response.headers.get('x-ratelimit-limit-tokens'), '1000')
    t.ok(Number(response.headers.get('x-ratelimit-remaining-tokens')) > Number(left))
  }
  await gateway.kill('SIGKILL')
  gateway = await startGateway({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.teardown(() => discard(gateway))
  const refused = await gateway.chat(key, body(250))
  t.equal(refused.status, 429)
  t.match(await refused.json(), { error: { code: 'rate_limit_exceeded', rule_name: 'budget' } })
  t.equal(refused.headers.get('x-ratelimit-remaining-tokens'), '200')
  t.ok(Number(refused.headers.get('retry-after')) >= 60)
  t.ok(Number(refused.headers.get('retry-after-ms')) >= 60_000)
  t.match(refused.headers.get('x-ratelimit-reset-tokens') ?? '', /^\d+[hm]/)
  const fits = await gateway.chat(key, body(100))
  t.equal(fits.status, 200, 'what was refused was not counted')
})

t.test('failed calls cost nothing, a watched limit lets pass and tells', async (t) => {
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: RULES })
  t.teardown(() => discard(gateway))
  const { key } = await gateway.createKey('app')
  upstream.answer = json({ error: { message: 'no' } }, 400)
  for (let i = 0; i < 5; i++) t.equal((await gateway.chat(key, body(900))).status, 400)
  upstream.answer = answer(20)
  t.equal((await gateway.chat(key, body(900))).status, 200)
  const watched = await gateway.createKey('watched')
  const response = await gateway.chat(watched.key, body(900))
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-sidegate-policy'), 'watched')
})
