// Kills the gateway under load. A client that has read a whole answer finds its entry afterwards.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { verifyChain } from '../../src/audit/verify.ts'
import { systemClock } from '../../src/core/clock.ts'
import { openStore } from '../../src/store/store.ts'
import { discard, prompt } from './gateway.ts'
import { deployProgram, type GatewayProcess, startProgram } from './gateway-process.ts'
import { type Answer, completion, json, startUpstream, stream } from './upstream.ts'

// The runner's own limit is too short for a busy machine.
t.setTimeout(300_000)

const KILLS = 5
const CALLERS = 6
/** Every second kill follows at most this many further acknowledged calls, at once. */
const MAXIMUM_CALLS = 30
/**
 * The other kills follow at most this long after the load begins, milliseconds: anywhere in a call.
 */
const LONGEST_RUN_MS = 250

const answer: Answer = (response, received) =>
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

/** Calls until the gateway is gone; reports each answer as soon as it is read to its end. */
async function call(
  gateway: GatewayProcess,
  key: string,
  streams: boolean,
  report: (acknowledged: Acknowledged) => void,
): Promise<void> {
  // Each call has a deadline, and the caller kills the gateway.
  for (;;) {
    try {
      const body = prompt('Mail alice@example.com', streams ? { stream: true } : {})
      const response = await gateway.chat(key, body)
      const text = await response.text()
      const id = response.headers.get('x-request-id') ?? ''
      if (response.status !== 200) return
      if (!streams) report(readReceipt(id, response.headers.get('x-sidegate-audit') ?? ''))
      else if (text.endsWith('data: [DONE]\n\n')) report(readReceipt(id, text))
    } catch {
      return
    }
  }
}

t.test(`after each of ${KILLS} kills every acknowledged call is in the log`, async (t) => {
  const upstream = await startUpstream(answer)
  t.teardown(() => upstream.close())
  let gateway = await startProgram({ upstreamUrl: upstream.baseUrl })
  const { folder } = gateway
  const { key } = await gateway.createKey()
  const acknowledged: Acknowledged[] = []
  for (let kill = 0; kill < KILLS; kill++) {
    const { child } = gateway
    const killAtCount =
      kill % 2 === 0 ? acknowledged.length + 1 + Math.floor(Math.random() * MAXIMUM_CALLS) : Infinity
    const report = (call: Acknowledged) => {
      acknowledged.push(call)
      if (acknowledged.length === killAtCount) child.kill('SIGKILL')
    }
    const callers = Array.from({ length: CALLERS }, (_, i) => call(gateway, key, i % 2 === 0, report))
    if (kill % 2 === 1) {
      const killAtMs = performance.now() + LONGEST_RUN_MS * Math.random()
      while (performance.now() < killAtMs) await new Promise((resolve) => setImmediate(resolve))
      child.kill('SIGKILL')
    }
    t.equal(await gateway.exit(), 'SIGKILL')
    await Promise.all(callers)
    gateway = await startProgram({ upstreamUrl: upstream.baseUrl, folder })
    t.equal(gateway.logs[0]?.['msg'], 'listening', 'it listens before it reports interrupted calls')
  }
  t.ok(acknowledged.length > KILLS, `${acknowledged.length} calls were acknowledged`)
  let missing = 0
  for (const { id, seq, hash } of acknowledged) {
    const { status, body } = await gateway.api('GET', `/usage/logs/${id}`)
    if (status !== 200 || body.seq !== seq || body.hash !== hash) missing++
  }
  t.equal(missing, 0, 'each is in the log with the hash of its receipt')
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

t.test('when an answer ends its entry can be read', async (t) => {
  const { gateway, key } = await deployProgram(t, answer, {})
  for (const streams of [false, true]) {
    const response = await gateway.chat(key, prompt('hi', { stream: streams }))
    await response.text()
    const { body } = await gateway.api('GET', `/usage/logs/${response.headers.get('x-request-id')}`)
    t.match(body, { outcome: 'ok', stream: streams, request: { model: 'm' } })
  }
})
