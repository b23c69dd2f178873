// Requests that a client sends on one connection without waiting for answers.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { MAXIMUM_UNANSWERED } from '../../src/server/connection-turns.ts'
import { listen } from '../../src/server/listener.ts'

// Deadline of every wait in this file.
t.setTimeout(60_000)

const REQUESTS = 5000
const requestTo = (path: string) => `GET /${path} HTTP/1.1\r\nhost: a\r\n\r\n`

t.test('of many requests on a connection, a few are carried out at a time and all in order', async (t) => {
  let running = 0
  let most = 0
  const begun: string[] = []
  const open: ServerResponse[] = []
  const full = Promise.withResolvers<void>()
  let isOpen = false
  const [listener] = await listen({ host: '127.0.0.2', port: 0 }, (request, response) => {
    begun.push(request.url!)
    most = Math.max(most, ++running)
    response.on('close', () => running--)
    if (isOpen) response.end(`${request.url} `)
    else if (open.push(response) === MAXIMUM_UNANSWERED) full.resolve()
  })
  t.teardown(() => listener!.close())
  const socket = connect(listener!.address.port, '127.0.0.2')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  for (let at = 0; at < REQUESTS; at++) socket.write(requestTo(String(at)))
  await full.promise
  // The event loop goes round with the other requests waiting in the socket.
  const other = await fetch(`http://127.0.0.2:${listener!.address.port}/other`, {
    signal: AbortSignal.timeout(1),
  }).catch(() => null)
  t.equal(other, null)
  t.strictSame(
    begun.filter((path) => path !== '/other'),
    Array.from({ length: MAXIMUM_UNANSWERED }, (_, at) => `/${at}`),
  )
  isOpen = true
  for (const response of open) response.end(`${response.req.url} `)
  let text = ''
  for await (const piece of socket) {
    text += piece
    if (text.includes(`/${REQUESTS - 1} `)) break
  }
  const answered = [...text.matchAll(/^\/(\d+) /gm)].map(([, at]) => Number(at))
  t.strictSame(
    answered,
    Array.from({ length: REQUESTS }, (_, at) => at),
  )
  t.ok(most <= MAXIMUM_UNANSWERED + 1)
})

t.test('a connection that closes drops its waiting requests', async (t) => {
  const begun: ServerResponse[] = []
  const full = Promise.withResolvers<void>()
  const [listener] = await listen({ host: '127.0.0.2', port: 0 }, (_request, response) => {
    if (begun.push(response) === MAXIMUM_UNANSWERED) full.resolve()
  })
  t.teardown(() => listener!.close())
  const socket = connect(listener!.address.port, '127.0.0.2')
  socket.write(requestTo('a').repeat(100))
  await full.promise
  socket.destroy()
  const [first] = begun as [ServerResponse]
  const closed = once(first, 'close')
  // Nothing is read of the connection, so only a write notices.
  while (!first.destroyed) {
    first.write('x'.repeat(65_536))
    await Promise.race([once(first, 'drain'), closed])
  }
  await closed
  t.equal(begun.length, MAXIMUM_UNANSWERED)
})
