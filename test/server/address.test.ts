// Why an address cannot be listened on.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { clientAddress, whyNotListen } from '../../src/server/address.ts'

// Deadline of every wait in this file.
t.setTimeout(120_000)

const HOST = '127.0.0.1'

async function listening(host = HOST): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

async function freePort(): Promise<number> {
  const { server, port } = await listening()
  await once(server.close(), 'close')
  return port
}

/** Whether a connection to the port succeeds. */
async function reach(port: number): Promise<boolean> {
  const socket = connect({ host: HOST, port })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Program of a worker that tests an address 1000 times. */
const TESTING = `
const { workerData, parentPort } = require('node:worker_threads')
import(workerData.module).then(async ({ whyNotListen }) => {
  for (let round = 0; round < 1000; round++) parentPort.postMessage(await whyNotListen(workerData.address))
})`

t.test('testing a free port accepts no client and leaves the port free', async (t) => {
  const port = await freePort()
  const module = new URL('../../src/server/address.ts', import.meta.url).href
  const worker = new Worker(TESTING, { eval: true, workerData: { module, address: { host: HOST, port } } })
  const answers: (string | null)[] = []
  worker.on('message', (answer) => answers.push(answer))
  let done = false
  const ended = once(worker, 'exit').finally(() => {
    done = true
  })
  let gotIn = 0
  while (!done) {
    const tries = await Promise.all(Array.from({ length: 16 }, () => reach(port)))
    gotIn += tries.filter(Boolean).length
  }
  await ended
  t.equal(gotIn, 0)
  t.equal(answers.length, 1000)
  t.same(new Set(answers), new Set([null]))
  const server = createServer().listen(port, HOST)
  await once(server, 'listening')
  server.close()
})

t.test(
  'a name, all addresses of the machine and a port chosen by the system can be listened on',
  async (t) => {
    const port = await freePort()
    t.equal(await whyNotListen({ host: 'localhost', port }), null)
    t.equal(await whyNotListen({ host: '0.0.0.0', port }), null)
    t.equal(await whyNotListen({ host: HOST, port: 0 }), null)
  },
)

t.test(
  'a port is in use when a listener has this address, all addresses, or one of all those wanted',
  async (t) => {
    for (const [host, wanted] of [
      [HOST, HOST],
      ['0.0.0.0', HOST],
      [HOST, '0.0.0.0'],
    ] as const) {
      const { server, port } = await listening(host)
      t.equal(
        await whyNotListen({ host: wanted, port }),
        `cannot listen on ${wanted}:${port}: the port is in use; stop the process that holds it or choose another port`,
      )
      server.close()
    }
  },
)

t.test('open connections of an earlier listener do not matter', async (t) => {
  const { server, port } = await listening()
  const accepted = once(server, 'connection')
  const client = connect({ host: HOST, port })
  const [socket] = await accepted
  server.close()
  t.equal(await whyNotListen({ host: HOST, port }), null)
  client.destroy()
  socket.destroy()
})

t.test('an address that the machine does not have is refused', async (t) => {
  const reason = 'this machine does not have the address; use 0.0.0.0 or [::] for all addresses'
  t.equal(await whyNotListen({ host: '192.0.2.1', port: 4000 }), `cannot listen on 192.0.2.1:4000: ${reason}`)
  t.equal(await whyNotListen({ host: '192.0.2.1', port: 0 }), `cannot listen on 192.0.2.1:0: ${reason}`)
})

t.test('an IPv4 client of a listener on all addresses has its own form', async (t) => {
  t.equal(clientAddress('::ffff:192.0.2.7'), '192.0.2.7')
  for (const address of ['192.0.2.7', '::1', '2001:db8::ffff:1', '']) t.equal(clientAddress(address), address)
})
