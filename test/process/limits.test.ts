// Token limits on the running process: concurrent calls, crashes, and what calls settle to.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t from 'tap'
import { discard, openGateway, prompt, startGateway } from './gateway.ts'
import { startProgram } from './gateway-process.ts'
import { inTime } from './until.ts'
import {
  chunk,
  completion,
  delta,
  events,
  finish,
  json,
  silent,
  startUpstream,
  USAGE,
  unfinished,
} from './upstream.ts'

const RULES = `
rules:
  - { name: budget, type: rate_limit, pattern: "1000/1h", action: block, enabled: true, match: { keys: [app] } }
  - { name: watched, type: rate_limit, pattern: "10/1h", action: monitor, enabled: true, match: { keys: [watched] } }
  - { name: short, type: rate_limit, pattern: "100/10s", action: block, match: { keys: [short] } }
`
const body = (tokens: number) => prompt('hi', { max_tokens: tokens })
const longBody = { ...prompt('word '.repeat(200)), max_tokens: 100 }
/** Answer that used this many tokens in total. */
const answer = (total: number) =>
  json({
    ...completion('ok'),
    usage: { prompt_tokens: 10, completion_tokens: total - 10, total_tokens: total },
  })

const upstream = await startUpstream()
t.teardown(() => upstream.close())

t.test('a limit for 10 calls admits 10 of 50 concurrent calls', async (t) => {
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules: RULES })
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
  t.equal(upstream.received.length - before, 10, 'the others are not forwarded')
  const { body: blocked } = await gateway.api('GET', '/usage/logs?limit=100')
  t.equal(blocked.logs.filter(({ outcome }: any) => outcome === 'rate_limited').length, 40)
})

t.test('a limit admits concurrent calls without max_tokens by what such calls used before', async (t) => {
  const rules =
    'rules: [{ name: budget, type: rate_limit, pattern: "10000/1d", action: block, enabled: true }]\n'
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules })
  const { key } = await gateway.createKey('app')
  const open = prompt('hi')
  upstream.answer = answer(1010)
  const alone = await gateway.chat(key, open)
  await alone.text()
  t.ok(
    Number(alone.headers.get('x-ratelimit-remaining-tokens')) > 9980,
    'the header counts used tokens, not reserved ones',
  )

  // No call is answered before every call is admitted or refused.
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
  t.equal(statuses.filter((status) => status === 200).length, 9, 'as many as one after another')
  const refused = answers.find(({ status }) => status === 429)!
  const waits = answers.flatMap(({ headers }) => headers.get('retry-after-ms') ?? []).map(Number)
  const dayMs = 86_400_000
  t.ok(
    waits.every((ms) => ms > dayMs && ms <= (dayMs * 61) / 60 + 60_001),
    'the running calls may use all that they reserved',
  )
  t.ok(new Set(waits).size > 30, 'not all clients return at one moment')
  t.match(refused.headers.get('x-ratelimit-reset-tokens'), /^24h/, 'the wait of this call')
  t.equal(refused.headers.get('x-should-retry'), null, 'a running call may free tokens soon')
})

t.test('used tokens count after kill -9, refused calls do not', async (t) => {
  let gateway = await startProgram({ upstreamUrl: upstream.baseUrl, rules: RULES })
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
  gateway = await startProgram({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.teardown(() => discard(gateway))
  const refused = await gateway.chat(key, body(250))
  t.equal(refused.status, 429)
  t.match(await refused.json(), { error: { code: 'rate_limit_exceeded', rule_name: 'budget' } })
  t.equal(refused.headers.get('x-ratelimit-remaining-tokens'), '200')
  t.ok(Number(refused.headers.get('retry-after')) >= 60)
  t.ok(Number(refused.headers.get('retry-after-ms')) >= 60_000)
  t.match(refused.headers.get('x-ratelimit-reset-tokens') ?? '', /^\d+[hm]/)
  const fits = await gateway.chat(key, body(100))
  t.equal(fits.status, 200, 'the refused call is not counted')
})

t.test('a call that kill -9 interrupts counts once, with all that it might have used', async (t) => {
  let gateway = await startProgram({ upstreamUrl: upstream.baseUrl, rules: RULES })
  const { key } = await gateway.createKey('app')
  upstream.answer = silent
  const before = upstream.received.length
  const calls = Promise.allSettled([gateway.chat(key, longBody), gateway.chat(key, longBody)])
  await upstream.reached(before + 2)
  await gateway.kill('SIGKILL')
  await calls
  gateway = await startProgram({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  const { logs } = (await gateway.api('GET', '/usage/logs')).body
  t.match(logs, [{ outcome: 'interrupted' }, { outcome: 'interrupted' }])
  const used = logs[0].total_tokens + logs[1].total_tokens + 2 * longBody.max_tokens
  t.ok(used > 500, `${used} tokens that the upstream may have read or made`)
  const remaining = async () => {
    const response = await gateway.chat(key, body(1000))
    t.equal(response.status, 429)
    return Number(response.headers.get('x-ratelimit-remaining-tokens'))
  }
  t.equal(await remaining(), 1000 - used)
  await gateway.kill('SIGKILL')
  gateway = await startProgram({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.teardown(() => discard(gateway))
  t.equal(await remaining(), 1000 - used)
})

t.test('a call that kill -9 interrupts counts for every model it might have reached', async (t) => {
  const rules = ['first', 'second', 'other']
    .map(
      (model) =>
        `  - { name: ${model}, type: rate_limit, pattern: "1000/1h", action: block, match: { models: [${model}] } }\n`,
    )
    .join('')
  let gateway = await startProgram({
    upstreamUrl: upstream.baseUrl,
    rules: `rules:\n${rules}`,
  })
  const { key } = await gateway.createKey('app')
  upstream.answer = silent
  const arrived = upstream.next()
  const call = gateway.chat(key, { ...longBody, model: 'first', models: ['second'] }).catch(() => null)
  await arrived
  await gateway.kill('SIGKILL')
  await call
  gateway = await startProgram({ upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.teardown(() => discard(gateway))
  const { logs } = (await gateway.api('GET', '/usage/logs')).body
  t.match(logs, [{ outcome: 'interrupted', model: 'first' }])
  const used = logs[0].total_tokens + longBody.max_tokens
  t.ok(used > 250)
  const remaining = async (model: string) => {
    const response = await gateway.chat(key, { ...body(1001), model })
    t.equal(response.status, 429)
    return Number(response.headers.get('x-ratelimit-remaining-tokens'))
  }
  t.equal(await remaining('first'), 1000 - used)
  t.equal(await remaining('second'), 1000 - used)
  t.equal(await remaining('other'), 1000)
})

t.test('failed calls cost nothing, and a monitored limit is only reported', async (t) => {
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules: RULES })
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

t.test('with several limits the headers show the tightest, and the first that is full refuses', async (t) => {
  const rules = `
rules:
  - { name: a-minute, type: rate_limit, pattern: "1k/1m", action: block, enabled: true }
  - { name: a-day, type: rate_limit, pattern: "2k/1d", action: block, enabled: true }
`
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules })
  upstream.answer = answer(900)
  const one = await gateway.createKey('one')
  const first = await gateway.chat(one.key, body(100))
  await first.text()
  t.equal(first.headers.get('x-ratelimit-limit-tokens'), '1000')
  const refused = await gateway.chat(one.key, body(200))
  t.match([refused.status, await refused.json()], [429, { error: { rule_name: 'a-minute' } }])
  t.ok(Number(refused.headers.get('retry-after')) <= 68, 'the limit of a minute')
  t.equal(
    refused.headers.get('x-should-retry'),
    Number(refused.headers.get('retry-after')) > 60 ? 'false' : null,
  )
  const big = await gateway.chat(one.key, body(1500))
  t.match([big.status, await big.json()], [429, { error: { rule_name: 'a-minute' } }])
  t.equal(big.headers.get('x-should-retry'), 'false', 'the limit of a day')
  const other = await gateway.createKey('other')
  t.equal((await gateway.chat(other.key, body(100))).status, 200, 'each key has limits of its own')
})

t.test('a stream settles its tokens when it ends, and keeps them when its client leaves', async (t) => {
  const rules =
    'rules: [{ name: budget, type: rate_limit, pattern: "1000/1h", action: block, enabled: true }]\n'
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules })
  const { key } = await gateway.createKey()
  upstream.answer = events(delta('Hello there. '), finish(), chunk([], { usage: USAGE }), '[DONE]')
  const ended = await gateway.chat(key, { ...body(900), stream: true })
  await ended.text()
  upstream.answer = answer(50)
  const after = await gateway.chat(key, body(10))
  await after.text()
  t.ok(Number(after.headers.get('x-ratelimit-remaining-tokens')) > 900, 'the reserved 900 are free again')

  upstream.answer = unfinished(delta('Hello there. '))
  const seen = upstream.received.length
  const leaving = new AbortController()
  const aborted = await gateway.chat(key, { ...body(800), stream: true }, { signal: leaving.signal })
  const reader = aborted.body!.getReader()
  await reader.read()
  const gone = upstream.received.at(-1)!.closed
  leaving.abort()
  await inTime('the upstream call ends', gone)
  await gateway.entryWith('client_aborted')
  upstream.answer = answer(50)
  const refused = await gateway.chat(key, body(450))
  t.equal(refused.status, 429, 'the upstream may have used 500 of the 800')
  t.equal(upstream.received.length, seen + 1)
})

t.test('a call of which nothing was sent costs nothing', async (t) => {
  // Accepts connections and never answers the TLS handshake.
  const mute = createServer()
  await inTime('the server listens', once(mute.listen(0, '127.0.0.1'), 'listening'))
  const { port } = mute.address() as AddressInfo
  const gateway = await startGateway({ upstreamUrl: `https://127.0.0.1:${port}/v1` })
  t.teardown(async () => {
    await discard(gateway)
    mute.close()
  })
  const { key } = await gateway.createKey()
  const leaving = new AbortController()
  const connected = once(mute, 'connection') as Promise<[Socket]>
  const call = gateway.chat(key, body(10), { signal: leaving.signal })
  const [socket] = await inTime('the gateway connects', connected)
  leaving.abort()
  await t.rejects(call)
  t.match(await gateway.entryWith('client_aborted'), { prompt_tokens: 0, total_tokens: 0 })
  socket.destroy()
})

t.test('a call larger than its limit is refused for good, a later one until there is room', async (t) => {
  const gateway = await openGateway(t, { upstreamUrl: upstream.baseUrl, rules: RULES })
  upstream.answer = answer(80)
  const { key } = await gateway.createKey('short')
  const tooMuch = await gateway.chat(key, body(101))
  t.match(await tooMuch.json(), {
    error: { code: 'rate_limit_exceeded', message: /more tokens.*than the limit "short" allows/ },
  })
  t.equal(tooMuch.headers.get('x-should-retry'), 'false')
  t.notOk(tooMuch.headers.has('retry-after') || tooMuch.headers.has('retry-after-ms'), 'it can never fit')
  t.equal((await gateway.chat(key, body(60))).status, 200)
  const later = await gateway.chat(key, body(60))
  t.match(await later.json(), { error: { code: 'rate_limit_exceeded', message: /"short" is reached/ } })
  t.equal(later.headers.get('x-should-retry'), null)
})
