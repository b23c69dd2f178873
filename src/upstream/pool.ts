// The connections to one upstream, straight or through a proxy. From undici's files by themselves: the package's entry also
// loads fetch, WebSocket and caches, none of which is used here: 13 MiB of resident memory and 45 ms of every start.

import type { Dispatcher } from 'undici'
import connect from 'undici/lib/api/api-connect.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js'
import type { Milliseconds } from '../core/clock.ts'
import type { Config } from '../core/config.ts'

/**
 * Idle connections are kept this long unless the upstream says otherwise. Where one is dear to open, nearly as long as any
 * load balancer keeps it; where it is not, the upstream is often the model's server itself, and these (uvicorn, Node,
 * cpp-httplib) close after five seconds: a call that goes out at that moment fails, and may not be sent again
 * (RFC 9110 §9.2.2).
 */
const KEEP_ALIVE_MS: Readonly<Record<string, Milliseconds>> = { 'https:': 30_000, 'http:': 4000 }

/**
 * None is opened before it is needed.
 * @param connections most sockets at a time; a stream occupies one, so size it like the calls in flight
 */
export function openConnections(
  { baseUrl, proxy, timeouts }: Config['upstream'],
  connections: number,
): Dispatcher {
  const { connectMs, headersMs, idleMs } = timeouts
  const { origin, protocol } = new URL(baseUrl)
  const settings = {
    connections,
    pipelining: 1,
    // A server that has both would be spoken to in HTTP/2: other framing, other errors, calls that share a connection.
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS[protocol]!,
    headersTimeout: headersMs,
    bodyTimeout: idleMs,
  }
  if (proxy === null) {
    return new Pool(origin, { ...settings, connect: { timeout: connectMs } })
  }
  return new ProxyAgent({
    ...settings,
    uri: proxy.current(),
    // A tunnel (RFC 9110 §9.3.6) to any upstream, so that what is sent and what comes back is the same as without a proxy.
    proxyTunnel: true,
    connectTimeout: connectMs,
    // A method that the package's entry would give it.
    clientFactory: (origin, options) =>
      Object.assign(new Pool(origin, { ...options, headersTimeout: connectMs }), { connect }),
  })
}
