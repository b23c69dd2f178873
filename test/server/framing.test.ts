import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { closeInStages } from '../../src/server/framing.ts'
import { inTime } from '../process/until.ts'

const MEGABYTE = 'y'.repeat(1024 * 1024)

for (const [when, close] of [
  [
    'before Node closes',
    (socket: Socket) => {
      closeInStages(socket)
      socket.destroySoon()
    },
  ],
  [
    'after Node began to close',
    (socket: Socket) => {
      socket.destroySoon()
      closeInStages(socket)
    },
  ],
] as const) {
  t.test(`a connection that is closed in stages takes the bytes of its client, ${when}`, async (t) => {
    const server = createServer({ allowHalfOpen: true })
    t.teardown(() => server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const accepted = once(server, 'connection') as Promise<[Socket]>
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [socket] = await inTime('the connection', accepted)
    let answer = ''
    client.setEncoding('latin1').on('data', (text) => {
      answer += text
    })
    const ended = Promise.all([once(client, 'close'), once(socket, 'close')])
    socket.resume().write('answer')
    close(socket)
    // The end of the answer arrives first, so that these bytes come to a closing connection.
    client.once('end', () => client.write(MEGABYTE))
    await inTime('the end', ended)
    t.equal(answer, 'answer')
    t.equal(socket.bytesRead, MEGABYTE.length)
    t.equal(client.errored, null)
  })
}
