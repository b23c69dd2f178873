// Token limits on the running process: calls side by side, crashes, what is settled.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t from 'tap'
import { discard, startGateway } from './gateway.ts'
import { chunk, completion, delta, event, finish, json, startUpstream, USAGE } from './upstream.ts'

const RULES = `
rules:
  - { name: budget, type: rate_limit, pattern: "1000/1h", action: block, enabled: true, match: { keys: [app] } }
  - { name: watched, type: rate_limit, pattern: "10/1h", action: monitor, enabled: true, match: { keys: [watched] } }
  - { name: short, type: rate_limit, pattern: "100/10s", action: block, match: { keys: [short] } }
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

t.test('50 calls side by side that do not limit their answers', async (t) => {
  const rules =
    'rules: [{ name: budget, type: rate_limit, pattern: "10000/1d", action: block, enabled: true }]\n'
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules })
  t.teardown(() => discard(gateway))
  const { key } = await gateway.createKey('app')
  const { max_tokens: _, ...open } = body(0)
  upstream.answer = answer(1010)
  const alone = await gateway.chat(key, open)
  await alone.text()
  t.ok(
    Number(alone.headers.get('x-ratelimit-remaining-tokens')) > 9980,
    'what is expected is not told as used',
  )

  // None is answered before all are let through or refused, as with answers that take a while.
  const decided = Promise.withResolvers<void>()
  let undecided = 50
  const decide = () => {
    if (--undecided === 0) decided.resolve()
    return decided.promise
  }
  upstream.answer = (response, received) => decide().then(() => answer(1010)(response, received))
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const response = await gateway.chat(key, open)
      if (response.status === 429) decide()
      await response.text()
      return response
    }),
  )
  const statuses = answers.map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 200).length, 9, 'as many as one after the other')
  const told = answers.find(({ status }) => status === 429)!
  t.equal(told.headers.get('retry-after-ms'), '1000', 'there may be room as soon as one of them has ended')
  t.equal(told.headers.get('x-should-retry'), null)
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

t.test('what kill -9 interrupts is counted as its entry says, once', async (t) => {
  let gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: RULES })
  const { key } = await gateway.createKey('app')
  upstream.answer = () => {}
  const before = upstream.received.length
  const prompt = { ...body(100), messages: [{ role: 'user', content: 'word '.repeat(200) }] }
  const calls = Promise.allSettled([gateway.chat(key, prompt), gateway.chat(key, prompt)])
  while (upstream.received.length < before + 2) await upstream.next()
  await gateway.kill('SIGKILL')
  await calls
  gateway = await startGateway({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  const { logs } = (await gateway.api('GET', '/usage/logs')).body
  t.match(logs, [{ outcome: 'interrupted' }, { outcome: 'interrupted' }])
  const used = logs[0].total_tokens + logs[1].total_tokens
  t.ok(used > 300, `${used} tokens of prompts that the upstream may have read`)
  const remaining = async () => {
    const response = await gateway.chat(key, body(1000))
    t.equal(response.status, 429)
    return Number(response.headers.get('x-ratelimit-remaining-tokens'))
  }
  t.equal(await remaining(), 1000 - used)
  await gateway.kill('SIGKILL')
  gateway = await startGateway({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.teardown(() => discard(gateway))
  t.equal(await remaining(), 1000 - used)
})

t.test(
  'what kill -9 interrupts counts for the limits of every model that it might have ended up at',
  async (t) => {
    const rules = ['first', 'second', 'other']
      .map(
        (model) =>
          `  - { name: ${model}, type: rate_limit, pattern: "1000/1h", action: block, match: { models: [${model}] } }\n`,
      )
      .join('')
    let gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: `rules:\n${rules}` })
    const { key } = await gateway.createKey('app')
    upstream.answer = () => {}
    const arrived = upstream.next()
    const prompt = { ...body(100), model: 'first', models: ['second'] }
    const call = gateway
      .chat(key, { ...prompt, messages: [{ role: 'user', content: 'word '.repeat(200) }] })
      .catch(() => null)
    await arrived
    await gateway.kill('SIGKILL')
    await call
    gateway = await startGateway({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
    t.teardown(() => discard(gateway))
    const { logs } = (await gateway.api('GET', '/usage/logs')).body
    t.match(logs, [{ outcome: 'interrupted', model: 'first' }])
    const used = logs[0].total_tokens
    t.ok(used > 150)
    const remaining = async (model: string) => {
      const response = await gateway.chat(key, { ...body(1001), model })
      t.equal(response.status, 429)
      return Number(response.headers.get('x-ratelimit-remaining-tokens'))
    }
    t.equal(await remaining('first'), 1000 - used)
    t.equal(await remaining('second'), 1000 - used)
    t.equal(await remaining('other'), 1000)
  },
)

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

t.test('several limits at once: the tightest is told, the first without room refuses', async (t) => {
  const rules = `
rules:
  - { name: a-minute, type: rate_limit, pattern: "1k/1m", action: block, enabled: true }
  - { name: a-day, type: rate_limit, pattern: "2k/1d", action: block, enabled: true }
`
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules })
  t.teardown(() => discard(gateway))
  upstream.answer = answer(900)
  const one = await gateway.createKey('one')
  const first = await gateway.chat(one.key, body(100))
  await first.text()
  t.equal(first.headers.get('x-ratelimit-limit-tokens'), '1000')
  const refused = await gateway.chat(one.key, body(200))
  t.match([refused.status, await refused.json()], [429, { error: { rule_name: 'a-minute' } }])
  t.ok(Number(refused.headers.get('retry-after')) <= 62, 'a minute is soon')
  t.equal(
    refused.headers.get('x-should-retry'),
    Number(refused.headers.get('retry-after')) > 60 ? 'false' : null,
  )
  const big = await gateway.chat(one.key, body(1500))
  t.match([big.status, await big.json()], [429, { error: { rule_name: 'a-minute' } }])
  t.equal(big.headers.get('x-should-retry'), 'false', 'a day is not')
  const other = await gateway.createKey('other')
  t.equal((await gateway.chat(other.key, body(100))).status, 200, 'each key has its own')
})

t.test('a stream settles when it ends, and when its client leaves', async (t) => {
  const rules =
    'rules: [{ name: budget, type: rate_limit, pattern: "1000/1h", action: block, enabled: true }]\n'
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules })
  t.teardown(() => discard(gateway))
  const { key } = await gateway.createKey()
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      event(delta('Hello there. ')) + event(finish()) + event(chunk([], { usage: USAGE })) + event('[DONE]'),
    )
  }
  const ended = await gateway.chat(key, { ...body(900), stream: true })
  await ended.text()
  upstream.answer = answer(50)
  const after = await gateway.chat(key, body(10))
  await after.text()
  t.ok(Number(after.headers.get('x-ratelimit-remaining-tokens')) > 900, 'the 900 it had asked for came back')

  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event(delta('Hello there. ')))
  }
  const leaving = new AbortController()
  const aborted = await gateway.chat(key, { ...body(800), stream: true }, { signal: leaving.signal })
  const reader = aborted.body!.getReader()
  await reader.read()
  const gone = upstream.received.at(-1)!.closed
  leaving.abort()
  await gone
  upstream.answer = answer(50)
  // Sealed right after the upstream call has ended; the next call finds the room as soon as it is.
  let status = 0
  while (status !== 200) {
    const response = await gateway.chat(key, body(800))
    await response.text()
    status = response.status
  }
  t.equal(status, 200)
})

t.test('a call that nothing was sent of costs nothing', async (t) => {
  // Takes connections, and does not say a word of TLS.
  const mute = createServer()
  await once(mute.listen(0, '127.0.0.1'), 'listening')
  const { port } = mute.address() as AddressInfo
  const gateway = await startGateway({ upstreamUrl: `https://127.0.0.1:${port}/v1` })
  t.teardown(async () => {
    await discard(gateway)
    mute.close()
  })
  const { key } = await gateway.createKey()
  const leaving = new AbortController()
  const call = gateway.chat(key, body(10), { signal: leaving.signal })
  const [socket] = (await once(mute, 'connection')) as [Socket]
  leaving.abort()
  await t.rejects(call)
  let logs: object[] = []
  while (logs.length === 0) ({ logs } = (await gateway.api('GET', '/usage/logs')).body)
  t.match(logs, [{ outcome: 'client_aborted', prompt_tokens: 0, total_tokens: 0 }])
  socket.destroy()
})

t.test('what asks for more than a limit allows at all is told so, and not to come again', async (t) => {
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, rules: RULES })
  t.teardown(() => discard(gateway))
  upstream.answer = answer(80)
  const { key } = await gateway.createKey('short')
  const tooMuch = await gateway.chat(key, body(101))
  t.match(await tooMuch.json(), {
    error: { code: 'rate_limit_exceeded', message: /more tokens at once.*"short"/ },
  })
  t.equal(tooMuch.headers.get('x-should-retry'), 'false')
  t.equal((await gateway.chat(key, body(60))).status, 200)
  const later = await gateway.chat(key, body(60))
  t.match(await later.json(), { error: { code: 'rate_limit_exceeded', message: /"short" is reached/ } })
  t.equal(later.headers.get('x-should-retry'), null)
})
