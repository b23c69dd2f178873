// A client that has sent a request and does not read the answer yet.

import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { inTime } from '../process/until.ts'

/** Serves the request until the end of the test. @param handler nothing answers without one */
export async function pausedClient(
  t: Test,
  handler?: RequestListener,
): Promise<{ readonly socket: Socket; readonly response: ServerResponse }> {
  const server = handler === undefined ? createServer() : createServer(handler)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  socket.on('error', () => {})
  t.teardown(() => {
    socket.destroy()
    server.close()
  })
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
  const [, response] = (await inTime('the request', once(server, 'request'))) as [unknown, ServerResponse]
  return { socket, response }
}
