// The caller on a real socket: leaving, lagging, being ended from our side.

import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { SocketClient } from '../../src/server/socket-client.ts'

type T = Parameters<NonNullable<Parameters<typeof t.test>[0]>>[0]

/** More than the kernel's buffers of both ends hold. */
const LONG = 'x'.repeat(32 * 1024 * 1024)
const LONG_MS = 60_000

/** A client as the server sees it, and the socket it calls on. */
async function call(
  t: T,
  { stallMs = LONG_MS, missingBytes = 0 } = {},
): Promise<{ client: SocketClient; socket: Socket }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {}).pause()
  t.teardown(() => {
    socket.destroy()
    server.close()
    server.closeAllConnections()
  })
  const client = new Promise<SocketClient>((resolve) =>
    server.once('request', (request, response) => resolve(new SocketClient(request, response, 0, stallMs))),
  )
  socket.write(
    `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${2 + missingBytes}\r\n\r\n{}`,
  )
  return { client: await client, socket }
}

const delivered = (client: SocketClient) => new Promise<void>((resolve) => client.onDelivered(resolve))
const cancelled = (client: SocketClient) => new Promise<void>((resolve) => client.onCancel(resolve))

const keep = () => {}

t.test('an answer that is taken', async (t) => {
  const { client, socket } = await call(t)
  t.equal(String(await client.readBody(10, keep)), '{}')
  client.respond(200, { 'x-a': 'b' }, 'all of it')
  socket.resume()
  await delivered(client)
  t.notOk(client.cancelled)
  await delivered(client)
})

t.test('a body that was read is not kept while its call goes on', async (t) => {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  const { client, socket } = await call(t)
  const body = new WeakRef(await client.readBody(10, keep))
  // What is weak holds until the turn is over.
  await new Promise(setImmediate)
  gc()
  t.equal(body.deref(), undefined)
  client.respond(200, {}, 'done')
  socket.resume()
  await delivered(client)
})

t.test('an answer that nobody takes is given up, however it was sent', async (t) => {
  const ways: Record<string, (client: SocketClient) => void> = {
    whole: (client) => client.respond(200, {}, LONG),
    'last bytes of a stream': (client) => {
      client.startStream({})
      client.end(LONG)
    },
    'piece of a stream': (client) => {
      client.startStream({})
      void client.write(LONG)
    },
    'error after a stream': (client) => {
      client.startStream({})
      void client.write(LONG)
      client.fail(new GatewayError('draining', 'x'), {})
    },
  }
  for (const [name, send] of Object.entries(ways)) {
    const { client } = await call(t, { stallMs: 50 })
    send(client)
    await delivered(client)
    t.ok(client.cancelled, name)
  }
})

t.test('a client that takes its time, but takes', async (t) => {
  const { client, socket } = await call(t, { stallMs: 300 })
  socket.on('data', () => {
    socket.pause()
    setTimeout(() => socket.resume(), 2)
  })
  client.startStream({})
  const room = client.write(LONG)
  t.ok(room instanceof Promise, 'the socket is full')
  const startMs = performance.now()
  socket.resume()
  await room
  t.notOk(client.cancelled)
  t.ok(performance.now() - startMs > 300, 'it took longer than one may stall')
  client.end('')
  await delivered(client)
  t.notOk(client.cancelled)
})

t.test('a client that leaves', async (t) => {
  const { client, socket } = await call(t)
  const left = cancelled(client)
  socket.destroy()
  await left
  t.ok(client.cancelled)
  t.notOk(client.interrupted)
  await cancelled(client)
  await delivered(client)
  t.equal(client.write('x'), undefined, 'nothing is waited for')
})

t.test('ending a call ends what it waits for', async (t) => {
  const uploading = await call(t, { missingBytes: 100 })
  const body = uploading.client.readBody(1000, keep)
  uploading.client.interrupt()
  await t.rejects(body, { code: 'bad_request' })
  t.ok(uploading.client.interrupted)

  const streaming = await call(t)
  streaming.client.startStream({})
  const room = streaming.client.write(LONG)
  t.ok(room instanceof Promise, 'the socket is full')
  streaming.client.interrupt()
  await room
  t.ok(streaming.client.cancelled)
})
