// Whole answers to clients that read slowly or not at all.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { listen } from '../../src/server/listener.ts'
import { respond, respondError, respondJson } from '../../src/server/respond.ts'
import { pausedClient } from './paused-client.ts'

// Deadline of every wait in this file.
t.setTimeout(120_000)

/** Larger than the kernel's buffers on both ends. */
const LONG = 'x'.repeat(32 * 1024 * 1024)
const STALL_MS = 50

t.test('any answer that the client does not read is dropped after the stall time', async (t) => {
  const ways: Record<string, (response: ServerResponse) => void> = {
    text: (response) => respond(response, 200, {}, LONG, STALL_MS),
    JSON: (response) => respondJson(response, 200, LONG, {}, STALL_MS),
    'a refusal': (response) =>
      respondError(response, new GatewayError('not_found', LONG), {}, { stallMs: STALL_MS }),
  }
  for (const [name, answer] of Object.entries(ways)) {
    const { response } = await pausedClient(t, (_request, response) => answer(response))
    await once(response, 'close')
    t.notOk(response.writableFinished, name)
  }
})

t.test('a pipelined call has its own stall time after an answer that was read slowly', async (t) => {
  // Longer than it takes to buffer such an answer.
  const stallMs = 500
  const listeners = await listen({ host: '127.0.0.1', port: 0 }, (request, response) => {
    if (request.url === '/read-slowly') respond(response, 200, {}, LONG, stallMs)
    else setTimeout(() => respond(response, 200, {}, 'the second'), 3 * stallMs)
  })
  const socket = connect(listeners[0]!.address.port, '127.0.0.1')
  t.teardown(() => {
    socket.destroy()
    for (const listener of listeners) listener.close()
  })
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
  socket.write(get('/read-slowly') + get('/made-slowly'))
  let end = ''
  for await (const piece of socket) {
    end = (end + piece).slice(-100)
    if (end.endsWith('the second')) break
  }
  t.match(end, /the second$/)
})
