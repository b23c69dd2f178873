// A proxy in front of gateways and hubs.

import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

interface Onward {
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/**
 * Starts one on a free port of a host.
 * @param onwardTo says where a request goes; null for 404
 * @returns its origin
 */
export async function startProxy(
  t: Test,
  host: string,
  onwardTo: (path: string, headers: IncomingHttpHeaders) => Onward | null,
): Promise<string> {
  const proxy = createServer((asked, answer) => {
    const onward = onwardTo(asked.url ?? '/', asked.headers)
    if (onward === null) return void answer.writeHead(404).end()
    const { url, headers } = onward
    const sent = request(url, { method: asked.method, headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers)
      answered.pipe(answer)
    })
    asked.pipe(sent)
  })
  await new Promise<void>((resolve) => proxy.listen(0, host, resolve))
  t.teardown(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return `http://${host}:${(proxy.address() as AddressInfo).port}`
}
