// Opens connections to one upstream, direct or through a proxy.
// Imports single files of undici: its entry also loads fetch, WebSocket and caches, which cost
// 13 MiB of resident memory and 45 ms of each start. test/upstream checks these files.

import type { Dispatcher } from 'undici'
import connect from 'undici/lib/api/api-connect.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js'
import type { Milliseconds } from '../core/clock.ts'
import type { Config } from '../core/config.ts'

/**
 * Time to keep an idle connection if the upstream does not announce one. With TLS, where opening is
 * expensive, nearly as long as load balancers do. Without TLS the upstream is often a model server,
 * and these (uvicorn, Node, cpp-httplib) close after five seconds. A call sent at that moment fails
 * and must not be repeated (RFC 9110 §9.2.2).
 */
const KEEP_ALIVE_MS: Readonly<Record<string, Milliseconds>> = { 'https:': 30_000, 'http:': 4000 }

/**
 * Returns a dispatcher that opens connections on demand.
 * @param connections maximum number of sockets. Each stream occupies one, so use the maximum number
 *   of calls in flight.
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
    // Otherwise undici prefers HTTP/2, where calls share a connection and errors differ.
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
    // A tunnel (RFC 9110 §9.3.6) also for http: requests and responses stay those without a proxy.
    proxyTunnel: true,
    connectTimeout: connectMs,
    // The package's entry would add this method.
    clientFactory: (origin, options) =>
      Object.assign(new Pool(origin, { ...options, headersTimeout: connectMs }), { connect }),
  })
}
