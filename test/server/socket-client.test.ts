// The client of a call on a real socket: it disconnects, reads slowly, or is interrupted.

import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { openAiErrors } from '../../src/chat/error-shapes.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { SocketClient } from '../../src/server/socket-client.ts'

type T = Parameters<NonNullable<Parameters<typeof t.test>[0]>>[0]

// Deadline of every wait in this file.
t.setTimeout(120_000)

/** Larger than the kernel's buffers on both ends. */
const LONG = 'x'.repeat(32 * 1024 * 1024)
const LONG_MS = 60_000

/** Returns a client as the server sees it, and its socket. */
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
    server.once('request', (request, response) =>
      resolve(new SocketClient(request, response, 0, openAiErrors, stallMs)),
    ),
  )
  socket.write(
    `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${2 + missingBytes}\r\n\r\n{}`,
  )
  return { client: await client, socket }
}

const delivered = (client: SocketClient) => new Promise<void>((resolve) => client.onDelivered(resolve))
const cancelled = (client: SocketClient) => new Promise<void>((resolve) => client.onCancel(resolve))

const reserve = () => {}

t.test('an answer that the client reads is delivered', async (t) => {
  const { client, socket } = await call(t)
  t.equal(String(await client.readBody(10, reserve)), '{}')
  client.respond(200, { 'x-a': 'b' }, 'all of it')
  socket.resume()
  await delivered(client)
  t.notOk(client.cancelled)
  await delivered(client)
})

t.test('a body is released once it was read, while its call continues', async (t) => {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  const { client, socket } = await call(t)
  const body = new WeakRef(await client.readBody(10, reserve))
  // A weak reference is kept until the end of the turn.
  await new Promise(setImmediate)
  gc()
  t.equal(body.deref(), undefined)
  client.respond(200, {}, 'done')
  socket.resume()
  await delivered(client)
})

t.test('an answer that the client does not read is dropped after the stall time', async (t) => {
  const ways: Record<string, (client: SocketClient) => void> = {
    whole: (client) => client.respond(200, {}, LONG),
    'last bytes of a stream': (client) => {
      client.startStream({})
      client.end(LONG)
    },
    'event of a stream': (client) => {
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

t.test('a client that reads slowly gets the whole answer', async (t) => {
  const { client, socket } = await call(t, { stallMs: 300 })
  socket.on('data', () => {
    socket.pause()
    setTimeout(() => socket.resume(), 2)
  })
  client.startStream({})
  const written = client.write(LONG)
  t.ok(written instanceof Promise, 'the socket is full')
  const startMs = performance.now()
  socket.resume()
  await written
  t.notOk(client.cancelled)
  t.ok(performance.now() - startMs > 300, 'it took longer than the stall time')
  client.end('')
  await delivered(client)
  t.notOk(client.cancelled)
})

t.test('a client that disconnects cancels its call', async (t) => {
  const { client, socket } = await call(t)
  const left = cancelled(client)
  socket.destroy()
  await left
  t.ok(client.cancelled)
  t.notOk(client.interrupted)
  await cancelled(client)
  await delivered(client)
  t.equal(client.write('x'), undefined, 'a write does not wait')
})

t.test('interrupting a call ends its pending read or write', async (t) => {
  const uploading = await call(t, { missingBytes: 100 })
  const body = uploading.client.readBody(1000, reserve)
  uploading.client.interrupt()
  await t.rejects(body, { code: 'bad_request' })
  t.ok(uploading.client.interrupted)

  const streaming = await call(t)
  streaming.client.startStream({})
  const written = streaming.client.write(LONG)
  t.ok(written instanceof Promise, 'the socket is full')
  streaming.client.interrupt()
  await written
  t.ok(streaming.client.cancelled)
})
