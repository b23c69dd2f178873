// The bytes of an event stream on the wire.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import { EventStream } from '../../src/server/eventstream.ts'

type T = Parameters<NonNullable<Parameters<typeof t.test>[0]>>[0]

// Deadline of every wait in this file.
t.setTimeout(120_000)

/** Starts a server with this answer to every request. */
async function serve(t: T, answer: (response: ServerResponse) => void): Promise<number> {
  const server = createServer((_request, response) => answer(response))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** Sends bytes; resolves with the answer once it ends in `last` or the connection is closed. */
async function exchange(port: number, sent: string, last: string): Promise<string> {
  const socket = connect(port, '127.0.0.1', () => socket.write(sent))
  let received = ''
  for await (const piece of socket.setEncoding('utf8')) {
    received += piece
    if (received.endsWith(last)) break
  }
  socket.destroy()
  return received
}

const [FIRST, SECOND] = ['data: {"a":"plain"}\n\n', 'data: {"a":"grün 😀"}\n\n']
const answer = (response: ServerResponse) => {
  const stream = new EventStream(response, { 'x-request-id': '1' })
  stream.write(FIRST)
  stream.write('')
  setImmediate(() => {
    stream.write(SECOND)
    stream.end('data: [DONE]\n\n')
  })
}
const ASKING = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'

t.test('each write is one chunk, and the connection stays open', async (t) => {
  const port = await serve(t, answer)
  const received = await exchange(port, ASKING, '0\r\n\r\n')
  const [head = '', body] = received.split(/\r\n\r\n(.*)/s)
  t.match(head, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(head, /^transfer-encoding: chunked$/im)
  t.match(head, /connection: keep-alive/i)
  t.notMatch(head, 'content-length')
  const bytes = (text: string) => Buffer.byteLength(text).toString(16)
  t.equal(
    body,
    `${bytes(FIRST)}\r\n${FIRST}\r\n${bytes(SECOND)}\r\n${SECOND}\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n`,
  )
  const twice = await exchange(
    port,
    `${ASKING}${ASKING.replace('host', 'connection: close\r\nhost')}`,
    'never',
  )
  t.equal(twice.split('data: [DONE]').length, 3)
})

t.test('fetch reads the stream', async (t) => {
  const port = await serve(t, answer)
  const response = await fetch(`http://127.0.0.1:${port}/`)
  t.equal(await response.text(), `${FIRST}${SECOND}data: [DONE]\n\n`)
})

t.test('an HTTP/1.0 client gets no chunked encoding', async (t) => {
  const port = await serve(t, answer)
  const received = await exchange(port, 'GET / HTTP/1.0\r\n\r\n', 'never')
  t.notMatch(received, /transfer-encoding/i)
  t.ok(received.endsWith(`\r\n\r\n${FIRST}${SECOND}data: [DONE]\n\n`))
})

t.test('the head is sent before the first event', async (t) => {
  const port = await serve(t, (response) => void new EventStream(response, {}))
  const received = await exchange(port, ASKING, '\r\n\r\n')
  t.match(received, 'content-type: text/event-stream')
})

t.test('a stream without events ends correctly', async (t) => {
  const port = await serve(t, (response) => new EventStream(response, {}).end(''))
  t.match(await exchange(port, ASKING, '0\r\n\r\n'), /\r\n\r\n0\r\n\r\n$/)
})
