// Stopping a gateway: running calls finish, new ones are refused, and calls that take too long are
// interrupted and sealed. No answer is cut off.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { discard } from '../process/gateway.ts'
import { type GatewayProcess, startProgram } from '../process/gateway-process.ts'
import { inTime, until } from '../process/until.ts'
import {
  type Answer,
  chunk,
  completion,
  delta,
  event,
  finish,
  json,
  startUpstream,
} from '../process/upstream.ts'

// The runner's own limit is too short for a busy machine.
t.setTimeout(300_000)

const whole = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
const stream = { ...whole, stream: true }

type T = Parameters<NonNullable<Parameters<typeof t.test>[0]>>[0]

/** Starts an upstream and a gateway and creates a key; the test's teardown removes them. */
async function deployProgram(t: T, answer?: Answer, limits: object = {}) {
  const upstream = await startUpstream(answer)
  const gateway = await startProgram({
    upstreamUrl: upstream.baseUrl,
    config: { limits },
  })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey()
  return { upstream, gateway, key }
}

/** An upstream that streams a word and sends the rest after `finishStream()`. */
function slowStream() {
  const script = {
    finishStream: () => {},
    answer: ((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(
        event(chunk([{ index: 0, delta: { role: 'assistant', content: 'word ' }, finish_reason: null }])),
      )
      response.write(event(delta('by word ')))
      script.finishStream = () => response.end(event(delta('to the end')) + event(finish()) + event('[DONE]'))
    }) satisfies Answer,
  }
  return script
}

const hasLogged = (gateway: GatewayProcess, message: string): boolean =>
  gateway.logs.some(({ msg }) => msg === message)

const logged = (gateway: GatewayProcess, message: string): Promise<void> =>
  until(`the log line ${message}`, () => hasLogged(gateway, message))

const exited = (gateway: GatewayProcess) => inTime('the gateway exits', gateway.exited)

/** Sends a call on a socket of its own; its `content-length` exceeds the body by `missingBytes`. */
function callOnSocket(gateway: GatewayProcess, key: string, body: object, missingBytes = 0): Socket {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  socket.on('error', () => {})
  const payload = JSON.stringify(body)
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${payload.length + missingBytes}\r\n\r\n${payload}`,
  )
  return socket
}

function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (data) => {
    text += data.toString('latin1')
  })
  return inTime('the socket closes', new Promise((resolve) => socket.once('close', () => resolve(text))))
}

/** Reads the newest entry with a new process on the same folder. */
async function newestEntry(gateway: GatewayProcess) {
  const next = await startProgram({
    upstreamUrl: 'http://127.0.0.1:1',
    folder: gateway.folder,
  })
  const { body } = await next.api('GET', '/usage/logs')
  await next.stop()
  return body.logs[0]
}

const inFlight = async (gateway: GatewayProcess) =>
  Number(/sidegate_calls_in_flight (\d+)/.exec(await (await fetch(`${gateway.opsUrl}/metrics`)).text())?.[1])

t.test('streams in flight finish while new connections are refused, then the process ends', async (t) => {
  const script = slowStream()
  const { gateway, key } = await deployProgram(t, script.answer)
  const response = await gateway.chat(key, stream)
  const reader = response.body?.getReader()
  await reader?.read()
  gateway.child.kill('SIGTERM')
  await logged(gateway, 'draining')
  const health = await fetch(`${gateway.opsUrl}/readyz`)
  t.equal(health.status, 503)
  t.match(await health.json(), { ready: false, draining: true })
  t.equal((await fetch(`${gateway.opsUrl}/livez`)).status, 200, 'alive until the end')
  const stranger = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  stranger.on('connect', () => stranger.destroy(new Error('accepted')))
  const [error] = (await inTime('the refusal', once(stranger, 'error'))) as [NodeJS.ErrnoException]
  t.equal(error.code, 'ECONNREFUSED', 'no new connections')
  script.finishStream()
  let text = ''
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read())
    text += Buffer.from(part.value)
  t.match(text, /"content":"end"[\s\S]*\[DONE\]\n\n$/)
  t.equal(await exited(gateway), 0)
  t.match(await newestEntry(gateway), { outcome: 'ok' })
})

t.test('a call on an open connection gets the reason why it is refused', async (t) => {
  const script = slowStream()
  const { upstream, gateway, key } = await deployProgram(t, script.answer)
  const running = gateway.chat(key, stream).then((response) => response.text())
  await until('the call is forwarded', () => upstream.received.length === 1)
  const open = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  const answer = readToEnd(open)
  // The connection must be accepted before the listener closes.
  open.write('GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await inTime('an answer on the connection', once(open, 'data'))
  gateway.child.kill('SIGTERM')
  await logged(gateway, 'draining')
  const payload = JSON.stringify(whole)
  open.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${payload.length}\r\n\r\n${payload}`,
  )
  const refused = (await answer).split('HTTP/1.1 ').at(-1) ?? ''
  t.match(refused, /^503 /)
  t.match(refused, /"code":"draining"/)
  t.match(refused, /retry-after: \d+/)
  t.match(refused, /connection: close/)
  t.match(refused, /x-sidegate-audit: .*;seq=\d+;hash=/, 'and has its entry')
  t.equal(upstream.received.length, 1, 'and nothing was forwarded')
  script.finishStream()
  t.match(await running, /\[DONE\]/)
  t.equal(await exited(gateway), 0)
})

t.test('an answer that the client reads slowly is not cut off', async (t) => {
  const long = 'word '.repeat(4_000_000)
  const { gateway, key } = await deployProgram(t, json(completion(long)))
  const socket = callOnSocket(gateway, key, whole)
  socket.pause()
  await logged(gateway, 'call sealed')
  gateway.child.kill('SIGTERM')
  await logged(gateway, 'draining')
  const text = readToEnd(socket)
  socket.resume()
  const [head = '', body = ''] = (await text).split('\r\n\r\n')
  t.equal(body.length, Number(/content-length: (\d+)/.exec(head)?.[1]))
  t.ok(body.length > long.length)
  t.equal(await exited(gateway), 0)
})

t.test('a call that does not finish in time ends with an error and is sealed as interrupted', async (t) => {
  const interrupted = { outcome: 'interrupted', status: 503 }

  t.test('a stream is interrupted', async (t) => {
    const { upstream, gateway, key } = await deployProgram(t, slowStream().answer, { drainSeconds: 0 })
    const arrived = upstream.next()
    const response = await gateway.chat(key, stream)
    const reading = response.text()
    const { closed } = await arrived
    gateway.child.kill('SIGTERM')
    const text = await reading
    t.match(text, /"code":"draining"/)
    t.notMatch(text, /\[DONE\]/)
    t.equal(await exited(gateway), 0)
    await closed
    const entry = await newestEntry(gateway)
    t.match(entry, { ...interrupted, stream: true })
    t.match(text, `hash=${entry.hash}`, 'with its receipt')
  })

  t.test('a whole answer that the upstream does not send is interrupted', async (t) => {
    const { upstream, gateway, key } = await deployProgram(t, () => {}, { drainSeconds: 0 })
    const arrived = upstream.next()
    const call = gateway.chat(key, whole)
    const { closed } = await arrived
    gateway.child.kill('SIGTERM')
    const response = await call
    t.match([response.status, await response.json()], [503, { error: { code: 'draining' } }])
    t.equal(response.headers.get('retry-after'), '1')
    t.equal(await exited(gateway), 0)
    await closed
    const entry = await newestEntry(gateway)
    t.match(entry, { ...interrupted, stream: false, completion_tokens: 0, usage_source: 'estimated' })
    t.ok(entry.prompt_tokens > 0, 'which the upstream may have read')
  })

  t.test('a list of models that the upstream does not send is interrupted', async (t) => {
    const { upstream, gateway, key } = await deployProgram(t, () => {}, { drainSeconds: 0 })
    const arrived = upstream.next()
    const call = fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
    const { closed } = await arrived
    gateway.child.kill('SIGTERM')
    const response = await call
    t.match([response.status, await response.json()], [503, { error: { code: 'draining' } }])
    t.equal(response.headers.get('retry-after'), '1')
    t.equal(await exited(gateway), 0)
    await closed
  })

  t.test('a request whose body does not arrive is interrupted', async (t) => {
    const { upstream, gateway, key } = await deployProgram(t, undefined, { drainSeconds: 0 })
    const answer = readToEnd(callOnSocket(gateway, key, whole, 1000))
    await until('the call is in flight', async () => (await inFlight(gateway)) === 1)
    gateway.child.kill('SIGTERM')
    t.match(await answer, /^HTTP\/1\.1 503 [\s\S]*"code":"draining"/)
    t.equal(await exited(gateway), 0)
    t.match(await newestEntry(gateway), interrupted)
    t.equal(upstream.received.length, 0)
  })

  t.test('a stream that the client does not read is interrupted', async (t) => {
    let stalled = () => {}
    const stall = new Promise<void>((resolve) => {
      stalled = resolve
    })
    const word = event(delta('word '.repeat(2000)))
    const { gateway, key } = await deployProgram(
      t,
      async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.once('error', () => {})
        const timer = setInterval(() => {
          // A growing backlog means that the buffers of the kernel and of the gateway are full.
          if (response.writableLength > 8 * word.length) stalled()
          else for (let i = 0; i < 50; i++) response.write(word)
        }, 20)
        response.once('close', () => clearInterval(timer))
      },
      { drainSeconds: 0 },
    )
    callOnSocket(gateway, key, stream).pause()
    await inTime('the stream stalls', stall)
    gateway.child.kill('SIGTERM')
    t.equal(await exited(gateway), 0)
    t.match(await newestEntry(gateway), { ...interrupted, stream: true })
  })
})

t.test('a gateway without calls stops at once', async (t) => {
  const { gateway } = await deployProgram(t)
  t.equal(await inTime('the gateway stops', gateway.stop()), 0)
  t.ok(hasLogged(gateway, 'stopped'))
  const end = gateway.logs.slice(gateway.logs.findIndex(({ msg }) => msg === 'draining'))
  t.notOk(end.some(({ level }) => level === 'warn' || level === 'error'))
})

t.test('a second signal interrupts the calls and waits only for the log', async (t) => {
  const { upstream, gateway, key } = await deployProgram(t, slowStream().answer)
  const arrived = upstream.next()
  const reading = gateway.chat(key, stream).then((response) => response.text())
  await arrived
  gateway.child.kill('SIGTERM')
  await logged(gateway, 'draining')
  gateway.child.kill('SIGINT')
  t.match(await reading, /"code":"draining"/)
  t.equal(await exited(gateway), 0)
  t.match(await newestEntry(gateway), { outcome: 'interrupted' })
})
