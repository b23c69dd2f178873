// HTTP proxy for tests: opens CONNECT tunnels over real sockets and records the requests.

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

export interface Tunnel {
  /** Requested host and port. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  /** Bytes sent to the upstream, as Latin-1. */
  sent: string
}

export interface Proxy {
  readonly url: string
  readonly tunnels: Tunnel[]
  /** Method and URL of requests other than CONNECT. */
  readonly others: string[]
  close(): void
}

/**
 * Starts a proxy on a free loopback port.
 * @param answer returns the status for the n-th CONNECT, from 1: 200 opens the tunnel, 0 sends
 *   nothing, -1 closes the connection
 */
export async function startProxy(answer: (number: number) => number = () => 200): Promise<Proxy> {
  const tunnels: Tunnel[] = []
  const others: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    others.push(`${request.method} ${request.url}`)
    response.writeHead(405).end()
  })
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})))
  server.on('connect', ({ url = '', headers }, socket: Socket) => {
    const tunnel = { target: url, headers, sent: '' }
    const status = answer(tunnels.push(tunnel))
    if (status < 0) socket.destroy()
    else if (status !== 200) {
      if (status > 0) socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`)
    } else {
      // All upstreams of the tests listen on this address, under any name.
      const upstream = connect(Number(url.split(':').at(-1)), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
        socket.on('data', (chunk) => (tunnel.sent += chunk.toString('latin1')))
        socket.pipe(upstream).pipe(socket)
      })
      upstream.on('error', () => socket.destroy())
      socket.on('close', () => upstream.destroy())
      sockets.add(upstream)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tunnels,
    others,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
