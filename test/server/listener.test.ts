import { Server } from 'node:net'
import { constants } from 'node:os'
import t from 'tap'
import { listen } from '../../src/server/listener.ts'

/** Node's own side of a listening socket, which the system tells of connections and of what went wrong with one. */
interface Handle {
  onconnection(status: number): void
}

t.test('a connection that the system cannot hand over costs nothing but itself', async (t) => {
  const handles = () => (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles()
  const before = new Set(handles())
  const [listener] = await listen({ host: '127.0.0.2', port: 0 }, (_request, response) =>
    response.end('here'),
  )
  t.teardown(() => listener!.close())
  const server = handles().find((one) => one instanceof Server && !before.has(one))
  const { _handle: handle } = server as unknown as { _handle: Handle }
  // As for want of memory, or by a rule of the firewall.
  for (const code of [constants.errno.ENOMEM, constants.errno.EPERM]) handle.onconnection(-code)
  const response = await fetch(`http://127.0.0.2:${listener!.address.port}/`)
  t.equal(await response.text(), 'here')
})
