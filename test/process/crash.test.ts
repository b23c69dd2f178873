// The promise of the log: whoever has read a whole answer can rely on its entry, whatever happens to the process.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { verifyChain } from '../../src/audit/verify.ts'
import { systemClock } from '../../src/core/clock.ts'
import { openStore } from '../../src/store/store.ts'
import { discard, startGateway, type TestGateway } from './gateway.ts'
import { completion, json, startUpstream, stream } from './upstream.ts'

// The runner's own limit would do on a machine with nothing else to do.
t.setTimeout(300_000)

const KILLS = 20
const CALLERS = 6
/** Every second kill comes in the moment in which this many more calls have been acknowledged, at most. */
const MOST_CALLS = 30
/** The others come this long after the load has begun, at most, milliseconds: anywhere within a call. */
const LONGEST_RUN_MS = 250

const upstream = await startUpstream()
t.teardown(() => upstream.close())
upstream.answer = (response, received) =>
  received.body.includes('"stream":true')
    ? stream(['some words ', 'and more ', 'of them'])(response, received)
    : json(completion('some words'))(response, received)

interface Acknowledged {
  readonly id: string
  readonly seq: number
  readonly hash: string
}

const readReceipt = (id: string, text: string): Acknowledged => {
  const [, seq = '', hash = ''] = /seq=(\d+);hash=(sha256:[0-9a-f]{64})/.exec(text) ?? []
  return { id, seq: Number(seq), hash }
}

/** Calls until the gateway is gone; tells of each answer in the moment it was read to its end. */
async function call(
  gateway: TestGateway,
  key: string,
  streams: boolean,
  tell: (acknowledged: Acknowledged) => void,
): Promise<void> {
  for (;;) {
    try {
      const body = {
        model: 'm',
        messages: [{ role: 'user', content: 'Mail alice@example.com' }],
        ...(streams ? { stream: true } : {}),
      }
      const response = await gateway.chat(key, body)
      const text = await response.text()
      const id = response.headers.get('x-request-id') ?? ''
      if (response.status !== 200) return
      if (!streams) tell(readReceipt(id, response.headers.get('x-sidegate-audit') ?? ''))
      else if (text.endsWith('data: [DONE]\n\n')) tell(readReceipt(id, text))
    } catch {
      return
    }
  }
}

t.test(`${KILLS} times kill -9 under load`, async (t) => {
  let gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  const { folder } = gateway
  const { key } = await gateway.createKey()
  const told: Acknowledged[] = []
  for (let kill = 0; kill < KILLS; kill++) {
    const { child } = gateway
    const killAtCount = kill % 2 === 0 ? told.length + 1 + Math.floor(Math.random() * MOST_CALLS) : Infinity
    const tell = (acknowledged: Acknowledged) => {
      told.push(acknowledged)
      if (told.length === killAtCount) child.kill('SIGKILL')
    }
    const callers = Array.from({ length: CALLERS }, (_, i) => call(gateway, key, i % 2 === 0, tell))
    if (kill % 2 === 1) {
      const killAtMs = performance.now() + LONGEST_RUN_MS * Math.random()
      while (performance.now() < killAtMs) await new Promise((resolve) => setImmediate(resolve))
      child.kill('SIGKILL')
    }
    t.equal(await gateway.exited, 'SIGKILL')
    await Promise.all(callers)
    gateway = await startGateway({ upstreamUrl: upstream.baseUrl, folder })
    t.equal(gateway.logs[0]?.['msg'], 'listening', 'before what is said of calls that were interrupted')
  }
  t.ok(told.length > KILLS, `${told.length} calls were acknowledged`)
  let missing = 0
  for (const { id, seq, hash } of told) {
    const { status, body } = await gateway.api('GET', `/usage/logs/${id}`)
    if (status !== 200 || body.seq !== seq || body.hash !== hash) missing++
  }
  t.equal(missing, 0, 'each is in the log with the hash its caller was told')
  await gateway.stop()
  const store = openStore({
    path: join(folder, 'data'),
    clock: systemClock,
    random: randomBytes,
    maxBytes: 2 ** 40,
  })
  const verdict = verifyChain(store.log.records(0, 1_000_000))
  await store.close()
  t.match(verdict, { ok: true })
  await discard(gateway)
})

t.test('at the moment an answer ends its entry can be read', async (t) => {
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl })
  t.teardown(() => discard(gateway))
  const { key } = await gateway.createKey()
  for (const streams of [false, true]) {
    const response = await gateway.chat(key, {
      model: 'm',
      stream: streams,
      messages: [{ role: 'user', content: 'hi' }],
    })
    await response.text()
    const { body } = await gateway.api('GET', `/usage/logs/${response.headers.get('x-request-id')}`)
    t.match(body, { outcome: 'ok', stream: streams, request: { model: 'm' } })
  }
})
