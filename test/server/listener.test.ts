// A listening socket: its errors, and TLS.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { Server } from 'node:net'
import { constants } from 'node:os'
import t from 'tap'
import { listen } from '../../src/server/listener.ts'
import { inTime } from '../process/until.ts'
import { selfSigned } from './certificate.ts'

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

t.test('a listener with a certificate serves TLS alone, and its requests say so', async (t) => {
  const tls = selfSigned()
  const listeners = await listen(
    { host: '127.0.0.1', port: 0 },
    (request, response) => response.end(String(request.headers['x-forwarded-proto'])),
    tls,
  )
  const close = () => {
    for (const one of listeners) one.close()
  }
  t.teardown(close)
  const { port } = listeners[0]!.address
  const options = { host: '127.0.0.1', port, ca: tls.certificate, headers: { 'x-forwarded-proto': 'http' } }
  const [answer] = (await inTime('the answer', once(get(options), 'response'))) as [IncomingMessage]
  t.equal((await answer.toArray()).join(''), 'https')
  const [refusal] = await inTime(
    'a refusal',
    once(get({ ...options, ca: selfSigned().certificate }), 'error'),
  )
  t.match(refusal, { code: /CERT|VERIFY/ })
  await t.rejects(fetch(`http://127.0.0.1:${port}/`), 'no plain HTTP')
  await inTime('every answer', Promise.all(listeners.map((one) => one.written())))
})
