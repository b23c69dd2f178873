import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { HubRequests } from '../../src/fleet/hub-requests.ts'

const LIMIT_MS = 10_000
const LONG = { type: 'application/x-ndjson', bytes: Buffer.alloc(200_000, 'a') }
const SHORT = { type: 'application/x-ndjson', bytes: Buffer.from('a') }

/** A hub that counts its connections, and takes requests whose body it has not asked for. */
async function hubFor(
  t: Test,
  onWaiting: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
) {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let bytes = 0
    for await (const piece of request) bytes += (piece as Buffer).length
    response.end(`${request.headers.expect} ${bytes}`)
  }
  const server = createServer(answer)
  let connections = 0
  server.on('connection', () => connections++)
  server.on('checkContinue', (request, response) => void onWaiting(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const requests = new HubRequests(null)
  t.teardown(() => requests.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return {
    post: (body: typeof LONG) => requests.exchange(url, {}, body, LIMIT_MS),
    answer,
    connections: () => connections,
  }
}

t.test('a long body is sent when the hub asks for it, and its connection is kept', async (t) => {
  let before = -1
  const hub = await hubFor(t, async (request, response) => {
    const { socket } = request
    const head = socket.bytesRead
    // Long enough for a body that comes unasked.
    await delay(50)
    before = socket.bytesRead - head
    response.writeContinue()
    await hub.answer(request, response)
  })
  t.equal((await hub.post(LONG)).text, '100-continue 200000')
  t.equal(before, 0, 'nothing came unasked')
  t.equal((await hub.post(LONG)).text, '100-continue 200000')
  t.equal((await hub.post(SHORT)).text, 'undefined 1', 'a short body is sent at once')
  t.equal(hub.connections(), 1)
})

t.test('a long body that the hub refuses is never sent', async (t) => {
  let refused: IncomingMessage | null = null
  const hub = await hubFor(t, (request, response) => {
    refused = request
    response.writeHead(503, { 'retry-after': '2', connection: 'close' }).end('later')
  })
  const { status, text, retryAfterMs } = await hub.post(LONG)
  t.match({ status, text, retryAfterMs }, { status: 503, text: 'later', retryAfterMs: 2000 })
  t.equal(refused!['complete'], false)
  t.equal((await hub.post(SHORT)).text, 'undefined 1', 'the next one has a connection of its own')
  t.equal(hub.connections(), 2)
})
