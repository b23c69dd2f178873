// The live tail of a real gateway over real sockets: several readers, a slow one, one that resumes,
// and every end.

import t from 'tap'
import { type EventReader, readEvents } from './event-reader.ts'
import { deploy, discard, prompt, startGateway, type TestGateway } from './gateway.ts'
import { startProgram } from './gateway-process.ts'
import { eventually, fetchInTime, until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

t.setTimeout(240_000)

const { upstream, gateway, key } = await deploy(t, json(completion('Hello.')))
const cookie = await gateway.signIn()
const call = async (text = 'hi') => (await gateway.chat(key, prompt(text))).text()
const open: EventReader[] = []
const tail = async (search = '', headers: Record<string, string> = {}, on = gateway) => {
  const reader = await readEvents(`${on.url}/api/v1/usage/logs/live${search}`, { cookie, ...headers })
  open.push(reader)
  return reader
}
t.afterEach(() => {
  for (const reader of open.splice(0)) reader.close()
})
const listed = async (limit: number, on = gateway) =>
  (await on.api('GET', `/usage/logs?limit=${limit}`)).body.logs.toReversed()
const dataOf = ({ events }: EventReader) => events.map(({ data }) => data)

t.test('two readers get each call from now on, as the list has it', async (t) => {
  await call('before')
  const readers = await Promise.all([tail(), tail()])
  for (const { status, headers } of readers) {
    t.equal(status, 200)
    t.match(headers, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    t.notOk('content-length' in headers)
  }
  for (let count = 0; count < 3; count++) await call()
  for (const reader of readers) {
    await reader.reached(3)
    t.strictSame(dataOf(reader), await listed(3))
    t.ok(reader.events.every(({ id, event, data }) => event === 'entry' && id === String(data.seq)))
  }
  await gateway.createKey('a change is no call')
  await call()
  await readers[0]!.reached(4)
  t.equal(readers[0]!.events.length, 4)
})

t.test('a reader resumes after an entry, by header or parameter', async (t) => {
  for (let count = 0; count < 5; count++) await call()
  const expected = await listed(3)
  const after = String(expected[0].seq - 1)
  for (const reader of await Promise.all([
    tail('', { 'last-event-id': after }),
    tail(`?after=${after}`),
    tail('?after=1', { 'last-event-id': after }),
  ])) {
    await reader.reached(3)
    t.strictSame(dataOf(reader), expected)
  }
  for (const [search, headers, message] of [
    ['?after=x', {}, 'after must be a whole number'],
    ['?since=1', {}, 'known parameters: after'],
    ['', { 'last-event-id': '-1' }, 'Last-Event-ID must be'],
  ] as const) {
    const answer = await fetchInTime(`${gateway.url}/api/v1/usage/logs/live${search}`, {
      headers: { cookie, ...headers },
    })
    t.equal(answer.status, 400)
    t.match(((await answer.json()) as any).error.message, message)
  }
})

t.test('the 17th reader is refused, until another leaves', async (t) => {
  const readers = await Promise.all(Array.from({ length: 16 }, () => tail()))
  t.ok(readers.every(({ status }) => status === 200))
  const refused = await fetchInTime(`${gateway.url}/api/v1/usage/logs/live`, { headers: { cookie } })
  t.equal(refused.status, 503)
  t.match(await refused.json(), { error: { code: 'overloaded', message: /16 readers follow the usage log/ } })
  readers[3]!.close()
  await eventually(
    'room for a reader',
    () => tail(),
    ({ status }) => status === 200,
  )
})

t.test('signing out ends the streams of that session only', async (t) => {
  const other = await gateway.signIn()
  const [mine, theirs] = await Promise.all([tail(), tail('', { cookie: other })])
  await fetchInTime(`${gateway.url}/api/v1/session`, { method: 'DELETE', headers: { cookie: other } })
  await theirs.ended()
  t.ok(theirs.isComplete(), 'it ends as an answer ends')
  await call()
  await mine.reached(1)
  t.notOk(mine.isComplete())
  t.equal(theirs.events.length, 0)
  t.equal((await tail('', { cookie: other })).status, 401)
})

/** Rules that all fire, so that an entry takes many kilobytes. */
const MANY_RULES = Array.from(
  { length: 200 },
  (_, n) =>
    `  - { name: "${`rule-${n}-`.padEnd(120, 'x')}", type: keyword_block, pattern: hi, action: monitor }\n`,
)

/** Makes calls, some at a time. */
async function makeCalls(on: TestGateway, apiKey: string, count: number): Promise<void> {
  let left = count
  const work = async () => {
    while (left-- > 0) await (await on.chat(apiKey, prompt('hi'))).text()
  }
  await Promise.all(Array.from({ length: 8 }, work))
}

t.test('a slow reader gets a count of what it missed, and delays neither calls nor the end', async (t) => {
  const slow = await startGateway({ upstreamUrl: upstream.baseUrl, rules: `rules:\n${MANY_RULES.join('')}` })
  t.teardown(() => discard(slow))
  const { key: apiKey } = await slow.createKey()
  const session = { cookie: await slow.signIn() }
  const reader = await tail('', session, slow)
  const quick = await tail('', session, slow)
  reader.pause()
  const calls = 600
  await makeCalls(slow, apiKey, calls)
  await until('the quick reader has the last call', () => sent(quick.events) === calls)
  reader.resume()
  await until('the slow reader has the last call', () => sent(reader.events) === calls)
  const gaps = reader.events.filter(({ event }) => event === 'gap')
  t.ok(gaps.length > 0 && gaps.every(({ data }) => data.missed > 0), JSON.stringify(gaps))
  const seqs = reader.events.flatMap(({ event, data }) => (event === 'entry' ? [data.seq] : []))
  t.strictSame(
    seqs,
    seqs.toSorted((a, b) => a - b),
  )
  t.strictSame(
    seqs.slice(-256),
    (await listed(256, slow)).map(({ seq }: any) => seq),
    'the newest are there',
  )
  const stuck = await tail('?after=0', session, slow)
  stuck.pause()
  const startMs = performance.now()
  t.equal(await slow.stop(), 0)
  t.ok(performance.now() - startMs < 5000, 'the drain does not wait for it')
})

/** Calls that were sent or counted as missed. */
const sent = (events: EventReader['events']) =>
  events.reduce((sum, { event, data }) => sum + (event === 'gap' ? data.missed : 1), 0)

t.test('SIGTERM ends every stream at once, while a call still runs', async (t) => {
  const held = await startUpstream(() => {})
  t.teardown(() => held.close())
  const other = await startProgram({ upstreamUrl: held.baseUrl, config: { limits: { drainSeconds: 20 } } })
  t.teardown(() => discard(other))
  const { key: apiKey } = await other.createKey()
  const session = { cookie: await other.signIn() }
  const readers = await Promise.all([tail('', session, other), tail('', session, other)])
  const running = other.chat(apiKey, prompt('hi')).then((response) => response.text())
  await held.reached(1)
  const startMs = performance.now()
  other.child.kill('SIGTERM')
  for (const reader of readers) {
    await reader.ended()
    t.ok(reader.isComplete())
  }
  t.ok(performance.now() - startMs < 5000)
  other.child.kill('SIGTERM')
  await running.catch(() => {})
  t.equal(await other.exit(), 0)
})
