// Usage over time of a real gateway: minutes from memory, days from the store.

import t from 'tap'
import { deploy, openGateway, prompt } from './gateway.ts'
import { eventually } from './until.ts'
import { completion, heldStream, json } from './upstream.ts'

const answer = json({
  ...completion('Hello.'),
  usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11, cost: 0.25 },
})
const { upstream, gateway, key } = await deploy(t, answer, {
  rules: 'rules:\n  - { name: no-aurora, type: keyword_block, pattern: aurora, action: block }\n',
})
const series = async (search = '', on = gateway) => (await on.api('GET', `/usage/series${search}`)).body
const call = async (text: string, more = {}) => (await gateway.chat(key, prompt(text, more))).text()
const sum = (column: (number | null)[]) => column.reduce<number>((total, value) => total + (value ?? 0), 0)

const COLUMNS = ['requests', 'blocked', 'tokens', 'cost_usd', 'added_latency_ms', 'streams_in_flight']

t.test('the last hours have a step for each minute, from the start of the process', async (t) => {
  await call('hello')
  await call('hello')
  await call('about aurora')
  for (const [search, steps] of [
    ['', 60],
    ['?hours=1', 60],
    ['?hours=24', 1440],
  ] as const) {
    const body = await series(search)
    t.equal(body.step_seconds, 60)
    t.strictSame(
      body.times,
      Array.from({ length: steps }, (_, index) => Date.parse(body.since) / 1000 + 60 * index),
    )
    t.equal(Date.parse(body.until) / 1000, body.times.at(-1) + 60)
    for (const column of COLUMNS) {
      t.equal(body[column].length, steps, column)
      t.equal(body[column][0], null, `${column} before the start`)
    }
    t.strictSame(
      [sum(body.requests), sum(body.blocked), sum(body.tokens), sum(body.cost_usd)],
      [3, 1, 22, 0.5],
    )
    const added = body.added_latency_ms.filter((value: number | null) => value !== null)
    t.ok(added.length > 0 && added.every((value: number) => value > 0 && value < 10_000), String(added))
  }
})

t.test('streams in flight are counted from their beginning to their end', async (t) => {
  const held = heldStream()
  upstream.answer = held.answer
  const most = async () => Math.max(...(await series()).streams_in_flight)
  const before = (await series()).requests
  const streams = await Promise.all([1, 2, 3].map(() => gateway.chat(key, prompt('hi', { stream: true }))))
  await eventually('three streams', most, (count) => count === 3)
  held.finish()
  await Promise.all(streams.map((stream) => stream.text()))
  upstream.answer = answer
  t.equal(await most(), 3, 'the highest number of the minute stays')
  t.equal(sum((await series()).requests), sum(before) + 3)
})

t.test('the last days come from the store, and outlive the process', async (t) => {
  const expected = (await gateway.api('GET', '/usage/logs')).body.total
  for (const [days, step, steps] of [
    [1, 3600, 24],
    [7, 3600, 168],
    [8, 86_400, 8],
    [365, 86_400, 365],
  ] as const) {
    const body = await series(`?days=${days}`)
    t.equal(body.step_seconds, step)
    for (const column of ['times', ...COLUMNS]) t.equal(body[column].length, steps, column)
    t.equal(sum(body.requests), expected)
    t.equal(sum(body.blocked), 1)
    t.equal(sum(body.tokens), (await gateway.api('GET', '/usage/report')).body.total.total_tokens)
    t.equal(sum(body.cost_usd), 0.5)
    t.ok(body.added_latency_ms.every((value: unknown) => value === null))
    t.ok(body.streams_in_flight.every((value: unknown) => value === null))
    t.ok(Date.parse(body.until) > Date.now())
  }
  await gateway.stop()
  const again = await openGateway(t, { upstreamUrl: upstream.baseUrl, folder: gateway.folder })
  t.equal(sum((await series('?hours=24', again)).requests), 0, 'memory is gone')
  t.equal(sum((await series('?days=1', again)).requests), expected)
  await again.stop()
})

t.test('a wrong period is named with what it may be', async (t) => {
  const other = await openGateway(t, { upstreamUrl: upstream.baseUrl })
  for (const [search, param, message] of [
    ['hours=1&days=1', 'days', /either hours or days/],
    ['hours=0', 'hours', /1 to 24/],
    ['hours=25', 'hours', /1 to 24/],
    ['hours=1.5', 'hours', /whole number/],
    ['days=366', 'days', /1 to 365/],
    ['days=', 'days', /1 to 365/],
    ['weeks=1', 'weeks', /known parameters: hours, days/],
  ] as const) {
    const { status, body } = await other.api('GET', `/usage/series?${search}`)
    t.match([status, body.error], [400, { code: 'invalid_parameter', param, message }], search)
  }
})
