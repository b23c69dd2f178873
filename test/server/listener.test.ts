// Errors of a listening socket.

import { Server } from 'node:net'
import { constants } from 'node:os'
import t from 'tap'
import { listen } from '../../src/server/listener.ts'

// Deadline of every wait in this file.
t.setTimeout(120_000)

/** Node's internal handle of a listening socket, which receives connections and their errors. */
interface Handle {
  onconnection(status: number): void
}

t.test('a connection that the system fails to accept does not affect others', async (t) => {
  const handles = () => (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles()
  const before = new Set(handles())
  const [listener] = await listen({ host: '127.0.0.2', port: 0 }, (_request, response) =>
    response.end('here'),
  )
  t.teardown(() => listener!.close())
  const server = handles().find((one) => one instanceof Server && !before.has(one))
  const { _handle: handle } = server as unknown as { _handle: Handle }
  // As without memory, or with a firewall rule.
  for (const code of [constants.errno.ENOMEM, constants.errno.EPERM]) handle.onconnection(-code)
  const response = await fetch(`http://127.0.0.2:${listener!.address.port}/`)
  t.equal(await response.text(), 'here')
})
