// Connections that are old, and kept connections that the upstream has closed.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, LookupFunction, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { fixedSecret } from '../../src/core/secret.ts'
import { Upstream } from '../../src/upstream/forward.ts'
import { MAXIMUM_AGE_MS } from '../../src/upstream/pool.ts'
import { until } from '../process/until.ts'
import {
  Client,
  chat,
  errorOf,
  listen,
  newCall,
  open,
  readAll,
  requestTo,
  settings,
  soon,
} from './fixture.ts'
import { startProxy } from './proxy.ts'

/** Reads the answer to one call; its connection is then free for the next. */
async function call(upstream: Upstream): Promise<string> {
  const text = await readAll(await chat(upstream))
  await setImmediate()
  return text
}

/** What a server does with the request of this number, both from 1, on a connection. */
type Behaviour = (response: ServerResponse, number: number, connection: number) => void

const answer = (response: ServerResponse) => void response.end('{"ok":1}')

/** A server that counts requests by connection. */
function serverOf(behaviour: Behaviour): { server: Server; requests: number[] } {
  const requests: number[] = []
  const numbers = new Map<Socket, number>()
  const server = createServer((request: IncomingMessage, response) => {
    request.resume().once('end', () => {
      const { socket } = request
      if (!numbers.has(socket)) numbers.set(socket, numbers.size)
      const connection = numbers.get(socket)!
      requests[connection] = (requests[connection] ?? 0) + 1
      behaviour(response, requests[connection]!, connection + 1)
    })
  })
  return { server, requests }
}

/** How an upstream ends a kept connection when a second request arrives. */
const ENDS: Readonly<Record<string, (socket: Socket) => void>> = {
  'a reset': (socket) => void socket.resetAndDestroy(),
  'a close': (socket) => void socket.destroy(),
  'an end': (socket) => void socket.end(),
}

async function proxied(t: Test) {
  const proxy = await startProxy()
  t.teardown(() => proxy.close())
  return { proxy: fixedSecret(proxy.url) }
}

t.test(
  'a kept connection that ends before any byte of an answer costs a new connection, not the call',
  async (t) => {
    for (const [name, end] of Object.entries(ENDS)) {
      for (const way of ['direct', 'through a proxy']) {
        const { server, requests } = serverOf((response, number) =>
          number === 1 ? answer(response) : end(response.socket!),
        )
        const more = way === 'direct' ? {} : await proxied(t)
        const upstream = open(t, settings(await listen(t, server), more), 4)
        for (let count = 0; count < 3; count++) {
          const counted = newCall()
          const response = await soon(
            upstream.forward([requestTo('{"model":"m"}')], {}, new Client(), counted),
            `${name} ${way}`,
          )
          t.equal(await readAll(response), '{"ok":1}', `${name} ${way}`)
          await setImmediate()
          t.equal(counted.attempts, count === 0 ? 1 : 2)
        }
        t.same(requests, [2, 2, 1])
      }
    }
  },
)

t.test('a request is not sent again when the upstream may have read it for the first time', async (t) => {
  const behaviours: Record<string, [Behaviour, number]> = {
    'a new connection': [(response) => void response.socket?.resetAndDestroy(), 1],
    'after a byte of an answer': [
      (response, number) => {
        if (number === 1) answer(response)
        else response.socket?.write('H', () => response.socket?.destroy())
      },
      2,
    ],
    'on the new connection too': [
      (response, number, connection) => {
        if (number === 1 && connection === 1) answer(response)
        else response.socket?.resetAndDestroy()
      },
      3,
    ],
  }
  for (const [name, [behaviour, expected]] of Object.entries(behaviours)) {
    const { server, requests } = serverOf(behaviour)
    const upstream = open(t, settings(await listen(t, server)), 4)
    if (expected > 1) await call(upstream)
    t.match(await soon(errorOf(chat(upstream)), name), { code: 'upstream_unavailable' })
    t.equal(
      requests.reduce((sum, count) => sum + count, 0),
      expected,
      name,
    )
  }
})

t.test('dead connections are replaced within the retry budget only', async (t) => {
  const { server } = serverOf((response, number) =>
    number === 1 ? answer(response) : void response.socket?.resetAndDestroy(),
  )
  const baseUrl = await listen(t, server)
  const none = open(t, settings(baseUrl, { retries: { attempts: 0 } }), 4)
  await call(none)
  t.match(await soon(errorOf(chat(none)), 'no retries'), { code: 'upstream_unavailable' })
  const upstream = open(t, settings(baseUrl), 40)
  const warm = await Promise.all(Array.from({ length: 40 }, () => chat(upstream)))
  await Promise.all(warm.map(readAll))
  const results = await Promise.allSettled(Array.from({ length: 40 }, () => chat(upstream)))
  const saved = results.filter(({ status }) => status === 'fulfilled').length
  t.equal(saved, 10, 'the budget holds ten')
})

t.test('calls under way on other connections finish when a dead one is replaced', async (t) => {
  let finish = () => {}
  const { server } = serverOf((response, number, connection) => {
    if (connection === 1) {
      response.write('begin ')
      finish = () => void response.end('end')
    } else if (number === 1) answer(response)
    else response.socket?.resetAndDestroy()
  })
  const upstream = open(
    t,
    settings(await listen(t, server), { timeouts: { connectMs: 500, headersMs: 500, idleMs: 30_000 } }),
    4,
  )
  const long = await chat(upstream)
  for (let count = 0; count < 4; count++) t.equal(await call(upstream), '{"ok":1}')
  finish()
  t.equal(await soon(readAll(long), 'the long answer'), 'begin end')
})

t.test('steady traffic follows a name that moves, and running calls finish where they are', async (t) => {
  let finish = () => {}
  const { server: first } = serverOf((response, number, connection) => {
    if (connection === 1) {
      response.write('begin ')
      finish = () => void response.end('first')
    } else response.end('first')
    void number
  })
  const { server: second } = serverOf((response) => void response.end('second'))
  first.listen(0, '127.0.0.1')
  await once(first, 'listening')
  const { port } = first.address() as AddressInfo
  second.listen(port, '127.0.0.2')
  await once(second, 'listening')
  t.teardown(() => {
    first.close()
    second.close()
  })
  let address = '127.0.0.1'
  const lookup: LookupFunction = (_host, options, done) => {
    if (options.all === true) done(null, [{ address, family: 4 }])
    else done(null, address, 4)
  }
  const config = settings(`http://moving.test:${port}/v1`, {
    timeouts: { connectMs: 500, headersMs: 5000, idleMs: 30_000 },
  })
  const upstream = new Upstream(config, 4, { maxAgeMs: 300, lookup })
  t.teardown(() => upstream.close())
  const long = await chat(upstream)
  t.equal(await call(upstream), 'first')
  address = '127.0.0.2'
  t.equal(await call(upstream), 'first', 'a young connection is reused')
  await until('the new address', async () => (await call(upstream)) === 'second', 5000)
  finish()
  t.equal(await soon(readAll(long), 'the long answer'), 'begin first')
  t.ok(MAXIMUM_AGE_MS <= 30_000)
})

t.test('connections through a proxy have an age limit, also a single one', async (t) => {
  const proxy = await startProxy()
  t.teardown(() => proxy.close())
  const { server, requests } = serverOf(answer)
  const config = settings(await listen(t, server), { proxy: fixedSecret(proxy.url) })
  const upstream = new Upstream(config, 1, { maxAgeMs: 100 })
  t.teardown(() => upstream.close())
  await until('a second connection', async () => {
    await call(upstream)
    return requests.length > 1
  })
  t.ok(requests[0]! > 0)
})
