// What limits count of calls whose upstream never said what they used.

import { createServer } from 'node:net'
import t from 'tap'
import { deploy, prompt, type TestGateway } from './gateway.ts'
import { eventually, inTime } from './until.ts'
import { type Answer, chunk, completion, delta, event, events, finish, json, opening } from './upstream.ts'

/** An answer of a call may have this many tokens, of 0.001 USD each. */
const MOST = 100
const MOST_USD = MOST / 1000
const folder = t.testdir({ 'prices.yaml': 'prices: {m: {input: 0, output: 1000}}\n' })
const PRICED = { prices: { path: `${folder}/prices.yaml` } }
const RULES = `
rules:
  - { name: money, type: rate_limit, pattern: "100 USD/1h", action: block }
  - { name: tokens, type: rate_limit, pattern: "1M/1h", action: block }
  - { name: calls, type: rate_limit, pattern: "1k requests/1h", action: block }
  - { name: no-aurora, type: keyword_block, pattern: "project aurora", action: block }
`

const { upstream, gateway, key } = await deploy(t, undefined, {
  rules: RULES,
  config: PRICED,
})

/** What each limit counts now. */
async function used(of: TestGateway = gateway): Promise<Record<string, number>> {
  const { limits } = (await of.api('GET', '/usage/limits')).body
  return Object.fromEntries(limits.map((one: any) => [one.rule_name, one.used]))
}

const body = (more: object = {}) => prompt('hi', { max_tokens: MOST, ...more })
const STREAM = { stream: true }

/**
 * Makes a call and leaves it once it has arrived, or once its answer has this text; null reads the
 * whole answer. Returns its entry and what it added to each limit.
 */
async function call(answer: Answer, sent: object, leavesAt: string | null) {
  const before = await used()
  const { id: last } = (await gateway.newestEntry()) ?? {}
  upstream.answer = answer
  const leaving = new AbortController()
  const arrived = upstream.next()
  const answered = gateway.chat(key, sent, { signal: leaving.signal })
  answered.catch(() => {})
  await arrived
  if (leavesAt === null) await (await answered).text().catch(() => '')
  else if (leavesAt !== '') {
    const reader = (await answered).body!.getReader()
    for (let text = ''; !text.includes(leavesAt); ) text += Buffer.from((await reader.read()).value ?? [])
  }
  leaving.abort()
  const entry = await eventually(
    'the call is sealed',
    () => gateway.newestEntry(),
    (newest: any) => newest?.id !== last,
  )
  const after = await used()
  const added = (name: string) => Number(((after[name] ?? 0) - (before[name] ?? 0)).toFixed(6))
  return { entry, money: added('money'), tokens: added('tokens'), calls: added('calls') }
}

/** Sends these events and leaves the stream open. */
const open =
  (...bodies: object[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(bodies.map(event).join(''))
  }
/** Sends these events and breaks the connection. */
const broken =
  (...bodies: object[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(bodies.map(event).join(''), () => response.destroy())
  }
const counted = (completionTokens: number) => ({
  usage: { prompt_tokens: 9, completion_tokens: completionTokens, total_tokens: 9 + completionTokens },
})

t.test('a call that its client leaves keeps what limits reserved for it', async (t) => {
  for (const [what, answer, more, leavesAt] of [
    ['before an answer', () => {}, {}, ''],
    ['before a stream', () => {}, STREAM, ''],
    ['at the first text', open(opening('word ')), STREAM, 'word'],
    [
      'at a count that grows',
      open(chunk([{ index: 0, delta: { content: 'word ' } }], counted(1))),
      STREAM,
      'word',
    ],
  ] as const) {
    const { entry, money, tokens, calls } = await call(answer, body(more), leavesAt)
    t.equal(entry.outcome, 'client_aborted', what)
    t.ok(entry.completion_tokens < 5, `${what}: the entry says what was seen`)
    t.equal(money, MOST_USD, what)
    t.ok(tokens >= MOST, what)
    t.equal(calls, 1, what)
  }
})

t.test('a stream that is left counts no more than a model writes in its time', async (t) => {
  for (const max of [100, 5000]) {
    const { entry, money, tokens } = await call(
      open(opening('word ')),
      body({ ...STREAM, max_tokens: max }),
      'word',
    )
    const most = Math.min(max, 500 * Math.max(1, entry.latency_ms / 1000) + entry.prompt_tokens)
    t.ok(money >= Math.min(max, 500) / 1000 && money <= (most + 1) / 1000, `${max}: ${money} USD`)
    t.ok(tokens >= Math.min(max, 500) && tokens <= most + entry.prompt_tokens + 1, `${max}: ${tokens}`)
  }
})

t.test('a stream that is left counts what was seen, if that is more than was reserved', async (t) => {
  const long = 'word '.repeat(1000)
  const { entry, money } = await call(open(opening(long)), body(STREAM), 'word')
  t.ok(entry.completion_tokens > MOST)
  t.equal(money, entry.cost)
})

t.test('a call without max_tokens that its client leaves keeps the expected answer', async (t) => {
  const { money, tokens } = await call(() => {}, prompt('hi'), '')
  t.equal(money, 0.512)
  t.ok(tokens >= 512)
})

t.test('an answer that breaks off keeps what limits reserved for it', async (t) => {
  for (const [what, answer, more] of [
    ['without an answer', (response) => response.destroy(), {}],
    ['in a stream', broken(opening('word ')), STREAM],
    ['in a stream that is joined', broken(opening('word ')), {}],
    ['by an error in a stream', events(opening('word '), { error: { message: 'no' } }), STREAM],
    ['by an error in a stream that is joined', events(opening('word '), { error: { message: 'no' } }), {}],
    ['by an answer that is no JSON', json('<html>'), {}],
  ] as [string, Answer, object][]) {
    const { entry, money, tokens, calls } = await call(answer, body(more), null)
    t.equal(entry.outcome, 'upstream_error', what)
    t.equal(money, MOST_USD, what)
    t.ok(tokens >= MOST, what)
    t.equal(calls, 1, what)
  }
})

t.test('a stream that a rule blocks keeps what limits reserved for it', async (t) => {
  const { entry, money } = await call(open(opening('project aurora ')), body(STREAM), null)
  t.equal(entry.outcome, 'blocked')
  t.equal(money, MOST_USD)
})

t.test('a call counts what its upstream states, however it ended', async (t) => {
  const stated = chunk([], counted(3))
  for (const [what, answer, more, leavesAt] of [
    ['a whole answer', json({ ...completion('ok'), ...counted(3) }), {}, null],
    ['a blocked answer', json({ ...completion('project aurora'), ...counted(3) }), {}, null],
    ['a stream', events(delta('ok'), finish(), stated, '[DONE]'), STREAM, null],
    ['a stream that is left at its end', open(delta('ok'), finish(), stated), STREAM, 'stop'],
  ] as const) {
    const { entry, money, tokens } = await call(answer, body(more), leavesAt)
    t.match(entry, { completion_tokens: 3, cost: 0.003 }, what)
    t.equal(money, 0.003, what)
    t.equal(tokens, 12, what)
  }
  const { entry, money } = await call(json({ ...completion('twelve letters'), usage: null }), body(), null)
  t.match(entry, { usage_source: 'estimated' })
  t.equal(money, entry.cost, 'a whole answer is counted by its text')
})

t.test('a call that the provider refuses costs nothing', async (t) => {
  for (const [what, answer, more] of [
    ['by its status', json({ error: { message: 'no' } }, 400), {}],
    ['by a failure', json({ error: { message: 'no' } }, 500), {}],
    ['by an error in an answer', json({ error: { message: 'no' } }), {}],
    ['by an error in an answer to a stream', json({ error: { message: 'no' } }), STREAM],
    ['by the first event of a stream', events({ error: { message: 'no' } }), STREAM],
    ['by the first event of a stream that is joined', events({ error: { message: 'no' } }), {}],
  ] as [string, Answer, object][]) {
    const { entry, money, tokens } = await call(answer, body(more), null)
    t.not(entry.outcome, 'client_aborted', what)
    t.equal(money, 0, what)
    t.ok(tokens < MOST, what)
  }
})

t.test('a call that was never sent costs nothing', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1')
  await inTime('a port is free', new Promise((resolve) => closed.once('listening', resolve)))
  const { port } = closed.address() as { port: number }
  await inTime('the port is closed', new Promise((resolve) => closed.close(resolve)))
  const other = await deploy(t, undefined, {
    rules: RULES,
    config: {
      upstream: { baseUrl: `http://127.0.0.1:${port}/v1`, retries: { attempts: 0 } },
      ...PRICED,
    },
  })
  const answer = await other.gateway.chat(other.key, body())
  t.equal(answer.status, 502)
  await answer.text()
  t.same(await used(other.gateway), {})
})
